"""Rules for updates by kind: immutable fields, and what is carried over.

Upstream: the functions Validate...Update of pkg/apis/*/validation/validation.go, and the steps of pkg/registry/* before
them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Any

import msgspec
from msgspec.structs import replace

from kwhatif.admission.object_store import ObjectStore, group_of
from kwhatif.admission.response import Object
from kwhatif.admission.updates.normal_form import same
from kwhatif.admission.validation.problems import Problems
from kwhatif.api.field_types import newest_types

IMMUTABLE = "field is immutable"


class ImmutableField(msgspec.Struct, frozen=True):
    """A field that keeps its value, at ``path``; missing counts as ``default``. It is reported at ``reported_at`` if
    upstream names another field, and possibly with another message or as forbidden.
    """

    path: str
    default: Any = None
    why: str = IMMUTABLE
    reported_at: str = ""
    forbidden: bool = False


def _nothing(*obj: object) -> None:
    """The default of a kind without a function of its own."""


class UpdateRules(msgspec.Struct, frozen=True):
    """One kind's part in an update.

    fixed    fields that keep their values
    prepare  what the server carries over or takes away, before defaults are filled in: (new, old)
    early    notes what ends the request before all else is judged: (problems, new, world)
    check    notes what else must not change: (problems, new, old)
    first    whether changes are judged before the object itself
    spared   beginnings of fields that are judged only when an object is created
    """

    fixed: tuple[ImmutableField, ...] = ()
    prepare: Callable[[Object, Object], None] = _nothing
    early: Callable[[Problems, Object, ObjectStore], None] = _nothing
    check: Callable[[Problems, Object, Object], None] = _nothing
    first: bool = False
    spared: tuple[str, ...] = ("metadata.name",)

    def judge(self, problems: Problems, new: Object, old: Object) -> None:
        """Note all forbidden changes. Problems of the object itself in ``spared`` fields are taken back."""
        own = [cause for cause in problems.causes if not cause.field.startswith(self.spared)]
        problems.causes = [] if self.first else own
        for field in self.fixed:
            immutable(problems, field, new, old)
        self.check(problems, new, old)
        if self.first:
            problems.causes += own


def immutable(problems: Problems, field: ImmutableField, new: Object, old: Object) -> None:
    """Note it if a field's value differs."""
    now, was = (_value_at(obj, field.path) for obj in (new, old))
    now, was = (field.default if value is None else value for value in (now, was))
    if same(now, was):
        return
    where = field.reported_at or field.path
    if field.forbidden:
        problems.forbidden(where, field.why)
    else:
        problems.invalid(where, now, field.why)


def _value_at(obj: Object, path: str) -> Any:
    value: Any = obj
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


_SELECTOR = UpdateRules(fixed=(ImmutableField("spec.selector"),))
_SPEC = UpdateRules(fixed=(ImmutableField("spec"),))

