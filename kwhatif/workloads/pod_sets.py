"""How a kind makes pods, declared by data: the paths of its templates, the number of pods, their roles and names.

    template: $.spec.replicatedJobs[*].template    an item of a list, or a value of a map, for each [*]
    makes: Job                                     what the operator creates: pods itself, or a workload
    count: .replicas                               from the item; or from the object ($.spec.size), or a number
    role: "{.name}"
    name: "{name}-{role}-{index}"

Texts may hold ``{name}``, ``{namespace}`` and ``{uid}`` of the object, ``{role}``, ``{key}`` (the last key or index
that [*] matched), ``{index}``, ``{count}``, ``{hash}`` of the template, and paths: ``{.name}`` of the item,
``{$.spec.x}`` of the object. ``{key|lower}`` is in lower case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from kwhatif.admission.response import Doubt, Object
from kwhatif.api.decode import describe_value
from kwhatif.api.document_numbers import Count
from kwhatif.api.field_types import check_part
from kwhatif.api.objects import section
from kwhatif.bounds import make_room, pods_left, pods_to_make
from kwhatif.errors import InputError
from kwhatif.workloads.object_creation import template_hash
from kwhatif.workloads.objects import deep_copy_json, group_of, name_of, namespace_of, stated_pods, uid_of
from kwhatif.workloads.template_paths import FieldPath
from kwhatif.workloads.workload_kind import Companions, UpdateOrder, child, child_pod

Made = Literal["Pod", "Job", "ReplicaSet", "ReplicationController", "Deployment", "StatefulSet"]

_VERSIONS = {"Job": "batch/v1", "ReplicationController": "v1"}
_TEXT = re.compile(r"\{(name|namespace|uid|role|key|index|count|hash|[.$][^{}|]*)(\|lower)?\}")
_BRACES = re.compile(r"[{}]")


class PodSet(msgspec.Struct, rename="camel", frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Pods of one template, or of each template of a list."""

    template: Annotated[
        str, Meta(description="Path to the pod template (of a Job: to its template), with [*] for lists.")
    ]
    makes: Annotated[Made, Meta(description="What the operator creates.")] = "Pod"
    count: Annotated[
        str | Count | None,
        Meta(description="How many: a number, or a path from the item or the object. Default: replicas beside it."),
    ] = None
    default_count: Annotated[Count, Meta(description="Where the object does not say how many.")] = 1
    role: Annotated[str, Meta(description="What these pods are, as a text.")] = ""
    name: Annotated[str, Meta(description="Of each object that is made; one that ends in a dash is completed.")] = ""
    first: Annotated[Count, Meta(description="The first index.")] = 0
    labels: Annotated[dict[str, str], Meta(description="What the operator adds to the template's labels.")] = {}
    annotations: Annotated[dict[str, str], Meta(description="What it adds to the template's annotations.")] = {}
    group: Annotated[str, Meta(description="A label: updates replace pods of one value together.")] = ""


class _Place(msgspec.Struct, frozen=True):
    """One template of an object: the item of a list that it is part of, and where that is."""

    owner: Object
    item: Any
    key: str
    template: Object


class DeclaredKind(msgspec.Struct, frozen=True):
    """A kind declared by data. ``suspended`` are paths to fields that are true where there are no pods."""

    group: str
    kind: str
    sets: tuple[PodSet, ...]
    suspended: tuple[str, ...] = ()
    update: UpdateOrder = UpdateOrder.recreate
    order_known: bool = False

    def fits(self, obj: Object) -> bool:
        return obj.get("kind") == self.kind and group_of(obj) == self.group

    def children_of(self, obj: Object, companions: Companions) -> Iterator[Object]:
        """The objects that the operator makes. Raises InputError if there is no template where one should be, or for
        its fields.
        """
        if any(path_of(path).value_in(obj) is True for path in self.suspended):
            return
        for pods in self.sets:
            yield from _make_children(pods, obj)

    def doubts_of(self, obj: Object, companions: Companions, *, updated: bool) -> Iterator[Doubt]:
        if updated and not self.order_known:
            yield unknown_order(obj)

    def update_of(self, obj: Object) -> UpdateOrder:
        return self.update

    def together_by(self, obj: Object) -> str:
        return next((pods.group for pods in self.sets if pods.group), "")


def unknown_order(obj: Object) -> Doubt:
    what = f"in which order pods of {obj.get('kind')} {name_of(obj)} are replaced is not known"
    return Doubt(what, "all that change are taken to go at once, and to come again when they have gone")


def path_of(text: str) -> FieldPath:
    """The path that a text means. Raises InputError."""
    path = FieldPath.parse(text)
    if path is None:
        raise InputError(f"expected a path such as $.spec.template or .replicas, found {describe_value(text)}")
    return path


