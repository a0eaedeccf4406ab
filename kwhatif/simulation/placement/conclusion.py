"""The one place that makes an ``Outcome``: of a run, and of objects and pods that were never created."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kwhatif.results.amounts import format_count, format_some
from kwhatif.results.base import Fidelity
from kwhatif.results.outcome import NodeCount, NotCreated, Outcome, RefusedObject
from kwhatif.results.place import FailedCreate, Refusal, failures_left
from kwhatif.simulation.placement.gaps_of_verdict import gaps_of_verdict
from kwhatif.simulation.placement.run_outcome import RunOutcome


@dataclass(frozen=True)
class NeverMade:
    """Objects that the API server refuses, and pods that controllers fail to make."""

    refusals: Sequence[Refusal] = ()
    failed: Sequence[FailedCreate] = ()

    def __bool__(self) -> bool:
        return bool(self.refusals or self.failed)

    def after(self, run_outcome: RunOutcome) -> NeverMade:
        """What is left of it once controllers have created what a run made room for in quotas."""
        if not run_outcome.created:
            return self
        return NeverMade(self.refusals, failures_left(self.failed, run_outcome.created))


NOTHING_MISSING = NeverMade()


def conclude(
    run_outcome: RunOutcome,
    never_made: NeverMade,
    fidelity: Fidelity | None,
    verdict: str,
    *,
    bad: bool = False,
) -> Outcome:
    """The outcome of a run with a ``verdict``. ``bad``: something else that the command is about went wrong."""
    never_made = never_made.after(run_outcome)
    unknown = () if fidelity is None else gaps_of_verdict(fidelity, evicting=bool(run_outcome.victims))
    unknown += () if run_outcome.scale_up is None else run_outcome.scale_up.unknown
    more = [
        *(
            [f"{format_some(run_outcome.unsettled)}: evicts others in turns without end"]
            if run_outcome.unsettled
            else []
        ),
        *unknown,
    ]
    return Outcome(
        good=run_outcome.good and not never_made and not bad,
        verdict="; ".join([verdict.rstrip(".") if more else verdict, *more]),
        pending=run_outcome.pending,
        evicted=len(run_outcome.victims),
        victims=run_outcome.victims,
        refused=tuple(RefusedObject(object=each.object, why=each.message) for each in never_made.refusals),
        not_created=tuple(
            NotCreated(workload=each.owner, pods=each.pods, why=each.message) for each in never_made.failed
        ),
        added_nodes=_added_nodes(run_outcome),
        removed_nodes=run_outcome.removed_nodes,
        cost=_cost(run_outcome),
        unknown=unknown,
    )


def conclude_in_words(
    run_outcome: RunOutcome,
    never_made: NeverMade,
    fidelity: Fidelity | None,
    words: Iterable[str],
    *,
    bad: bool = False,
) -> Outcome:
    """The same with a verdict of some words, empty ones left out, and of those about what was never created."""
    missing = words_of_never_made(never_made.after(run_outcome))
    return conclude(run_outcome, never_made, fidelity, "; ".join(filter(None, [*words, *missing])), bad=bad)


def _added_nodes(run_outcome: RunOutcome) -> tuple[NodeCount, ...]:
    counts = (
        Counter(each.group for each in run_outcome.scale_up.nodes)
        if run_outcome.scale_up is not None
        else Counter[str]()
    )
    return tuple(NodeCount(group=group, nodes=nodes) for group, nodes in sorted(counts.items()))


def _cost(run_outcome: RunOutcome) -> float | None:
    """The change of cost a month; None where a price is not known, or without autoscalers."""
    if run_outcome.scale_up is None or run_outcome.saved is None:
        return None
    bought = run_outcome.scale_up.cost if run_outcome.scale_up.nodes else 0.0
    return None if bought is None else round(bought - run_outcome.saved, 2)


def words_of_never_made(never_made: NeverMade) -> list[str]:
    """``1 object refused``, ``3 pods not created``."""
    parts = [f"{format_count(len(never_made.refusals), 'object')} refused"] if never_made.refusals else []
    missing = sum(each.pods for each in never_made.failed)
    return [*parts, *([f"{format_count(missing, 'pod')} not created"] if missing else [])]


def words_of_driven_out(run_outcome: RunOutcome) -> list[str]:
    """``1 other driven out``: pods that others took the place of."""
    count = sum(each.taken_by is not None for each in run_outcome.victims)
    return [f"{format_count(count, 'other')} driven out"] if count else []


NOTHING_ASKED = "No pods to place."


def words_of(run_outcome: RunOutcome, never_made: NeverMade, told: Sequence[str], stuck: int = 0) -> str:
    """A verdict: the words about the pods of the question (``told``), and before and after them those about
    all others.
    """
    pushed_out = sum(each.cause == "evicted" for each in run_outcome.pending)
    parts = [f"{format_count(pushed_out, 'victim stays', 'victims stay')} pending"] if pushed_out else []
    parts += told
    if run_outcome.victims:
        parts.append(format_count(len(run_outcome.victims), "victim"))
    if run_outcome.lost:
        parts.append(f"{format_count(len(run_outcome.lost), 'pod')} gone for good")
    parts += words_of_never_made(never_made.after(run_outcome))
    if stuck:
        parts.append(f"{format_count(stuck, 'rollout')} stuck")
    return ", ".join(parts) or NOTHING_ASKED
