"""Manifests of a question, read as it was asked to: what of directories is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kwhatif.errors import UsageError
from kwhatif.results.base import Gap
from kwhatif.simulation.inputs import Files, Inputs, Rendering, SchedulerOptions
from kwhatif.snapshot.load import Manifest, load_manifests
from kwhatif.snapshot.repository.reading_report import ReadingOptions, ReadingReport
from kwhatif.versions import DEFAULT_MINOR


def variables_of(told: Sequence[str]) -> dict[str, str]:
    """Names and values of ``NAME=VALUE``, of which the last counts. Raises UsageError."""
    found: dict[str, str] = {}
    for each in told:
        name, equals, value = each.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"--var {each}: expected NAME=VALUE")
        found[name] = value
    return found


_MOST_ALTERNATIVES = 10


def describe_alternatives(manifest: Manifest) -> str:
    """Which of two objects of one name counts, with the places of both; empty if there is one."""
    if manifest.instead_of is None:
        return ""
    what = f"{manifest.obj.kind} {manifest.obj.name}"
    return f"{what} appears twice: {manifest.origin} counts, not {manifest.instead_of}"


@dataclass
class ReadingNotes:
    """What is worth knowing of manifests that were read: ``texts`` in words, and ``gaps`` in what is known of them."""

    texts: list[str] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)

    def warn_of_alternatives(self, manifests: Sequence[Manifest]) -> None:
        """Objects of which a directory has more than one."""
        texts = [text for text in map(describe_alternatives, manifests) if text]
        self.texts += (f"warning: {text}" for text in texts[:_MOST_ALTERNATIVES])
        if len(texts) > _MOST_ALTERNATIVES:
            self.texts.append(f"warning: {len(texts) - _MOST_ALTERNATIVES} more objects appear twice")

    def add(self, report: ReadingReport) -> None:
        """What a report has."""
        self.texts += (f"note: {note}" for note in report.notes())
        for what, effect in report.gaps():
            self.texts.append(f"warning: {what}: {effect}")
            self.gaps.append(Gap(what=what, effect=effect, pods=("<input>",)))


def reading_options(inputs: Inputs, engine: SchedulerOptions) -> ReadingOptions:
    """How a question's manifests are read. Raises UsageError."""
    told = inputs.manifest_options
    return ReadingOptions(
        exclude=tuple(told.exclude or ()),
        variables=variables_of(told.variables or ()),
        render=told.render or Rendering.auto,
        kubernetes_version=engine.kubernetes_version or DEFAULT_MINOR,
    )


def read_manifests(
    inputs: Inputs, engine: SchedulerOptions, files: Files, notes: ReadingNotes, *, namespace: str = ""
) -> list[Manifest]:
    """The objects of ``files``; what is worth knowing of them is added to ``notes``. Raises InputError.

    What names no namespace gets ``namespace``, unsaid that of the inputs.
    """
    report = ReadingReport()
    manifests = load_manifests(files, namespace or inputs.namespace, reading_options(inputs, engine), report)
    notes.add(report)
    notes.warn_of_alternatives(manifests)
    return manifests
