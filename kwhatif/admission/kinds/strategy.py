"""A kind's own part in a request (defaults, validation, warnings, allocation), and the table of the modules that have
it.

Upstream: the strategies of pkg/registry, the defaults of pkg/apis/*/v1/defaults.go, the rules of pkg/apis/*/validation,
the warnings of pkg/api/*/warnings.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from importlib import import_module

import msgspec

from kwhatif.admission.object_store import group_of, name_of
from kwhatif.admission.request import Request
from kwhatif.admission.response import Object, RequestRefusal
from kwhatif.admission.validation.metadata import check_metadata, check_usual_metadata
from kwhatif.admission.validation.problems import Problems

_STATIC = ".static.k8s.io"


def _nothing(*obj: object) -> None:
    """The default of a kind without a function of its own."""


def _nothing_taken(request: Request) -> RequestRefusal | None:
    return None


def _no_warnings(obj: Object, old: Object | None) -> Iterable[str]:
    return ()


def static_suffix(obj: Object, old: Object | None) -> Iterable[str]:
    """For policies and webhooks: refuse the name suffix that is reserved for those which a server reads from files."""
    if name_of(obj).endswith(_STATIC):
        why = "are reserved for static manifest-based configurations and cannot be managed via the API"
        yield f'metadata.name: names ending with "{_STATIC}" {why}'


class Strategy(msgspec.Struct, frozen=True):
    """One kind's part in a request.

    defaults  completes the object: (request, its spec, which is made if it is missing)
    check     notes what is wrong with an object, its metadata included
    warnings  what the server says of an object that it takes: (new, old or None)
    allocate  a refusal if the object asks for what others have, before anything else is wrong with it
    """

    defaults: Callable[[Request, Object], None] = _nothing
    check: Callable[[Problems, Object], None] = check_metadata
    warnings: Callable[[Object, Object | None], Iterable[str]] = _no_warnings
    allocate: Callable[[Request], RequestRefusal | None] = _nothing_taken
    has_spec: bool = True


_USUAL = Strategy(has_spec=False)
_FREELY_NAMED = Strategy(check=check_usual_metadata, has_spec=False)
_FLOWS = "flowcontrol.apiserver.k8s.io"
_RBAC = "rbac.authorization.k8s.io"
_FREE_GROUPS = (_RBAC, "apiregistration.k8s.io", "certificates.k8s.io")

_MODULES: dict[str, tuple[tuple[str, str], ...]] = {
    "workloads": (
        *(("", "Pod"), ("", "ReplicationController"), ("", "Namespace")),
        *(("apps", "Deployment"), ("apps", "ReplicaSet"), ("apps", "StatefulSet"), ("apps", "DaemonSet")),
        *(("batch", "Job"), ("batch", "CronJob"), ("", "PodTemplate"), ("apps", "ControllerRevision")),
    ),
    "config_data": (("", "ConfigMap"), ("", "Secret"), ("", "ServiceAccount")),
    "other_kinds.webhook_configurations": (
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
    ),
    "services": (("", "Service"),),
    "other_kinds.definitions": (("apiextensions.k8s.io", "CustomResourceDefinition"),),
    "other_kinds.policy_kinds": tuple(
        ("admissionregistration.k8s.io", f"{verb}AdmissionPolicy{binding}")
        for verb in ("Validating", "Mutating")
        for binding in ("", "Binding")
    ),
    "other_kinds.networking": tuple(
        ("networking.k8s.io", kind) for kind in ("Ingress", "IngressClass", "NetworkPolicy", "IPAddress", "ServiceCIDR")
    ),
    "horizontal_pod_autoscalers": (("autoscaling", "HorizontalPodAutoscaler"),),
    "pod_disruption_budgets": (("policy", "PodDisruptionBudget"),),
    "cluster_classes": (
        *(("storage.k8s.io", "StorageClass"), ("scheduling.k8s.io", "PriorityClass")),
        ("node.k8s.io", "RuntimeClass"),
    ),
    "scheduling_groups": (("scheduling.k8s.io", "PodGroup"), ("scheduling.k8s.io", "Workload")),
    "nodes": (("", "Node"),),
    "other_kinds.certificates": (("certificates.k8s.io", "CertificateSigningRequest"),),
    "other_kinds.api_services": (("apiregistration.k8s.io", "APIService"),),
    "other_kinds.events": (("", "Event"), ("events.k8s.io", "Event")),
    "other_kinds.flow_control": tuple((_FLOWS, kind) for kind in ("FlowSchema", "PriorityLevelConfiguration")),
    "resource_slices": (("resource.k8s.io", "ResourceSlice"),),
    "other_kinds.endpoints": (
        ("", "Endpoints"),
        ("discovery.k8s.io", "EndpointSlice"),
        ("coordination.k8s.io", "Lease"),
    ),
    "storage": (
        *(("", "PersistentVolume"), ("", "PersistentVolumeClaim")),
        *(("storage.k8s.io", "CSIDriver"), ("storage.k8s.io", "CSINode"), ("storage.k8s.io", "CSIStorageCapacity")),
        *(("storage.k8s.io", "VolumeAttachment"), ("storage.k8s.io", "VolumeAttributesClass")),
    ),
    "namespace_limits": (("", "LimitRange"), ("", "ResourceQuota")),
    "other_kinds.roles": tuple((_RBAC, kind) for kind in ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")),
    "resource_claims": tuple(
        ("resource.k8s.io", kind) for kind in ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")
    ),
}
"""Module of this package -> the kinds (group, kind) that its ``STRATEGIES`` are for."""

_HOMES = {kind: module if "." in module else f"kinds.{module}" for module, kinds in _MODULES.items() for kind in kinds}


def strategy_of(obj: Object) -> Strategy:
    """The strategy of an object's kind; of a kind that has none of its own, only metadata are judged."""
    return _load_strategy(group_of(obj), str(obj.get("kind") or ""))


@lru_cache(maxsize=256)
def _load_strategy(group: str, kind: str) -> Strategy:
    home = _HOMES.get((group, kind))
    if home is None:
        return _FREELY_NAMED if group in _FREE_GROUPS else _USUAL
    strategies: dict[str, Strategy] = import_module(f"kwhatif.admission.{home}").STRATEGIES
    return strategies[kind]
