"""The autoscaler's loop, which pods it scales up for, and the state that it keeps between loops.

Upstream: cluster-autoscaler/core/static_autoscaler.go (also filterOutYoungPods) and core/podlistprocessor.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from random import Random
from typing import TypeVar

import msgspec

from kwhatif.api.core import Node, Pod
from kwhatif.autoscaling.cluster_autoscaler.autoscaling_context import (
    AutoscalingContext,
    is_expendable,
    is_of_daemon_set,
)
from kwhatif.autoscaling.cluster_autoscaler.estimator import SimilarPods
from kwhatif.autoscaling.cluster_autoscaler.group_health import GroupHealth
from kwhatif.autoscaling.cluster_autoscaler.node_readiness import (
    asks_for_gpus,
    moment,
    observed_node_of,
    ready_for_pods,
)
from kwhatif.autoscaling.cluster_autoscaler.node_template import NodeTemplate, node_templates
from kwhatif.autoscaling.cluster_autoscaler.orchestrator import (
    IN_COOLDOWN,
    LIMITED,
    NODES_TOTAL_REACHED,
    NOT_NEEDED,
    NOT_TRIED,
    SUCCESSFUL,
    NoScaleUpInfo,
    Orchestrator,
    ScaleUp,
    ScaleUpInfo,
)
from kwhatif.autoscaling.cluster_autoscaler.planner import NOT_TRIED as NO_SCALE_DOWN
from kwhatif.autoscaling.cluster_autoscaler.planner import Planner, ScaleDown
from kwhatif.autoscaling.cluster_autoscaler.simulated_cluster import Hints, SearchPosition, SimulatedCluster
from kwhatif.bounds import check_nodes
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.golang.parsing import SECOND, Duration

_DELAY = "cluster-autoscaler.kubernetes.io/pod-scale-up-delay"


def list_unschedulable_pods(world: AutoscalingContext) -> list[Pod]:
    """Pending pods that the scheduler has found unschedulable and that are not expendable."""
    return [
        pod
        for pod in world.pending
        if not pod.spec.node_name
        and not pod.metadata.deletion_timestamp
        and not pod.status.nominated_node_name
        and (_was_turned_down(pod) or _is_bypassed(pod, world))
        and _is_allowed(pod, world)
        and not is_expendable(pod, world.flags)
    ]


def _is_bypassed(pod: Pod, world: AutoscalingContext) -> bool:
    """Whether the pod's scheduler is one of ``--bypassed-scheduler-names`` and has not tried the pod yet."""
    waits = not any(condition.type == "PodScheduled" for condition in pod.status.conditions or ())
    return waits and _scheduler_of(pod) in world.flags.bypassed_scheduler_names


def _is_allowed(pod: Pod, world: AutoscalingContext) -> bool:
    allowed = world.flags.allowed_scheduler_names
    return not allowed or _scheduler_of(pod) in allowed


def _scheduler_of(pod: Pod) -> str:
    return pod.spec.scheduler_name or "default-scheduler"


def _was_turned_down(pod: Pod) -> bool:
    for condition in pod.status.conditions or ():
        if condition.type == "PodScheduled":
            return condition.status == "False" and condition.reason == "Unschedulable"
    return False


def place_on_existing(
    simulated: SimulatedCluster, pods: Iterable[PodInfo], hints: Hints
) -> tuple[dict[str, str], list[PodInfo]]:
    """Place pods where there is room, by priority: pod -> node, and those that found none."""
    similar = SimilarPods()
    placed: dict[str, str] = {}
    left: list[PodInfo] = []
    for pod in sorted(pods, key=lambda pod: -pod.priority):
        row = hints.place(simulated, pod, None)
        if row is None and not similar.has_failed_before(pod):
            row = hints.search(simulated, pod, None)
            if row is None:
                similar.record_failure(pod)
        if row is None:
            left.append(pod)
        else:
            placed[pod.key] = simulated.name(row)
    hints.drop_old()
    return placed, left


def filter_pods_to_help(world: AutoscalingContext, pods: Sequence[PodInfo]) -> list[PodInfo]:
    """The pods without those of DaemonSets and without those that are too young."""
    return [pod for pod in pods if not is_of_daemon_set(pod.pod) and not _is_young(pod.pod, world)]


def _is_young(pod: Pod, world: AutoscalingContext) -> bool:
    return world.now - moment(pod.metadata.creation_timestamp) <= _delay_of(pod, world)


