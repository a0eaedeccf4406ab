"""HighNodeUtilization: nodes that are used little are emptied onto the others.

Upstream: pkg/framework/plugins/nodeutilization/highnodeutilization.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from kwhatif.api.core import Pod
from kwhatif.descheduling.framework.descheduler_policy import Namespaces, PluginArgs
from kwhatif.descheduling.framework.node_usage import RequestedUsage
from kwhatif.descheduling.framework.node_utilization import (
    BASIC,
    Balancing,
    NodeInfo,
    UtilizationPlugin,
    all_above_zero,
    capacity_of,
    in_upstream_units,
    is_below,
    namespace_problems,
    percentages,
    read_thresholds,
    stop_reason,
    threshold_problems,
    total_usage,
)
from kwhatif.descheduling.framework.plugin import NodeUse, Thresholds, Utilization
from kwhatif.golang.formatting import go_number

_ONLY_THRESHOLDING = "OnlyThresholdingResources"


class HighNodeUtilizationArgs(PluginArgs):
    thresholds: Any = None
    number_of_nodes: int = 0
    eviction_modes: tuple[str, ...] = ()
    evictable_namespaces: Namespaces | None = None


class HighNodeUtilization(UtilizationPlugin[HighNodeUtilizationArgs]):
    name = "HighNodeUtilization"
    args_type = HighNodeUtilizationArgs
    source: ClassVar[str] = "underutilized"

    @classmethod
    def problems_in_order(cls, args: HighNodeUtilizationArgs) -> Iterator[str]:
        return _problems(args)

    def run(self) -> None:
        args, nodes = self.args, self.handle.nodes
        thresholds = read_thresholds(args.thresholds)
        resources = [*thresholds, *(name for name in BASIC if name not in thresholds)]
        client = RequestedUsage(resources, self.handle.pods)
        utilization = Utilization(self.handle.profile, self.name)
        self.handle.utilization.append(utilization)
        full = dict.fromkeys(thresholds, 100.0)
        infos = list(self.node_infos(client.node_usage(nodes), full, resources))
        percent = {info.node.name: percentages(info.usage, capacity_of(info.node)) for info in infos}
        under: list[NodeInfo] = []
        schedulable: list[NodeInfo] = []
        uses: dict[str, NodeUse] = {}
        for info in infos:
            node, own = info.node, percent[info.node.name]
            if is_below(own, thresholds):
                uses[node.name] = NodeUse("underutilized", in_upstream_units(info.usage), own)
                under.append(info)
            elif not node.spec.unschedulable:
                uses[node.name] = NodeUse("schedulable", in_upstream_units(info.usage), own)
                schedulable.append(info)
        utilization.nodes = uses
        missing = "" if schedulable else "noneSchedulable"
        utilization.stopped = stop_reason(len(under), len(nodes), args.number_of_nodes, missing)
        if utilization.stopped:
            return
        balancing = self._balancing(client, schedulable, thresholds, percent)
        left = balancing.room()
        utilization.to_move = in_upstream_units(left)
        balancing.evict_from(sorted(under, key=lambda info: total_usage(info.usage)), left)

    def _balancing(
        self,
        client: RequestedUsage,
        schedulable: Sequence[NodeInfo],
        thresholds: Thresholds,
        percent: Mapping[str, Thresholds],
    ) -> Balancing:
        args = self.args
        only = _ONLY_THRESHOLDING in args.eviction_modes

        def may_be_chosen(pod: Pod) -> bool:
            return self.handle.evictor.is_evictable(pod) and (not only or _requests_any(pod, thresholds))

        def why(info: NodeInfo, _: Pod) -> str:
            own = percent[info.node.name]
            used = [
                f"{name} at {own.get(name, 0.0):.1f}%, not above {go_number(thresholds[name])}%"
                for name in sorted(thresholds)
            ]
            return f"{info.node.name} is underutilized: {', '.join(used)}"

        return Balancing(
            handle=self.handle,
            plugin=self.name,
            client=client,
            destinations=schedulable,
            excluded=frozenset(args.evictable_namespaces.exclude if args.evictable_namespaces else ()),
            goes_on=lambda _, room: all_above_zero(room),
            may_be_chosen=may_be_chosen,
            why=why,
        )


def _requests_any(pod: Pod, resources: Thresholds) -> bool:
    """Whether some container asks for one of these resources, be it for nothing."""
    return any(
        name in resources
        for container in (*(pod.spec.containers or ()), *(pod.spec.init_containers or ()))
        for name in (container.resources.requests if container.resources else None) or ()
    )


def _problems(args: HighNodeUtilizationArgs) -> Iterator[str]:
    """What is wrong with the arguments."""
    yield from namespace_problems(args.evictable_namespaces)
    try:
        yield from threshold_problems(read_thresholds(args.thresholds))
    except ValueError as error:
        yield str(error)
    for mode in args.eviction_modes:
        if mode != _ONLY_THRESHOLDING:
            yield f"invalid eviction mode {mode}"
