"""The objects that admission and controllers look up, as plain values by kind, namespace and name; and the names of
resources and kinds in the API server's messages.

A refused request is reported by resource (``deployments.apps "web" is forbidden``), an invalid object by kind
(``Deployment.apps "web" is invalid``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence

import msgspec

from kwhatif.admission.response import Object
from kwhatif.admission.shared_parts import SharedParts
from kwhatif.api.decode import convert
from kwhatif.api.kinds import GROUPS, KINDS, kind_named, plural_of
from kwhatif.api.meta import Resource
from kwhatif.api.objects import part_of, section
from kwhatif.api.quantity import plain_quantity


class Index(msgspec.Struct, frozen=True):
    """A way to find objects of a kind without looking at all of them: ``keys`` are what an object is found by.

    Upstream: Indexers of k8s.io/client-go/tools/cache.
    """

    kind: str
    keys: Callable[[Object], Iterable[Hashable]]


_Home = dict[tuple[str, str], Object]
Reference = tuple[str, str, str]
"""The kind, the namespace and the name of an object that another one names."""


class ObjectStore:
    """What is in the cluster. ``put`` replaces; objects keep the order in which they were first put.

    ``pruned``: objects that were there from the start may lack fields, since a snapshot keeps only those that are read.
    ``parts`` are what stored pods have in common. Of namespaces other than ``homes`` (None: of any) it holds only the
    objects that were put by name, ``references`` (kind, namespace, name).
    """

    def __init__(
        self,
        objects: Iterable[Object] = (),
        *,
        pruned: bool = False,
        homes: Collection[str] | None = None,
        references: Collection[Reference] = (),
    ) -> None:
        self.pruned, self.parts = pruned, SharedParts()
        self._homes, self._references = homes, references
        self._by_kind: dict[str, _Home] = {}
        self._unread: dict[str, dict[tuple[str, str], Resource]] = {}
        self._by_home: dict[tuple[str, str], dict[str, Object]] = {}
        self._known: set[str] = set()
        self._known_homes: set[tuple[str, str]] = set()
        self._indexes: dict[str, dict[Index, dict[Hashable, _Home]]] = {}
        self._sketches: dict[str, set[tuple[str, str]]] = {}
        self._watchers: list[Callable[[Object | None, Object | None], None]] = []
        for obj in objects:
            self._known.add(part_of(obj, "kind"))
            self.put(obj)

    def copy(self) -> ObjectStore:
        """A store of its own with the same objects, which has no watchers yet."""
        other = ObjectStore(pruned=self.pruned, homes=self._homes, references=self._references)
        other.parts = self.parts
        other._unread = {kind: dict(objects) for kind, objects in self._unread.items()}
        other._by_kind = {kind: dict(objects) for kind, objects in self._by_kind.items()}
        other._by_home = {home: dict(objects) for home, objects in self._by_home.items()}
        other._known, other._known_homes = set(self._known), set(self._known_homes)
        other._sketches = {kind: set(sketched) for kind, sketched in self._sketches.items()}
        return other

    def put_all(self, kind: str, objects: Sequence[Resource]) -> None:
        """Objects of a kind that is new here, with only those fields that scheduling reads. They are made plain when
        somebody looks at the kind.
        """
        self._unread[kind] = {(obj.namespace, obj.name): obj for obj in objects}

    def _of_kind(self, kind: str) -> _Home:
        unread = self._unread.pop(kind, None)
        if unread is not None:
            # They were there before all that was put since.
            objects = {key: plain(obj, kind) for key, obj in unread.items()} | self._by_kind.get(kind, {})
            homes: dict[tuple[str, str], dict[str, Object]] = {}
            for (namespace, name), obj in objects.items():
                homes.setdefault((kind, namespace), {})[name] = obj
            self._by_kind[kind] = objects
            self._by_home |= homes
            self._sketches.setdefault(kind, set()).update(unread)
        return self._by_kind.setdefault(kind, {})

    def _for(self, kind: str, key: tuple[str, str]) -> _Home:
        """The objects of a kind, where only the one of this key is of interest."""
        return self._of_kind(kind) if key in self._unread.get(kind, ()) else self._by_kind.setdefault(kind, {})

    def put(self, obj: Object, *, sketched: bool = False) -> None:
        """``sketched``: the object has only those fields that scheduling reads."""
        key = namespace_of(obj), name_of(obj)
        of_kind = self._for(part_of(obj, "kind"), key)
        of_sketches = self._sketches.setdefault(part_of(obj, "kind"), set())
        (of_sketches.add if sketched else of_sketches.discard)(key)
        before = of_kind.get(key)
        of_kind[key] = obj
        self._reindex(part_of(obj, "kind"), key, before, obj)
        self._by_home.setdefault((part_of(obj, "kind"), key[0]), {})[key[1]] = obj
        for watcher in self._watchers:
            watcher(before, obj)

    def cover(self, kind: str) -> None:
        """All objects of this kind are known, though there may be none."""
        self._known.add(kind)

    def cover_namespace(self, kind: str, namespace: str) -> None:
        """All objects of this kind in one namespace are known, though others of it may not be."""
        self._known_homes.add((kind, namespace))

    def remove(self, kind: str, namespace: str, name: str) -> None:
        before = self._for(kind, (namespace, name)).pop((namespace, name), None)
        if before is not None:
            del self._by_home[kind, namespace][name]
            self._sketches.get(kind, set()).discard((namespace, name))
            self._reindex(kind, (namespace, name), before, None)
            for watcher in self._watchers:
                watcher(before, None)

    def watch(self, watcher: Callable[[Object | None, Object | None], None]) -> None:
        """Call ``watcher`` with what was there and what is there now, from now on, at every change."""
        self._watchers.append(watcher)

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        """One object; the namespace of what has none is empty."""
        return self._for(kind, (namespace, name)).get((namespace, name))

    def is_sketch(self, obj: Object) -> bool:
        """Whether the object has only those fields that scheduling reads."""
        key = namespace_of(obj), name_of(obj)
        return key in self._sketches.get(part_of(obj, "kind"), ()) or key in self._unread.get(part_of(obj, "kind"), ())

    def has_sketches(self, kind: str) -> bool:
        """Whether any object of this kind is one of those."""
        return kind in self._unread or bool(self._sketches.get(kind))

    def has(self, kind: str) -> bool:
        """Whether there is any object of this kind."""
        return bool(self._of_kind(kind))

    def find(self, index: Index, key: Hashable) -> list[Object]:
        """The objects that an index finds by a key."""
        indexes = self._indexes.setdefault(index.kind, {})
        if index not in indexes:
            indexes[index] = {}
            for home, obj in self._of_kind(index.kind).items():
                self._add_to(index, home, obj)
        return list(indexes[index].get(key, {}).values())

    def _add_to(self, index: Index, home: tuple[str, str], obj: Object) -> None:
        entries = self._indexes[index.kind][index]
        for key in index.keys(obj):
            entries.setdefault(key, {})[home] = obj

    def _reindex(self, kind: str, home: tuple[str, str], before: Object | None, now: Object | None) -> None:
        for index, entries in self._indexes.get(kind, {}).items():
            kept = set() if now is None else set(index.keys(now))
            for key in index.keys(before) if before is not None else ():
                if key not in kept:
                    entries.get(key, {}).pop(home, None)
            if now is not None:
                self._add_to(index, home, now)

    def all(self, kind: str, namespace: str | None = None) -> Iterator[Object]:
        """The objects of a kind, of one namespace or of all."""
        objects = self._of_kind(kind)
        yield from list((objects if namespace is None else self._by_home.get((kind, namespace), {})).values())

    def knows(self, kind: str, namespace: str | None = None) -> bool:
        """Whether this kind was read, in a namespace or in all of them, so that an object which is not here does not
        exist.

        Objects that were created since do not make their kind known.
        """
        if namespace and (kind, namespace) in self._known_homes:
            return True
        return kind in self._known and not (namespace and self._homes is not None and namespace not in self._homes)

    def lacks(self, kind: str, namespace: str, name: str) -> bool:
        """Whether an object is known not to exist."""
        if self.get(kind, namespace, name) is not None:
            return False
        return self.knows(kind, namespace) or (self.knows(kind) and (kind, namespace, name) in self._references)


def sketch(obj: Object) -> Object:
    """What is left of an object where only the fields are kept that scheduling reads."""
    return plain(convert(obj, KINDS[part_of(obj, "kind")]), part_of(obj, "kind"))


def plain(obj: Resource, kind: str) -> Object:
    """An object as plain values: of its fields those that scheduling reads."""
    values: Object = msgspec.to_builtins(obj, enc_hook=plain_quantity)
    return {"apiVersion": kind_named(kind).api_version(), **values, "kind": kind}


def name_of(obj: Object) -> str:
    return str(section(obj, "metadata").get("name") or "")


def namespace_of(obj: Object) -> str:
    return str(section(obj, "metadata").get("namespace") or "")


def group_of(obj: Object) -> str:
    """The API group, empty for the core group; what comes from a snapshot may have left it out."""
    return str(obj.get("apiVersion") or "").rpartition("/")[0] or GROUPS.get(str(obj.get("kind") or ""), "")


def known_kind(obj: Object) -> str:
    """The kind, if it is one that is read here, else nothing."""
    kind = str(obj.get("kind") or "")
    return kind if GROUPS.get(kind) == group_of(obj) else ""


def resource_name(obj: Object) -> str:
    """``deployments.apps``, ``pods``: the plural, and the group if there is one."""
    kind = str(obj.get("kind") or "")
    return _with_group(plural_of(kind), group_of(obj))


def kind_name(obj: Object) -> str:
    """``Deployment.apps``, ``Pod``. An Event of either group is one of the core group."""
    kind = str(obj.get("kind") or "")
    return _with_group(kind, "" if kind == "Event" else group_of(obj))


def _with_group(name: str, group: str) -> str:
    return f"{name}.{group}" if group else name
