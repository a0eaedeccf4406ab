"""KubeSchedulerConfiguration as its YAML spells it (upstream: kube-scheduler/config/v1/types.go).

Lists are tuples, so that a value can be a key. A field whose absence upstream fills with a constant has that
constant as its default here; what depends on other fields is filled in by ``defaults.py``. ``apiVersion`` and
``kind`` are read before decoding and belong to the document, not to the value.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import msgspec

from kwhatif.golang.config_struct import Bool, ConfigStruct, Float32, Int32, Int64, OptionalInt32, Text
from kwhatif.golang.parsing import Duration

# In upstream's order. multiPoint stands for every point that a plugin has; the last two are for pod groups.
EXTENSION_POINTS = (
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
    "multiPoint",
    "placementGenerate",
    "placementScore",
)
MULTI_POINT = "multiPoint"


def _debugging(**extra: object) -> msgspec.Meta:
    return msgspec.Meta(extra={"embedded": "DebuggingConfiguration", "always": True, **extra})


class LeaderElectionConfiguration(ConfigStruct):
    go_package: ClassVar[str] = "v1alpha1"

    leader_elect: Bool = True
    lease_duration: Duration = Duration(0)
    renew_deadline: Duration = Duration(0)
    retry_period: Duration = Duration(0)
    resource_lock: Text = ""
    resource_name: Text = ""
    resource_namespace: Text = ""


class ClientConnectionConfiguration(ConfigStruct):
    go_package: ClassVar[str] = "v1alpha1"

    kubeconfig: Text = ""
    accept_content_types: Text = ""
    content_type: Text = ""
    qps: Float32 = 0.0
    burst: Int32 = 0


class Plugin(ConfigStruct):
    name: Text = ""
    weight: OptionalInt32 | None = None


class PluginSet(ConfigStruct):
    enabled: tuple[Plugin, ...] = ()
    disabled: tuple[Plugin, ...] = ()


class Plugins(ConfigStruct):
    pre_enqueue: PluginSet = PluginSet()
    queue_sort: PluginSet = PluginSet()
    pre_filter: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    post_filter: PluginSet = PluginSet()
    pre_score: PluginSet = PluginSet()
    score: PluginSet = PluginSet()
    reserve: PluginSet = PluginSet()
    permit: PluginSet = PluginSet()
    pre_bind: PluginSet = PluginSet()
    bind: PluginSet = PluginSet()
    post_bind: PluginSet = PluginSet()
    multi_point: PluginSet = PluginSet()
    placement_generate: PluginSet = PluginSet()
    placement_score: PluginSet = PluginSet()

    def plugin_set_at(self, point: str) -> PluginSet:
        """The set of an extension point, by its name in ``EXTENSION_POINTS``."""
        attribute = self.__struct_fields__[self.__struct_encode_fields__.index(point)]
        plugin_set: PluginSet = getattr(self, attribute)
        return plugin_set


class PluginConfig(ConfigStruct):
    """``args`` is as decoded from YAML until its plugin is known, then one of the plugins' Structs."""

    name: Text = ""
    args: Any = None


class KubeSchedulerProfile(ConfigStruct):
    scheduler_name: str | None = None
    percentage_of_nodes_to_score: OptionalInt32 | None = None
    plugins: Plugins | None = None
    plugin_config: tuple[PluginConfig, ...] = ()


class ExtenderManagedResource(ConfigStruct):
    name: Text = ""
    ignored_by_scheduler: bool = False


class ExtenderTLSConfig(ConfigStruct):
    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: bytes = b""
    key_data: bytes = b""
    ca_data: bytes = b""


class Extender(ConfigStruct):
    url_prefix: Text = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: int = 0
    bind_verb: str = ""
    enable_https: bool = msgspec.field(default=False, name="enableHTTPS")
    tls_config: ExtenderTLSConfig | None = None
    http_timeout: Duration = Duration(0)
    node_cache_capable: bool = False
    managed_resources: tuple[ExtenderManagedResource, ...] = ()
    ignorable: bool = False


class KubeSchedulerConfiguration(ConfigStruct):
    parallelism: Int32 = 16
    leader_election: LeaderElectionConfiguration = LeaderElectionConfiguration()
    client_connection: ClientConnectionConfiguration = ClientConnectionConfiguration()
    enable_profiling: Annotated[bool, _debugging()] = True
    # Follows enable_profiling unless set.
    enable_contention_profiling: Annotated[bool | None, _debugging()] = None
    percentage_of_nodes_to_score: Int32 = 0
    pod_initial_backoff_seconds: Int64 = 1
    pod_max_backoff_seconds: Int64 = 10
    profiles: tuple[KubeSchedulerProfile, ...] = ()
    extenders: tuple[Extender, ...] = ()
    delay_cache_until_active: bool = False