_RULES: dict[tuple[str, str], UpdateRules] = {
    ("apps", "Deployment"): _SELECTOR,
    ("apps", "ReplicaSet"): _SELECTOR,
    ("apps", "DaemonSet"): UpdateRules(fixed=(ImmutableField("spec.selector"),), first=True),
    ("apps", "ControllerRevision"): UpdateRules(fixed=(ImmutableField("data"),)),
    ("discovery.k8s.io", "EndpointSlice"): UpdateRules(fixed=(ImmutableField("addressType"),)),
    ("events.k8s.io", "Event"): UpdateRules(
        fixed=(
            *(ImmutableField("regarding", reported_at="involvedObject"), ImmutableField("reason")),
            *(ImmutableField("note", reported_at="message"), ImmutableField("deprecatedSource", reported_at="source")),
            ImmutableField("deprecatedFirstTimestamp", reported_at="firstTimestamp"),
            ImmutableField("deprecatedLastTimestamp", reported_at="lastTimestamp"),
            *(ImmutableField("deprecatedCount", reported_at="count"), ImmutableField("type")),
            *(ImmutableField("eventTime"), ImmutableField("action"), ImmutableField("related")),
            *(ImmutableField("reportingController"), ImmutableField("reportingInstance")),
        ),
        spared=("metadata.name", "eventTime", "type", "firstTimestamp", "lastTimestamp", "count", "source"),
    ),
    ("networking.k8s.io", "IngressClass"): UpdateRules(
        fixed=(ImmutableField("spec.controller", reported_at="controller"),), first=True
    ),
    ("networking.k8s.io", "IPAddress"): UpdateRules(fixed=(ImmutableField("spec.parentRef"),)),
    ("node.k8s.io", "RuntimeClass"): UpdateRules(fixed=(ImmutableField("handler"),)),
    ("resource.k8s.io", "ResourceClaim"): _SPEC,
    ("resource.k8s.io", "ResourceClaimTemplate"): _SPEC,
    ("resource.k8s.io", "ResourceSlice"): UpdateRules(
        fixed=(ImmutableField("spec.pool.name"), ImmutableField("spec.driver"), ImmutableField("spec.nodeName"))
    ),
    ("scheduling.k8s.io", "PriorityClass"): UpdateRules(
        fixed=(
            ImmutableField("value", 0, "may not be changed in an update.", forbidden=True),
            ImmutableField("preemptionPolicy", "PreemptLowerPriority"),
        )
    ),
    ("storage.k8s.io", "StorageClass"): UpdateRules(
        fixed=(
            *(ImmutableField("parameters"), ImmutableField("provisioner"), ImmutableField("reclaimPolicy", "Delete")),
            ImmutableField("volumeBindingMode", "Immediate"),
        )
    ),
    ("storage.k8s.io", "VolumeAttachment"): _SPEC,
    ("storage.k8s.io", "CSIDriver"): UpdateRules(
        fixed=(
            ImmutableField("spec.attachRequired", True, reported_at="spec.attachedRequired"),
            ImmutableField("spec.volumeLifecycleModes", ["Persistent"]),
        )
    ),
    ("storage.k8s.io", "CSIStorageCapacity"): UpdateRules(
        fixed=(ImmutableField("nodeTopology"), ImmutableField("storageClassName")),
        spared=("metadata.name", "nodeTopology", "storageClassName", "capacity"),
    ),
    ("storage.k8s.io", "VolumeAttributesClass"): UpdateRules(
        fixed=(
            ImmutableField("driverName", why="updates to driverName are forbidden.", forbidden=True),
            ImmutableField("parameters", why="updates to parameters are forbidden.", forbidden=True),
        ),
        first=True,
    ),
}
_MODULES: dict[str, tuple[tuple[str, str], ...]] = {
    "workload_updates": (("", "Pod"), ("apps", "StatefulSet"), ("batch", "Job")),
    "service_updates": (("", "Service"),),
    "scheduling_group_updates": (("scheduling.k8s.io", "PodGroup"), ("scheduling.k8s.io", "Workload")),
    "other_updates": (
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        *(("", "ConfigMap"), ("", "Secret"), ("", "ResourceQuota"), ("", "Node")),
        *(("networking.k8s.io", "ServiceCIDR"), ("certificates.k8s.io", "CertificateSigningRequest")),
        *(("", "PersistentVolume"), ("", "PersistentVolumeClaim"), ("storage.k8s.io", "CSINode")),
        *(("rbac.authorization.k8s.io", "RoleBinding"), ("rbac.authorization.k8s.io", "ClusterRoleBinding")),
    ),
}
"""Module of this package -> the kinds (group, kind) that its ``RULES`` are for."""

_NAMES_KEPT = frozenset(
    {
        *(("apps", kind) for kind in ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")),
        *(("batch", "CronJob"), ("autoscaling", "HorizontalPodAutoscaler"), ("networking.k8s.io", "NetworkPolicy")),
        *(("", "PodTemplate"), ("", "ResourceQuota"), ("", "Service"), ("storage.k8s.io", "CSIDriver")),
        *(("coordination.k8s.io", "Lease"), ("scheduling.k8s.io", "PriorityClass"), ("events.k8s.io", "Event")),
        *(("apiextensions.k8s.io", "CustomResourceDefinition"), ("networking.k8s.io", "ServiceCIDR")),
        ("resource.k8s.io", "ResourceSlice"),
    }
)
"""Kinds of whose updates ``generateName`` is not looked at, as of custom resources'."""
_HOMES = {kind: module for module, kinds in _MODULES.items() for kind in kinds}
_USUAL = UpdateRules()


def rules_of(obj: Object) -> UpdateRules:
    """The rules of an object's kind."""
    return _load_rules(group_of(obj), str(obj.get("kind") or ""))


def _keeps_name(group: str, kind: str) -> bool:
    return (group, kind) in _NAMES_KEPT or group not in newest_types().groups


@lru_cache(maxsize=256)
def _load_rules(group: str, kind: str) -> UpdateRules:
    home = _HOMES.get((group, kind))
    of_module = {} if home is None else import_module(f"kwhatif.admission.updates.{home}").RULES
    rules: UpdateRules = of_module[kind] if home else _RULES.get((group, kind), _USUAL)
    return replace(rules, spared=(*rules.spared, "metadata.generateName")) if _keeps_name(group, kind) else rules
