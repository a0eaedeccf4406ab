"""Files in one volume of a pod that stand in each other's way.

Upstream: pkg/api/pod/warnings.go.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from kwhatif.admission.answer import Object
from kwhatif.admission.request import each

_File = tuple[str, str]
"""A path in a volume, and what it comes from where a volume has several sources."""


def overlaps(volume: Object) -> Iterator[str]:
    """What the server says of a volume's files."""
    name = json.dumps(volume.get("name") or "")
    for key, what, by in (("configMap", "ConfigMap", "name"), ("secret", "Secret", "secretName")):
        source = volume.get(key)
        if source:
            where = f'{name} ({what} "{source.get(by) or ""}")'
            yield from _told(where, ((item.get("path") or "", "") for item in each(source, "items")))
    items = each(volume.get("downwardAPI"), "items")
    yield from _told(f"{name} (DownwardAPI)", ((item.get("path") or "", "") for item in items))
    sources = each(volume.get("projected"), "sources")
    for source in sources:
        if not any(value is not None for value in source.values()):
            yield f"volume {name} (Projected) has no sources provided"
    yield from _told(f"{name} (Projected)", (file for source in sources for file in _projected(source)))


def _projected(source: Object) -> Iterator[_File]:
    for key, what in (("configMap", "ConfigMap"), ("secret", "Secret")):
        for item in each(source.get(key), "items"):
            yield item.get("path") or "", f'{what} "{source[key].get("name") or ""}"'
    for item in each(source.get("downwardAPI"), "items"):
        yield item.get("path") or "", "DownwardAPI"
    if source.get("serviceAccountToken"):
        yield source["serviceAccountToken"].get("path") or "", "ServiceAccountToken"


def _told(where: str, files: Iterable[_File]) -> Iterator[str]:
    before: list[_File] = []
    for path, source in files:
        file = path.rstrip("/"), source
        for other in before if file[0] else ():
            if other[0] and _overlap(file[0], other[0]):
                yield f"volume {where}: overlapping paths: {_shown(file)} with {_shown(other)}"
        before.append(file)


def _overlap(one: str, other: str) -> bool:
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


def _shown(file: _File) -> str:
    path, source = file
    return f"{json.dumps(path)} ({source})" if source else json.dumps(path)