def _delay_of(pod: Pod, world: AutoscalingContext) -> int:
    """How old a pod has to be, in nanoseconds."""
    delay = world.flags.new_pod_scale_up_delay
    own = (pod.metadata.annotations or {}).get(_DELAY)
    if own is not None:
        with suppress(ValueError):
            delay = max(delay, Duration.parse(own))
    return delay


def why_ignored(pod: Pod, world: AutoscalingContext) -> str:
    """Why no scale-up is tried for a pending pod that finds no room, with the numbers that decide."""
    flags, status = world.flags, pod.status
    if is_expendable(pod, flags):
        return f"priority {pod.spec.priority} is below the cutoff {flags.expendable_pods_priority_cutoff}"
    if pod.metadata.deletion_timestamp:
        return "it is being deleted"
    if status.nominated_node_name:
        return f"node {status.nominated_node_name} is kept for it"
    if not _is_allowed(pod, world):
        return f"the autoscaler does not look at pods of scheduler {_scheduler_of(pod)}"
    if is_of_daemon_set(pod):
        return "it is of a daemon set"
    if _is_young(pod, world):
        age = (world.now - moment(pod.metadata.creation_timestamp)) / SECOND
        return f"it is {age:g} s old, and counts only when it is older than {_delay_of(pod, world) / SECOND:g} s"
    return "the scheduler has not turned it down yet"


T = TypeVar("T")

_NEW = 2 * SECOND
_MORE_MAY_FOLLOW = "all pods that need a node are so new that more may follow; the next loop looks at them"
_NEW_WITH_GPUS = 30 * SECOND


class LoopResult(msgspec.Struct):
    """The outcome of one loop.

    ``placed``: pods -> existing (or upcoming) nodes that they will run on. ``ignored``: pods that are neither placed
    nor in need of a node -> why. ``overlooked``: pods that none was tried for, since minimum sizes took their turn.
    """

    templates: dict[str, NodeTemplate]
    healthy: bool
    scale_up: ScaleUp
    scale_down: ScaleDown
    placed: dict[str, str] = msgspec.field(default_factory=dict)
    ignored: dict[str, str] = msgspec.field(default_factory=dict)
    overlooked: dict[str, str] = msgspec.field(default_factory=dict)
    scale_up_to_min_size: list[ScaleUpInfo] = msgspec.field(default_factory=list)

    def resizes(self) -> list[ScaleUpInfo]:
        """The resizes of the loop, one for each group, for pods and for minimum sizes together."""
        by_group = {scale_up_info.group.name: scale_up_info for scale_up_info in self.scale_up.plan}
        for info in self.scale_up_to_min_size:
            grown = by_group.get(info.group.name, info)
            by_group[info.group.name] = ScaleUpInfo(info.group, grown.current_size, info.new_size)
        return list(by_group.values())


