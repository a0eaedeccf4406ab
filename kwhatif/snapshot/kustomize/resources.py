"""Objects while kustomizations change them: by which names they went, and what was put around these.

References are found by names that objects had before, so each change of a name or a namespace leaves the identity
that was. Upstream: kustomize (api/resource/resource.go, api/resmap/reswrangler.go, kyaml/resid/resid.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from kwhatif.api.field_types import newest_types
from kwhatif.api.kinds import NAMESPACED, kind_of
from kwhatif.errors import InputError
from kwhatif.snapshot.read.objects import Origin


class NoMatchError(InputError):
    """Nothing goes by the name that a patch or a replacement is for."""


_CLUSTER_WIDE = "_non_namespaceable_"


class Identity(NamedTuple):
    """Group, version and kind of an object with its name, and the namespace that it is in; of none ``default``."""

    group: str
    version: str
    kind: str
    namespace: str
    name: str

    @property
    def is_cluster_wide(self) -> bool:
        return self.namespace == _CLUSTER_WIDE

    def __str__(self) -> str:
        where = "" if self.is_cluster_wide else f"{self.namespace}/"
        return f"{self.kind} {where}{self.name}"


def text_of(value: Any) -> str:
    """What a label, an annotation or a part of a text becomes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


@lru_cache(maxsize=4096)
def is_cluster_wide(api_version: str, kind: str) -> bool:
    """Whether objects of a kind are known to be in no namespace; those of unknown kinds are in one."""
    api_resource = newest_types().api_resource_of(api_version, kind)
    if api_resource is not None:
        return not api_resource.namespaced
    return kind_of(api_version, kind) is not None and kind not in NAMESPACED


class Resource(msgspec.Struct, eq=False):
    """One object, ``value``, and where it came from.

    ``former`` are the identities it had, the first one first; ``prefixes`` and ``suffixes`` were put around its name.
    ``behavior`` is what a generator said, and ``is_hashed`` that its name gets the hash of its content.
    """

    value: dict[str, Any]
    origin: Origin
    former: list[Identity] = []
    prefixes: list[str] = []
    suffixes: list[str] = []
    behavior: str = ""
    is_hashed: bool = False

    @property
    def group(self) -> str:
        return str(self.value.get("apiVersion") or "").rpartition("/")[0]

    @property
    def version(self) -> str:
        return str(self.value.get("apiVersion") or "").rpartition("/")[2]

    @property
    def kind(self) -> str:
        return str(self.value.get("kind") or "")

    @property
    def metadata(self) -> dict[str, Any]:
        """The object's metadata, which is made if there is none."""
        metadata = self.value.get("metadata")
        if not isinstance(metadata, dict):
            metadata = self.value["metadata"] = {}
        return metadata

    @property
    def name(self) -> str:
        return str(self.metadata.get("name") or "")

    @property
    def namespace(self) -> str:
        return str(self.metadata.get("namespace") or "")

    def texts(self, key: str) -> dict[str, Any]:
        """Its labels or annotations; an empty mapping of nobody's where there are none."""
        texts = self.metadata.get(key)
        return texts if isinstance(texts, dict) else {}

    @property
    def identity(self) -> Identity:
        """By what it goes now."""
        return self._identity(self.kind, self.namespace, self.name)

    def _identity(self, kind: str, namespace: str, name: str) -> Identity:
        if is_cluster_wide(str(self.value.get("apiVersion") or ""), kind):
            namespace = _CLUSTER_WIDE
        return Identity(self.group, self.version, kind, namespace or "default", name)

    @property
    def identities(self) -> list[Identity]:
        """By what it went and goes."""
        return [*self.former, self.identity]

    @property
    def first_identity(self) -> Identity:
        return self.former[0] if self.former else self.identity

    def remember(self) -> None:
        """Keep the identity that a change is about to end."""
        self.former.append(self.identity)

    def set_name(self, name: str) -> None:
        self.metadata["name"] = name

    def take_over(self, old: Resource) -> None:
        """Stand in the place of an object: its names, and its labels and annotations beside the own ones.

        A name gets a hash if both have it, since kustomize remembers that in an annotation, of which the old object's
        counts (mergeStringMapsWithBuildAnnotations).
        """
        for key in ("labels", "annotations"):
            if merged := {**old.texts(key), **self.texts(key)}:
                self.metadata[key] = merged
        self.set_name(old.name)
        if old.namespace:
            self.metadata["namespace"] = old.namespace
        self.former, self.prefixes, self.suffixes = [*old.former], [*old.prefixes], [*old.suffixes]
        self.is_hashed &= old.is_hashed


