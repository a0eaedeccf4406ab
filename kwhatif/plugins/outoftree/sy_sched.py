"""SySched: keep pods away from nodes whose other pods may make system calls that they do not need.

Upstream: pkg/sysched/sysched.go of scheduler-plugins.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import numpy as np
from msgspec.structs import replace

from kwhatif.api.core import Pod, SecurityContext
from kwhatif.api.scheduler_plugins import SeccompProfile
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.cluster_cache import cached_per_cluster
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import Int64Array
from kwhatif.framework.arithmetic import default_normalize
from kwhatif.framework.declaration import Args
from kwhatif.framework.interface import Dependency, Plugin
from kwhatif.versions import Features

_ANNOTATION = "seccomp.security.alpha.kubernetes.io"
_LETTING_THROUGH = ("SCMP_ACT_ALLOW", "SCMP_ACT_LOG")
Calls = frozenset[str]


class SySchedArgs(Args):
    default_profile_namespace: str | None = None
    default_profile_name: str | None = None


class SySched(Plugin[None, None]):
    name = "SySched"
    args = SySchedArgs
    dependencies = MappingProxyType(
        {"SeccompProfile": Dependency("nodes are compared by the system calls that it allows")}
    )

    @classmethod
    def fill_defaults(cls, args: Any, features: Features) -> Any:
        namespace, name = args.default_profile_namespace, args.default_profile_name
        return replace(
            args,
            default_profile_namespace="default" if namespace is None else namespace,
            default_profile_name="all-syscalls" if name is None else name,
        )

    def score(self, pod: PodInfo, nodes: NodeView, state: None) -> Int64Array:
        """The calls of each node that the pod does not need, and those that each pod there would not need with it."""
        profiles = _profiles(nodes.cluster)
        own = self._calls(pod.pod, profiles)
        if not own:
            # Upstream's score is the highest number there is, and becomes 100 everywhere, as 0 does.
            return np.zeros(nodes.size, np.int64)
        cluster, scores = nodes.cluster, []
        for row in range(nodes.size) if nodes.rows is None else nodes.rows.tolist():
            running = {info.pod.name: info for info in reversed(cluster.pods_on[row]) if _is_running(info.pod)}
            calls = [self._calls(info.pod, profiles) for info in running.values()]
            of_node = frozenset[str]().union(*calls)
            then = of_node | own
            scores.append(len(of_node - own) + sum(len(then - call) for call in calls))
        return np.array(scores, np.int64)

    def normalize(self, pod: PodInfo, nodes: NodeView, state: None, scores: Int64Array) -> Int64Array:
        return default_normalize(scores, reverse=True)

    def _calls(self, pod: Pod, profiles: dict[tuple[str, str], Calls]) -> Calls:
        """The system calls that a pod may make."""
        calls: Calls = frozenset()
        for namespace, name in _named_profiles(pod):
            calls |= profiles.get((namespace, name), frozenset())
        for _, path in sorted(item for item in (pod.metadata.annotations or {}).items() if _ANNOTATION in item[0]):
            named = _namespace_and_name(path)
            if all(named) and named not in profiles:
                continue
            calls |= profiles.get(named, frozenset())
            break
        args: SySchedArgs = self.handle.args
        default = args.default_profile_namespace or "", args.default_profile_name or ""
        return calls or profiles.get(default, calls)


@cached_per_cluster
def _profiles(cluster: Cluster) -> dict[tuple[str, str], Calls]:
    """Calls let through by each profile, by namespace and name."""
    return {
        (profile.namespace, profile.name): frozenset(
            call for rule in profile.spec.syscalls or () if rule.action in _LETTING_THROUGH for call in rule.names or ()
        )
        for profile in cluster.objects.list_all(SeccompProfile)
    }


def _is_running(pod: Pod) -> bool:
    return pod.status.phase == "Running"


def _named_profiles(pod: Pod) -> Iterator[tuple[str, str]]:
    contexts = [pod.spec.security_context, *(container.security_context for container in pod.spec.containers or ())]
    for context in contexts:
        path = _local_profile(context)
        if path is not None and all(named := _namespace_and_name(path)):
            yield named


def _local_profile(context: SecurityContext | None) -> str | None:
    profile = context.seccomp_profile if context is not None else None
    return profile.localhost_profile if profile is not None and profile.type == "Localhost" else None


def _namespace_and_name(path: str) -> tuple[str, str]:
    """The last two parts of a path, without the file's suffix; empty where there are not two."""
    parts = path.split("/")
    if len(parts) < 2:
        return "", ""
    stem, dot, _ = parts[-1].rpartition(".")
    return parts[-2], stem if dot else parts[-1]