class StaticAutoscaler:
    """A cluster-autoscaler process. With ``chance`` it lists nodes and pods in a random order, as Go's maps do."""

    def __init__(self, chance: Random | None = None) -> None:
        self._chance = chance
        self._turn = SearchPosition()
        self._hints = Hints()
        self._planner = Planner()
        self._incomplete: dict[str, tuple[int, int, int]] = {}

    def loop(self, world: AutoscalingContext, *, up: bool = True, down: bool = False) -> LoopResult:
        """One loop over the cluster: scale-up if ``up``, scale-down if ``down``."""
        nodes = [observed_node_of(node, world.flags, world.gpu_label) for node in world.nodes]
        cluster = world.without_expendable()
        templates = node_templates(world, nodes, cluster)
        health = GroupHealth(nodes, world.groups, world.flags, world.now, templates)
        result = LoopResult(templates, health.cluster_is_healthy, ScaleUp(NOT_TRIED), ScaleDown(NO_SCALE_DOWN))
        if not result.healthy or self._gives_up_missing_nodes(world, health):
            result.ignored = {pod.key: "cluster unhealthy" for pod in sorted(world.pending, key=lambda pod: pod.key)}
            result.scale_down = self._planner.skip_loop(healthy=result.healthy)
            return result
        simulated, here = self._build_simulated_cluster(world, cluster, nodes, templates, health)
        waiting = self._in_some_order([cluster.shapes.info(pod) for pod in list_unschedulable_pods(world)])
        result.placed, left = place_on_existing(simulated, waiting, self._hints)
        pods = filter_pods_to_help(world, left)
        helped = {pod.key for pod in pods}
        result.ignored = {
            pod.key: why_ignored(pod, world)
            for pod in sorted(world.pending, key=lambda pod: pod.key)
            if pod.key not in helped and pod.key not in result.placed
        }
        if up:
            orchestrator = Orchestrator(world, simulated, templates, health)
            result.scale_up = self._scale_up(world, orchestrator, nodes, pods)
            if world.flags.enforce_node_group_min_size:
                _enforce_min_sizes(result, orchestrator)
        if down:
            result.scale_down = self._planner.plan(world, simulated, here)
        return result

    def _in_some_order(self, items: list[T]) -> list[T]:
        if self._chance is not None:
            self._chance.shuffle(items)
        return items

    def _gives_up_missing_nodes(self, world: AutoscalingContext, health: GroupHealth) -> bool:
        """Whether this loop only lowers the target of groups whose nodes have been missing for too long."""
        incomplete = {}
        overdue = False
        for group in world.groups:
            there = health.count_registered(group)
            if there in (0, group.target):
                continue
            there_then, target_then, since = self._incomplete.get(group.name, (there, group.target, world.now))
            if (there_then, target_then) != (there, group.target):
                since = world.now
            incomplete[group.name] = (there, group.target, since)
            overdue |= there < group.target and since + group.settings.max_node_provision_time < world.now
        self._incomplete = incomplete
        return overdue

    @staticmethod
    def _scale_up(
        world: AutoscalingContext, orchestrator: Orchestrator, nodes: Sequence[Node], pods: Sequence[PodInfo]
    ) -> ScaleUp:
        most = world.flags.max_nodes_total
        if not pods:
            return ScaleUp(NOT_NEEDED)
        if most and sum(map(ready_for_pods, nodes)) >= most:
            return ScaleUp(LIMITED, pods, remain_unschedulable={pod.key: NoScaleUpInfo({}, {}) for pod in pods})
        if not world.flags.bypassed_scheduler_names and _are_new(pods, world.now):
            return ScaleUp(IN_COOLDOWN, pods)
        return orchestrator.scale_up(pods)

    def _build_simulated_cluster(
        self,
        world: AutoscalingContext,
        cluster: Cluster,
        nodes: Sequence[Node],
        templates: dict[str, NodeTemplate],
        health: GroupHealth,
    ) -> tuple[SimulatedCluster, list[Node]]:
        """The cluster with upcoming nodes added, and the existing nodes."""
        listed = self._in_some_order([node.name for node in nodes])
        simulated = SimulatedCluster(cluster, world.framework, listed, self._turn)
        starting: set[str] = set()
        check_nodes(sum(map(health.upcoming, world.groups)), "node groups that wait for them")
        for group in world.groups:
            count, template = health.upcoming(group), templates.get(group.name)
            if not count:
                continue
            starting.update(health.starting(group))
            if template is not None:
                names = [f"upcoming/{group.name}/{number}" for number in range(count)]
                simulated = simulated.with_room_for(template, names)
                for name in names:
                    row = simulated.cluster.columns.row(name)
                    assert row is not None
                    simulated.join(row, template.fresh(name)[1])
        for name in sorted(starting):
            row = simulated.row(name)
            if row is not None:
                simulated.depart(row)
        return simulated, [node for node in nodes if node.name not in starting]


def _enforce_min_sizes(loop_result: LoopResult, orchestrator: Orchestrator) -> None:
    """Scale up groups below their minimum size.

    If pods did not cause a scale-up, upstream processes only the status of this one: it is the result of the loop, and
    pods, which no scale-up was tried for, get no events.
    """
    tried = loop_result.scale_up
    loop_result.scale_up_to_min_size = orchestrator.scale_up_to_min_size(tried.plan)
    if tried.result not in (NOT_NEEDED, LIMITED, IN_COOLDOWN):
        return
    why = NODES_TOTAL_REACHED if tried.result == LIMITED else _MORE_MAY_FOLLOW
    loop_result.overlooked = {pod.key: why for pod in sorted(tried.pods, key=lambda pod: pod.key)}
    result = SUCCESSFUL if loop_result.scale_up_to_min_size else NOT_NEEDED
    loop_result.scale_up = ScaleUp(result, plan=loop_result.scale_up_to_min_size)


def _are_new(pods: Sequence[PodInfo], now: int) -> bool:
    """Whether the pods are so new that more may follow, so that it is worth waiting for them."""
    oldest = min(moment(pod.pod.metadata.creation_timestamp) for pod in pods)
    with_gpus = [moment(pod.pod.metadata.creation_timestamp) for pod in pods if asks_for_gpus(pod)]
    return oldest + _NEW > now or (bool(with_gpus) and min(with_gpus) + _NEW_WITH_GPUS > now)
