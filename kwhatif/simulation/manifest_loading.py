"""Reads the manifests of a question by its options: excluded files, variables, kustomizations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from kwhatif.errors import UsageError
from kwhatif.results.amounts import format_some
from kwhatif.results.base import INPUT, Gap
from kwhatif.simulation.inputs import Files, ManifestOptions, Notes, Rendering
from kwhatif.simulation.scenario import PreparedScenario, ReadManifests, Scenario
from kwhatif.snapshot.load import Manifest, load_manifests
from kwhatif.snapshot.repository.argo_clusters import read_clusters
from kwhatif.snapshot.repository.chart_library import ChartLibrary
from kwhatif.snapshot.repository.file_account import ARROW
from kwhatif.snapshot.repository.reading_report import ReadingOptions, ReadingReport, problem_in
from kwhatif.versions import DEFAULT_MINOR


def variables_of(assignments: Sequence[str]) -> dict[str, str]:
    """Names and values of ``NAME=VALUE``, of which the last counts. Raises UsageError."""
    variables: dict[str, str] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"--var {assignment}: expected NAME=VALUE")
        variables[name] = value
    return variables


def note_report(report: ReadingReport, notes: Notes) -> list[Gap]:
    """Note what is worth knowing of manifests that were read; what is missing in them is returned."""
    for text in report.notes():
        notes.note(text)
    for error in report.unreadable:
        notes.warn(f"passed over: {error}")
    for text in dict.fromkeys(report.duplicates):
        notes.warn(text)
    gaps = [Gap(what=what, effect=effect, pods=(INPUT,)) for what, effect in report.gaps()]
    if report.absent_charts:
        owners = [owner for absent_chart in report.absent_charts.values() for owner in absent_chart]
        what = (
            f"{format_some(owners, _MOST_NAMED)}: {'its chart is' if len(owners) == 1 else 'their charts are'} not here"
        )
        effect = "what a chart makes is not judged; --charts DIR names a directory of pulled charts"
        gaps.append(Gap(what=what, effect=effect, pods=(INPUT,), closed_by=tuple(report.absent_charts)))
    for gap in gaps:
        notes.warn(str(gap))
    return gaps


def gaps_of_files(files: Iterable[tuple[str, str]], qualified: str = "") -> Iterator[Gap]:
    """The files that were not read, with the reason of each: those of one reason are one gap."""
    reasons: dict[str, list[str]] = {}
    for file, reason in files:
        reasons.setdefault(reason, []).append(file)
    for reason, names in reasons.items():
        effect = f"{'it is' if len(names) == 1 else 'they are'} not judged{qualified}"
        yield Gap(what=f"{format_some(names, _MOST_NAMED)}: {reason}", effect=effect, pods=(INPUT,))


def leave_out_unreadable(scenario: PreparedScenario, notes: Notes) -> ReadManifests:
    """What was read, with a gap for each object of which its operator could not make pods."""
    for error in scenario.expanded.unreadable.values():
        notes.warn(f"passed over: {error}")
    problems = ((file, problem_in(file, error)) for file, error in scenario.expanded.unreadable.items())
    return replace(scenario.read, gaps=[*scenario.read.gaps, *gaps_of_files(problems)])


DEFAULT_NAMESPACE = "default"
_LOOKED_UP = {
    *(("argoproj.io", "WorkflowTemplate"), ("tekton.dev", "Pipeline"), ("tekton.dev", "Task")),
    *(("serving.kserve.io", "LLMInferenceServiceConfig"), ("serving.kserve.io", "ServingRuntime")),
    ("trainer.kubeflow.org", "TrainingRuntime"),
}
_MOST_NAMED = 3
_MOST_ALTERNATIVES = 10


def describe_alternatives(manifest: Manifest) -> str:
    """Which of two objects of one name counts, with the places of both; empty if there is one."""
    if manifest.replaces is None:
        return ""
    what = f"{manifest.obj.kind} {manifest.obj.name}"
    return f"{what} appears twice: {manifest.origin} counts, not {manifest.replaces}"


def _warn_of_alternatives(manifests: Sequence[Manifest], notes: Notes) -> None:
    texts = [text for text in map(describe_alternatives, manifests) if text]
    for text in texts[:_MOST_ALTERNATIVES]:
        notes.warn(text)
    if len(texts) > _MOST_ALTERNATIVES:
        notes.warn(f"{len(texts) - _MOST_ALTERNATIVES} more objects appear twice")


def reading_options(scenario: Scenario) -> ReadingOptions:
    """How a question's manifests are read. Raises UsageError."""
    options = scenario.inputs.manifest_options
    return ReadingOptions(
        exclude=tuple(options.exclude or ()),
        variables=variables_of(options.variables or ()),
        render=options.render or Rendering.auto,
        kubernetes_version=scenario.scheduler_options.kubernetes_version or DEFAULT_MINOR,
        is_sent_as_it_is=bool(options.verb),
        charts=ChartLibrary(options.charts or ()),
        clusters=None if options.clusters is None else read_clusters(options.clusters),
        namespaced=_operators_kinds(options) if scenario.inputs.namespace != DEFAULT_NAMESPACE else frozenset(),
    )


def _operators_kinds(options: ManifestOptions) -> frozenset[tuple[str, str]]:
    """The kinds that operators make pods of, those of the user among them, and those that they look up for it."""
    from kwhatif.simulation.expansion.pods import template_paths

    return frozenset({(kind.group, kind.kind) for kind in template_paths(options)} | _LOOKED_UP)


def read_manifests(scenario: Scenario, files: Files, notes: Notes, *, namespace: str = "") -> ReadManifests:
    """The objects of ``files``, with what is missing in them; what is worth knowing of them is noted.

    What names no namespace gets ``namespace``, unsaid that of the inputs. Raises InputError.
    """
    report = ReadingReport()
    manifests = load_manifests(files, namespace or scenario.inputs.namespace, reading_options(scenario), report)
    gaps = note_report(report, notes)
    # What a file names that is not here is a gap of the report already, by who names it.
    gaps += gaps_of_files((file, entry.reason) for file, entry in report.files.gaps() if ARROW not in file)
    _warn_of_alternatives(manifests, notes)
    return ReadManifests(manifests, gaps=gaps)
