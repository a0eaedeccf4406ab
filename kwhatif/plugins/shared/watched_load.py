"""What Trimaran's plugins share: load-watcher's metrics of nodes, arguments, and containers' requests.

Upstream: pkg/trimaran (collector.go, resourcestats.go) of scheduler-plugins.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Annotated, Any

import msgspec
from msgspec.structs import replace

from kwhatif.api.core import Node, PodSpec, ResourceList
from kwhatif.api.watcher_metrics import Metric, WatcherMetrics
from kwhatif.cluster.cluster import Cluster
from kwhatif.framework.declaration import Args
from kwhatif.framework.interface import Dependency
from kwhatif.golang.config_struct import ConfigStruct
from kwhatif.plugins.shared.pod_qos import limits_of, requests_of
from kwhatif.results.amounts import format_amount

CPU, MEMORY = "CPU", "Memory"
AVERAGE, LATEST, DEVIATION = "AVG", "Latest", "STD"
NO_FIGURES = "no figures of its load"
_MEGA = 1.0 / 1024.0 / 1024.0
_PROVIDERS = ("KubernetesMetricsServer", "Prometheus", "SignalFx")
Address = Annotated[str, msgspec.Meta(extra={"names": "free"})]

READS_LOAD = MappingProxyType({"WatcherMetrics": Dependency("nodes are scored by how busy they are")})


class MetricProviderSpec(ConfigStruct):
    type: Annotated[str, msgspec.Meta(extra={"words": _PROVIDERS, "go": "v1.MetricProviderType"})] = ""
    address: Address | None = None
    token: Annotated[str | None, msgspec.Meta(extra={"words": ()})] = None
    insecure_skip_verify: bool | None = None


class TrimaranArgs(Args):
    """Where the figures come from; of the address of a load-watcher, no provider is looked at."""

    metric_provider: MetricProviderSpec = msgspec.field(default_factory=MetricProviderSpec)
    watcher_address: Address | None = None


def completed_source(args: Any) -> Any:
    """The arguments with the provider that is taken where none is named."""
    provider = args.metric_provider
    if args.watcher_address is None and not provider.type:
        provider = replace(provider, type=_PROVIDERS[0])
    if provider.type == "Prometheus" and provider.insecure_skip_verify is None:
        provider = replace(provider, insecure_skip_verify=True)
    return replace(args, metric_provider=provider)


def source_problems(args: Any) -> Iterator[str]:
    provider = args.metric_provider.type
    if not args.watcher_address and provider not in _PROVIDERS:
        yield f"invalid MetricProvider.Type, got {provider}"


def watcher_metrics_of(cluster: Cluster) -> WatcherMetrics | None:
    """load-watcher's metrics; None where there are none."""
    return next(iter(cluster.objects.list_all(WatcherMetrics)), None)


def metrics_of(served: WatcherMetrics | None, node: str) -> list[Metric] | None:
    """A node's metrics; None where there are none."""
    load = (served.data.nodes or {}).get(node) if served is not None else None
    return (load.metrics or None) if load is not None else None


class Amount(msgspec.Struct, frozen=True):
    """Millicores of cpu and bytes of memory."""

    cpu: int = 0
    memory: int = 0

    def plus(self, other: Amount) -> Amount:
        return Amount(self.cpu + other.cpu, self.memory + other.memory)

    def at_least(self, other: Amount) -> Amount:
        return Amount(max(self.cpu, other.cpu), max(self.memory, other.memory))

    def at_most(self, other: Amount) -> Amount:
        return Amount(min(self.cpu, other.cpu), min(self.memory, other.memory))


def amount_of(resources: ResourceList) -> Amount:
    cpu, memory = resources.get("cpu"), resources.get("memory")
    return Amount(cpu.milli_value() if cpu is not None else 0, memory.value() if memory is not None else 0)


def asked_by(spec: PodSpec, *, limits: bool = False) -> Amount:
    """What a pod asks for, or is limited to: the most of init containers and the sum of others, and the overhead."""
    of = limits_of if limits else requests_of
    total = Amount()
    for container in spec.containers or ():
        total = total.plus(amount_of(of(container)))
    for container in spec.init_containers or ():
        total = total.at_least(amount_of(of(container)))
    return total.plus(amount_of(spec.overhead or {}))


class ResourceStats(msgspec.Struct, frozen=True):
    """Use of one resource of a node: mean and deviation, and what a pod asks for, in the unit of its capacity."""

    used: float
    deviation: float
    asked: float
    capacity: float

    def mu_sigma(self) -> tuple[float, float]:
        """Mean with the pod and deviation, as shares from 0 to 1."""
        if self.capacity <= 0:
            return 0.0, 0.0
        mu = max(min((self.used + self.asked) / self.capacity, 1.0), 0.0)
        return mu, max(min(self.deviation / self.capacity, 1.0), 0.0)


def stats_of(metrics: list[Metric], node: Node, requests: Amount, resource: str) -> ResourceStats | None:
    """The use of CPU or Memory; None where there are no figures of it."""
    mean = deviation = 0.0
    known = averaged = False
    for metric in metrics:
        if metric.type != resource:
            continue
        known = True
        if metric.operator == AVERAGE:
            mean, averaged = metric.value, True
        elif metric.operator == DEVIATION:
            deviation = metric.value
        elif metric.operator in ("", LATEST) and not averaged:
            mean = metric.value
    if not known:
        return None
    has = amount_of(node.status.allocatable or {})
    capacity, wanted = float(has.cpu), float(requests.cpu)
    if resource != CPU:
        capacity, wanted = float(has.memory) * _MEGA, float(requests.memory) * _MEGA
    return ResourceStats(mean * capacity / 100, deviation * capacity / 100, wanted, capacity)


def go_round_one(value: float) -> int:
    """math.Round: halves away from zero."""
    whole = int(value)
    return whole + (1 if value > 0 else -1) if abs(value - whole) >= 0.5 else whole


def format_share(percent: float) -> str:
    """``72.5%``."""
    return f"{percent:.1f}".removesuffix(".0") + "%"


def format_stats(resource: str, stats: ResourceStats) -> str:
    """``cpu 35% in use (deviation 12%), 2 of 16 by this pod``."""
    name, unit = ("cpu", 1.0) if resource == CPU else ("memory", 1 / _MEGA)
    used, deviation = (
        100 * share / stats.capacity if stats.capacity else 0.0 for share in (stats.used, stats.deviation)
    )
    requested, has = (round(share * unit) for share in (stats.asked, stats.capacity))
    return (
        f"{name} {format_share(used)} in use (deviation {format_share(deviation)}), "
        f"{format_amount(name, requested)} of {format_amount(name, has)} by this pod"
    )
