"""The lines by which objects are not what they were: in their own manifest or, where that is as it was, in what
kustomizations lay over it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from kwhatif.results.gate import Change, Location, Subject
from kwhatif.snapshot.read.field_lines import FieldLines, Path, read_field_lines

_STEP = re.compile(r"""\["([^"]*)"\]|\[([0-9]+)\]|([^.\[\]]+)""")
"""A step of a field's path: a quoted key, the number of an item, or a plain key."""

_PATCHES = ("patches", "patchesStrategicMerge", "patchesJson6902")


class ChangedField(NamedTuple):
    """A field that differs, and what it is now."""

    path: Path
    value: str

    @property
    def names(self) -> Path:
        """The path without the numbers of items, which a patch has others of."""
        return _names_of(self.path)


class ChangedLines:
    """Where ``changes`` were made, in files with these ``texts``. ``differing`` are files that changed at all."""

    def __init__(
        self, changes: Sequence[Change], texts: Mapping[str, Sequence[str]], differing: Collection[str] = ()
    ) -> None:
        self._texts = texts
        self._differing = [file for file in differing if file in texts]
        self._places: dict[Location, dict[Subject, Location]] = {}
        for change in changes:
            if change.what == "changed" and (place := change.location) is not None and place.file in texts:
                of_place = self._places.setdefault(place, {})
                if (line := self._place_of(change, place, differing)) is not None:
                    of_place[change.subject] = line

    def find(self, place: Location, subject: Subject | None) -> Location:
        """The place of the line for what stood at a place and is about a subject. What changes with an object that is
        another one's, as replicas with an autoscaler, is at the lines of that.
        """
        known = self._places.get(place)
        if not known:
            return place
        return known[subject] if subject in known else next(iter(known.values()))

    def _place_of(self, change: Change, place: Location, differing: Collection[str]) -> Location | None:
        """None where the document there is another object."""
        fields = [*_fields_of(change.details)]
        if differing and posixpath.normpath(place.file) not in map(posixpath.normpath, differing):
            sole = [Location(file=file, line=1) for file in self._differing]
            return self._place_in_patches(change.subject, fields) or (sole[0] if len(sole) == 1 else place)
        text = "\n".join(lines_of_document(self._texts[place.file], place.line))
        for document in read_field_lines(text, place.line):
            begin = _begin_of(document, change.subject)
            if begin is None:
                return None
            nearest = [(*document.nearest(field.path, begin), field) for field in fields]
            ranked = [
                (_is_of_no_effect(field), depth < len(field.path), line, field)
                for depth, line, field in nearest
                if depth
            ]
            if not ranked:
                break
            _, _, line, field = min(ranked, key=lambda rank: rank[:2])
            is_laid_over = document.text_at(*begin, *field.path) not in ("", field.value)
            patch = self._place_in_patches(change.subject, [field]) if is_laid_over else None
            return patch or Location(file=place.file, line=line)
        return place

    def _place_in_patches(self, subject: Subject, fields: Sequence[ChangedField]) -> Location | None:
        """The line of a file that changed and has one of these fields of the subject, at best with its new value."""
        ranked = [
            (_is_of_no_effect(field), not same, Location(file=file, line=line))
            for file in self._differing
            for document in read_field_lines("\n".join(self._texts[file]))
            for field in fields
            for line, same in _lines_in_patch(document, subject, field)
        ]
        return min(ranked, key=lambda rank: rank[:2])[2] if ranked else None


def lines_of_document(lines: Sequence[str], first: int) -> Iterator[str]:
    """The document that begins with the line ``first`` (from 1)."""
    for number in range(first, len(lines) + 1):
        line = lines[number - 1]
        if number > first and line.startswith(("---", "...")):
            return
        yield line.rstrip("\r")


