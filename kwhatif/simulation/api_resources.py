"""The API versions that a cluster serves, as its snapshot's objects show or a file says.

A file is the output of ``kubectl api-resources``, as a table or as JSON, or the discovery documents of a dump:
APIResourceList, APIGroupDiscoveryList, a list of them, or a file of several documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from kwhatif.api.cluster_types import ServedKind, cluster_types
from kwhatif.api.field_types import Types, types_of
from kwhatif.api.objects import part_of, section
from kwhatif.errors import InputError
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.read.files import read_paths
from kwhatif.snapshot.read.objects import decode, read_documents

_EXPECTED = "expected what kubectl api-resources prints, or an APIResourceList or APIGroupDiscoveryList"


def types_served(minor: str, snapshot: Snapshot, path: str = "", gates: frozenset[str] = frozenset()) -> Types:
    """The types that the API server of a snapshot's cluster serves: those of its minor, and those of its own objects.

    With a file the file decides: a kind that it leaves out, of a built-in group that it names, is not served. Raises
    InputError for a file of another format.
    """
    shown = set(_versions_shown(snapshot))
    if not path:
        return cluster_types(minor, sorted(shown), gates=gates)
    served = read_api_resources(path)
    own = types_of(minor, gates)
    kinds = {(version.rpartition("/")[0], kind) for version, kind in served | shown}
    groups = {group for group, _ in kinds}
    known = {(v.rpartition("/")[0], kind) for kind, versions in own.versions.items() for v in versions}
    absent = {(group, kind) for group, kind in known if group in groups and (group, kind) not in kinds}
    return cluster_types(minor, sorted(served | shown), sorted(absent), gates)


def _versions_shown(snapshot: Snapshot) -> Iterator[ServedKind]:
    """The versions of objects that an API server has stored."""
    for kind in snapshot.objects.known_kinds():
        for version in snapshot.objects.share(("versions", kind), (kind,), partial(_versions_of, snapshot, kind)):
            if version:
                yield version, kind
    for kind, objects in snapshot.whole.items():
        for version in {str(obj.get("apiVersion") or "") for obj in objects if part_of(obj, "metadata").get("uid")}:
            if version:
                yield version, kind


def read_api_resources(path: str) -> set[ServedKind]:
    """The kinds that a file says are served. Raises InputError."""
    api_resources: set[ServedKind] = set()
    for text in read_paths([path]):
        plain = text.data.decode("utf-8", "replace")
        if plain.lstrip().startswith("NAME ") and "APIVERSION" in plain:
            api_resources |= set(_of_table(plain, text.name))
            continue
        for document in read_documents(text):
            try:
                api_resources |= set(_of_document(decode(document.value, dict[str, Any]), text.name))
            except InputError as error:
                raise error.with_source(text.name) from None
    if not api_resources:
        raise InputError(f"{_EXPECTED}, found no kinds", source=path)
    return api_resources


def _versions_of(snapshot: Snapshot, kind: str) -> set[str | None]:
    return {obj.api_version for obj in snapshot.objects.list_kind(kind) if obj.metadata.uid}


def _of_table(text: str, source: str) -> Iterator[ServedKind]:
    """Each row has name, maybe short names, version, whether it lives in namespaces, kind, and with -o wide more."""
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0] == "NAME":
            continue
        place = next((place for place, word in enumerate(words) if word in ("true", "false")), 0)
        if place < 2 or place + 1 >= len(words):
            raise InputError(f"line {number}: expected NAME SHORTNAMES APIVERSION NAMESPACED KIND", source=source)
        yield words[place - 1], words[place + 1]


def _of_document(value: Mapping[str, Any], source: str) -> Iterator[ServedKind]:
    match value.get("kind"):
        case "List":
            for item in value.get("items") or ():
                yield from _of_document(item, source)
        case "APIResourceList":
            for resource in value.get("resources") or ():
                group, version = resource.get("group"), resource.get("version")
                text = "/".join(filter(None, (group, version))) if version else str(value.get("groupVersion") or "")
                if "/" not in str(resource.get("name")):
                    yield text, str(resource.get("kind"))
        case "APIGroupDiscoveryList":
            for group in value.get("items") or ():
                yield from _of_group(group)
        case _:
            raise InputError(f"{_EXPECTED}, found {value.get('kind') or 'a document without a kind'}", source=source)


def _of_group(group: Mapping[str, Any]) -> Iterator[ServedKind]:
    name = str(section(group, "metadata").get("name") or "")
    for version in group.get("versions") or ():
        for resource in version.get("resources") or ():
            kind = section(resource, "responseKind").get("kind")
            if kind:
                yield "/".join(filter(None, (name, str(version.get("version"))))), str(kind)
