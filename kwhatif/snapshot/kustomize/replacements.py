"""Replacements: a value of one object written into fields of others; and variables, their forerunners.

Upstream: kustomize (api/filters/replacement/replacement.go, kyaml/yaml/match.go, kyaml/utils/pathsplitter.go,
api/filters/refvar).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from kwhatif.api.objects import section
from kwhatif.cel.patterns import search
from kwhatif.cel.values import Fault
from kwhatif.errors import InputError
from kwhatif.golang.parsing import parse_int
from kwhatif.snapshot.kustomize.field_specs import FieldSpec
from kwhatif.snapshot.kustomize.resources import Identity, NoMatchError, Resource, Resources, text_of
from kwhatif.snapshot.kustomize.room import CopyRoom
from kwhatif.snapshot.kustomize.transformers import Selector

_DEFAULT_PATH = "metadata.name"
_DOT = re.compile(r"(?<!\\)\.")
_ITEM = re.compile(r"\[([^=]*)=(.*)\]", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:\$|\(([^)]*)\))")


def apply_replacement(resources: Resources, entry: Mapping[str, Any], room: CopyRoom) -> None:
    """Write the value of a source into all its targets. Raises InputError where one of them is not there."""
    targets = entry.get("targets")
    if not isinstance(targets, list) or (entry.get("source") is None and entry.get("sourceValue") is None):
        raise InputError("a replacement needs a source and targets")
    if entry.get("sourceValue") is not None:
        value = entry["sourceValue"]
    else:
        value = _value_of(resources, _mapping(entry["source"], "source"))
    for target_value in targets:
        target = _mapping(target_value, "target")
        select = Selector(_mapping(target.get("select"), "select"))
        rejects = [one for one in map(Selector, target.get("reject") or ()) if not one.is_empty]
        for resource in [one for one in resources if _is_chosen(one, select, rejects)]:
            for path in target.get("fieldPaths") or [_DEFAULT_PATH]:
                _write(resource, str(path), value, _mapping(section(target, "options"), "options"), room)
    resources.settle()


def _mapping(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InputError(f"replacements: expected a mapping as {what}")
    return value


def _is_chosen(resource: Resource, select: Selector, rejects: Sequence[Selector]) -> bool:
    if not select.selects_texts(resource):
        return False
    if any(selector.has_selectors and selector.selects_texts(resource) for selector in rejects):
        return False
    identities = resource.identities
    if any(
        selector.selects_identity(identity)
        for selector in rejects
        if not selector.has_selectors
        for identity in identities
    ):
        return False
    return any(map(select.selects_identity, identities))


def _value_of(resources: Resources, source: Mapping[str, Any]) -> Any:
    texts = {key: str(source.get(key) or "") for key in ("group", "version", "kind", "name", "namespace")}

    def fits(identity: Identity) -> bool:
        return all(not text or getattr(identity, key) == text for key, text in texts.items())

    objects = resources.matching(fits)
    wanted = " ".join(filter(None, texts.values()))
    if not objects:
        raise NoMatchError(f"replacements: nothing is selected by {wanted}")
    if len(objects) > 1:
        raise InputError(f"replacements: many are selected by {wanted}")
    path = str(source.get("fieldPath") or _DEFAULT_PATH)
    places = list(_places_of(objects[0].value, _split(path), creates=False))
    if not places or places[0].get() in (None, [], {}):
        raise InputError(f"replacements: {objects[0].identity} has no {path}")
    value = places[0].get()
    options = _mapping(section(source, "options"), "options")
    if not options.get("delimiter"):
        return value
    parts = _text_of(value).split(str(options["delimiter"]))
    index = options.get("index") or 0
    if not 0 <= index < len(parts):
        raise InputError(f"replacements: {path} has no part {index}")
    return parts[index]


def _text_of(value: Any) -> str:
    if isinstance(value, dict | list):
        raise InputError("replacements: only a text has a delimiter")
    return text_of(value)


class _Place(msgspec.Struct):
    """Where a value stands: in a mapping by key, or in a list by index."""

    parent: Any
    key: Any

    def get(self) -> Any:
        return self.parent[self.key]

    def put(self, value: Any) -> None:
        self.parent[self.key] = value


def _write(resource: Resource, path: str, value: Any, options: Mapping[str, Any], room: CopyRoom) -> None:
    creates = bool(options.get("create"))
    places = list(_places_of(resource.value, _split(path), creates=creates))
    if not places:
        raise InputError(f"replacements: {resource.identity} has no {path}")
    for place in places:
        there = place.get()
        done = value
        if options.get("delimiter"):
            delimiter, index = str(options["delimiter"]), options.get("index") or 0
            parts = _text_of(there).split(delimiter)
            if index < 0:
                parts.insert(0, _text_of(value))
            elif index >= len(parts):
                parts.append(_text_of(value))
            else:
                parts[index] = _text_of(value)
            done = delimiter.join(parts)
        # A text stays one, whatever is written into it.
        if isinstance(there, str) and not isinstance(done, dict | list):
            done = _text_of(done)
        place.put(room.copy(done))


def _split(path: str) -> list[str]:
    """The keys of a path; brackets keep dots together: ``metadata.annotations.[a.b/c]``."""
    keys: list[str] = []
    open_: list[str] = []
    for part in _DOT.split(path):
        text = part.replace("\\.", ".")
        if open_ or (text.startswith("[") and not text.endswith("]")):
            open_.append(text)
            if not text.endswith("]"):
                continue
            text, open_ = ".".join(open_), []
            keys.append(text if "=" in text else text.strip("[]"))
        else:
            keys.append(text)
    if open_:
        keys.append(".".join(open_))
    return keys


def _places_of(value: Any, keys: Sequence[str], *, creates: bool) -> Iterator[_Place]:
    key, rest = keys[0], keys[1:]
    if isinstance(value, list):
        for index in _indices_of(value, key, rest, creates=creates):
            if rest:
                yield from _places_of(value[index], rest, creates=creates)
            else:
                yield _Place(value, index)
    elif isinstance(value, dict):
        if key not in value:
            if not creates:
                return
            value[key] = (
                None if not rest else [] if _ITEM.fullmatch(rest[0]) or rest[0].isdigit() or rest[0] == "-" else {}
            )
        if rest:
            yield from _places_of(value[key], rest, creates=creates)
        else:
            yield _Place(value, key)


def _indices_of(items: list[Any], key: str, parts: Sequence[str], *, creates: bool) -> list[int]:
    index = parse_int(key) if key.isdigit() else None
    if index is not None:
        if index == len(items) and creates:
            items.append({} if parts else None)
        if index >= len(items):
            raise InputError(f"replacements: there is no item {key}")
        return [index]
    if key == "*":
        return list(range(len(items)))
    match = _ITEM.fullmatch(key)
    if match is None:
        return []
    field, wanted = match.groups()
    texts = {
        index: item.get(field) if field and isinstance(item, dict) else None if field else item
        for index, item in enumerate(items)
    }
    try:
        indices = [
            index
            for index, text in texts.items()
            if text is not None and not isinstance(text, dict | list) and search(_text_of(text), wanted)
        ]
    except Fault as fault:
        raise InputError(f"replacements: {wanted!a}: {fault}") from None
    if not indices and creates:
        items.append({field: wanted} if field else wanted)
        return [len(items) - 1]
    return indices


def variable_values(resources: Resources, variables: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What variables stand for, by name. Raises InputError for one that nothing has."""
    values: dict[str, Any] = {}
    for variable in variables:
        reference = _mapping(variable.get("objref"), "objref")
        name, kind = reference.get("name"), reference.get("kind")
        group, _, version = str(reference.get("apiVersion") or "").rpartition("/")
        spec = FieldSpec("", str(kind), group, version)
        objects = [
            resource
            for resource in resources
            if any(one.name == name and spec.selects_identity(one) for one in resource.identities)
        ]
        field = section(variable, "fieldref")
        path = str(field.get("fieldpath") or field.get("fieldPath") or _DEFAULT_PATH)
        keys = [key for part in _split(path) for key in _with_index(part)]
        places = list(_places_of(objects[0].value, keys, creates=False)) if objects else []
        if not places or isinstance(places[0].get(), dict | list):
            raise InputError(f"vars: {variable.get('name')} is {path} of {kind} {name}, which is not there")
        values[str(variable.get("name"))] = places[0].get()
    return values


def _with_index(part: str) -> list[str]:
    """``ports[0]`` is two keys."""
    name, bracket, index = part.partition("[")
    return [name, index.removesuffix("]")] if bracket and name and index[:-1].isdigit() else [part]


def put_variables(resources: Resources, values: Mapping[str, Any], specs: Sequence[FieldSpec], room: CopyRoom) -> None:
    """Write values in place of ``$(NAME)``; what stands for nothing is left."""

    def put(value: Any) -> Any:
        if isinstance(value, list):
            return [put(element) for element in value]
        if isinstance(value, dict):
            return {key: put(part) if isinstance(part, str) else part for key, part in value.items()}
        if not isinstance(value, str) or "$" not in value:
            return value
        whole = _VARIABLE.fullmatch(value)
        if whole is not None and whole[1] in values:
            return values[whole[1]]
        done = _VARIABLE.sub(lambda at: "$" if at[1] is None else _text_for(at, values), value)
        room.take(len(done) // 8)
        return done

    for resource in resources:
        for spec in specs:
            spec.apply(resource, lambda value: value if value is None else put(value))


def _text_for(match: re.Match[str], values: Mapping[str, Any]) -> str:
    return _text_of(values[match[1]]) if match[1] in values else match[0]
