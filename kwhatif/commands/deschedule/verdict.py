"""The outcome and the verdict line of descheduler cycles."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.commands.deschedule.result import DescheduleResult
from kwhatif.results.amounts import format_count
from kwhatif.results.outcome import Outcome
from kwhatif.simulation.placement.conclusion import conclude_in_words, words_of_driven_out
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.placement.verdict import words_of_growth


def outcome_of_cycles(result: DescheduleResult, run: Run, before: str = "") -> Outcome:
    """Good if every evicted pod has a node in the end and is left alone there, and no plugin failed.

    The verdict says ``before`` the rest what became of pods that were placed first.
    """
    bad = bool(result.thrash or result.evicted_again or result.broken_plugins)
    words = [before, *_words_of(result, run)]
    return conclude_in_words(
        run, result.fidelity, words, bad=bad, lead=("Safe to deschedule", "Not safe to deschedule")
    )


def _words_of(result: DescheduleResult, run: Run) -> Iterator[str]:
    """``2 evictions in 2 cycles, 2 to another node``, ``1 pod moves forever``."""
    if result.skipped:
        yield "the descheduler does nothing with fewer than two ready nodes"
    elif not result.pods:
        yield "no pod is evicted"
        if result.refused:
            yield f"{format_count(len(result.refused), 'eviction')} refused"
    else:
        yield ", ".join(_words_of_evictions(result, run))
        yield from _words_of_rest(result)
    if result.broken_plugins:
        names = dict.fromkeys(each.plugin for each in result.broken_plugins)
        yield f"{', '.join(names)} failed"


def _words_of_evictions(result: DescheduleResult, run: Run) -> Iterator[str]:
    yield f"{format_count(len(result.pods), 'eviction')} in {format_count(result.cycles, 'cycle')}"
    for outcome, words in (
        ("moved", "to another node"),
        ("returned", "back to the same node"),
        ("gone", "not recreated"),
    ):
        count = sum(pod.outcome == outcome for pod in result.pods)
        if count:
            yield f"{count} {words}"
    yield from words_of_driven_out(run)
    if run.pending:
        yield f"{format_count(len(run.pending), 'pod')} pending"
    yield from words_of_growth(result.scale_up)
    gone = [node for node in result.removed_nodes if not node.anyway]
    if gone:
        yield f"{format_count(len(gone), 'more node')} removable"
    if result.balance is not None and not result.balance.better:
        yield "balance no better"


def _words_of_rest(result: DescheduleResult) -> Iterator[str]:
    if result.thrash:
        yield f"{format_count(len(result.thrash), 'pod moves', 'pods move')} forever"
    elif result.quiet:
        yield "the next cycle evicts no pod"
    else:
        text = f"the next cycle evicts {format_count(len(result.next_evictions), 'pod')}"
        again = len(result.evicted_again)
        yield f"{text}, {again} of them again" if again else text
