"""What must not change about an object that is there, by kind.

Upstream: the functions Validate...Update of pkg/apis/*/validation/validation.go, and the steps of pkg/registry/* before
them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any

from kwhatif.admission.answer import Object
from kwhatif.admission.resources import group_of
from kwhatif.admission.updates.normal import same
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.world import World

IMMUTABLE = "field is immutable"


@dataclass(frozen=True, slots=True)
class Fixed:
    """A field that keeps its value: at ``path``, missing it is the same as ``default``; told at ``told``, if that is
    another place, in other words, or as forbidden.
    """

    path: str
    default: Any = None
    why: str = IMMUTABLE
    told: str = ""
    forbidden: bool = False


def _nothing(*given: object) -> None:
    """What a kind does that needs nothing of its own."""


@dataclass(frozen=True, slots=True)
class Rules:
    """One kind's part in an update.

    fixed    fields that keep their values
    prepare  what the server carries over or takes away, before defaults are filled in: (new, old)
    early    notes what ends the request before all else is judged: (problems, new, world)
    check    notes what else must not change: (problems, new, old)
    first    whether changes are judged before the object itself
    spared   beginnings of fields that are judged only when an object is created
    """

    fixed: tuple[Fixed, ...] = ()
    prepare: Callable[[Object, Object], None] = _nothing
    early: Callable[[Problems, Object, World], None] = _nothing
    check: Callable[[Problems, Object, Object], None] = _nothing
    first: bool = False
    spared: tuple[str, ...] = ("metadata.name",)

    def judge(self, problems: Problems, new: Object, old: Object) -> None:
        """Note all that must not change. What is spared of an object's own problems is taken back."""
        own = [cause for cause in problems.causes if not cause.field.startswith(self.spared)]
        problems.causes = [] if self.first else own
        for field in self.fixed:
            immutable(problems, field, new, old)
        self.check(problems, new, old)
        if self.first:
            problems.causes += own


def immutable(problems: Problems, field: Fixed, new: Object, old: Object) -> None:
    """Note it if a field's value differs."""
    now, was = (_at(obj, field.path) for obj in (new, old))
    now, was = (field.default if value is None else value for value in (now, was))
    if same(now, was):
        return
    where = field.told or field.path
    if field.forbidden:
        problems.forbidden(where, field.why)
    else:
        problems.invalid(where, now, field.why)


def _at(obj: Object, path: str) -> Any:
    value: Any = obj
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


_SELECTOR = Rules(fixed=(Fixed("spec.selector"),))
_SPEC = Rules(fixed=(Fixed("spec"),))

_RULES: dict[tuple[str, str], Rules] = {
    ("apps", "Deployment"): _SELECTOR,
    ("apps", "ReplicaSet"): _SELECTOR,
    ("apps", "DaemonSet"): Rules(fixed=(Fixed("spec.selector"),), first=True),
    ("apps", "ControllerRevision"): Rules(fixed=(Fixed("data"),)),
    ("discovery.k8s.io", "EndpointSlice"): Rules(fixed=(Fixed("addressType"),)),
    ("networking.k8s.io", "IngressClass"): Rules(fixed=(Fixed("spec.controller", told="controller"),), first=True),
    ("networking.k8s.io", "IPAddress"): Rules(fixed=(Fixed("spec.parentRef"),)),
    ("node.k8s.io", "RuntimeClass"): Rules(fixed=(Fixed("handler"),)),
    ("resource.k8s.io", "ResourceClaim"): _SPEC,
    ("resource.k8s.io", "ResourceClaimTemplate"): _SPEC,
    ("resource.k8s.io", "ResourceSlice"): Rules(
        fixed=(Fixed("spec.pool.name"), Fixed("spec.driver"), Fixed("spec.nodeName"))
    ),
    ("scheduling.k8s.io", "PriorityClass"): Rules(
        fixed=(
            Fixed("value", 0, "may not be changed in an update.", forbidden=True),
            Fixed("preemptionPolicy", "PreemptLowerPriority"),
        )
    ),
    ("storage.k8s.io", "StorageClass"): Rules(
        fixed=(
            *(Fixed("parameters"), Fixed("provisioner"), Fixed("reclaimPolicy", "Delete")),
            Fixed("volumeBindingMode", "Immediate"),
        )
    ),
    ("storage.k8s.io", "VolumeAttachment"): _SPEC,
    ("storage.k8s.io", "CSIDriver"): Rules(
        fixed=(
            Fixed("spec.attachRequired", True, told="spec.attachedRequired"),
            Fixed("spec.volumeLifecycleModes", ["Persistent"]),
        )
    ),
    ("storage.k8s.io", "CSIStorageCapacity"): Rules(
        fixed=(Fixed("nodeTopology"), Fixed("storageClassName")),
        spared=("metadata.name", "nodeTopology", "storageClassName", "capacity"),
    ),
    ("storage.k8s.io", "VolumeAttributesClass"): Rules(
        fixed=(
            Fixed("driverName", why="updates to driverName are forbidden.", forbidden=True),
            Fixed("parameters", why="updates to parameters are forbidden.", forbidden=True),
        ),
        first=True,
    ),
}
_MODULES: dict[str, tuple[tuple[str, str], ...]] = {
    "pod_updates": (("", "Pod"),),
    "workload_updates": (("apps", "StatefulSet"), ("batch", "Job")),
    "service_updates": (("", "Service"),),
    "definition_updates": (("apiextensions.k8s.io", "CustomResourceDefinition"),),
    "other_updates": (
        *(("", "ConfigMap"), ("", "Secret"), ("", "ResourceQuota"), ("", "Node")),
        *(("networking.k8s.io", "ServiceCIDR"), ("certificates.k8s.io", "CertificateSigningRequest")),
        *(("", "PersistentVolume"), ("", "PersistentVolumeClaim"), ("storage.k8s.io", "CSINode")),
        *(("rbac.authorization.k8s.io", "RoleBinding"), ("rbac.authorization.k8s.io", "ClusterRoleBinding")),
    ),
}
"""Module of this package -> the kinds (group, kind) that its ``RULES`` are for."""

_HOMES = {kind: module for module, kinds in _MODULES.items() for kind in kinds}
_USUAL = Rules()


def rules_of(obj: Object) -> Rules:
    """The rules of an object's kind."""
    return _found(group_of(obj), str(obj.get("kind") or ""))


@lru_cache(maxsize=256)
def _found(group: str, kind: str) -> Rules:
    home = _HOMES.get((group, kind))
    if home is None:
        return _RULES.get((group, kind), _USUAL)
    rules: dict[str, Rules] = import_module(f"kwhatif.admission.updates.{home}").RULES
    return rules[kind]
