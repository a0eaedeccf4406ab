"""DeschedulerPolicy as its YAML spells it, and the arguments that several plugins share.

Upstream: pkg/api/v1alpha2/types.go.
"""

from __future__ import annotations

from typing import Any, ClassVar, dataclass_transform

import msgspec

from kwhatif.api.meta import LabelSelector
from kwhatif.golang.config_struct import OptionalInt32

API_VERSION = "descheduler/v1alpha2"
KIND = "DeschedulerPolicy"
KUBERNETES_METRICS, PROMETHEUS_METRICS = "KubernetesMetrics", "Prometheus"


# Tells type checkers what msgspec does: what is derived from a frozen struct is frozen too.
@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(msgspec.field,))
class PolicyStruct(msgspec.Struct, rename="camel", kw_only=True, frozen=True):
    """A part of a policy. Null is the same as absent."""

    go_package: ClassVar[str] = "v1alpha2"


class MetricsCollector(PolicyStruct):
    enabled: bool = False


class SecretReference(PolicyStruct):
    namespace: str = ""
    name: str = ""


class AuthToken(PolicyStruct):
    secret_reference: SecretReference | None = None


class PrometheusServer(PolicyStruct):
    url: str = ""
    auth_token: AuthToken | None = None


class MetricsProvider(PolicyStruct):
    source: str = ""
    prometheus: PrometheusServer | None = None


class PluginConfig(PolicyStruct):
    name: str = ""
    args: Any = None


class PluginSet(PolicyStruct):
    enabled: tuple[str, ...] = ()
    disabled: tuple[str, ...] = ()


class Plugins(PolicyStruct, rename="lower"):
    """What is enabled at each extension point. Upstream reads the first two and does nothing with them."""

    presort: PluginSet = PluginSet()
    sort: PluginSet = PluginSet()
    deschedule: PluginSet = PluginSet()
    balance: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    preevictionfilter: PluginSet = PluginSet()


class DeschedulerProfile(PolicyStruct):
    name: str = ""
    plugin_config: tuple[PluginConfig, ...] = ()
    plugins: Plugins = Plugins()


class DeschedulerPolicy(PolicyStruct):
    """A policy. The limits are None where there are none."""

    api_version: str = ""
    kind: str = ""
    profiles: tuple[DeschedulerProfile, ...] = ()
    node_selector: str | None = None
    max_no_of_pods_to_evict_per_node: int | None = None
    max_no_of_pods_to_evict_per_namespace: int | None = None
    max_no_of_pods_to_evict_total: int | None = None
    eviction_failure_event_notification: bool | None = None
    metrics_collector: MetricsCollector | None = None
    metrics_providers: tuple[MetricsProvider, ...] = ()
    grace_period_seconds: int | None = None

    @property
    def measures(self) -> bool:
        """Whether it has a client for ``metrics.k8s.io``."""
        collects = self.metrics_collector is not None and self.metrics_collector.enabled
        return collects or any(provider.source == KUBERNETES_METRICS for provider in self.metrics_providers)

    @property
    def prometheus(self) -> PrometheusServer | None:
        """The Prometheus that it asks, if it has an address."""
        servers = [
            metrics_provider.prometheus
            for metrics_provider in self.metrics_providers
            if metrics_provider.source == PROMETHEUS_METRICS
        ]
        return servers[-1] if servers and servers[-1] is not None and servers[-1].url else None


# --- what the arguments of several plugins have in common


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(msgspec.field,))
class PluginArgs(msgspec.Struct, rename="camel", kw_only=True, frozen=True):
    """The arguments of a plugin; each of them may say what they are."""

    go_package: ClassVar[str] = "args"

    api_version: str = ""
    kind: str = ""


class Namespaces(PolicyStruct):
    go_package: ClassVar[str] = "api"

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


class EvictionLimits(PolicyStruct):
    go_package: ClassVar[str] = "api"

    node: int | None = None


class PriorityThreshold(PolicyStruct):
    go_package: ClassVar[str] = "api"

    value: OptionalInt32 | None = None
    name: str = ""


class ScopedArgs(PluginArgs):
    """The arguments of a plugin that looks at the pods of some namespaces and with some labels only."""

    namespaces: Namespaces | None = None
    label_selector: LabelSelector | None = None
