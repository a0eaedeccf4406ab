"""Manifests of a question, read as it was asked to: what of directories is left out."""

from __future__ import annotations

from kwhatif.simulation.inputs import Files, Inputs
from kwhatif.snapshot.load import Manifest, load_manifests
from kwhatif.snapshot.read.manifest_texts import ReadingOptions, ReadingReport


def read_manifests(
    inputs: Inputs,
    files: Files,
    notes: list[str],
    *,
    namespace: str = "",
    may_be_empty: bool = False,
    recursive: bool = True,
) -> list[Manifest]:
    """The objects of ``files``; what is worth knowing of them is added to ``notes``. Raises InputError.

    What names no namespace gets ``namespace``, unsaid that of the inputs.
    """
    report = ReadingReport()
    options = ReadingOptions(tuple(inputs.manifest_options.exclude or ()), may_be_empty, recursive)
    manifests = load_manifests(files, namespace or inputs.namespace, options, report)
    notes += (note for note in report.notes() if note not in notes)
    return manifests
