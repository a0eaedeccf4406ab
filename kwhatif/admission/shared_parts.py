"""Pods that are alike hold what they have in common once: a workload of 80,000 replicas has one spec, not 80,000.

What is shared is never changed in place: who alters a stored object gives it new parts (``{**pod["spec"], ...}``).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from hashlib import blake2b
from typing import Any, TypeVar

import msgspec

from kwhatif.admission.response import Object
from kwhatif.api.core import Pod
from kwhatif.api.objects import part_of
from kwhatif.api.times import convert_object
from kwhatif.results.expand import ChangeRecord

_OWN = ("apiVersion", "kind", "metadata")
S = TypeVar("S", bound=msgspec.Struct)


class SharedParts:
    """Parts of pods, as plain values and as Structs, each of them once."""

    def __init__(self) -> None:
        self._plain: dict[bytes, Any] = {}
        self._typed: dict[tuple[int, type, str], tuple[object, Any]] = {}
        self._trails: dict[tuple[ChangeRecord, ...], tuple[ChangeRecord, ...]] = {}

    def share(self, pod: Object) -> None:
        """Have a pod that is about to be stored hold the parts of an earlier one wherever they are equal."""
        self._share_values(pod, [key for key in pod if key not in _OWN])
        self._share_values(part_of(pod, "metadata"), part_of(pod, "metadata"))

    def share_trail(self, changes: Iterable[ChangeRecord]) -> tuple[ChangeRecord, ...]:
        """Admission's changes to a pod, the same ones as those of an equal pod."""
        trail = tuple(changes)
        return self._trails.setdefault(trail, trail)

    def convert(self, pod: Object) -> Pod:
        """A stored pod as scheduling reads it. What is shared by plain pods is read once.

        Raises InputError with a place.
        """
        typed = convert_object(pod, Pod)
        metadata = self._with_shared(typed.metadata, part_of(pod, "metadata"))
        return msgspec.structs.replace(self._with_shared(typed, pod, besides=("metadata",)), metadata=metadata)

    def _share_values(self, parent: Object, keys: Iterable[str]) -> None:
        for key in list(keys):
            part = parent[key]
            if type(part) in (dict, list) and part:
                parent[key] = self._find_equal(part, deeper=type(part) is dict)

    def _find_equal(self, part: Any, *, deeper: bool = False) -> Any:
        """The first part that is equal, in the order of its keys, too. Of a new one the values may be shared."""
        try:
            key = blake2b(msgspec.msgpack.encode(part), digest_size=16).digest()
        except OverflowError:
            return part  # It has a number beyond 64 bits, which need not be shared.
        known = self._plain.get(key)
        if known is None:
            if deeper:
                self._share_values(part, part)
            known = self._plain[key] = part
        return known

    def _with_shared(self, typed: S, plain: Object, besides: tuple[str, ...] = ()) -> S:
        shared = {}
        for name, key in _fields(type(typed)):
            part = plain.get(key)
            if not part or type(part) not in (dict, list) or name in besides:
                continue
            place = id(part), type(typed), name
            if place not in self._typed:
                value = getattr(typed, name)
                if isinstance(value, msgspec.Struct):
                    value = self._with_shared(value, part)
                # The plain part is kept, too, so that its id stays its own.
                self._typed[place] = part, value
            shared[name] = self._typed[place][1]
        return msgspec.structs.replace(typed, **shared) if shared else typed


@cache
def _fields(struct: type[msgspec.Struct]) -> tuple[tuple[str, str], ...]:
    """The names of a Struct's fields, and their keys in plain values."""
    return tuple((field.name, field.encode_name) for field in msgspec.structs.fields(struct))
