"""Follows changed names: what referred to an object by a former name refers to it by the present one.

Upstream: kustomize (api/internal/accumulator/namereferencetransformer.go, api/filters/nameref/nameref.go).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kwhatif.errors import InputError
from kwhatif.snapshot.kustomize.default_fields import FieldConfiguration
from kwhatif.snapshot.kustomize.field_specs import FieldSpec
from kwhatif.snapshot.kustomize.resources import Resource, Resources


def follow_names(resources: Resources, configuration: FieldConfiguration) -> None:
    """Write the present names into all fields that hold former ones. Raises InputError where many could be meant."""
    by_name: dict[str, list[Resource]] = {}
    for resource in resources:
        for name in dict.fromkeys(identity.name for identity in resource.former):
            by_name.setdefault(name, []).append(resource)
    if not by_name:
        return
    for target, referrers in configuration.references:
        named = {
            name: objects
            for name, all_ in by_name.items()
            if (objects := [obj for obj in all_ if any(map(target.selects_identity, obj.former))])
        }
        for spec in referrers if named else ():
            for referrer in resources:
                if spec.selects_identity(referrer.first_identity):
                    _Reference(referrer, spec, target, named).follow()


class _Reference:
    """One field of one object that may hold names of objects of the kind ``target``."""

    def __init__(
        self, referrer: Resource, spec: FieldSpec, target: FieldSpec, named: dict[str, list[Resource]]
    ) -> None:
        self._referrer, self._spec, self._target, self._named = referrer, spec, target, named

    def follow(self) -> None:
        # The kind may have changed since.
        FieldSpec(self._spec.path).apply_to(self._referrer.value, self._follow_value)

    def _follow_value(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._follow_value(element) for element in value]
        if isinstance(value, dict):
            return self._follow_mapping(value)
        if not isinstance(value, str):
            return value
        resource = self._choose(value, self._candidates(value), same_namespace=False)
        return value if resource is None else resource.name

    def _follow_mapping(self, value: dict[str, Any]) -> dict[str, Any]:
        """Where name and namespace stand beside each other."""
        name, namespace = value.get("name"), value.get("namespace")
        if not isinstance(name, str):
            raise InputError(f"{self._referrer.identity}: {self._spec.path} has no name")
        candidates = self._candidates(name)
        if namespace is not None:
            where = namespace or "default"
            before = [candidate for candidate in candidates if candidate.first_identity.namespace == where]
            candidates = before or [candidate for candidate in candidates if candidate.identity.namespace == where]
        resource = self._choose(name, candidates, same_namespace=True)
        if resource is None or (resource.name == name and not resource.namespace):
            return value
        return {**value, "name": resource.name, **({"namespace": resource.namespace} if resource.namespace else {})}

    def _candidates(self, name: str) -> list[Resource]:
        return [resource for resource in self._named.get(name, ()) if self._may_see(resource)]

    def _may_see(self, resource: Resource) -> bool:
        own, other = self._referrer.identity, resource.identity
        if own.is_cluster_wide or other.is_cluster_wide or own.namespace == other.namespace:
            return True
        return resource.kind == "ServiceAccount" and resource.namespace in self._namespaces_of_subjects()

    def _namespaces_of_subjects(self) -> set[str]:
        if self._referrer.kind != "RoleBinding":
            return set()
        subjects = self._referrer.value.get("subjects")
        return {
            str(subject.get("namespace"))
            for subject in (subjects if isinstance(subjects, list) else ())
            if isinstance(subject, dict) and subject.get("kind") == "ServiceAccount" and subject.get("namespace")
        }

    def _choose(self, name: str, candidates: list[Resource], *, same_namespace: bool) -> Resource | None:
        if self._spec.path.endswith("roleRef/name"):
            role = self._referrer.value.get("roleRef")
            if isinstance(role, dict) and role.get("kind"):
                wanted = FieldSpec("", str(role["kind"]), str(role.get("apiGroup") or ""))
                candidates = [
                    candidate for candidate in candidates if any(map(wanted.selects_identity, candidate.former))
                ]
        if len(candidates) > 1:
            candidates = [candidate for candidate in candidates if self._is_around(candidate, with_none=True)]
        if len(candidates) > 1:
            candidates = [candidate for candidate in candidates if self._is_around(candidate, with_none=False)]
        if not candidates:
            return None
        ends = {(candidate.name, candidate.namespace if same_namespace else "") for candidate in candidates}
        if len(ends) > 1:
            shown = ", ".join(str(candidate.identity) for candidate in candidates)
            raise InputError(f"{self._referrer.identity}: {name} may refer to {shown}")
        return candidates[0]

    def _is_around(self, resource: Resource, *, with_none: bool) -> bool:
        """Whether an object had the same put around its name as the one that refers to it."""
        own = self._referrer
        return all(
            (with_none and not (mine and others)) or _is_same_end(mine, others)
            for mine, others in ((own.prefixes, resource.prefixes), (own.suffixes, resource.suffixes))
        )


def _is_same_end(one: Sequence[str], other: Sequence[str]) -> bool:
    shorter, longer = sorted((list(one), list(other)), key=len)
    return longer[len(longer) - len(shorter) :] == shorter
