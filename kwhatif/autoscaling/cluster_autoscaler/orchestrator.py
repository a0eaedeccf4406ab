"""A scale-up: the options of each group for the unschedulable pods, the expander's choice, balancing, and the plan.

Upstream: cluster-autoscaler/core/scaleup/orchestrator/orchestrator.go; for balancing processors/nodegroupset
(balancing_processor.go, compare_nodegroups.go, label_nodegroups.go); for events
processors/status/eventing_scale_up_processor.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from kwhatif.autoscaling.cluster_autoscaler.autoscaling_context import AutoscalingContext, ClusterLimits, NodeGroup
from kwhatif.autoscaling.cluster_autoscaler.estimator import (
    Estimator,
    PodGroup,
    fresh_name,
    likely_nodes,
    node_limit,
    pod_groups,
)
from kwhatif.autoscaling.cluster_autoscaler.expanders import ExpanderContext, Option, best_option
from kwhatif.autoscaling.cluster_autoscaler.group_health import GroupHealth
from kwhatif.autoscaling.cluster_autoscaler.node_template import NodeTemplate
from kwhatif.autoscaling.cluster_autoscaler.similar_groups import SimilarGroups, names_taking
from kwhatif.autoscaling.cluster_autoscaler.simulated_cluster import SimulatedCluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.framework.status import Code, Status
from kwhatif.progress import track


class ScaleUpInfo(msgspec.Struct):
    """A group with its current and its new size."""

    group: NodeGroup
    current_size: int
    new_size: int

    def __str__(self) -> str:
        return f"{{{self.group.name} {self.current_size}->{self.new_size} (max: {self.group.max_size})}}"


def balance_scale_up(groups: Sequence[NodeGroup], count: int) -> list[ScaleUpInfo]:
    """Distribute new nodes: the smallest group grows first, each up to its maximum."""
    sizes = [ScaleUpInfo(group, group.target, group.target) for group in groups if group.target != group.max_size]
    count = min(count, sum(max(size.group.max_size - size.current_size, 0) for size in sizes))
    sizes.sort(key=lambda info: info.current_size)
    first = current = 0
    while count > 0:
        resize = sizes[current]
        if resize.new_size < resize.group.max_size:
            resize.new_size += 1
            count -= 1
        else:
            sizes[first], sizes[current] = sizes[current], sizes[first]
            first += 1
        # As upstream, what stands in the place now is compared, not the group that just grew.
        if current < len(sizes) - 1 and sizes[current].new_size > sizes[current + 1].new_size:
            current += 1
        else:
            current = first
    return [size for size in sizes if size.new_size != size.current_size]


SUCCESSFUL, FAILED = "ScaleUpSuccessful", "ScaleUpError"
NO_OPTIONS, NOT_NEEDED, NOT_TRIED = "ScaleUpNoOptionsAvailable", "ScaleUpNotNeeded", "ScaleUpNotTried"
IN_COOLDOWN, LIMITED = "ScaleUpInCooldown", "ScaleUpLimitedByMaxNodesTotal"

BACKOFF = "in backoff after failed scale-up"
FULL = "max node group size reached"
NOT_READY = "not ready for scale-up"
ATOMIC = "atomic scale-up exceeds cluster node count limit"
FILTERED_OUT = "expansion options filtered out and no longer considered"
FAILED_TO_EXECUTE = "scale-up execution failed"
NODES_TOTAL_REACHED = "max total nodes in cluster reached"


class NoScaleUpInfo(msgspec.Struct):
    """Why no scale-up helps a pod: group -> the filter that rejects it on a new node, and groups that were skipped."""

    rejected: Mapping[str, Status]
    skipped: Mapping[str, Sequence[str]]


class ScaleUp(msgspec.Struct):
    """The outcome of a scale-up.

    ``pods`` are those that need a node, in their given order. Those that ``remain_unschedulable`` fit no considered
    group, those that ``await_evaluation`` do not fit the chosen group but another.
    """

    result: str
    pods: Sequence[PodInfo] = ()
    error: str = ""
    skipped: dict[str, list[str]] = msgspec.field(default_factory=dict)
    options: list[Option] = msgspec.field(default_factory=list)
    chosen: Option | None = None
    plan: list[ScaleUpInfo] = msgspec.field(default_factory=list)
    triggered: Sequence[PodInfo] = ()
    await_evaluation: list[PodInfo] = msgspec.field(default_factory=list)
    remain_unschedulable: dict[str, NoScaleUpInfo] = msgspec.field(default_factory=dict)

    def events(self) -> dict[str, str]:
        """Pod -> the event that the autoscaler emits on it."""
        by_pod = {}
        if self.result not in (SUCCESSFUL, FAILED):
            by_pod = {
                key: f"NotTriggerScaleUp: pod didn't trigger scale-up: {self.why_not(key)}"
                for key in self.remain_unschedulable
            }
        if self.plan:
            text = " ".join(map(str, self.plan))
            for pod in self.triggered:
                by_pod[pod.key] = f"TriggeredScaleUp: pod triggered scale-up: [{text}]"
        return by_pod

    def why_not(self, pod: str) -> str:
        """Why there is no scale-up for a pod, as the NotTriggerScaleUp event has it."""
        info = self.remain_unschedulable[pod]
        if self.result == LIMITED:
            return NODES_TOTAL_REACHED
        counts = Counter(reason for status in info.rejected.values() for reason in status.reasons)
        counts.update(reason for reasons in info.skipped.values() for reason in reasons)
        return ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))


class Orchestrator:
    """One scale-up of a cluster, which is simulated."""

    def __init__(
        self,
        world: AutoscalingContext,
        simulated: SimulatedCluster,
        templates: Mapping[str, NodeTemplate],
        health: GroupHealth,
    ) -> None:
        self._world, self._simulated, self._templates, self._health = world, simulated, templates, health
        self._flags = world.flags
        self._nodes = [simulated.cluster.columns.nodes[row] for row in simulated.listed_rows]
        self._limits = ClusterLimits.most(self._nodes, world.groups, world.flags)
        self._pod_groups: list[PodGroup] = []
        self._skipped: dict[str, list[str]] = {}
        self._fitting: dict[str, list[PodGroup]] = {}
        self._prepared: dict[str, SimulatedCluster] = {}
        self._similar_groups: SimilarGroups | None = None
        self._similar_by_pods: dict[tuple[frozenset[str], tuple[int, ...]], list[NodeGroup]] = {}

    def scale_up(self, pods: Sequence[PodInfo]) -> ScaleUp:
        """The plan for pods for which the cluster has no room."""
        self._pod_groups = pod_groups(pods)
        considered = [group for group in self._world.groups if self._considers(group)]
        for group in track(considered, "Trying", "groups"):
            self._fitting[group.name] = self._try_group(group, self._pod_groups)
        options = [option for group in considered if (option := self._option(group)) is not None]
        outcome = ScaleUp(NO_OPTIONS, pods, skipped=self._skipped, options=options)
        chosen = best_option(options, ExpanderContext(self._world, self._templates)) if options else None
        if chosen is None:
            if options:
                self._refuse_everywhere(FILTERED_OUT)
            outcome.remain_unschedulable = self._remaining()
            return outcome
        outcome.chosen, outcome.triggered = chosen, chosen.pods
        count = chosen.nodes
        if self._flags.max_nodes_total:
            count = min(count, self._flags.max_nodes_total - len(self._nodes))
        if count < 1:
            outcome.result, outcome.error = FAILED, "max node total count already reached"
            self._refuse_everywhere(FAILED_TO_EXECUTE)
        else:
            count, _ = self._limits.apply_limits(chosen.group, self._templates[chosen.group.name].node, count)
            outcome.result, outcome.plan = SUCCESSFUL, self._share_out(chosen, count)
        outcome.remain_unschedulable = self._remaining()
        if outcome.result == SUCCESSFUL:
            # Looking at skipped groups, too, turns pods that only those fit into waiting ones, as it does upstream.
            outcome.await_evaluation = [
                pod
                for pod_group in self._pod_groups
                if pod_group.fitting and chosen.group.name in pod_group.refused
                for pod in pod_group.pods
            ]
        return outcome

    def scale_up_to_min_size(self, grown: Sequence[ScaleUpInfo]) -> list[ScaleUpInfo]:
        """The plan for groups that are below their minimum size, after others have ``grown``."""
        sizes = {info.group.name: info.new_size for info in grown}
        plan = []
        limits = ClusterLimits.most(self._nodes, self._world.groups, self._flags)
        for group in self._world.groups:
            size = sizes.get(group.name, group.target)
            template = self._templates.get(group.name)
            if size >= group.min_size or template is None or not self._health.may_grow(group):
                continue
            if limits.apply_limits(group, template.node, 1)[1]:
                continue
            count, _ = limits.apply_limits(group, template.node, group.min_size - size)
            if self._flags.max_nodes_total:
                # ScaleUpToNodeGroupMinSize passes the group's size to GetCappedNewNodeCount as that of the cluster.
                count = min(count, self._flags.max_nodes_total - size)
            if count >= 1:
                plan.append(ScaleUpInfo(group, size, size + count))
        return plan

    # --- which groups

    def _considers(self, group: NodeGroup) -> bool:
        reasons = self._reasons_to_skip(group)
        if reasons:
            self._skipped[group.name] = reasons
        return not reasons

    def _reasons_to_skip(self, group: NodeGroup) -> list[str]:
        if not self._health.is_healthy(group):
            return [NOT_READY]
        if self._health.is_backed_off(group):
            return [BACKOFF]
        if group.target >= group.max_size:
            return [FULL]
        count, most = 1, self._flags.max_nodes_total
        if group.settings.zero_or_max_node_scaling:
            # It grows to its maximum in one step, or not at all.
            count = group.max_size - group.target
            if most and len(self._nodes) + count > most:
                return [ATOMIC]
        template = self._templates.get(group.name)
        if template is None:
            return [NOT_READY]
        _, exceeded = self._limits.apply_limits(group, template.node, count)
        return [f'exceeded quota: "cluster-wide", resources: {", ".join(exceeded)}'] if exceeded else []

    def _try_group(self, group: NodeGroup, pod_groups: Sequence[PodGroup]) -> list[PodGroup]:
        """Those of the pod groups of which a new node of the group would take a pod.

        Writes the answer into each (``fitting``, ``refused``), and keeps the simulated cluster for the estimate.
        """
        template = self._templates[group.name]
        # Which groups are similar is not known yet; the estimator makes room for more nodes where there are some.
        limit = node_limit(self._flags, group, (), len(self._nodes))
        count = likely_nodes(template, pod_groups, limit)
        simulated = self._simulated.with_room_for(template, [fresh_name(template, n) for n in range(count)])
        name = fresh_name(template, 0)
        row = simulated.cluster.columns.row(name)
        assert row is not None
        simulated.join(row, template.fresh(name)[1])
        fitting = []
        for pod_group in pod_groups:
            refusal = simulated.refusal(pod_group.example, row)
            if refusal is None:
                pod_group.fitting.append(group.name)
                fitting.append(pod_group)
            else:
                pod_group.refused[group.name] = refusal
        simulated.depart(row)
        self._prepared[group.name] = simulated
        return fitting

    # --- options

    def _option(self, group: NodeGroup) -> Option | None:
        fitting = self._fitting[group.name]
        if not fitting:
            return None
        similar = self._similar(group)
        limit = node_limit(self._flags, group, similar, len(self._nodes))
        estimator = Estimator(self._prepared.pop(group.name), self._templates[group.name], limit)
        nodes, pods = estimator.estimate(fitting, fast_path=self._flags.fastpath_binpacking_enabled)
        if not nodes or not pods:
            return None
        if group.settings.zero_or_max_node_scaling:
            # However many nodes it has already, as in ComputeExpansionOption.
            nodes = group.max_size
        return Option(group, nodes, tuple(pods), tuple(similar))

    def _similar(self, group: NodeGroup) -> list[NodeGroup]:
        """Groups to balance with: similar, healthy, and taking the same pods."""
        if not self._flags.balance_similar_node_groups or group.settings.zero_or_max_node_scaling:
            return []
        if self._similar_groups is None:
            self._similar_groups = SimilarGroups(self._templates, self._flags)
        similar_names = self._similar_groups.names_like(group.name)
        pod_group_ids = tuple(map(id, self._fitting[group.name]))
        key = (similar_names, pod_group_ids)
        if key not in self._similar_by_pods:
            fitting = {name: self._fitting[name] for name in similar_names if name in self._fitting}
            names = names_taking(self._fitting[group.name], fitting)
            self._similar_by_pods[key] = [
                other for other in self._world.groups if other.name in names and self._health.may_grow(other)
            ]
        groups = list(self._similar_by_pods[key])
        if group in groups:
            groups.remove(group)
        return groups

    def _share_out(self, chosen: Option, count: int) -> list[ScaleUpInfo]:
        """New nodes by group. What the limits take from a group is not given to another."""
        others = (
            other
            for other in chosen.similar
            if not self._limits.apply_limits(other, self._templates[other.name].node, 1)[1]
        )
        plan = balance_scale_up([chosen.group, *others], count)
        for resize in plan:
            node = self._templates[resize.group.name].node
            allowed, _ = self._limits.apply_limits(resize.group, node, resize.new_size - resize.current_size)
            resize.new_size = resize.current_size + allowed
            self._limits.consume(resize.group, node, allowed)
        return [resize for resize in plan if resize.new_size != resize.current_size]

    # --- pods that no group helps

    def _refuse_everywhere(self, reason: str) -> None:
        for pod_group in self._pod_groups:
            pod_group.refused |= {name: Status(Code.UNSCHEDULABLE, (reason,)) for name in pod_group.fitting}
            pod_group.fitting = []

    def _remaining(self) -> dict[str, NoScaleUpInfo]:
        helpless = [pod_group for pod_group in self._pod_groups if not pod_group.fitting]
        tries_skipped = self._flags.scaleup_simulation_for_skipped_node_groups_enabled
        if tries_skipped:
            for name in self._skipped:
                if name in self._templates:
                    self._try_group(self._world.groups[name], helpless)
        return {
            pod.key: NoScaleUpInfo(
                pod_group.refused,
                {
                    name: reasons
                    for name, reasons in self._skipped.items()
                    if not tries_skipped or name not in pod_group.refused
                },
            )
            for pod_group in helpless
            for pod in pod_group.pods
        }
