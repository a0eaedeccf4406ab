"""Charts of a repository, rendered by ``helm template`` where helm is installed.

Only what needs no network is rendered. Nothing asks a cluster, so ``lookup`` finds nothing there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from kwhatif import bounds
from kwhatif.errors import InputError
from kwhatif.snapshot.read.files import Text, text_of
from kwhatif.snapshot.read.objects import decode, read_documents
from kwhatif.snapshot.read.program_words import HELM_TEMPLATE, ProgramCall
from kwhatif.snapshot.read.programs import find_program, run_program
from kwhatif.snapshot.repository.file_trees import FileTree
from kwhatif.snapshot.repository.scratch_directories import ScratchDirectory

CHART = "Chart.yaml"


@dataclass(frozen=True)
class ChartRelease:
    """With what a chart is installed: later ``value_files`` count more than earlier ones, ``values`` more than these.

    ``parameters`` are words of ``set`` and other options of ``helm template``, each with its option.
    """

    name: str
    namespace: str = ""
    value_files: Sequence[str] = ()
    values: Sequence[Mapping[str, Any]] = ()
    parameters: Sequence[tuple[str, str]] = ()


def parse_values(text: str) -> dict[str, Any]:
    """Values of a chart that stand in another object; none where the text is not a mapping."""
    try:
        documents = read_documents(Text("values", text.encode()))
        return decode(documents[0].value, dict[str, Any]) if documents else {}
    except InputError:
        return {}


def is_helm_installed() -> bool:
    """Whether charts can be rendered at all."""
    return bool(find_program(HELM_TEMPLATE.program))


def has_chart(tree: FileTree, folder: str) -> bool:
    """Whether a directory is that of a chart."""
    return tree.is_file(tree.path_in(folder, CHART))


class ChartCopy:
    """A chart with what it is installed with, written to a directory of ours. Raises InputError for what helm must not
    get.
    """

    def __init__(
        self, tree: FileTree, scratch: ScratchDirectory, files: Mapping[str, bytes], release: ChartRelease
    ) -> None:
        self._scratch, self._release = scratch, release
        for name, data in files.items():
            scratch.write(f"chart/{name}", data)
        given = [tree.content_of(file) for file in release.value_files]
        given += [msgspec.json.encode(values) for values in release.values]
        self._values = [scratch.write(f"values/{number}.yaml", data) for number, data in enumerate(given)]

    def render(self, source: str, kubernetes_version: str) -> Text:
        """What helm makes of it; ``source`` is what messages call it.

        Tests of the chart are left out, definitions of its resources are in. Raises InputError with helm's words if it
        fails, or takes too much.
        """
        release = self._release
        options = [("namespace", release.namespace), ("kube-version", kubernetes_version)]
        options = [each for each in options if each[1]]
        options += [*(("values", path) for path in self._values), *release.parameters]
        call = ProgramCall(HELM_TEMPLATE, options, (release.name, os.path.join(self._scratch.path, "chart")))
        printed = run_program(call, self._scratch.path, source)
        return text_of(f"{source} (rendered)", printed, bounds.MANIFEST_BYTES)
