"""Every question, from files to an answer that is judged: a tuple of stages, each a function of the last one's value.

The command line and the Python API ask in this one way.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from kwhatif.bounds import pods_to_make, work_to_do
from kwhatif.progress import begun
from kwhatif.results.parts import Result
from kwhatif.whatif.stages.notes import Notes
from kwhatif.whatif.stages.question import Answer, Case, Question

if TYPE_CHECKING:
    from kwhatif.results.parts import Fidelity
    from kwhatif.whatif.explain.watch import Waiting

R = TypeVar("R", bound=Result)


@dataclass(frozen=True)
class Inquiry:
    """A question on its way: one case, or the two that are compared, what is worth knowing, and in the end the result.

    What is given once serves both cases. ``stands_on`` is the fidelity of each run of the ``answer``. Where that is to
    be drawn, ``waiting`` looks on at its run for pods that find no node.
    """

    question: Question[Any]
    cases: Sequence[Case]
    notes: Notes
    answer: Answer[Any] | None = None
    stands_on: Sequence[Fidelity] = ()
    result: Result | None = None
    waiting: Waiting | None = None


def ask(question: Question[R], *cases: Case) -> R:
    """The answer to a question, which knows its exit code and its notes. Raises KwhatifError."""
    inquiry = Inquiry(question, cases, Notes())
    for case in cases:
        question.check(case)
    with pods_to_make(cases[0].inputs.reading.max_pods), work_to_do():
        for stage in STAGES:
            inquiry = stage(inquiry)
    result: Any = inquiry.result
    result.noted(inquiry.notes)
    return result  # type: ignore[no-any-return]


def load(inquiry: Inquiry) -> Inquiry:
    """Files become objects: the manifests, and the cluster, which may be large."""
    from kwhatif.whatif.stages.clusters import loaded

    first = inquiry.cases[0]
    for case in inquiry.cases:
        if case is not first and case.inputs.manifests is first.inputs.manifests:
            case.manifests = first.manifests
        else:
            inquiry.question.load(case)
            for manifest in (*case.manifests, *case.aside):
                if manifest.instead_of is not None:
                    what = f"{manifest.obj.kind} {manifest.obj.name}"
                    inquiry.notes.warn(f"{what} appears twice: {manifest.origin} counts, not {manifest.instead_of}")
    for case in inquiry.cases:
        shared = case is not first and case.inputs.snapshot is first.inputs.snapshot
        case.edited = first.edited if shared else loaded(case.inputs, inquiry.notes)
    return inquiry


def edit(inquiry: Inquiry) -> Inquiry:
    """What if the cluster were another one? Controllers do what they would do about it."""
    from kwhatif.whatif.stages.clusters import with_edits

    first = inquiry.cases[0]
    for case in inquiry.cases:
        shared = case is not first and case.inputs.snapshot is first.inputs.snapshot
        case.edited = first.edited if shared else with_edits(case.snapshot, case.inputs.edits, inquiry.notes)
        inquiry.question.check_edited(case)
    return inquiry


def rules(inquiry: Inquiry) -> Inquiry:
    """Who decides, by the rules of which Kubernetes."""
    if inquiry.question.schedules:
        from kwhatif.whatif.stages.deciders import setup_of

        for case in inquiry.cases:
            case.setup = setup_of(case.engine, case.snapshot, inquiry.notes)
    return inquiry


def expand(inquiry: Inquiry) -> Inquiry:
    """Manifests become pods, as the API server and the controllers make them."""
    for case in inquiry.cases:
        inquiry.question.expand(case)
        case.expanded.doubts += case.edited.doubts
        for text in case.expanded.warnings:
            inquiry.notes.warn(text)
    return inquiry


def merge(inquiry: Inquiry) -> Inquiry:
    """What came of the manifests besides pods is in the cluster from now on; the pods asked about are known."""
    if inquiry.question.schedules:
        from kwhatif.whatif.stages.merging import merge as put
        from kwhatif.whatif.stages.merging import unknown_kinds

        for case in inquiry.cases:
            # What the second side of a comparison adds is not told again.
            told = inquiry.question.tells_merged and case is inquiry.cases[0]
            notes = inquiry.notes if told else Notes()
            put(case.snapshot, case.expanded.objects, notes)
            case.others = unknown_kinds(case, notes)
            case.asked = inquiry.question.pods(case)
    return inquiry


def session(inquiry: Inquiry) -> Inquiry:
    """The objects become columns, ready to be scheduled on. An answer of several runs does it for each of them.

    Autoscalers are ready to help.
    """
    for case in inquiry.cases if inquiry.question.schedules else ():
        if not inquiry.question.several_runs:
            options = inquiry.question.options(case)
            if case.inputs.mapped:
                from kwhatif.whatif.explain.watch import Waiting

                options["observer"] = waiting = Waiting(options.get("observer"))
                case.session = waiting.session = case.new_session(**options)
                inquiry = dataclasses.replace(inquiry, waiting=waiting)
            else:
                case.session = case.new_session(**options)
        if case.inputs.autoscale:
            from kwhatif.whatif.autoscale.chosen_autoscalers import scalers

            case.make_scaler = scalers(case, inquiry.notes)
    return inquiry


def answer(inquiry: Inquiry) -> Inquiry:
    """The question is put to the scheduler, as often as it takes."""
    return dataclasses.replace(inquiry, answer=inquiry.question.answer(inquiry.cases, inquiry.notes))


def fidelity(inquiry: Inquiry) -> Inquiry:
    """What each run stands on: plugins that had no say are told of, and under ``strict`` no gap may touch a pod."""
    assert inquiry.answer is not None
    if inquiry.question.schedules:
        from kwhatif.whatif.fidelity.assess import assess, insist

        given = {name for case in inquiry.cases if case.engine.plugin for name in case.setup.outside}
        for name in sorted(given.difference(*(case.setup.used for case in inquiry.cases))):
            inquiry.notes.warn(f"plugin {name} is enabled in no profile that was used: it changed nothing")
        found = [assess(basis) for basis in inquiry.answer.bases]
        if inquiry.cases[0].engine.strict:
            for each in found:
                insist(each.touching)
        inquiry = dataclasses.replace(inquiry, stands_on=found)
    return inquiry


def result(inquiry: Inquiry) -> Inquiry:
    """What is made of the answer, now that it is known what it stands on; with what never came to be."""
    assert inquiry.answer is not None
    first = inquiry.cases[0]
    result: Result = inquiry.answer.result(*inquiry.stands_on).refusing(**first.refused)
    if result.lacks_nodes and not first.inputs.autoscale:
        from kwhatif.whatif.autoscale.shown_autoscalers import note_autoscalers

        note_autoscalers(first.snapshot, inquiry.notes)
    return dataclasses.replace(inquiry, result=result)


def mapping(inquiry: Inquiry) -> Inquiry:
    """The cluster before and after, or that of either side, for those who draw it, and why pods have no node there."""
    if inquiry.question.schedules and inquiry.cases[0].inputs.mapped:
        from kwhatif.whatif.stages.mapping import look, map_of

        assert inquiry.result is not None
        begun("Mapping the cluster")
        ends = [look((case.after or case.session).cluster, case.snapshot) for case in inquiry.cases]
        first = inquiry.cases[0].at_first
        looks = {"A": ends[0], "B": ends[1]} if len(ends) > 1 or first is None else {"before": first, "after": ends[0]}
        inquiry.result.mapped(map_of(looks))
        if inquiry.waiting is not None and inquiry.answer is not None:
            reports = inquiry.waiting.reports({each.pod: each for each in inquiry.answer.placements})
            inquiry.result.explaining_beside(reports)
    return inquiry


STAGES: tuple[Callable[[Inquiry], Inquiry], ...] = (
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
