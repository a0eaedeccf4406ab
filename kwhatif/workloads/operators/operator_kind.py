"""A kind whose pods are made by a function, where a table of paths is not enough."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from kwhatif.admission.response import Doubt, Object
from kwhatif.api.field_types import check_part
from kwhatif.api.objects import section
from kwhatif.bounds import make_room, pods_left, pods_to_make
from kwhatif.workloads.kueue_admission import kueue_doubts
from kwhatif.workloads.objects import deep_copy_json, group_of, integer, name_of
from kwhatif.workloads.workload_kind import Companions, UpdateOrder, child

Children = Callable[[Object, Companions], Iterable[Object]]
Doubts = Callable[[Object, Companions], Iterable[Doubt]]


def _no_doubts(obj: Object, companions: Companions) -> tuple[Doubt, ...]:
    return ()


class OperatorKind(msgspec.Struct, frozen=True):
    """``children`` makes the operator's objects, ``update`` is how it replaces pods (by the object, where that
    decides), ``doubts`` what is unknown about an object, ``update_doubts`` what is unknown about its update.
    """

    group: str
    kind: str
    children: Children
    update: UpdateOrder | Callable[[Object], UpdateOrder]
    doubts: Doubts = _no_doubts
    together: str = ""
    """The label by which pods are replaced together."""
    update_doubts: Doubts = _no_doubts

    def fits(self, obj: Object) -> bool:
        return obj.get("kind") == self.kind and group_of(obj) == self.group

    def children_of(self, obj: Object, companions: Companions) -> Iterable[Object]:
        return self.children(obj, companions)

    def update_of(self, obj: Object) -> UpdateOrder:
        return self.update if isinstance(self.update, UpdateOrder) else self.update(obj)

    def together_by(self, obj: Object) -> str:
        return self.together

    def doubts_of(self, obj: Object, companions: Companions, *, updated: bool) -> Iterator[Doubt]:
        yield from self.doubts(obj, companions)
        if updated:
            yield from self.update_doubts(obj, companions)
        yield from kueue_doubts(obj)


def size_of(obj: Object, value: object, default: int, place: str, times: int = 1) -> int:
    """A number of replicas in an object, ``times`` as many. Raises InputError for what is no number, and where there
    would be too many pods.
    """
    check_part(value, "int32", place)
    size = max(0, integer(value, default))
    with pods_to_make(pods_left()):
        make_room(size * times, f"{obj.get('kind')} {name_of(obj)}")
    return size


def items_of(obj: Object, *path: str) -> list[Object]:
    """The objects of a list at a path of field names; none if there is no list."""
    items = section(obj, *path[:-1]).get(path[-1])
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def resources(cpu: str, memory: str) -> Object:
    """Equal requests and limits."""
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": {"cpu": cpu, "memory": memory}}


def some_fields(obj: Object, *names: str) -> Object:
    """Those fields of an object that are present and not empty."""
    return {name: deep_copy_json(obj[name]) for name in names if obj.get(name) not in (None, "", [], {})}


def claim_of(owner: Object, name: str, spec: Object, labels: Object | None = None) -> Object:
    """A claim controlled by ``owner``, by default ReadWriteOnce."""
    body = {"accessModes": ["ReadWriteOnce"], **deep_copy_json(spec)}
    return child(owner, "v1", "PersistentVolumeClaim", name, body, {"labels": labels or {}})


def claim_spec(settings: Object) -> Object:
    """The spec of a claim from ``size``, ``storageClass`` and ``pvcTemplate``."""
    spec: Object = {**deep_copy_json(section(settings, "pvcTemplate"))}
    if settings.get("size"):
        spec["resources"] = {"requests": {"storage": str(settings["size"])}}
    storage_class = settings.get("storageClass") or settings.get("class")
    if storage_class:
        spec["storageClassName"] = storage_class
    if settings.get("selector"):
        spec["selector"] = {"matchLabels": deep_copy_json(settings["selector"])}
    return spec


def with_affinity(spec: Object, sort: str, strength: str, *terms: Object) -> None:
    """Add terms of affinity of one sort (``podAntiAffinity``) and strength (``required``, ``preferred``) to a spec."""
    affinity = spec["affinity"] = deep_copy_json(section(spec, "affinity"))
    of_sort = affinity[sort] = affinity.get(sort) or {}
    key = f"{strength}DuringSchedulingIgnoredDuringExecution"
    of_sort[key] = [*(of_sort.get(key) or ()), *terms]


def add_exclusive_affinity(spec: Object, label: str, value: str, topology_key: str) -> None:
    """Have pods with a value of a label share a domain, which no pods with another value may enter."""
    own = {"key": label, "operator": "In", "values": [value]}
    others = [{"key": label, "operator": "Exists"}, {"key": label, "operator": "NotIn", "values": [value]}]
    for sort, expressions in (("podAffinity", [own]), ("podAntiAffinity", others)):
        term = {"labelSelector": {"matchExpressions": expressions}, "topologyKey": topology_key}
        with_affinity(spec, sort, "required", term)


def replace_variables(value: Any, pattern: re.Pattern[str], values: Mapping[str, str]) -> Any:
    """A value, with those of variables in it, whose names are the first group of ``pattern``; others stay."""
    if isinstance(value, str):
        return pattern.sub(lambda match: values.get(match[1], match[0]), value)
    if isinstance(value, list):
        return [replace_variables(element, pattern, values) for element in value]
    if isinstance(value, dict):
        return {
            replace_variables(key, pattern, values): replace_variables(part, pattern, values)
            for key, part in value.items()
        }
    return value


def known_part(value: Any, pattern: re.Pattern[str]) -> Any:
    """What of a field of a pod template is known before the run: without entries that still have variables."""
    if isinstance(value, dict):
        return {key: part for key, part in value.items() if not pattern.search(repr((key, part)))}
    if isinstance(value, list):
        return [element for element in value if not pattern.search(repr(element))]
    return None if pattern.search(repr(value)) else value


def is_true(value: object) -> bool:
    """Whether an annotation or a field is true."""
    return value is True or str(value).lower() in ("true", "yes", "on")
