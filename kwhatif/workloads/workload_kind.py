"""The interface of kinds that make pods and are not Kubernetes' own.

An operator makes other objects: pods, or a Job, a StatefulSet, a Deployment, whose controllers make the pods. So a kind
returns its children, and everything from there on is done by Kubernetes' own controllers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Protocol

from kwhatif.admission.response import Doubt, Object
from kwhatif.api.objects import section
from kwhatif.workloads.objects import controller_of, deep_copy_json, group_of, name_of, namespace_of, owner_reference


class UpdateOrder(StrEnum):
    """In which order an operator replaces the pods that an update changes."""

    recreate = "recreate"
    """All go at once; the new ones come when they have gone."""
    one_by_one = "one-by-one"
    """One goes and comes back, and is ready before the next one goes; the last one by name first."""
    new_first = "new-first"
    """All new ones come; when they are ready, the old ones go."""
    canary = "canary"
    """As many are new as the steps of a canary say; a template with a strategy of its own."""
    left = "left"
    """Pods that are there stay as they are."""


class Companions:
    """Other objects that a kind may look up: those of the manifests, by group, kind, namespace and name.

    An object that names no namespace lives in ``default``, or in none.
    """

    def __init__(self, objects: Iterable[Object] = ()) -> None:
        self._there: dict[tuple[str, str], dict[tuple[str, str], Object]] = {}
        for obj in objects:
            home = self._there.setdefault((group_of(obj), str(obj.get("kind"))), {})
            home[namespace_of_any(obj), name_of(obj)] = obj

    def find(self, group: str, kind: str, namespace: str, name: str) -> Object | None:
        """One object; ``namespace`` is empty for those that live in none."""
        there = self._there.get((group, kind), {})
        companion = there.get((namespace, name))
        return there.get(("", name)) if companion is None and namespace == "default" else companion

    def all(self, group: str, kind: str, namespace: str) -> Iterator[Object]:
        """Those of a kind and namespace, by name."""
        for (home, _), obj in sorted(self._there.get((group, kind), {}).items()):
            if home == namespace or (not home and namespace == "default"):
                yield obj


class WorkloadKind(Protocol):
    """How objects of one kind become pods."""

    @property
    def group(self) -> str:
        """Its API group."""
        ...

    @property
    def kind(self) -> str:
        """Its name."""
        ...

    def fits(self, obj: Object) -> bool:
        """Whether an object is of this kind."""
        ...

    def children_of(self, obj: Object, companions: Companions) -> Iterable[Object]:
        """The objects that the operator makes of it, in their order. Raises InputError, with a place."""
        ...

    def update_of(self, obj: Object) -> UpdateOrder:
        """In which order its pods are replaced."""
        ...

    def together_by(self, obj: Object) -> str:
        """The label by which pods are replaced together; empty where each is by itself."""
        ...

    def doubts_of(self, obj: Object, companions: Companions, *, updated: bool) -> Iterable[Doubt]:
        """What is unknown about its pods, or about their update."""
        ...


def namespace_of_any(obj: Object) -> str:
    """The namespace that an object names; empty where it names none."""
    return str(section(obj, "metadata").get("namespace") or "")


def child(
    owner: Object, api_version: str, kind: str, name: str, spec: Object, metadata: Object | None = None
) -> Object:
    """An object that ``owner`` controls; ``metadata`` has labels and annotations."""
    fields = {
        key: deep_copy_json(value)
        for key, value in (metadata or {}).items()
        if key in ("labels", "annotations") and value
    }
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": namespace_of(owner),
            **fields,
            "ownerReferences": [owner_reference(owner)],
        },
        "spec": spec,
    }


def child_pod(
    owner: Object, template: Object, name: str, labels: Object | None = None, annotations: Object | None = None
) -> Object:
    """A pod of a template; a ``name`` that ends in a dash is completed by the API server."""
    metadata = deep_copy_json(section(template, "metadata"))
    given: Object = {"generateName" if name.endswith("-") else "name": name, "namespace": namespace_of(owner)}
    for key, more in (("labels", labels), ("annotations", annotations)):
        if merged := {**section(metadata, key), **(more or {})}:
            given[key] = merged
    if metadata.get("finalizers"):
        given["finalizers"] = metadata["finalizers"]
    given["ownerReferences"] = [owner_reference(owner)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": given, "spec": deep_copy_json(section(template, "spec"))}


def kind_of_owner(obj: Object) -> tuple[str, str]:
    """Kind and name of the controller that manages an object; empty if none does."""
    owner = controller_of(obj)
    return str(owner.get("kind") or ""), str(owner.get("name") or "")
