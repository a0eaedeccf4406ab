"""The outcome of a comparison as a whole; each side has its own."""

from __future__ import annotations

from collections import Counter

from kwhatif.results.amounts import format_count
from kwhatif.results.diff import DecisionDiff
from kwhatif.results.outcome import DIFFERS, Outcome

WORDS = {
    "moved": "moved",
    "pending": "newly pending",
    "placed": "newly placed",
    "reason": "pending for another reason",
    "evicted": "newly evicted",
    "spared": "no longer evicted",
    "only in A": "only in A",
    "only in B": "only in B",
}
"""What becomes of a pod, in words."""


def outcome_of_diff(result: DecisionDiff) -> Outcome:
    """Good if nothing differs. Who waits, and what is not known, is in the outcome of each side."""
    unknown = tuple(dict.fromkeys((*result.a.outcome.unknown, *result.b.outcome.unknown)))
    return Outcome.from_words(_words_of(result), unknown, good=not result.differs, lead=DIFFERS)


def _words_of(result: DecisionDiff) -> str:
    """``3 moved, 1 newly pending, of 12 pods.``"""
    pods = format_count(result.pods, "pod")
    if result.replayed:
        pods += f" ({result.replayed} replayed)"
    if not result.differs:
        placed = [side.placed for side in (result.a, result.b)]
        if placed[0] != placed[1]:
            return f"{pods}, {placed[0]} placed anew in A and {placed[1]} in B, on the same nodes."
        return f"{pods}, {placed[0]} placed."
    kinds = Counter(change.what for change in result.changes)
    parts = [f"{kinds[what]} {words}" for what, words in WORDS.items() if kinds[what]]
    if swapped := sum(bool(change.swapped) for change in result.changes):
        count = "" if swapped == kinds.get("moved") else f"{swapped} "
        parts[0] += f" ({count}only swapped among equal replicas)"
    waits = [len(side.outcome.pending) for side in (result.a, result.b)]
    if waits[0] != waits[1]:
        parts.append(f"{waits[0]} pending in A, {waits[1]} in B")
    if result.refusals:
        parts.append(f"{len(result.refusals)} refused by one side")
    if not parts:
        parts.append("autoscalers add other nodes")
    return f"{', '.join(parts)}, of {pods}."
