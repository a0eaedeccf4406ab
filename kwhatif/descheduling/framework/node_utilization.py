"""What LowNodeUtilization and HighNodeUtilization share: percentages, free capacity, and evicting node by node.

Upstream: pkg/framework/plugins/nodeutilization/nodeutilization.go, normalizer/normalizer.go. Amounts are billionths.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar, TypeVar

import msgspec

from kwhatif.api.core import Node, Pod
from kwhatif.descheduling.framework.assigned_pods import NANO, milli_value, unit_value
from kwhatif.descheduling.framework.descheduler_policy import Namespaces, PluginArgs
from kwhatif.descheduling.framework.node_fit import tolerates_some_node
from kwhatif.descheduling.framework.node_usage import METRIC_RESOURCE, UsageClient
from kwhatif.descheduling.framework.plugin import Handle, Plugin, Thresholds, Utilization
from kwhatif.descheduling.framework.pod_evictor import EvictionOutcome
from kwhatif.descheduling.framework.pod_order import sort_by_priority
from kwhatif.golang.formatting import go_number
from kwhatif.golang.strict_json import word_for

BASIC = ("cpu", "memory", "pods")

A = TypeVar("A", bound=PluginArgs)


# --- arguments


def read_thresholds(raw: Any) -> dict[str, float]:
    """Thresholds as the policy has them. Raises ValueError for what is no number."""
    thresholds: dict[str, float] = {}
    if raw is not None and not isinstance(raw, Mapping):
        raise ValueError(f"json: cannot unmarshal {word_for(raw)} into Go value of type api.ResourceThresholds")
    for name, value in (raw or {}).items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"json: cannot unmarshal the threshold of {name} into Go value of type float64")
        try:
            thresholds[str(name)] = float(value)
        except OverflowError:
            raise ValueError(f"json: cannot unmarshal the threshold of {name} into Go value of type float64") from None
    return thresholds


def threshold_problems(thresholds: Thresholds) -> Iterator[str]:
    """The first thing that is wrong with thresholds (upstream: validation.go)."""
    if not thresholds:
        yield "no resource threshold is configured"
    for name, percent in thresholds.items():
        if not 0 <= percent <= 100:
            yield f"{name} threshold not in [0, 100] range"
            return


def namespace_problems(namespaces: Namespaces | None) -> Iterator[str]:
    if namespaces is not None and namespaces.include:
        yield "only Exclude namespaces can be set, inclusion is not supported"


# --- usage


def capacity_of(node: Node) -> dict[str, int]:
    """The allocatable resources; the capacity where there are none."""
    capacity = {
        name: quantity.nano() for name, quantity in (node.status.allocatable or node.status.capacity or {}).items()
    }
    capacity[METRIC_RESOURCE] = 100 * NANO
    return capacity


def units_of(name: str, amount: int) -> int:
    """As upstream shows an amount: cpu in millicores, all else in units, rounded up."""
    return milli_value(amount) if name == "cpu" else unit_value(amount)


def percentages(usage: Mapping[str, int], capacity: Mapping[str, int]) -> dict[str, float]:
    """Usage in percent of the capacity; a resource that the node lacks has none."""
    percent: dict[str, float] = {}
    for name, amount in usage.items():
        if name not in capacity:
            continue
        has = units_of(name, capacity[name])
        percent[name] = units_of(name, amount) / has * 100 if has > 0 else 0.0
    return percent


def is_below(usage: Thresholds, thresholds: Thresholds) -> bool:
    """Whether no resource is above its threshold; what the node lacks counts as 0."""
    return all(usage.get(name, 0.0) <= percent for name, percent in thresholds.items())


def is_above(usage: Thresholds, thresholds: Thresholds) -> bool:
    """Whether some resource is above its threshold."""
    return any(usage.get(name, 0.0) > percent for name, percent in thresholds.items())


def room_up_to(node: Node, thresholds: Thresholds, resources: Collection[str]) -> dict[str, int]:
    """What may be used of the node: up to the thresholds, rounded down, and all of what has none."""
    capacity = capacity_of(node)
    room: dict[str, int] = {}
    for name in resources:
        has = capacity.get(name, 0)
        if name in thresholds and name in capacity:
            units = int(float(thresholds[name]) * 0.01 * float(units_of(name, has)))
            has = units * 10**6 if name == "cpu" else units * NANO
        room[name] = has
    return room


def total_usage(usage: Mapping[str, int]) -> int:
    """Millicores plus bytes plus counts, by which upstream orders nodes."""
    return sum(units_of(name, amount) for name, amount in usage.items())


def in_upstream_units(usage: Mapping[str, int]) -> dict[str, int]:
    return {name: units_of(name, amount) for name, amount in usage.items()}


# --- evictions


class NodeInfo(msgspec.Struct):
    """A node with its running pods, as they were when the plugin began. ``usage`` shrinks with each eviction."""

    node: Node
    usage: dict[str, int]
    available: dict[str, int]
    pods: Sequence[Pod]

    @property
    def is_above_target(self) -> bool:
        return any(self.available.get(name, 0) < amount for name, amount in self.usage.items())


class Balancing(msgspec.Struct, frozen=True):
    """How one plugin evicts: from which nodes to which, for how long, and which pods not. ``node_limit`` is the
    plugin's own.
    """

    handle: Handle
    plugin: str
    client: UsageClient
    destinations: Sequence[NodeInfo]
    excluded: Collection[str]
    goes_on: Callable[[NodeInfo, Mapping[str, int]], bool]
    may_be_chosen: Callable[[Pod], bool]
    why: Callable[[NodeInfo, Pod], str]
    node_limit: int | None = None

    def room(self) -> dict[str, int]:
        """What the destinations can take, added up."""
        return {
            name: sum(info.available[name] - info.usage[name] for info in self.destinations)
            for name in self.client.resources
        }

    def evict_from(self, sources: Sequence[NodeInfo], room: dict[str, int]) -> None:
        """Node by node, lowest priority first (upstream: evictPodsFromSourceNodes)."""
        nodes = [info.node for info in self.destinations]
        for info in sources:
            chosen = [pod for pod in info.pods if self.may_be_chosen(pod)]
            if chosen and self._evict_pods(info, sort_by_priority(chosen), nodes, room) is EvictionOutcome.TOTAL:
                return

    def _evict_pods(
        self, info: NodeInfo, pods: Sequence[Pod], destinations: Sequence[Node], room: dict[str, int]
    ) -> EvictionOutcome | None:
        if not self.goes_on(info, room):
            return None
        count = 0
        evictor = self.handle.evictor
        for pod in pods:
            if self.node_limit is not None and count >= self.node_limit:
                return None
            if not tolerates_some_node(pod, destinations) or pod.namespace in self.excluded:
                continue
            if not evictor.passes_pre_eviction_filter(pod):
                continue
            usage = self.client.pod_usage(pod)
            unknown = usage is None and tuple(self.client.resources) == (METRIC_RESOURCE,)
            if usage is None and not unknown:
                continue
            outcome = self.handle.evict(pod, self.plugin, self.why(info, pod))
            if outcome in (EvictionOutcome.TOTAL, EvictionOutcome.NODE):
                return outcome
            if outcome is not EvictionOutcome.EVICTED:
                continue
            if usage is None and self.node_limit is None:
                # What one pod less changes is not known.
                return None
            count += 1
            if usage is None:
                continue
            for name in room:
                amount = NANO if name == "pods" else usage[name]
                info.usage[name] -= amount
                room[name] -= amount
            if not self.goes_on(info, room):
                return None
        return None


def stop_reason(under: int, nodes: int, at_most: int, missing: str) -> str:
    """Why the plugin evicts nothing, in the order of upstream's tests; None if it may.

    ``missing`` is the reason where there are no nodes of the other class, which is tested last.
    """
    if not under:
        return "noneUnderutilized"
    if under <= at_most:
        return "numberOfNodes"
    return "allUnderutilized" if under == nodes else missing


class UtilizationPlugin(Plugin[A]):
    """A plugin that balances nodes by how much they are used; it evicts from nodes of the class ``source``."""

    point: ClassVar[str] = "balance"
    source: ClassVar[str]

    @classmethod
    def problems(cls, args: A) -> Iterator[str]:
        """Upstream stops at the first."""
        yield from islice(cls.problems_in_order(args), 1)

    @classmethod
    def problems_in_order(cls, args: A) -> Iterator[str]:
        raise NotImplementedError

    def why_not(self, pod: Pod) -> str:
        return reason_to_stay(self.handle.utilization, self.name, pod, self.source)

    def node_infos(
        self, usage: Mapping[str, dict[str, int]], target: Thresholds, resources: Sequence[str]
    ) -> Iterator[NodeInfo]:
        """The nodes of the cycle with what is used there, and the room up to the target."""
        for node in self.handle.nodes:
            room = room_up_to(node, target, resources)
            yield NodeInfo(node, usage[node.name], room, self.handle.pods.running(node.name))


def reason_to_stay(runs: Sequence[Utilization], plugin: str, pod: Pod, source: str) -> str:
    """Why a plugin that evicts from ``source`` nodes leaves a pod alone, by what its last run found."""
    last_run = next((run for run in reversed(runs) if run.plugin == plugin), None)
    if last_run is None:
        return "the plugin has not run"
    use = last_run.nodes.get(pod.spec.node_name or "")
    if use is None or use.category != source:
        category = "of no class" if use is None else use.category
        amounts = ", ".join(f"{name} {percent:.1f}%" for name, percent in sorted(use.percent.items())) if use else ""
        return f"{pod.spec.node_name} is {category}, not {source}{f': {amounts}' if amounts else ''}"
    if last_run.stopped:
        return f"{pod.spec.node_name} is {source}, but the plugin stopped: {last_run.stopped}"
    return f"{pod.spec.node_name} is {source}, but others went first, there was no room left, or it could go nowhere"


def all_above_zero(room: Mapping[str, int]) -> bool:
    return all(amount > 0 for amount in room.values())


def comparison(usage: Thresholds, thresholds: Thresholds) -> str:
    """``cpu 81% of 50%, memory 40% of 30%``: the resources above their thresholds."""
    above = [name for name in sorted(thresholds) if usage.get(name, 0.0) > thresholds[name]]
    return ", ".join(f"{name} at {usage[name]:.1f}%, above {go_number(round(thresholds[name], 2))}%" for name in above)
