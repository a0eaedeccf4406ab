"""Which pending pods need a new node: those that neither fit an existing one nor are left to others.

Upstream: cluster-autoscaler/core/podlistprocessor, and filterOutYoungPods in core/static_autoscaler.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

from kwhatif.api.core import Pod
from kwhatif.autoscaling.cluster_autoscaler.autoscaler_world import World, is_expendable, is_of_daemon_set
from kwhatif.autoscaling.cluster_autoscaler.equivalence import SimilarPods
from kwhatif.autoscaling.cluster_autoscaler.hints import Hints
from kwhatif.autoscaling.cluster_autoscaler.moments import moment
from kwhatif.autoscaling.cluster_autoscaler.simulated_cluster import SimulatedCluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.golang.duration import Duration

_DELAY = "cluster-autoscaler.kubernetes.io/pod-scale-up-delay"


def unschedulable(world: World) -> list[Pod]:
    """Pending pods that the scheduler has given up for now and that are not expendable."""
    return [
        pod
        for pod in world.pending
        if not pod.spec.node_name
        and not pod.metadata.deletion_timestamp
        and not pod.status.nominated_node_name
        and _was_turned_down(pod)
        and not is_expendable(pod, world.flags)
    ]


def _was_turned_down(pod: Pod) -> bool:
    for condition in pod.status.conditions or ():
        if condition.type == "PodScheduled":
            return condition.status == "False" and condition.reason == "Unschedulable"
    return False


def place_on_existing(
    simulated: SimulatedCluster, pods: Iterable[PodInfo], hints: Hints
) -> tuple[dict[str, str], list[PodInfo]]:
    """Put pods where there is room, the most important first: pod -> node, and those that found none."""
    similar = SimilarPods()
    placed: dict[str, str] = {}
    left: list[PodInfo] = []
    for pod in sorted(pods, key=lambda pod: -pod.priority):
        row = hints.place(simulated, pod, None)
        if row is None and not similar.failed_before(pod):
            row = hints.search(simulated, pod, None)
            if row is None:
                similar.failed(pod)
        if row is None:
            left.append(pod)
        else:
            placed[pod.key] = simulated.name(row)
    hints.drop_old()
    return placed, left


def to_help(world: World, pods: Sequence[PodInfo]) -> list[PodInfo]:
    """The pods without those of daemon sets, which want a node of their own, and without those that are too young."""
    return [pod for pod in pods if not is_of_daemon_set(pod.pod) and not _is_young(pod.pod, world)]


def _is_young(pod: Pod, world: World) -> bool:
    delay = world.flags.new_pod_scale_up_delay
    own = (pod.metadata.annotations or {}).get(_DELAY)
    if own is not None:
        with suppress(ValueError):
            delay = max(delay, Duration.parse(own))
    return world.now - moment(pod.metadata.creation_timestamp) <= delay
