"""The objects that admission and controllers look up, as plain values, by kind, namespace and name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kwhatif.admission.answer import Object

__all__ = ["World", "name_of", "namespace_of"]


class World:
    """What is in the cluster. ``put`` replaces; objects keep the order in which they first came."""

    def __init__(self, objects: Iterable[Object] = ()) -> None:
        self._by_kind: dict[str, dict[tuple[str, str], Object]] = {}
        for obj in objects:
            self.put(obj)

    def put(self, obj: Object) -> None:
        self._by_kind.setdefault(obj["kind"], {})[namespace_of(obj), name_of(obj)] = obj

    def remove(self, kind: str, namespace: str, name: str) -> None:
        self._by_kind.get(kind, {}).pop((namespace, name), None)

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        """One object; the namespace of what has none is empty."""
        return self._by_kind.get(kind, {}).get((namespace, name))

    def all(self, kind: str, namespace: str | None = None) -> Iterator[Object]:
        """The objects of a kind, of one namespace or of all."""
        for (home, _), obj in list(self._by_kind.get(kind, {}).items()):
            if namespace is None or home == namespace:
                yield obj

    def knows(self, kind: str) -> bool:
        """Whether anything of this kind was ever put here."""
        return kind in self._by_kind


def name_of(obj: Object) -> str:
    return str((obj.get("metadata") or {}).get("name") or "")


def namespace_of(obj: Object) -> str:
    return str((obj.get("metadata") or {}).get("namespace") or "")