class Resources:
    """The objects of a kustomization, in their order; no two go by the same name."""

    def __init__(self, resources: Iterable[Resource] = ()) -> None:
        self._all: list[Resource] = []
        self._identities: set[Identity] = set()
        for resource in resources:
            self.append(resource)

    def __iter__(self) -> Iterator[Resource]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def append(self, resource: Resource) -> None:
        """Raises InputError for a second object of one identity."""
        identity = resource.identity
        if identity in self._identities:
            raise InputError(f"{identity} is there twice")
        self._identities.add(identity)
        self._all.append(resource)

    def absorb(self, resource: Resource) -> None:
        """Take what a generator made, in place of what is there if it says so. Raises InputError."""
        identity = resource.identity
        there = self.matching(lambda other: other == identity)
        if not there:
            if resource.behavior in ("merge", "replace"):
                raise NoMatchError(f"{identity} is not there; cannot {resource.behavior} it")
            self.append(resource)
            return
        if len(there) > 1 or resource.behavior not in ("merge", "replace"):
            raise InputError(f"{identity} is there already; its behavior has to be merge or replace")
        (old,) = there
        resource.take_over(old)
        if resource.behavior == "merge":
            for key in ("data", "binaryData"):
                merged = {**(old.value.get(key) or {}), **(resource.value.get(key) or {})}
                if merged or key == "data":
                    resource.value[key] = merged
        self._all[self._all.index(old)] = resource
        self.settle()

    def matching(self, fits: Callable[[Identity], bool]) -> list[Resource]:
        """Those of which an identity fits, be it a former one."""
        return [resource for resource in self._all if any(map(fits, resource.identities))]

    def one(self, identity: Identity) -> Resource:
        """The one that goes or went by an identity. Raises InputError if there is none, or more."""
        matches = self.matching(lambda other: other == identity)
        if not matches:
            raise NoMatchError(f"no resource matches the patch of {identity}")
        if len(matches) > 1:
            raise InputError(f"many match {identity}")
        return matches[0]

    def keep(self, fits: Callable[[Resource], bool]) -> None:
        """Leave out all others."""
        self._all = [resource for resource in self._all if fits(resource)]
        self.settle()

    def settle(self) -> None:
        """Count the identities again, once some changed. Raises InputError if two became one."""
        seen: set[Identity] = set()
        for resource in self._all:
            identity = resource.identity
            if identity in seen:
                raise InputError(f"{identity} is there twice")
            seen.add(identity)
        self._identities = seen

    def sort(self) -> None:
        """The order in which kustomize prints objects: what others need first, webhooks last."""
        self._all.sort(key=_rank)


_FIRST = (
    *("Namespace", "ResourceQuota", "StorageClass", "CustomResourceDefinition", "ServiceAccount", "PodSecurityPolicy"),
    *("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding", "ConfigMap", "Secret", "Endpoints", "Service"),
    *("LimitRange", "PriorityClass", "PersistentVolume", "PersistentVolumeClaim", "Deployment", "StatefulSet"),
    *("CronJob", "PodDisruptionBudget"),
)
_RANKS = {kind: place - len(_FIRST) for place, kind in enumerate(_FIRST)} | {
    "MutatingWebhookConfiguration": 1,
    "ValidatingWebhookConfiguration": 2,
}


def _rank(resource: Resource) -> tuple[int, str, str]:
    kind = resource.kind
    names = f"{kind}.{resource.version}.{resource.group or '[noGrp]'}|{resource.namespace or '~X'}|{resource.name}"
    return _RANKS.get(kind, 0), f"{resource.group or '~G'}_{resource.version}_{kind}", names
