"""The admission plugins in the order in which the API server runs them.

All mutating plugins run first; then the object is defaulted and validated; then the validating plugins run, quota last.
Upstream: pkg/kubeapiserver/options/plugins.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from types import ModuleType

import msgspec

from kwhatif.admission.plugins import (
    default_storage_class,
    default_toleration_seconds,
    extended_resource_toleration,
    limit_ranger,
    namespace_lifecycle,
    pod_group_protection,
    pod_group_workload_exists,
    pod_node_selector,
    pod_security,
    pod_toleration_restriction,
    pod_topology_labels,
    priority,
    runtime_class,
    service_account,
)
from kwhatif.admission.request import Request
from kwhatif.admission.response import RequestRefusal
from kwhatif.errors import UsageError

Step = Callable[[Request], RequestRefusal | None]


class Plugin(msgspec.Struct, frozen=True):
    """One admission plugin: ``admit`` may change the object or refuse it, ``validate`` only refuse it."""

    name: str
    admit: Step | None = None
    validate: Step | None = None
    by_default: bool = True

    @classmethod
    def from_module(cls, name: str, module: ModuleType, *, by_default: bool = True) -> Plugin:
        """The plugin that a module makes up with the functions of these names."""
        return cls(name, getattr(module, "admit", None), getattr(module, "validate", None), by_default)


def _on_demand(kind: str, module: str, function: str) -> Step:
    """A step for objects of one kind, which is imported, and with it CEL, once there is one."""

    def step(request: Request) -> RequestRefusal | None:
        if not request.store.has(kind):
            return None
        run: Step = getattr(import_module(f"kwhatif.admission.plugins.{module}"), function)
        return run(request)

    return step


PLUGINS: tuple[Plugin, ...] = (
    Plugin.from_module("NamespaceLifecycle", namespace_lifecycle),
    Plugin.from_module("LimitRanger", limit_ranger),
    Plugin.from_module("ServiceAccount", service_account),
    Plugin.from_module("PodNodeSelector", pod_node_selector, by_default=False),
    Plugin.from_module("Priority", priority),
    Plugin.from_module("DefaultTolerationSeconds", default_toleration_seconds),
    Plugin.from_module("PodTolerationRestriction", pod_toleration_restriction, by_default=False),
    Plugin.from_module("ExtendedResourceToleration", extended_resource_toleration, by_default=False),
    Plugin.from_module("DefaultStorageClass", default_storage_class),
    Plugin.from_module("PodGroupProtection", pod_group_protection),
    Plugin.from_module("RuntimeClass", runtime_class),
    Plugin.from_module("PodTopologyLabels", pod_topology_labels),
    Plugin.from_module("PodGroupWorkloadExists", pod_group_workload_exists),
    Plugin.from_module("PodSecurity", pod_security),
    Plugin(
        "MutatingAdmissionPolicy",
        admit=_on_demand("MutatingAdmissionPolicy", "mutating_admission_policy", "admit"),
    ),
    Plugin("MutatingAdmissionWebhook", admit=_on_demand("MutatingWebhookConfiguration", "webhooks", "admit")),
    Plugin(
        "ValidatingAdmissionPolicy",
        validate=_on_demand("ValidatingAdmissionPolicy", "validating_admission_policy", "validate"),
    ),
    Plugin("ValidatingAdmissionWebhook", validate=_on_demand("ValidatingWebhookConfiguration", "webhooks", "validate")),
)

QUOTA = "ResourceQuota"

DEFAULT_PLUGINS: tuple[str, ...] = (*(plugin.name for plugin in PLUGINS if plugin.by_default), QUOTA)

NOT_MODELLED: tuple[str, ...] = (
    "Admission webhooks that would be called are named where they are known, but not what they would change or refuse.",
    "Admission policies count where the snapshot or the manifests hold them, except those that use `authorizer`.",
    "Pod Security is judged where the cluster's namespaces are known, service accounts where those are.",
)


def select_plugins(names: Iterable[str]) -> Sequence[Plugin]:
    """The plugins of these names in their fixed order. Raises UsageError for a name that is not there."""
    wanted = set(names)
    known = {plugin.name for plugin in PLUGINS} | {QUOTA}
    if wanted - known:
        unknown, there = ", ".join(sorted(wanted - known)), ", ".join(sorted(known))
        raise UsageError(f"unknown admission plugin {unknown}; there are {there}")
    return [plugin for plugin in PLUGINS if plugin.name in wanted]
