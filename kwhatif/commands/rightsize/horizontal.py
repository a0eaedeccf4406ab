"""Replicas under HorizontalPodAutoscalers with other requests: usage per target times request, so lower requests mean
more pods.

Upstream: pkg/controller/podautoscaler/replica_calculator.go (GetResourceReplicas) and horizontal.go.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from kwhatif.api.objects import section
from kwhatif.commands.rightsize.advice import Advice, amounts_of, format_quantity
from kwhatif.commands.rightsize.result import Rescaled
from kwhatif.commands.rightsize.workload_pods import Workload, WorkloadPods
from kwhatif.golang.parsing import finite
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.usage.book import RESOURCES, UsageBook
from kwhatif.workloads.pod_autoscalers import HPA, PodAutoscaler, pod_autoscaler_of

TOLERANCE = 0.1
"""Of the ratio of use to target; a smaller difference changes nothing (--horizontal-pod-autoscaler-tolerance)."""


class _Metric(msgspec.Struct, frozen=True):
    resource: str
    container: str
    target: float


def scalings(
    snapshot: Snapshot, pods: WorkloadPods, book: UsageBook, advice: Mapping[str, Sequence[Advice]]
) -> Iterator[Rescaled]:
    """The autoscalers that look at a resource of which some request changes."""
    for obj in snapshot.whole.get(HPA, ()):
        autoscaler = pod_autoscaler_of(obj)
        workload = None if autoscaler is None else pods.workloads.get("/".join(autoscaler.target))
        if autoscaler is None or workload is None or workload.name not in advice:
            continue
        by_metric = [
            rescaled
            for metric in _metrics(section(obj, "spec"))
            if (rescaled := _scaling(autoscaler, workload, metric, book, advice[workload.name])) is not None
        ]
        if by_metric:
            # Of several metrics the one that wants the most pods counts.
            yield max(by_metric, key=lambda scaling: scaling.then)


def _metrics(spec: Mapping[str, Any]) -> Iterator[_Metric]:
    """Targets in percent of a request; those of values by pod do not depend on requests."""
    if percent := finite(spec.get("targetCPUUtilizationPercentage")):
        yield _Metric("cpu", "", percent)
    for metric in spec.get("metrics") or ():
        source = metric.get("resource") or metric.get("containerResource") or {}
        percent, resource = finite(section(source, "target").get("averageUtilization")), source.get("name")
        if percent and resource in RESOURCES:
            yield _Metric(resource, source.get("container") or "", percent)


def _scaling(
    autoscaler: PodAutoscaler, workload: Workload, metric: _Metric, book: UsageBook, advice: Sequence[Advice]
) -> Rescaled | None:
    request, new_request, use = 0, 0, 0.0
    advised = {sizing.container: sizing.advised for sizing in advice if sizing.resource == metric.resource}
    for container in workload.containers:
        if metric.container and container.name != metric.container:
            continue
        requested, _ = amounts_of(container, metric.resource)
        used = book.of(workload.name, container.name, metric.resource)
        if requested is None or used is None:
            # The controller gives up where a container has no request, or no samples.
            return None
        request += requested
        new_request += advised.get(container.name, requested)
        use += used.mean
    if not request or request == new_request:
        return None
    now = len(workload.pods)
    least, most = autoscaler.min_replicas, autoscaler.max_replicas
    wanted = _desired_replicas(use, metric.target, new_request, now)
    then = min(max(wanted, least), most)
    return Rescaled(
        autoscaler=f"{workload.namespace}/{autoscaler.name}",
        workload=workload.name,
        resource=metric.resource,
        target=metric.target,
        use=format_quantity(metric.resource, round(use * now)),
        request=format_quantity(metric.resource, request),
        advised=format_quantity(metric.resource, new_request),
        replicas=now,
        then=then,
        unchanged_would=min(max(_desired_replicas(use, metric.target, request, now), least), most),
        bounded="maxReplicas" if wanted > most else "minReplicas" if wanted < least else "",
    )


def _desired_replicas(use: float, target: float, request: int, replicas: int) -> int:
    """Replicas for so much use a pod: as they are where the ratio to the target is near enough to one."""
    ratio = use / request * 100 / target
    return replicas if abs(1 - ratio) <= TOLERANCE else math.ceil(round(ratio * replicas, 6))
