"""Every question, from files to an answer that is judged: a tuple of stages, each a function of the last one's value.

The command line and the Python API ask in this one way.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from kwhatif.bounds import pods_to_make, work_to_do
from kwhatif.progress import report_start
from kwhatif.results.base import Result
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.question import PendingResult, Question, Scenario

if TYPE_CHECKING:
    from kwhatif.results.base import Fidelity
    from kwhatif.simulation.explanation.observer import PendingRecorder

R = TypeVar("R", bound=Result)


@dataclass(frozen=True)
class PipelineState:
    """A question on its way: one case, or the two that are compared, what is worth knowing, and in the end the result.

    What is given once serves both cases. ``stands_on`` is the fidelity of each run of the ``answer``. Where that is to
    be drawn, ``waiting`` looks on at its run for pods that find no node.
    """

    question: Question[Any]
    cases: Sequence[Scenario]
    notes: Notes
    answer: PendingResult[Any] | None = None
    fidelities: Sequence[Fidelity] = ()
    result: Result | None = None
    pending_recorder: PendingRecorder | None = None


def ask(question: Question[R], *cases: Scenario) -> R:
    """The answer to a question, which knows its exit code and its notes. Raises KwhatifError."""
    inquiry = PipelineState(question, cases, Notes())
    for case in cases:
        question.check(case)
    with pods_to_make(cases[0].inputs.manifest_options.max_pods), work_to_do():
        for stage in STAGES:
            inquiry = stage(inquiry)
    result: Any = inquiry.result
    result.set_notes(inquiry.notes)
    return result  # type: ignore[no-any-return]


def load(inquiry: PipelineState) -> PipelineState:
    """Files become objects: the manifests, and the cluster, which may be large."""
    from kwhatif.simulation.cluster_files import load_cluster

    first = inquiry.cases[0]
    for case in inquiry.cases:
        if case is not first and case.inputs.manifests is first.inputs.manifests:
            case.manifests = first.manifests
        else:
            inquiry.question.load(case)
            inquiry.notes.add(case.reading_notes.texts)
    for case in inquiry.cases:
        shared = case is not first and case.inputs.snapshot is first.inputs.snapshot
        case.edited = first.edited if shared else load_cluster(case.inputs, inquiry.notes)
    return inquiry


def edit(inquiry: PipelineState) -> PipelineState:
    """What if the cluster were another one? Controllers do what they would do about it."""
    from kwhatif.simulation.cluster_files import with_edits

    first = inquiry.cases[0]
    manifests = [manifest for case in inquiry.cases for manifest in case.manifests]
    for case in inquiry.cases:
        shared = case is not first and case.inputs.snapshot is first.inputs.snapshot
        case.edited = first.edited if shared else with_edits(case.snapshot, case.inputs.edits, inquiry.notes, manifests)
        if case.edited.replicas:
            from kwhatif.simulation.edits.scaling import resize_manifests

            case.manifests = resize_manifests(case.manifests, case.edited.replicas)
        inquiry.question.check_edited(case)
    return inquiry


def rules(inquiry: PipelineState) -> PipelineState:
    """Who decides, by the rules of which Kubernetes."""
    if inquiry.question.schedules:
        from kwhatif.simulation.cluster_files import with_load
        from kwhatif.simulation.scheduler_setup import setup_of

        for case in inquiry.cases:
            case.setup = setup_of(case.scheduler_options, case.snapshot, inquiry.notes)
            if case.scheduler_options.load:
                case.edited = with_load(case.edited, case.scheduler_options.load, case.setup, inquiry.notes)
    return inquiry


def expand(inquiry: PipelineState) -> PipelineState:
    """Manifests become pods, as the API server and the controllers make them."""
    for case in inquiry.cases:
        inquiry.question.expand(case)
        case.expanded.doubts += case.edited.doubts
        for warning in case.expanded.warnings:
            inquiry.notes.warn(f"{warning.object}: {warning.text}")
        for scaled in case.expanded.scaled:
            if scaled.note:
                inquiry.notes.note(scaled.note)
    return inquiry


def merge(inquiry: PipelineState) -> PipelineState:
    """What came of the manifests besides pods is in the cluster from now on; the pods asked about are known."""
    if inquiry.question.schedules:
        from kwhatif.simulation.cluster_files import merge as put
        from kwhatif.simulation.cluster_files import unknown_kinds

        for case in inquiry.cases:
            # What the second side of a comparison adds is not noted again.
            told = inquiry.question.tells_merged and case is inquiry.cases[0]
            notes = inquiry.notes if told else Notes()
            put(case.snapshot, case.expanded.objects, notes)
            case.unknown_kinds = unknown_kinds(case, notes)
            case.pods_to_schedule = inquiry.question.pods(case)
    return inquiry


def session(inquiry: PipelineState) -> PipelineState:
    """The objects become columns, ready to be scheduled on. An answer of several runs does it for each of them.

    Autoscalers are ready to help.
    """
    for case in inquiry.cases if inquiry.question.schedules else ():
        if not inquiry.question.several_runs:
            options = inquiry.question.options(case)
            if case.inputs.with_map:
                from kwhatif.simulation.explanation.observer import PendingRecorder

                options["observer"] = waiting = PendingRecorder(options.get("observer"))
                case.session = waiting.session = case.new_session(**options)
                inquiry = dataclasses.replace(inquiry, pending_recorder=waiting)
            else:
                case.session = case.new_session(**options)
        if case.inputs.autoscale:
            from kwhatif.simulation.autoscaler_selection import scalers

            case.make_scaler = scalers(case, inquiry.notes)
    return inquiry


def answer(inquiry: PipelineState) -> PipelineState:
    """The question is put to the scheduler, as often as it takes."""
    return dataclasses.replace(inquiry, answer=inquiry.question.answer(inquiry.cases, inquiry.notes))


def fidelity(inquiry: PipelineState) -> PipelineState:
    """What each run stands on: plugins that had no say are named, and under ``strict`` no gap may touch a pod."""
    assert inquiry.answer is not None
    if inquiry.question.schedules:
        from msgspec.structs import replace

        from kwhatif.simulation.fidelity.assess import assess, require_no_gaps

        given = {name for case in inquiry.cases if case.scheduler_options.plugins for name in case.setup.outside}
        for name in sorted(given.difference(*(case.setup.used for case in inquiry.cases))):
            inquiry.notes.warn(f"plugin {name} is enabled in no profile that was used: it changed nothing")
        of_manifests = tuple(dict.fromkeys(gap for case in inquiry.cases for gap in case.reading_notes.gaps))
        found = [assess(basis) for basis in inquiry.answer.runs]
        found = [replace(each, gaps=(*each.gaps, *of_manifests)) for each in found]
        if inquiry.cases[0].scheduler_options.strict:
            for each in found:
                require_no_gaps(each.touching)
        inquiry = dataclasses.replace(inquiry, fidelities=found)
    return inquiry


def result(inquiry: PipelineState) -> PipelineState:
    """What is made of the answer, now that it is known what it stands on; with what never came to be."""
    assert inquiry.answer is not None
    first = inquiry.cases[0]
    result: Result = inquiry.answer.result(*inquiry.fidelities).with_refusals(**first.refusal_fields)
    if result.lacks_nodes and not first.inputs.autoscale:
        from kwhatif.simulation.autoscaler_notes import note_autoscalers

        note_autoscalers(first.snapshot, inquiry.notes)
    return dataclasses.replace(inquiry, result=result)


def mapping(inquiry: PipelineState) -> PipelineState:
    """The cluster before and after, or that of either side, for those who draw it, and why pods have no node there."""
    if inquiry.question.schedules and inquiry.cases[0].inputs.with_map:
        from kwhatif.simulation.cluster_map import build_map, observe_cluster, topology_key_of_groups

        assert inquiry.result is not None
        report_start("Mapping the cluster")
        ends = [observe_cluster((case.session_after or case.session).cluster, case.snapshot) for case in inquiry.cases]
        first = inquiry.cases[0].initial_state
        if len(ends) > 1:
            looks = {"A": ends[0], "B": ends[1]}
        else:
            looks = {"now": ends[0]} if first is None else {"before": first, "after": ends[0]}
        inquiry.result.set_cluster_map(build_map(looks, topology_key_of_groups(inquiry.cases[0].snapshot)))
        if inquiry.pending_recorder is not None and inquiry.answer is not None:
            reports = inquiry.pending_recorder.reports({each.pod: each for each in inquiry.answer.placements})
            inquiry.result.set_explanations(reports)
    return inquiry


STAGES: tuple[Callable[[PipelineState], PipelineState], ...] = (
    load,
    edit,
    rules,
    expand,
    merge,
    session,
    answer,
    fidelity,
    result,
    mapping,
)
"""In this order, for every question."""
