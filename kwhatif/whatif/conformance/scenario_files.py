"""Scenario files: JSON Lines, or one indented JSON object after the other; packed or not.

The schema of a scenario is ``schemas/scenario.schema.json``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import msgspec

from kwhatif.api.decode import Json, decode_json
from kwhatif.api.json_schema import strictly_json
from kwhatif.errors import InputError
from kwhatif.snapshot.read.files import Text, called, found_in, read_paths
from kwhatif.snapshot.read.json_reader import read_json
from kwhatif.whatif.conformance.autoscaler_answers import AutoscalerScenario
from kwhatif.whatif.conformance.karpenter_answers import KarpenterScenario
from kwhatif.whatif.conformance.scenario_answers import Scenario

_SUFFIXES = (".jsonl", ".json")


def scenario_files(paths: Sequence[str]) -> list[str]:
    """The files meant: those named, and of a directory its .jsonl and .json files, packed or not. Raises InputError."""
    files: list[str] = []
    for path in paths:
        if not os.path.isdir(path):
            files.append(path)
            continue
        found = [name for name in sorted(os.listdir(path)) if _unpacked(name).endswith(_SUFFIXES)]
        if not found:
            raise InputError("this directory has no .jsonl or .json files", source=called(path))
        files += [found_in(path, os.path.join(path, name)) for name in found]
    return files


def _unpacked(name: str) -> str:
    return name.removesuffix(".gz").removesuffix(".zst")


_NOTHING = msgspec.Raw()


AnyScenario = Scenario | AutoscalerScenario | KarpenterScenario


class _Head(msgspec.Struct, rename="camel"):
    """What tells the kinds of scenarios apart."""

    node_groups: msgspec.Raw = _NOTHING
    node_pools: msgspec.Raw = _NOTHING

    @property
    def kind(self) -> type[AnyScenario]:
        if self.node_groups is not _NOTHING:
            return AutoscalerScenario
        return KarpenterScenario if self.node_pools is not _NOTHING else Scenario


def read_scenarios(path: str) -> Iterator[tuple[str, AnyScenario]]:
    """The scenarios of a file in order, each with what messages call it: the file and the line.

    Those with node groups are of cluster-autoscaler, those with NodePools of Karpenter. Raises InputError.
    """
    (text,) = read_paths([path])
    for line, raw in _objects(text):
        where = f"{text.name} line {line}"
        try:
            scenario: AnyScenario = strictly_json(raw, decode_json(raw, _Head).kind)
        except InputError as error:
            # Of a line of its own, "line 1" would be said once more.
            place = error.place.removeprefix("line 1, ") if not error.place.startswith("$") else error.place
            raise InputError(error.problem, source=where, place=place) from None
        yield f"{where} ({scenario.name})", scenario


def _objects(text: Text) -> Iterator[tuple[int, Json]]:
    """Line and text of each JSON object."""
    data = text.data
    if not data.strip():
        raise InputError("holds no scenarios: it is empty", source=text.name)
    if not _is_a_line(data):
        yield from ((document.line, document.value) for document in read_json(data, text.name))
        return
    view, start, line = memoryview(data), 0, 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        line += 1
        if data[start:end].strip():
            yield line, view[start:end]
        start = end + 1


def _is_a_line(data: bytes) -> bool:
    """Whether the first line that holds something looks like a complete object."""
    stripped = data.lstrip()
    end = stripped.find(b"\n")
    first = stripped if end < 0 else stripped[:end]
    return first.rstrip().endswith(b"}")
