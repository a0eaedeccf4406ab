"""Which requests a policy or a webhook matches by its rules and selectors, and an index over many of them.

Upstream: apiserver/pkg/admission/plugin/policy/matching/matching.go, webhook/predicates (rules, namespace, object);
plugin/policy/generic/policy_source.go, admission/configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import msgspec

from kwhatif.admission.custom.definition import definition_of
from kwhatif.admission.object_store import ObjectStore, group_of, name_of
from kwhatif.admission.request import Request, each
from kwhatif.admission.response import Object
from kwhatif.api.decode import decode_json
from kwhatif.api.field_types import newest_types
from kwhatif.api.kinds import plural_of
from kwhatif.api.meta import LabelSelector
from kwhatif.api.objects import section
from kwhatif.api.selectors import Selector

EXEMPT = "admissionregistration.k8s.io"
"""Objects that configure admission are exempt from it."""

_HOME = "kubernetes.io/metadata.name"


def operation_of(request: Request) -> str:
    return "CREATE" if request.old is None else "UPDATE"


def resource_of(request: Request) -> str:
    """What the API calls the collection of the object's kind; a definition may call it anything."""
    api_version, kind = str(request.object.get("apiVersion") or ""), str(request.object.get("kind") or "")
    known = newest_types().api_resource_of(api_version, kind)
    if known is not None:
        return known.plural
    definition = definition_of(request.store, api_version, kind)
    return definition.to_api_resource().plural if definition is not None else plural_of(kind)


def matches(constraints: Object | None, request: Request) -> bool:
    """Whether ``matchConstraints`` or ``matchResources`` match a request."""
    return constraints is None or (rules_match(constraints, request) and selectors_match(constraints, request))


def asked_about(request: Request) -> tuple[str, str, str, bool]:
    """What rules match besides names: API version, kind, operation and scope."""
    kind = str(request.object.get("kind") or "")
    inside = bool(request.namespace) and kind != "Namespace"
    return str(request.object.get("apiVersion") or ""), kind, operation_of(request), inside


def names_objects(constraints: Object | None) -> bool:
    """Whether rules match some names only."""
    rules = [rule for key in ("resourceRules", "excludeResourceRules") for rule in each(constraints, key)]
    return any(rule.get("resourceNames") for rule in rules)


def rules_match(constraints: Object | None, request: Request) -> bool:
    """Whether the rules match a request; without any rules, all requests match."""
    rules = each(constraints, "resourceRules")
    if any(_rule(rule, request) for rule in each(constraints, "excludeResourceRules")):
        return False
    return not rules or any(_rule(rule, request) for rule in rules)


def selectors_match(constraints: Object | None, request: Request) -> bool:
    """Whether the selectors match a request."""
    if constraints is None:
        return True
    return _namespace(constraints.get("namespaceSelector"), request) and _object(
        constraints.get("objectSelector"), request
    )


def _rule(rule: Object, request: Request) -> bool:
    api_version, _, operation, inside = asked_about(request)
    group, _, version = api_version.rpartition("/")
    for value, key in ((operation, "operations"), (group, "apiGroups"), (version, "apiVersions")):
        allowed = rule.get(key) or ()
        if "*" not in allowed and value not in allowed:
            return False
    plural = resource_of(request)
    if not {"*", "*/*", plural, f"{plural}/*"} & set(rule.get("resources") or ()):
        return False
    scope = rule.get("scope") or "*"
    if scope != "*" and (scope == "Namespaced") != inside:
        return False
    names = rule.get("resourceNames") or ()
    return not names or (request.requested_name in names)


def _namespace(selector: Object | None, request: Request) -> bool:
    """An object without a namespace matches. Of an unknown namespace only the label with its name is known."""
    if not (selector or {}):
        return True
    if group_of(request.object) == "" and request.object.get("kind") == "Namespace":
        home: Object | None = request.object
    elif not request.namespace:
        return True
    else:
        home = request.store.get("Namespace", "", request.namespace)
    labels = section(home or {}, "metadata", "labels")
    if home is None and not _about_name(selector or {}):
        return False
    name = name_of(home) if home else request.namespace
    return selects(selector, {_HOME: name, **labels})


def _about_name(selector: Object) -> bool:
    keys = {*section(selector, "matchLabels"), *(e.get("key") for e in each(selector, "matchExpressions"))}
    return keys <= {_HOME}


def _object(selector: Object | None, request: Request) -> bool:
    if not (selector or {}):
        return True
    objects = (request.object, request.old)
    return any(selects(selector, section(obj, "metadata", "labels")) for obj in objects if obj)


def selects(selector: Object | None, labels: Object) -> bool:
    """Whether a label selector, as plain values, selects what has these labels."""
    return _selector(msgspec.json.encode(selector or {})).matches(labels)


@lru_cache(maxsize=4096)
def _selector(text: bytes) -> Selector:
    """Compiled once: a cluster has few selectors, and each is evaluated for every pod."""
    return Selector.from_label_selector(decode_json(text, LabelSelector))


T = TypeVar("T")


class ConstraintIndex(Generic[T]):
    """Policies or webhooks in their order, each with the constraints by which it matches requests.

    Rules depend on resource and operation only: they are evaluated once for each pair of these, and again only where
    they name objects. Selectors are evaluated for every request.
    """

    def __init__(self, things: Sequence[T], constraints: Callable[[T, Request], Object | None]) -> None:
        self._things, self._constraints = things, constraints
        self._by_resource: dict[tuple[Any, ...], list[tuple[T, Object | None, bool]]] = {}

    def find_matching(self, request: Request) -> Iterator[T]:
        if not self._things:
            return
        key = asked_about(request)
        known = self._by_resource.get(key)
        if known is None:
            pairs = ((thing, self._constraints(thing, request)) for thing in self._things)
            listed = ((thing, about, names_objects(about)) for thing, about in pairs)
            known = [match for match in listed if match[2] or rules_match(match[1], request)]
            self._by_resource[key] = known
        for thing, about, names in known:
            if selectors_match(about, request) and not (names and not rules_match(about, request)):
                yield thing


class _IndexCache:
    """The constraint indexes of a cluster; one is rebuilt when an object of its kinds has changed."""

    def __init__(self, world: ObjectStore) -> None:
        self.indexes: dict[tuple[str, ...], ConstraintIndex[Any]] = {}
        world.watch(self._invalidate)

    def _invalidate(self, before: Object | None, after: Object | None) -> None:
        kind = (after or before or {}).get("kind")
        for kinds in [kinds for kinds in self.indexes if kind in kinds]:
            del self.indexes[kinds]


_KEPT: WeakKeyDictionary[ObjectStore, _IndexCache] = WeakKeyDictionary()


def constraint_index_of(
    world: ObjectStore, kinds: tuple[str, ...], make: Callable[[ObjectStore], ConstraintIndex[T]]
) -> ConstraintIndex[T]:
    """What ``make`` makes of the objects of these kinds, as they are now."""
    kept = _KEPT.get(world)
    if kept is None:
        kept = _KEPT[world] = _IndexCache(world)
    constraint_index = kept.indexes.get(kinds)
    if constraint_index is None:
        constraint_index = kept.indexes[kinds] = make(world)
    return constraint_index
