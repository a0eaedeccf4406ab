"""The one place where an outcome is made: of how a run left the cluster, and of what never came to be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from kwhatif.results.amounts import format_count, format_some
from kwhatif.results.base import Fidelity
from kwhatif.results.outcome import NodeCount, NotCreated, Outcome, RefusedObject
from kwhatif.results.place import FailedCreate, Refusal
from kwhatif.simulation.placement.gaps_of_verdict import gaps_of_verdict
from kwhatif.simulation.placement.rested import Rested


@dataclass(frozen=True)
class NeverMade:
    """Objects that the API server refuses, and pods that controllers fail to make."""

    refusals: Sequence[Refusal] = ()
    failed: Sequence[FailedCreate] = ()

    def __bool__(self) -> bool:
        return bool(self.refusals or self.failed)


NOTHING_MISSING = NeverMade()


def conclude(
    rested: Rested,
    never_made: NeverMade,
    fidelity: Fidelity | None,
    verdict: str,
    *,
    bad: bool = False,
) -> Outcome:
    """The outcome of a run, which is told by a ``verdict``. ``bad``: something else the command is about went wrong."""
    unknown = () if fidelity is None else gaps_of_verdict(fidelity, evicting=bool(rested.victims))
    more = [
        *([f"{format_some(rested.unsettled)}: evicts others in turns without end"] if rested.unsettled else []),
        *unknown,
    ]
    return Outcome(
        good=rested.good and not never_made and not bad,
        verdict="; ".join([verdict, *more]),
        pending=rested.pending,
        evicted=len(rested.victims),
        victims=rested.victims,
        refused=tuple(RefusedObject(object=each.object, why=each.message) for each in never_made.refusals),
        not_created=tuple(
            NotCreated(workload=each.owner, pods=each.pods, why=each.message) for each in never_made.failed
        ),
        added_nodes=_added_nodes(rested),
        removed_nodes=rested.removed_nodes,
        cost=_cost(rested),
        unknown=unknown,
    )


def _added_nodes(rested: Rested) -> tuple[NodeCount, ...]:
    counts = Counter(each.group for each in rested.scale_up.nodes) if rested.scale_up is not None else Counter[str]()
    return tuple(NodeCount(group=group, nodes=nodes) for group, nodes in sorted(counts.items()))


def _cost(rested: Rested) -> float | None:
    """What changes a month; None where a price is not known, or where nobody was asked to add nodes."""
    if rested.scale_up is None or rested.saved is None:
        return None
    bought = rested.scale_up.cost if rested.scale_up.nodes else 0.0
    return None if bought is None else round(bought - rested.saved, 2)


def words_of(rested: Rested, never_made: NeverMade, told: Sequence[str], stuck: int = 0) -> str:
    """A verdict: what is ``told`` of the pods asked about, and before and after it what became of all others."""
    pushed_out = sum(each.cause == "evicted" for each in rested.pending)
    parts = [f"{format_count(pushed_out, 'victim stays', 'victims stay')} pending"] if pushed_out else []
    parts += told
    if rested.victims:
        parts.append(format_count(len(rested.victims), "victim"))
    if rested.lost:
        parts.append(f"{format_count(len(rested.lost), 'pod')} gone for good")
    if never_made.refusals:
        parts.append(f"{format_count(len(never_made.refusals), 'object')} refused")
    missing = sum(each.pods for each in never_made.failed)
    if missing:
        parts.append(f"{format_count(missing, 'pod')} not created")
    if stuck:
        parts.append(f"{format_count(stuck, 'rollout')} stuck")
    return ", ".join(parts) or "No pods to place."
