"""Charts of a repository, rendered by ``helm template`` where helm is installed.

Only what needs no network is rendered. Nothing asks a cluster, so ``lookup`` finds nothing there.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from kwhatif import bounds
from kwhatif.errors import InputError
from kwhatif.snapshot.read.files import Text
from kwhatif.snapshot.read.objects import decode, read_documents
from kwhatif.snapshot.read.program_words import HELM_TEMPLATE, ProgramCall
from kwhatif.snapshot.read.programs import find_program, run_program
from kwhatif.snapshot.repository.file_trees import FileTree
from kwhatif.snapshot.repository.scratch_directories import ScratchDirectory

CHART = "Chart.yaml"
_DOT = re.compile(r"(?<!\\)\.")


@dataclass(frozen=True)
class ChartRelease:
    """With what a chart is installed: later ``value_files`` count more than earlier ones, ``values`` more than these.

    A value file of a pulled chart is its content. ``parameters`` are words of ``set`` and other options of ``helm
    template``, each with its option.
    """

    name: str
    namespace: str = ""
    value_files: Sequence[str | bytes] = ()
    values: Sequence[Mapping[str, Any]] = ()
    parameters: Sequence[tuple[str, str]] = ()


def parse_values(text: str) -> dict[str, Any]:
    """Values of a chart that stand in another object; none where the text is not a mapping."""
    try:
        documents = read_documents(Text("values", text.encode()))
        return decode(documents[0].value, dict[str, Any]) if documents else {}
    except InputError:
        return {}


def merge_values(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Two mappings in one: what is ``above`` counts, a null takes away."""
    merged = {key: value for key, value in below.items() if key not in above or above[key] is not None}
    for key, value in above.items():
        if isinstance(value, Mapping) and isinstance(merged.get(key), Mapping):
            merged[key] = merge_values(merged[key], value)
        elif value is not None:
            merged[key] = merge_values({}, value) if isinstance(value, Mapping) else value
    return merged


def values_at(path: str, value: Any) -> dict[str, Any]:
    """A value below some keys, with dots between them, of which those behind a backslash are parts of a key.

    Raises InputError for more keys than any value is deep.
    """
    if path.count(".") > bounds.DEPTH:
        raise InputError("a value at a path without end")
    for key in reversed(_DOT.split(path)):
        value = {key.replace("\\.", "."): value}
    return dict(value)


def is_helm_installed() -> bool:
    """Whether charts can be rendered at all."""
    return bool(find_program(HELM_TEMPLATE.program))


def has_chart(tree: FileTree, folder: str) -> bool:
    """Whether a directory is that of a chart."""
    return tree.is_file(tree.path_in(folder, CHART))


class ChartCopy:
    """A chart with what it is installed with: all that helm gets of it."""

    def __init__(self, tree: FileTree, files: Mapping[str, bytes], release: ChartRelease) -> None:
        self._release = release
        self._files = {f"chart/{name}": data for name, data in files.items()}
        given = [file if isinstance(file, bytes) else tree.content_of(file) for file in release.value_files]
        given += [msgspec.json.encode(values) for values in release.values]
        self._values = [f"values/{number}.yaml" for number in range(len(given))]
        self._files |= dict(zip(self._values, given, strict=True))

    @cached_property
    def identity(self) -> bytes:
        """Equal for two of which helm makes the same."""
        release = self._release
        digest = hashlib.sha256(repr((release.name, release.namespace, [*release.parameters])).encode())
        for name, data in sorted(self._files.items()):
            digest.update(b"%d %s %d " % (len(name), os.fsencode(name), len(data)))
            digest.update(data)
        return digest.digest()

    def write(self, scratch: ScratchDirectory) -> None:
        """Write it to a directory of ours. Raises InputError for names that no file may have."""
        for name, data in self._files.items():
            scratch.write(name, data)

    def render(self, scratch: ScratchDirectory, source: str, kubernetes_version: str) -> bytes:
        """What helm makes of what was written; ``source`` is what messages call it.

        Tests of the chart are left out, definitions of its resources are in. Raises InputError with helm's words if it
        fails, or takes too much.
        """
        release = self._release
        options = [("namespace", release.namespace), ("kube-version", kubernetes_version)]
        options = [option for option in options if option[1]]
        options += [*(("values", os.path.join(scratch.path, *path.split("/"))) for path in self._values)]
        options += release.parameters
        call = ProgramCall(HELM_TEMPLATE, options, (release.name, os.path.join(scratch.path, "chart")))
        return run_program(call, scratch.path, source)
