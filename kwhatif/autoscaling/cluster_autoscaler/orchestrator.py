"""A scale-up: the options of each group for the unschedulable pods, the expander's choice, balancing, and the plan.

Upstream: cluster-autoscaler/core/scaleup/orchestrator/orchestrator.go; for balancing processors/nodegroupset
(balancing_processor.go, compare_nodegroups.go, label_nodegroups.go); for events
processors/status/eventing_scale_up_processor.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

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


@dataclass(slots=True)
class Resize:
    """A group with its current and its new size."""

    group: NodeGroup
    size: int
    to: int

    def __str__(self) -> str:
        return f"{{{self.group.name} {self.size}->{self.to} (max: {self.group.most})}}"


def balance_scale_up(groups: Sequence[NodeGroup], count: int) -> list[Resize]:
    """Distribute new nodes: the smallest group grows first, each up to its maximum."""
    sizes = [Resize(group, group.target, group.target) for group in groups if group.target != group.most]
    count = min(count, sum(max(each.group.most - each.size, 0) for each in sizes))
    sizes.sort(key=lambda each: each.size)
    first = current = 0
    while count > 0:
        resize = sizes[current]
        if resize.to < resize.group.most:
            resize.to += 1
            count -= 1
        else:
            sizes[first], sizes[current] = sizes[current], sizes[first]
            first += 1
        # As upstream, what stands in the place now is compared, not the group that just grew.
        if current < len(sizes) - 1 and sizes[current].to > sizes[current + 1].to:
            current += 1
        else:
            current = first
    return [each for each in sizes if each.to != each.size]


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


@dataclass(slots=True)
class NoScaleUpInfo:
    """Why no scale-up helps a pod: group -> the filter that rejects it on a new node, and groups that were skipped."""

    rejected: Mapping[str, Status]
    skipped: Mapping[str, Sequence[str]]


@dataclass(slots=True)
class ScaleUp:
    """The outcome of a scale-up.

    ``pods`` are those that need a node, in their given order. ``remaining`` pods fit no considered group, ``awaiting``
    ones do not fit the chosen group but another.
    """

    result: str
    pods: Sequence[PodInfo] = ()
    error: str = ""
    skipped: dict[str, list[str]] = field(default_factory=dict)
    options: list[Option] = field(default_factory=list)
    chosen: Option | None = None
    plan: list[Resize] = field(default_factory=list)
    triggered: Sequence[PodInfo] = ()
    awaiting: list[PodInfo] = field(default_factory=list)
    remaining: dict[str, NoScaleUpInfo] = field(default_factory=dict)

    def events(self) -> dict[str, str]:
        """Pod -> the event that the autoscaler emits on it."""
        found = {}
        if self.result not in (SUCCESSFUL, FAILED):
            found = {
                key: f"NotTriggerScaleUp: pod didn't trigger scale-up: {self.why_not(key)}" for key in self.remaining
            }
        if self.plan:
            text = " ".join(map(str, self.plan))
            for pod in self.triggered:
                found[pod.key] = f"TriggeredScaleUp: pod triggered scale-up: [{text}]"
        return found

    def why_not(self, pod: str) -> str:
        """Why there is no scale-up for a pod, as the NotTriggerScaleUp event has it."""
        remaining = self.remaining[pod]
        if self.result == LIMITED:
            return NODES_TOTAL_REACHED
        counts = Counter(reason for status in remaining.rejected.values() for reason in status.reasons)
        counts.update(reason for reasons in remaining.skipped.values() for reason in reasons)
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
        self._groups: list[PodGroup] = []
        self._skipped: dict[str, list[str]] = {}
        self._fitting: dict[str, list[PodGroup]] = {}
        self._with_room: dict[str, SimulatedCluster] = {}
        self._alike: SimilarGroups | None = None
        self._similar_by_pods: dict[tuple[frozenset[str], tuple[int, ...]], list[NodeGroup]] = {}

    def scale_up(self, pods: Sequence[PodInfo]) -> ScaleUp:
        """The plan for pods for which the cluster has no room."""
        self._groups = pod_groups(pods)
        considered = [group for group in self._world.groups if self._considers(group)]
        for group in track(considered, "Trying", "groups"):
            self._fitting[group.name] = self._fits(group)
        options = [option for group in considered if (option := self._option(group)) is not None]
        outcome = ScaleUp(NO_OPTIONS, pods, skipped=self._skipped, options=options)
        chosen = best_option(options, ExpanderContext(self._world, self._templates)) if options else None
        if chosen is None:
            if options:
                self._refuse_everywhere(FILTERED_OUT)
            outcome.remaining = self._remaining()
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
        outcome.remaining = self._remaining()
        if outcome.result == SUCCESSFUL:
            # Looking at skipped groups, too, turns pods that only those fit into waiting ones, as it does upstream.
            outcome.awaiting = [
                pod
                for group in self._groups
                if group.fitting and chosen.group.name in group.refused
                for pod in group.pods
            ]
        return outcome

    def to_least_sizes(self, grown: Sequence[Resize]) -> list[Resize]:
        """The plan for groups that are below their minimum size, after others have ``grown``."""
        sizes = {each.group.name: each.to for each in grown}
        plan = []
        limits = ClusterLimits.most(self._nodes, self._world.groups, self._flags)
        for group in self._world.groups:
            size = sizes.get(group.name, group.target)
            template = self._templates.get(group.name)
            if size >= group.least or template is None or not self._health.may_grow(group):
                continue
            if limits.apply_limits(group, template.node, 1)[1]:
                continue
            count, _ = limits.apply_limits(group, template.node, group.least - size)
            if self._flags.max_nodes_total:
                # Upstream takes the group's size for the cluster's.
                count = min(count, self._flags.max_nodes_total - size)
            if count >= 1:
                plan.append(Resize(group, size, size + count))
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
        if group.target >= group.most:
            return [FULL]
        count, most = 1, self._flags.max_nodes_total
        if group.settings.zero_or_max_node_scaling:
            count = group.most - group.target
            if most and len(self._nodes) + count > most:
                return [ATOMIC]
        template = self._templates.get(group.name)
        if template is None:
            return [NOT_READY]
        _, exceeded = self._limits.apply_limits(group, template.node, count)
        return [f'exceeded quota: "cluster-wide", resources: {", ".join(exceeded)}'] if exceeded else []

    def _fits(self, group: NodeGroup) -> list[PodGroup]:
        """The pods that a new node of the group would take, one by one."""
        template = self._templates[group.name]
        limit = node_limit(self._flags, group, (), len(self._nodes))
        count = likely_nodes(template, self._groups, limit)
        simulated = self._simulated.with_room_for(template, [fresh_name(template, n) for n in range(count)])
        name = fresh_name(template, 0)
        row = simulated.cluster.columns.row(name)
        assert row is not None
        simulated.join(row, template.fresh(name)[1])
        found = []
        for pods in self._groups:
            refusal = simulated.refusal(pods.example, row)
            if refusal is None:
                pods.fitting.append(group.name)
                found.append(pods)
            else:
                pods.refused[group.name] = refusal
        simulated.depart(row)
        self._with_room[group.name] = simulated
        return found

    # --- options

    def _option(self, group: NodeGroup) -> Option | None:
        fitting = self._fitting[group.name]
        if not fitting:
            return None
        similar = self._similar(group)
        limit = node_limit(self._flags, group, similar, len(self._nodes))
        estimator = Estimator(self._with_room.pop(group.name), self._templates[group.name], limit)
        nodes, pods = estimator.estimate(fitting, fast_path=self._flags.fastpath_binpacking_enabled)
        if not nodes or not pods:
            return None
        if group.settings.zero_or_max_node_scaling:
            nodes = group.most
        return Option(group, nodes, tuple(pods), tuple(similar))

    def _similar(self, group: NodeGroup) -> list[NodeGroup]:
        """Groups to balance with: similar, healthy, and taking the same pods."""
        if not self._flags.balance_similar_node_groups or group.settings.zero_or_max_node_scaling:
            return []
        if self._alike is None:
            self._alike = SimilarGroups(self._templates, self._flags)
        like = self._alike.names_like(group.name)
        taking = tuple(map(id, self._fitting[group.name]))
        key = (like, taking)
        if key not in self._similar_by_pods:
            fitting = {name: self._fitting[name] for name in like if name in self._fitting}
            names = names_taking(self._fitting[group.name], fitting)
            self._similar_by_pods[key] = [
                other for other in self._world.groups if other.name in names and self._health.may_grow(other)
            ]
        found = list(self._similar_by_pods[key])
        if group in found:
            found.remove(group)
        return found

    def _share_out(self, chosen: Option, count: int) -> list[Resize]:
        """New nodes by group. What the limits take from a group is not given to another."""
        others = (
            other
            for other in chosen.similar
            if not self._limits.apply_limits(other, self._templates[other.name].node, 1)[1]
        )
        plan = balance_scale_up([chosen.group, *others], count)
        for resize in plan:
            node = self._templates[resize.group.name].node
            allowed, _ = self._limits.apply_limits(resize.group, node, resize.to - resize.size)
            resize.to = resize.size + allowed
            self._limits.consume(resize.group, node, allowed)
        return [resize for resize in plan if resize.to != resize.size]

    # --- pods that no group helps

    def _refuse_everywhere(self, reason: str) -> None:
        for pods in self._groups:
            pods.refused |= {name: Status(Code.UNSCHEDULABLE, (reason,)) for name in pods.fitting}
            pods.fitting = []

    def _remaining(self) -> dict[str, NoScaleUpInfo]:
        helpless = [pods for pods in self._groups if not pods.fitting]
        everything = self._flags.scaleup_simulation_for_skipped_node_groups_enabled
        if everything:
            everybody, self._groups = self._groups, helpless
            for name in self._skipped:
                if name in self._templates:
                    self._fits(self._world.groups[name])
            self._groups = everybody
        return {
            pod.key: NoScaleUpInfo(
                pods.refused,
                {
                    name: reasons
                    for name, reasons in self._skipped.items()
                    if not everything or name not in pods.refused
                },
            )
            for pods in helpless
            for pod in pods.pods
        }
