"""Features of Kueue that are used and not modelled: a gap for each, with what is assumed instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from kwhatif.kueue.configuration import DECIDING_GATES, ELASTIC
from kwhatif.kueue.jobs.job_webhooks import prebuilt_of
from kwhatif.results.base import Gap
from kwhatif.simulation.queueing.decisions import Decisions
from kwhatif.workloads.objects import annotations_of

_BY_USAGE = "UsageBasedAdmissionFairSharing"
_REPLACES = "kueue.x-k8s.io/workload-slice-replacement-for"


class _Feature(NamedTuple):
    """What is not modelled, what is assumed instead, and what uses it: workloads and jobs, unless ``is_setting``."""

    what: str
    effect: str
    users: Callable[[Decisions], Sequence[str]]
    is_setting: bool = False


def _queues_by_usage(decisions: Decisions) -> list[str]:
    configuration = decisions.objects.configuration
    if configuration.kind is not None and configuration.admission_fair_sharing is None:
        return []
    return sorted(
        queue.name
        for queue in decisions.objects.cluster_queues
        if queue.spec.admission_scope is not None and queue.spec.admission_scope.admission_mode == _BY_USAGE
    )


def _gates(decisions: Decisions) -> list[str]:
    """Those that are set otherwise than by default."""
    gates = decisions.objects.configuration.feature_gates or {}
    return sorted(f"{name}={str(on).lower()}" for name, on in gates.items() if DECIDING_GATES.get(name, on) != on)


def _waits_for_pods(decisions: Decisions) -> list[str]:
    return ["waitForPodsReady"] if decisions.objects.configuration.waits_for_pods else []


def _elastic(decisions: Decisions) -> list[str]:
    """Jobs whose size may change, and Workloads that take the place of others."""
    jobs = [job.name for job in decisions.jobs if job.workload and annotations_of(job.manifest).get(ELASTIC) == "true"]
    workloads = [
        workload.key for workload in decisions.objects.workloads if _REPLACES in (workload.metadata.annotations or {})
    ]
    return [*jobs, *workloads]


def _prebuilt(decisions: Decisions) -> list[str]:
    return [job.name for job in decisions.jobs if job.workload and prebuilt_of(job.manifest)[1]]


def _claiming(decisions: Decisions) -> list[str]:
    return [
        workload.key
        for workload in decisions.workloads
        if any(pod_set.template.spec.resource_claims for pod_set in workload.spec.pod_sets or ())
    ]


def _on_unhealthy_nodes(decisions: Decisions) -> list[str]:
    return [workload.key for workload in decisions.objects.workloads if workload.status.unhealthy_nodes]


_FEATURES = (
    _Feature(
        "AdmissionFairSharing is not modelled: ClusterQueue",
        "their workloads are taken by priority and age, not by the use of their LocalQueues",
        _queues_by_usage,
        is_setting=True,
    ),
    _Feature("feature gates that are not modelled:", "Kueue is taken to decide as by default", _gates, is_setting=True),
    _Feature(
        "not modelled of the Configuration:",
        "pods are taken to be ready at once, so that no workload waits for those of others or is evicted for its own",
        _waits_for_pods,
        is_setting=True,
    ),
    _Feature(
        "slices of elastic jobs are not modelled",
        "each is taken as a workload of its own, which takes the place of none",
        _elastic,
    ),
    _Feature(
        "prebuilt Workloads are not modelled",
        "a Workload is taken to be made of each job that names one",
        _prebuilt,
    ),
    _Feature(
        "devices that pods claim are not counted as quota here",
        "their workloads may wait for quota of a device class",
        _claiming,
    ),
    _Feature(
        "other domains for pods whose node has failed are not modelled",
        "the workloads are taken to stay where they are",
        _on_unhealthy_nodes,
    ),
)


def unmodelled_features(decisions: Decisions) -> Iterator[Gap]:
    """A gap for each feature that somebody uses."""
    for feature in _FEATURES:
        if users := feature.users(decisions):
            what = f"{feature.what} {', '.join(users)}" if feature.is_setting else feature.what
            yield Gap(what=what, effect=feature.effect, pods=() if feature.is_setting else tuple(users))
