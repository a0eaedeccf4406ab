"""The admission steps in the order in which the API server runs them.

All of them may first change the object; then it is completed and validated; then they may refuse it, quota last.
Upstream: pkg/kubeapiserver/options/plugins.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from kwhatif.admission import (
    default_tolerations,
    extended_resources,
    limit_ranger,
    namespaces,
    pod_node_selector,
    priority,
    runtime_class,
    storage_class,
    toleration_restriction,
    topology_labels,
)
from kwhatif.admission.answer import Refused
from kwhatif.admission.request import Request
from kwhatif.errors import UsageError

__all__ = ["DEFAULT_PLUGINS", "NOT_MODELLED", "PLUGINS", "QUOTA", "Plugin", "chosen"]

Step = Callable[[Request], Refused | None]


@dataclass(frozen=True, slots=True)
class Plugin:
    """One admission plugin: ``admit`` may change the object or refuse it, ``validate`` only refuse it."""

    name: str
    admit: Step | None = None
    validate: Step | None = None
    by_default: bool = True


PLUGINS: tuple[Plugin, ...] = (
    Plugin("NamespaceLifecycle", namespaces.admit),
    Plugin("LimitRanger", limit_ranger.admit, limit_ranger.validate),
    Plugin("PodNodeSelector", pod_node_selector.admit, by_default=False),
    Plugin("Priority", priority.admit, priority.validate),
    Plugin("DefaultTolerationSeconds", default_tolerations.admit),
    Plugin("PodTolerationRestriction", toleration_restriction.admit, toleration_restriction.validate, by_default=False),
    Plugin("ExtendedResourceToleration", extended_resources.admit, by_default=False),
    Plugin("DefaultStorageClass", storage_class.admit),
    Plugin("RuntimeClass", runtime_class.admit, runtime_class.validate),
    Plugin("PodTopologyLabels", topology_labels.admit),
)

QUOTA = "ResourceQuota"

DEFAULT_PLUGINS: tuple[str, ...] = (*(plugin.name for plugin in PLUGINS if plugin.by_default), QUOTA)

NOT_MODELLED: tuple[str, ...] = (
    "PodSecurity is not modelled: a pod that its namespace's pod security level forbids is let in.",
    "Admission webhooks and admission policies are not modelled: what they would change or refuse is not known.",
    "ServiceAccount is not modelled: service accounts are not looked up and their token volumes not added.",
)


def chosen(names: Iterable[str]) -> Sequence[Plugin]:
    """The plugins of these names in their fixed order. Raises UsageError for a name that is not there."""
    wanted = set(names)
    known = {plugin.name for plugin in PLUGINS} | {QUOTA}
    if wanted - known:
        unknown, there = ", ".join(sorted(wanted - known)), ", ".join(sorted(known))
        raise UsageError(f"unknown admission plugin {unknown}; there are {there}")
    return [plugin for plugin in PLUGINS if plugin.name in wanted]