def check_pod_set(pods: PodSet, place: str) -> None:
    """Raise InputError, with a place, for paths and texts of a set that cannot be read."""
    texts = {"role": pods.role, "name": pods.name}
    texts |= {f"labels.{key}": value for key, value in pods.labels.items()}
    texts |= {f"annotations.{key}": value for key, value in pods.annotations.items()}
    for field, text in texts.items():
        if _BRACES.search(_TEXT.sub("", text)):
            problem = f"expected braces around a name or a path, as in {{name}}-{{.role}}, found {describe_value(text)}"
            raise InputError(problem, place=f"{place}.{field}")
    for field, path in (("template", pods.template), ("count", pods.count)):
        if isinstance(path, str):
            try:
                path_of(path)
            except InputError as error:
                raise InputError(error.problem, place=f"{place}.{field}") from None
    if not pods.template.startswith("$."):
        raise InputError(f"expected a path from the object, $.spec..., found {describe_value(pods.template)}",
                         place=f"{place}.template")  # fmt: skip


def _make_children(pods: PodSet, obj: Object) -> Iterator[Object]:
    where = path_of(pods.template)
    head, _ = where.split()
    places = [_Place(obj, _item(obj, head, taken), taken[-1] if taken else "", template)
              for taken, template in where.values_in(obj) if template is not None]  # fmt: skip
    if not places and not where.branches:
        raise InputError(f"{obj.get('kind')} {name_of(obj)} has no pod template here", place=str(where))
    for place in places:
        if not isinstance(place.template, dict):
            raise InputError(f"{obj.get('kind')} {name_of(obj)} has no pod template here", place=str(where))
        type_ = "batch.v1.JobTemplateSpec" if pods.makes == "Job" else "core.v1.PodTemplateSpec"
        check_part(place.template, type_, str(where))
        yield from _children(pods, place)


def _item(obj: Object, head: FieldPath, matched: tuple[str, ...]) -> Any:
    """The value that the last [*] of a path matched; the object, for a path without one."""
    return next((value for keys, value in head.values_in(obj) if keys == matched), obj) if matched else obj


def _count_of(pods: PodSet, place: _Place) -> int:
    if isinstance(pods.count, int):
        return pods.count
    count_path = pods.count or (".replicas" if place.item is not place.owner else "$.spec.replicas")
    path = path_of(count_path)
    value = path.value_in(place.owner if path.rooted else place.item)
    check_part(value, "int32", str(path))
    return pods.default_count if value is None else max(0, int(value))


def _children(pods: PodSet, place: _Place) -> Iterator[Object]:
    owner, count = place.owner, _count_of(pods, place)
    # Refused before there is one of them; they are counted when they are made.
    pods_of_child = max(1, stated_pods({**place.template, "kind": "Job"})) if pods.makes == "Job" else 1
    with pods_to_make(pods_left()):
        make_room(count * pods_of_child, f"{owner.get('kind')} {name_of(owner)}")
    words = {
        "name": name_of(owner),
        "namespace": namespace_of(owner),
        "uid": uid_of(owner),
        "key": place.key,
        "count": str(count),
        "hash": template_hash(place.template),
    }
    words["role"] = _fill_text(pods.role, words, place)
    named = pods.name or ("{name}-{role}-" if words["role"] else "{name}-{key}-" if place.key else "{name}-")
    many = pods.makes in ("Pod", "Job")
    for index in range(pods.first, pods.first + count if many else pods.first + 1):
        words["index"] = str(index)
        labels = {key: _fill_text(text, words, place) for key, text in pods.labels.items()}
        notes = {key: _fill_text(text, words, place) for key, text in pods.annotations.items()}
        name = _fill_text(named, words, place)
        if pods.makes == "Pod":
            yield child_pod(owner, place.template, name, labels, notes)
        elif pods.makes == "Job":
            yield child(owner, "batch/v1", "Job", name, _job_spec(place.template, labels, notes), {"labels": labels})
        else:
            yield child(
                owner,
                _VERSIONS.get(pods.makes, "apps/v1"),
                pods.makes,
                name,
                _replicated_spec(pods.makes, with_metadata(place.template, labels, notes), count),
                {"labels": labels},
            )


def with_metadata(template: Object, labels: Mapping[str, str], annotations: Mapping[str, str]) -> Object:
    """A template with more labels and annotations."""
    copy = deep_copy_json(template)
    metadata = section(copy, "metadata")
    for key, more in (("labels", labels), ("annotations", annotations)):
        if merged := {**(metadata.get(key) or {}), **more}:
            metadata[key] = merged
    return {**copy, "metadata": metadata}


def _job_spec(template: Object, labels: Mapping[str, str], annotations: Mapping[str, str]) -> Object:
    spec = deep_copy_json(section(template, "spec"))
    spec["template"] = with_metadata(section(spec, "template"), labels, annotations)
    return dict(spec)


def _replicated_spec(makes: str, template: Object, count: int) -> Object:
    labels = section(template, "metadata", "labels")
    selector = dict(labels) if makes == "ReplicationController" else {"matchLabels": dict(labels)}
    return {"replicas": count, "selector": selector, "template": template}


def _fill_text(text: str, words: Mapping[str, str], place: _Place) -> str:
    def word(match: re.Match[str]) -> str:
        what, small = match.groups()
        if what[0] in ".$":
            path = path_of(what)
            value = path.value_in(place.owner if path.rooted else place.item)
            sentence = "" if value is None else str(value)
        else:
            sentence = words.get(what, "")
        return sentence.lower() if small else sentence

    return _TEXT.sub(word, text)
