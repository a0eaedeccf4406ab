"""Which of many policies or webhooks a request concerns, without looking at each of them every time.

Upstream: apiserver/pkg/admission/plugin/policy/generic/policy_source.go, admission/configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from kwhatif.admission.answer import Object
from kwhatif.admission.policies.matching import asked_about, names_objects, rules_match, selected
from kwhatif.admission.request import Request
from kwhatif.admission.world import World

T = TypeVar("T")


class Register(Generic[T]):
    """Things in an order of their own, each about the requests that its constraints let through.

    Rules depend on the resource and on what is done to it: they are asked once for each of these, and again only where
    they name objects. Selectors are asked every time.
    """

    def __init__(self, things: Sequence[T], constraints: Callable[[T, Request], Object | None]) -> None:
        self._things, self._constraints = things, constraints
        self._by_resource: dict[tuple[Any, ...], list[tuple[T, Object | None, bool]]] = {}

    def concerned(self, request: Request) -> Iterator[T]:
        if not self._things:
            return
        key = asked_about(request)
        known = self._by_resource.get(key)
        if known is None:
            pairs = ((thing, self._constraints(thing, request)) for thing in self._things)
            listed = ((thing, about, names_objects(about)) for thing, about in pairs)
            known = [found for found in listed if found[2] or rules_match(found[1], request)]
            self._by_resource[key] = known
        for thing, about, names in known:
            if selected(about, request) and not (names and not rules_match(about, request)):
                yield thing


class _Kept:
    """The registers of a world; each is made again when an object of its kinds has changed."""

    def __init__(self, world: World) -> None:
        self.found: dict[tuple[str, ...], Register[Any]] = {}
        world.watch(self._changed)

    def _changed(self, before: Object | None, after: Object | None) -> None:
        kind = (after or before or {}).get("kind")
        for kinds in [kinds for kinds in self.found if kind in kinds]:
            del self.found[kinds]


_KEPT: WeakKeyDictionary[World, _Kept] = WeakKeyDictionary()


def register_of(world: World, kinds: tuple[str, ...], make: Callable[[World], Register[T]]) -> Register[T]:
    """What ``make`` makes of the objects of these kinds, as they are now."""
    kept = _KEPT.get(world)
    if kept is None:
        kept = _KEPT[world] = _Kept(world)
    found = kept.found.get(kinds)
    if found is None:
        found = kept.found[kinds] = make(world)
    return found
