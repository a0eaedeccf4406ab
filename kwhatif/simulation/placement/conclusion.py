"""The one place that makes an ``Outcome``: of a run, and of objects and pods that were never created."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from kwhatif.results.amounts import format_count, format_some
from kwhatif.results.base import Fidelity
from kwhatif.results.outcome import FITS, Lead, NodeCount, NotCreated, Outcome, RefusedObject, lead_with
from kwhatif.results.place import PlaceResult
from kwhatif.simulation.placement.placements import totals
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.placement.verdict import gaps_of_verdict


def conclude(
    run: Run,
    fidelity: Fidelity | None,
    verdict: str,
    *,
    bad: bool = False,
    lead: Lead | None = None,
) -> Outcome:
    """The outcome of a run with a ``verdict``, which ``lead`` begins: yes or no.

    ``bad``: something else that the command is about went wrong.
    """
    unknown = () if fidelity is None else gaps_of_verdict(fidelity, evicting=bool(run.victims))
    unknown += () if run.scale_up is None else run.scale_up.unknown
    # What could turn a yes into a no stands in the verdict itself: whoever reads one line should not miss it.
    more = [
        *([f"{format_some(run.unsettled)}: evictions never end"] if run.unsettled else []),
        *unknown,
    ]
    queues = run.session.queues
    more = [*(first_moment.words for first_moment in run.first_moments), *queues.words, *more]
    victims = (*queues.evicted, *run.victims)
    # Pods that Kueue holds never reach the scheduler, so the run knows nothing of them.
    good = run.good and not queues.pending and not bad
    verdict = "; ".join([verdict.rstrip(".") if more else verdict, *more])
    return Outcome(
        good=good,
        verdict=lead_with(lead, verdict, good=good) if lead else verdict,
        pending=(*queues.pending, *run.pending),
        evicted=len(victims),
        victims=victims,
        refused=tuple(RefusedObject(object=refusal.object, why=refusal.message) for refusal in run.refusals),
        not_created=tuple(
            NotCreated(workload=failed_create.owner, pods=failed_create.pods, why=failed_create.message)
            for failed_create in run.not_created
        ),
        added_nodes=_added_nodes(run),
        removed_nodes=run.removed_nodes,
        cost=_cost(run),
        unknown=unknown,
    )


def conclude_in_words(
    run: Run,
    fidelity: Fidelity | None,
    words: Iterable[str],
    *,
    bad: bool = False,
    lead: Lead | None = None,
) -> Outcome:
    """The same with a verdict of some words, empty ones left out, and of those about what was never created."""
    missing = words_of_never_made(run)
    return conclude(run, fidelity, "; ".join(filter(None, [*words, *missing])), bad=bad, lead=lead)


def _added_nodes(run: Run) -> tuple[NodeCount, ...]:
    counts = Counter(node.group for node in run.scale_up.nodes) if run.scale_up is not None else Counter[str]()
    return tuple(NodeCount(group=group, nodes=nodes) for group, nodes in sorted(counts.items()))


def _cost(run: Run) -> float | None:
    """The change of cost a month; None where a price is not known, or without autoscalers."""
    if run.scale_up is None or run.saved is None:
        return None
    bought = run.scale_up.cost if run.scale_up.nodes else 0.0
    return None if bought is None else round(bought - run.saved, 2)


def words_of_never_made(run: Run) -> list[str]:
    """``1 object refused``, ``3 pods not created``."""
    parts = [f"{format_count(len(run.refusals), 'object')} refused"] if run.refusals else []
    missing = sum(failed_create.pods for failed_create in run.not_created)
    return [*parts, *([f"{format_count(missing, 'pod')} not created"] if missing else [])]


def words_of_driven_out(run: Run) -> list[str]:
    """``1 preempted``: pods that others took the place of."""
    count = sum(victim.taken_by is not None for victim in run.victims)
    return [f"{count} preempted"] if count else []


def words_of(run: Run) -> str:
    """A verdict: the words about the pods of the question, and before and after them those about all others."""
    pushed_out = sum(pod.cause == "evicted" for pod in run.pending)
    parts = [f"{format_count(pushed_out, 'evicted pod stays', 'evicted pods stay')} pending"] if pushed_out else []
    parts += run.words
    if run.victims:
        parts.append(f"{format_count(len(run.victims), 'pod')} evicted")
    if run.lost:
        parts.append(f"{format_count(len(run.lost), 'pod')} without a controller lost")
    parts += words_of_never_made(run)
    if run.stuck:
        parts.append(f"{format_count(run.stuck, 'rollout')} stuck")
    return ", ".join(parts) or "no pods to place"


def outcome_of(run: Run, fidelity: Fidelity, plan: str = "") -> Outcome:
    """The outcome of a run of the pods of the question; the verdict ends with the ``plan`` of an autoscaler."""
    verdict = "; ".join(filter(None, (words_of(run), plan)))
    return conclude(run, fidelity, verdict, bad=bool(run.stuck), lead=FITS)


def place_result_of(run: Run, fidelity: Fidelity) -> PlaceResult:
    """A run as ``place`` shows it."""
    return PlaceResult(
        outcome=outcome_of(run, fidelity),
        nodes=len(run.session.cluster),
        totals=totals(run.placements, run.end.cluster),
        placements=tuple(run.placements),
        fidelity=fidelity,
        warnings=run.session.setup.configuration.warnings,
        replacements=run.replacements,
        timeline=run.timeline,
        events=run.events,
        rollouts=run.rollouts,
        scale_up=run.scale_up,
        groups=run.groups or msgspec.UNSET,
    )
