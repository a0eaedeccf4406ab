"""LowNodeUtilization: pods of nodes that are used too much go, as long as nodes that are used little have room.

Upstream: pkg/framework/plugins/nodeutilization/lownodeutilization.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from kwhatif.api.core import Pod
from kwhatif.descheduling.framework.descheduler_policy import (
    KUBERNETES_METRICS,
    PROMETHEUS_METRICS,
    EvictionLimits,
    Namespaces,
    PluginArgs,
    PolicyStruct,
)
from kwhatif.descheduling.framework.node_usage import (
    METRIC_RESOURCE,
    MeasuredUsage,
    PrometheusUsage,
    RequestedUsage,
    UsageClient,
)
from kwhatif.descheduling.framework.node_utilization import (
    BASIC,
    Balancing,
    NodeInfo,
    UtilizationPlugin,
    all_above_zero,
    capacity_of,
    comparison,
    in_upstream_units,
    is_above,
    is_below,
    namespace_problems,
    percentages,
    read_thresholds,
    stop_reason,
    threshold_problems,
    total_usage,
)
from kwhatif.descheduling.framework.plugin import NodeUse, PluginFailure, Thresholds, Utilization
from kwhatif.golang.formatting import go_quote


class PrometheusQuery(PolicyStruct):
    query: str = ""


class MetricsUtilization(PolicyStruct):
    metrics_server: bool = False
    source: str = ""
    prometheus: PrometheusQuery | None = None


class LowNodeUtilizationArgs(PluginArgs):
    use_deviation_thresholds: bool = False
    thresholds: Any = None
    target_thresholds: Any = None
    number_of_nodes: int = 0
    metrics_utilization: MetricsUtilization | None = None
    evictable_namespaces: Namespaces | None = None
    eviction_limits: EvictionLimits | None = None


class LowNodeUtilization(UtilizationPlugin[LowNodeUtilizationArgs]):
    name = "LowNodeUtilization"
    args_type = LowNodeUtilizationArgs
    source: ClassVar[str] = "overutilized"

    @classmethod
    def problems_in_order(cls, args: LowNodeUtilizationArgs) -> Iterator[str]:
        return _problems(args)

    @classmethod
    def refusal(cls, args: LowNodeUtilizationArgs) -> str:
        metrics = args.metrics_utilization
        if metrics is None or metrics.source != PROMETHEUS_METRICS:
            return ""
        for field, raw in (("thresholds", args.thresholds), ("targetThresholds", args.target_thresholds)):
            names = list(read_thresholds(raw))
            if names != [METRIC_RESOURCE]:
                single = f"a single instance of {go_quote(METRIC_RESOURCE)} resource"
                return f"{field} are expected to specify {single}, got [{' '.join(names)}] instead"
        return ""

    def run(self) -> None:
        args, nodes = self.args, self.handle.nodes
        low, target = read_thresholds(args.thresholds), read_thresholds(args.target_thresholds)
        try:
            client = self._client(low)
        except PluginFailure as error:
            raise PluginFailure(f"error initializing usage client: {error}") from None
        try:
            usage = client.node_usage(nodes)
        except PluginFailure as error:
            raise PluginFailure(f"error getting node usage: {error}") from None
        utilization = Utilization(self.handle.profile, self.name)
        self.handle.utilization.append(utilization)
        percent = {node.name: percentages(usage[node.name], capacity_of(node)) for node in nodes}
        if args.use_deviation_thresholds:
            percent = {name: {key: own[key] for key in low if key in own} for name, own in percent.items()}
            average, low, target = _deviations(percent.values(), low, target)
            utilization.thresholds = {"average": average, "low": low, "high": target}
        under: list[NodeInfo] = []
        over: list[NodeInfo] = []
        uses: dict[str, NodeUse] = {}
        for info in self.node_infos(usage, target, client.resources):
            node, own = info.node, percent[info.node.name]
            category = "appropriate"
            if not node.spec.unschedulable and is_below(own, low):
                category = "underutilized"
                under.append(info)
            elif is_above(own, target):
                category = "overutilized"
                over.append(info)
            uses[node.name] = NodeUse(category, in_upstream_units(usage[node.name]), own)
        utilization.nodes = uses
        missing = "" if over else "noneOverutilized"
        utilization.stopped = stop_reason(len(under), len(nodes), args.number_of_nodes, missing)
        if not utilization.stopped:
            self._evict(client, under, over, utilization, percent, target)

    def _evict(
        self,
        client: UsageClient,
        under: Sequence[NodeInfo],
        over: Sequence[NodeInfo],
        utilization: Utilization,
        percent: Mapping[str, Thresholds],
        target: Thresholds,
    ) -> None:
        def why(info: NodeInfo, _: Pod) -> str:
            return f"{info.node.name} is overutilized: {comparison(percent[info.node.name], target)}"

        args = self.args
        balancing = Balancing(
            handle=self.handle,
            plugin=self.name,
            client=client,
            destinations=under,
            excluded=frozenset(args.evictable_namespaces.exclude if args.evictable_namespaces else ()),
            goes_on=lambda info, room: info.is_above_target and all_above_zero(room),
            may_be_chosen=self.handle.evictor.is_evictable,
            why=why,
            node_limit=args.eviction_limits.node if args.eviction_limits else None,
        )
        room = balancing.room()
        utilization.to_move = in_upstream_units(room)
        balancing.evict_from(sorted(over, key=lambda info: -total_usage(info.usage)), room)

    def _client(self, low: Thresholds) -> UsageClient:
        metrics, pods, policy = self.args.metrics_utilization, self.handle.pods, self.handle.policy
        resources = [*low, *(name for name in BASIC if name not in low)]
        if metrics is None:
            return RequestedUsage(resources, pods)
        if metrics.metrics_server or metrics.source == KUBERNETES_METRICS:
            if not policy.measures:
                raise PluginFailure("metrics client not initialized")
            return MeasuredUsage(resources, pods, self.handle.usage)
        if metrics.source == PROMETHEUS_METRICS:
            if policy.prometheus is None:
                raise PluginFailure("prometheus client not initialized")
            return PrometheusUsage(self.handle.usage.prometheus)
        raise PluginFailure("unrecognized metrics source" if metrics.source else "metrics source is empty")


def _deviations(
    usages: Sequence[Thresholds] | Any, low: Thresholds, high: Thresholds
) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
    """Average of the nodes that have a resource, and both thresholds around it, within 0 and 100."""
    sums: dict[str, float] = {}
    counts: dict[str, int] = {}
    for usage in usages:
        for name, percent in usage.items():
            sums[name] = sums.get(name, 0.0) + percent
            counts[name] = counts.get(name, 0) + 1
    average = {name: total / counts[name] for name, total in sums.items()}
    return (
        average,
        {name: _clamp(value - low.get(name, 0.0)) for name, value in average.items()},
        {name: _clamp(value + high.get(name, 0.0)) for name, value in average.items()},
    )


def _clamp(percent: float) -> float:
    return min(max(percent, 0.0), 100.0)


def _problems(args: LowNodeUtilizationArgs) -> Iterator[str]:
    """What is wrong with the arguments."""
    yield from namespace_problems(args.evictable_namespaces)
    try:
        low, high = read_thresholds(args.thresholds), read_thresholds(args.target_thresholds)
    except ValueError as error:
        yield str(error)
        return
    yield from (f"thresholds config is not valid: {problem}" for problem in threshold_problems(low))
    yield from (f"targetThresholds config is not valid: {problem}" for problem in threshold_problems(high))
    if low.keys() != high.keys():
        yield "thresholds and targetThresholds configured different resources"
    elif not args.use_deviation_thresholds:
        for name in low:
            if low[name] > high[name]:
                yield f"thresholds' {name} percentage is greater than targetThresholds'"
    metrics = args.metrics_utilization
    if metrics is None:
        return
    if metrics.source == KUBERNETES_METRICS and metrics.metrics_server:
        yield f"it is not allowed to set both {go_quote(KUBERNETES_METRICS)} source and metricsServer"
    if metrics.source == KUBERNETES_METRICS and metrics.prometheus is not None:
        source = go_quote(KUBERNETES_METRICS)
        yield f"prometheus configuration is not allowed to set when source is set to {source}"
    if metrics.source == PROMETHEUS_METRICS and (metrics.prometheus is None or not metrics.prometheus.query):
        yield f"prometheus query is required when metrics source is set to {go_quote(PROMETHEUS_METRICS)}"
