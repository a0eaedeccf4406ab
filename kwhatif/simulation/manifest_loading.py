"""Reads the manifests of a question by its options: excluded files, variables, kustomizations."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.errors import UsageError
from kwhatif.simulation.inputs import Files, Inputs, Notes
from kwhatif.snapshot.load import Manifest, load_manifests
from kwhatif.snapshot.read.manifest_texts import ReadingOptions, ReadingReport


def variables_of(assignments: Sequence[str]) -> dict[str, str]:
    """Names and values of ``NAME=VALUE``, of which the last counts. Raises UsageError."""
    found: dict[str, str] = {}
    for each in assignments:
        name, equals, value = each.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"--var {each}: expected NAME=VALUE")
        found[name] = value
    return found


def read_manifests(
    inputs: Inputs,
    files: Files,
    notes: Notes,
    *,
    namespace: str = "",
    may_be_empty: bool = False,
    recursive: bool = True,
) -> list[Manifest]:
    """The objects of ``files``; notes about them are added to ``notes``. Raises InputError.

    Objects without a namespace get ``namespace``, by default that of the inputs.
    """
    report = ReadingReport()
    told = inputs.manifest_options
    options = ReadingOptions(
        tuple(told.exclude or ()), may_be_empty, recursive, variables_of(told.variables or ()), told.render
    )
    manifests = load_manifests(files, namespace or inputs.namespace, options, report)
    for note in report.notes():
        notes.note(note)
    for what, effect in report.gaps():
        notes.warn(f"{what}: {effect}")
    return manifests