def _fields_of(details: Sequence[str]) -> Iterator[ChangedField]:
    """The fields of a change, as ``Change`` has them."""
    for detail in details:
        path, _, values = detail.partition(": ")
        steps = (match.groups() for match in _STEP.finditer(path))
        parts = (int(item) if item is not None else quoted or plain or "" for quoted, item, plain in steps)
        yield ChangedField(tuple(parts), values.rpartition(" -> ")[2])


def _is_of_no_effect(field: ChangedField) -> bool:
    """Whether it rarely decides where a pod goes: what is no part of ``spec``, and a new image."""
    return field.path[:1] != ("spec",) or field.path[-1:] == ("image",)


def _names_of(path: Path) -> Path:
    return tuple(step for step in path if isinstance(step, str))


def _begin_of(document: FieldLines, subject: Subject) -> Path | None:
    """Where the object begins in a document, which may be a list or an item of one; None if it is another object."""
    beginnings: list[Path] = [(0,) if (0,) in document.lines else ()]
    if document.text_at("kind").endswith("List") and ("items", 0) in document.lines:
        beginnings = [path for path in document.lines if len(path) == 2 and path[0] == "items"]
    same_kind = [path for path in beginnings if document.text_at(*path, "kind") == subject.kind]
    named = [path for path in same_kind if document.text_at(*path, "metadata", "name") == subject.name]
    # Kustomizations give objects other names.
    return next(iter([*named, *same_kind]), None)


# --- what kustomizations lay over objects


def _lines_in_patch(document: FieldLines, subject: Subject, field: ChangedField) -> Iterator[tuple[int, bool]]:
    """The lines of a patch or a kustomization that have the field of an object, and whether also its value."""
    if (0, "op") in document.lines:
        yield from _lines_of_operations(document, field)
    elif document.text_at("kind") == subject.kind:
        if _may_be_of(document, (), subject):
            yield from _lines_of_fields(document, field)
    elif document.text_at("kind") in ("Kustomization", "Component", ""):
        yield from _lines_of_kustomization(document, subject, field)


def _may_be_of(document: FieldLines, path: Path, subject: Subject) -> bool:
    """Whether ``metadata`` below a path may be the subject's, which kustomizations may have named otherwise."""
    name, namespace = (document.text_at(*path, "metadata", key) for key in ("name", "namespace"))
    return name in subject.name and namespace in ("", subject.namespace)


def _lines_of_fields(document: FieldLines, field: ChangedField) -> Iterator[tuple[int, bool]]:
    for path, line in document.lines.items():
        if _names_of(path) == field.names and not isinstance(path[-1], int):
            yield line, document.text_at(*path) == field.value


def _lines_of_operations(document: FieldLines, field: ChangedField) -> Iterator[tuple[int, bool]]:
    """Those of a JSON patch."""
    for path, content in document.contents.items():
        if len(path) == 2 and path[1] == "path":
            steps = (step.replace("~1", "/").replace("~0", "~") for step in content.text.split("/")[1:])
            names = tuple(step for step in steps if step != "-" and not step.isdecimal())
            value: Path = (path[0], "value")
            if names and field.names[: len(names)] == names:
                line = document.lines.get(value, content.line)
                yield line, document.text_at(*value) == field.value


def _lines_of_kustomization(document: FieldLines, subject: Subject, field: ChangedField) -> Iterator[tuple[int, bool]]:
    for path, content in document.contents.items():
        match path:
            case ("replicas", int() as item, "count") if field.path[-1:] == ("replicas",):
                if document.text_at("replicas", item, "name") in subject.name:
                    yield content.line, content.text == field.value
            case ("images", int() as item, "newTag" | "newName" | "digest") if field.path[-1:] == ("image",):
                yield content.line, content.text in field.value
            case (str() as key, int() as item, *rest) if key in _PATCHES and rest in ([], ["patch"]):
                kind, name = (document.text_at(key, item, "target", part) for part in ("kind", "name"))
                if kind in ("", subject.kind) and name in subject.name:
                    for inner in read_field_lines(content.text, content.line):
                        if inner.text_at("kind") != "Kustomization":
                            yield from _lines_in_patch(inner, subject, field)
