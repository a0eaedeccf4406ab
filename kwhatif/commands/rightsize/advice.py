"""Recommended requests and limits of containers, by their usage, and how they reach running pods.

Upstream: vertical-pod-autoscaler/pkg/recommender/logic and pkg/utils/vpa (capping by policies and limit ranges).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from kwhatif.api.core import Container, Pod, ResourceList
from kwhatif.api.quantity import Quantity
from kwhatif.commands.rightsize.limit_ranges import LimitRanges
from kwhatif.commands.rightsize.policy_document import RightsizingPolicy, Rule
from kwhatif.commands.rightsize.workload_pods import Workload, WorkloadPods
from kwhatif.simulation.edits.new_resources import Amounts, NewResources
from kwhatif.usage.book import RESOURCES, UsageBook
from kwhatif.usage.histogram import Histogram
from kwhatif.usage.recommendations import ContainerPolicy, Recommendations
from kwhatif.versions import Features

NO_USAGE, EXCLUDED, STATIC, SWITCHED_OFF = "noUsage", "excluded", "static", "switchedOff"
REASONS = (NO_USAGE, EXCLUDED, STATIC, SWITCHED_OFF)


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """One resource of one container of a workload, in millicores or bytes.

    ``percentile`` and ``peak`` are of its use, None where only a VerticalPodAutoscaler knows. ``request`` and ``limit``
    are those of today, if any; ``new_limit`` is the limit that goes with what is ``advised``.
    """

    workload: Workload
    container: str
    resource: str
    request: int | None
    advised: int
    limit: int | None
    new_limit: int | None
    percentile: int | None
    peak: int | None
    recommended: bool = False

    @property
    def changes(self) -> bool:
        """Whether the request or the limit is another one."""
        return self.advised != self.request or self.new_limit != self.limit

    @property
    def total_reduction(self) -> int:
        """What all pods of the workload ask for less."""
        return ((self.request or 0) - self.advised) * len(self.workload.pods)


class AdviceSet(msgspec.Struct):
    """All advice, workloads by name, and which workloads stay as they are: reason -> names."""

    advice: list[Advice] = []
    unchanged: dict[str, list[str]] = msgspec.field(default_factory=lambda: {reason: [] for reason in REASONS})

    def by_workload(self) -> dict[str, list[Advice]]:
        """Workload -> its advice that changes something."""
        advice_of: dict[str, list[Advice]] = {}
        for advice in self.advice:
            if advice.changes:
                advice_of.setdefault(advice.workload.name, []).append(advice)
        return advice_of


def advise(
    pods: WorkloadPods,
    book: UsageBook,
    recommendations: Recommendations,
    policy: RightsizingPolicy,
    ranges: LimitRanges,
) -> AdviceSet:
    """Advice for each container of each workload with known usage."""
    advised = AdviceSet()
    for workload in pods.in_order():
        if workload.pods[0].is_mirror:
            advised.unchanged[STATIC].append(workload.name)
        elif policy.excludes(workload.name, workload.namespace, workload.labels):
            advised.unchanged[EXCLUDED].append(workload.name)
        else:
            reason, advice = _of_workload(workload, book, recommendations, policy, ranges)
            advised.advice += advice
            if not advice:
                advised.unchanged[reason].append(workload.name)
    return advised


def _of_workload(
    workload: Workload,
    book: UsageBook,
    recommendations: Recommendations,
    policy: RightsizingPolicy,
    ranges: LimitRanges,
) -> tuple[str, list[Advice]]:
    advice: list[Advice] = []
    reason = NO_USAGE
    guaranteed = policy.keep_guaranteed and is_guaranteed(workload.pods[0])
    for container in workload.containers:
        allowed = recommendations.policy_of(workload.name, container.name)
        if allowed is not None and allowed.mode == "Off":
            reason = SWITCHED_OFF
            continue
        target = recommendations.target_of(workload.name, container.name)
        for resource in RESOURCES:
            if allowed is not None and resource not in (allowed.controlled_resources or RESOURCES):
                continue
            used = book.of(workload.name, container.name, resource)
            recommended = (target.target or {}).get(resource) if target is not None else None
            if used is None and recommended is None:
                continue
            wanted, percentile = _compute_target(used, recommended, policy.rules[resource], resource)
            least = policy.floor_of(resource, workload.labels)
            wanted = _within(wanted, policy.rules[resource], least)
            wanted = _clamp_to_policy(wanted, allowed, resource)
            values = allowed.controlled_values if allowed is not None else None
            with_limits = policy.with_limits if values is None else values == "RequestsAndLimits"
            request, limit = amounts_of(container, resource)
            wanted = ranges.request_within(workload.namespace, resource, wanted, limit, request)
            new_limit = _limit(request, limit, wanted, policy.rules[resource].step, with_limits, guaranteed)
            new_limit = ranges.limit_within(workload.namespace, resource, new_limit)
            wanted = ranges.request_beside(workload.namespace, resource, wanted, new_limit)
            advice.append(
                Advice(
                    workload=workload,
                    container=container.name,
                    resource=resource,
                    request=request,
                    advised=wanted if new_limit is None else min(wanted, new_limit),
                    limit=limit,
                    new_limit=new_limit,
                    percentile=percentile,
                    peak=None if used is None else used.peak,
                    recommended=used is None,
                )
            )
    order = [container.name for container in workload.containers]
    return reason, sorted(
        _within_pod_ranges(workload, advice, ranges), key=lambda sizing: order.index(sizing.container)
    )


def _within_pod_ranges(workload: Workload, advice: Sequence[Advice], ranges: LimitRanges) -> Iterator[Advice]:
    """The advice of a workload with sums that a LimitRange of type Pod lets in: all of it changes in proportion.

    Upstream: capProportionallyToPodLimitRange of vertical-pod-autoscaler/pkg/utils/vpa/capping.go.
    """
    for resource in RESOURCES:
        mine = [sizing for sizing in advice if sizing.resource == resource]
        advised = {sizing.container for sizing in mine}
        others = [amounts_of(container, resource) for container in workload.containers if container.name not in advised]
        fixed = sum(request or 0 for request, _ in others)
        limits = [*(sizing.new_limit for sizing in mine), *(limit for _, limit in others)]
        whole_limit = None if None in limits else sum(limit or 0 for limit in limits)
        allowed_limit = ranges.pod_limit_within(workload.namespace, resource, whole_limit)
        whole = sum(sizing.advised for sizing in mine)
        allowed = ranges.pod_request_within(workload.namespace, resource, whole + fixed, allowed_limit) - fixed
        for sizing in mine:
            request, limit = sizing.advised, sizing.new_limit
            if limit is not None and whole_limit and allowed_limit is not None:
                limit = limit * allowed_limit // whole_limit
            if allowed > whole:
                request = -(-request * allowed // whole)
                limit = None if limit is None else max(limit, request)
            elif allowed < whole:
                request = request * max(allowed, 0) // whole
            yield replace(sizing, advised=request if limit is None else min(request, limit), new_limit=limit)


def _compute_target(
    used: Histogram | None, recommended: Quantity | None, rule: Rule, resource: str
) -> tuple[int, int | None]:
    """The request, and the percentile that it follows from; samples take precedence over recommendations."""
    if used is None:
        assert recommended is not None
        return recommended.amount_of(resource), None
    percentile = used.peak if rule.percentile is None else used.percentile(rule.percentile)
    return math.ceil(round(percentile * (100 + rule.margin) / 100, 6)), percentile


def _within(amount: int, rule: Rule, floor: int) -> int:
    """No less than the floor and one step, a multiple of the step, and no more than the ceiling."""
    amount = -(-max(amount, floor, 1) // rule.step) * rule.step
    return amount if rule.ceiling is None else min(amount, max(rule.ceiling, floor))


def _clamp_to_policy(wanted: int, policy: ContainerPolicy | None, resource: str) -> int:
    """What the policy of a VerticalPodAutoscaler allows."""
    if policy is None:
        return wanted

    least, most = _amount(policy.min_allowed, resource), _amount(policy.max_allowed, resource)
    wanted = wanted if least is None else max(wanted, least)
    return wanted if most is None else min(wanted, most)


def _limit(
    request: int | None, limit: int | None, amount: int, step: int, with_limits: bool, guaranteed: bool
) -> int | None:
    """The limit beside a new request: in proportion, or as it is and no less than the request."""
    if guaranteed:
        return amount
    if limit is None:
        return None
    if with_limits and request:
        return -(-limit * amount // request // step) * step if limit != request else amount
    return max(limit, amount)


def amounts_of(container: Container, resource: str) -> tuple[int | None, int | None]:
    """Request and limit of a container, in millicores or bytes."""
    resources = container.resources
    requests, limits = (resources.requests, resources.limits) if resources is not None else (None, None)
    return _amount(requests, resource), _amount(limits, resource)


def _amount(quantities: Mapping[str, Quantity] | None, resource: str) -> int | None:
    quantity = (quantities or {}).get(resource)
    return None if quantity is None else quantity.amount_of(resource)


def is_guaranteed(pod: Pod) -> bool:
    """Whether every container has limits of CPU and memory, and asks for as much.

    Upstream: pkg/apis/core/v1/helper/qos/qos.go (ComputePodQOS).
    """
    containers = [*(pod.spec.containers or ()), *(pod.spec.init_containers or ())]
    return bool(containers) and all(_is_full(container) for container in containers)


def _is_full(container: Container) -> bool:
    pairs = (amounts_of(container, resource) for resource in RESOURCES)
    return all(limit and (request is None or request == limit) for request, limit in pairs)


def format_quantity(resource: str, amount: int) -> str:
    """An amount as Kubernetes writes it: millicores, or bytes."""
    return Quantity.from_amount(resource, amount, binary=True).canonical


def resources_of(changes: Mapping[str, Sequence[Advice]]) -> NewResources:
    """Workload -> container -> requests and limits."""
    return {name: _of_containers(mine) for name, mine in changes.items()}


def _of_containers(advice: Sequence[Advice]) -> dict[str, Amounts]:
    amounts: dict[str, tuple[ResourceList, ResourceList]] = {}
    for sizing in advice:
        requests, limits = amounts.setdefault(sizing.container, ({}, {}))
        requests[sizing.resource] = Quantity.from_amount(sizing.resource, sizing.advised, binary=True)
        if sizing.new_limit is not None:
            limits[sizing.resource] = Quantity.from_amount(sizing.resource, sizing.new_limit, binary=True)
    return amounts


IN_PLACE, RESTART, RECREATE = "in-place", "restart", "recreate"


def resize_of(advice: Advice, features: Features) -> str:
    """What a change takes; nothing where there is none.

    Since 1.33 a running pod can be resized. Where the template says ``RestartContainer`` for the resource, the kubelet
    restarts the container; unsaid, it does not (upstream: pkg/apis/core/types.go, ContainerResizePolicy). A
    workload's template is changed besides, or its next pods would ask for what they did before.
    """
    if not advice.changes:
        return ""
    if not features.in_place_pod_vertical_scaling:
        return RECREATE
    return RESTART if _restarts(advice.workload, advice.container, advice.resource) else IN_PLACE


def _restarts(workload: Workload, container: str, resource: str) -> bool:
    spec: Mapping[str, object] = workload.template or {}
    for part in ("containers", "initContainers"):
        listed = spec.get(part)
        for entry in listed if isinstance(listed, Sequence) else ():
            if entry.get("name") == container:
                policies = entry.get("resizePolicy") or ()
                return any(
                    one.get("resourceName") == resource and one.get("restartPolicy") == "RestartContainer"
                    for one in policies
                )
    return False
