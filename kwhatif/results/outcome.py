"""The outcome of a simulation, which is the one source of an answer's exit code, verdict and banner.

It is made in one place, ``simulation/placement/conclusion.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from kwhatif.results.base import ManifestResult, Result, ResultStruct

Lead = tuple[str, str]
"""How a verdict begins: of a good outcome (``Fits``), and of a bad one (``Does not fit``)."""

PreemptionFailure = Literal["", "no victims", "not allowed", "not tried"]
"""Why no pod is to leave for one that finds no node: no node has victims that would help, the pod may not preempt, or
not now, or no plugin of its profile preempts.
"""

FITS = ("Fits", "Does not fit")
DIFFERS = ("No difference", "Differs")


def lead_with(lead: Lead, words: str, *, good: bool) -> str:
    """``Does not fit: 3 of 4 pods placed``: the answer first."""
    return f"{lead[0 if good else 1]}: {words}"


Cause = Literal["new", "evicted", "waiting"]
"""Why a pod is looking for a node: it is new, it was evicted (or recreated for one that was), or it waited before."""


class PendingPod(ResultStruct, frozen=True, kw_only=True):
    """A pod (``namespace/name``) that is pending in the end.

    ``workload`` is what it belongs to in the end (``Kind/namespace/name``), None for a pod without a controller.
    """

    pod: str
    workload: str | None = None
    cause: Cause
    why: str = ""


class EvictedPod(ResultStruct, frozen=True, kw_only=True):
    """A pod that lost its node on the way; ``taken_by`` is the pod that took its place, None if its node is emptied."""

    pod: str
    workload: str | None = None
    taken_by: str | None = None


class RefusedObject(ResultStruct, frozen=True, kw_only=True):
    """An object that the API server does not take, and why."""

    object: str
    why: str


class NotCreated(ResultStruct, frozen=True, kw_only=True):
    """So many ``pods`` that a controller could not create for its ``workload``, and why."""

    workload: str
    pods: int
    why: str


class NodeCount(ResultStruct, frozen=True, kw_only=True):
    """So many ``nodes`` of a node group or NodePool."""

    group: str
    nodes: int


class Outcome(ResultStruct, frozen=True, kw_only=True):
    """The cluster once no pod would move any more.

    ``verdict`` says it in one line. ``evicted`` counts the pods that lost their node on the way, which ``victims``
    names. ``cost`` is what changes a month, in the prices' unit; None where no price is known. ``unknown`` is what may
    change the verdict and the snapshot does not hold. ``chance_of_pending`` is the share of trials in which a pod
    pends, where there were any.
    """

    good: bool
    verdict: str
    pending: tuple[PendingPod, ...] = ()
    evicted: int = 0
    victims: tuple[EvictedPod, ...] = ()
    refused: tuple[RefusedObject, ...] = ()
    not_created: tuple[NotCreated, ...] = ()
    added_nodes: tuple[NodeCount, ...] = ()
    removed_nodes: tuple[NodeCount, ...] = ()
    cost: float | None = None
    unknown: tuple[str, ...] = ()
    chance_of_pending: float | msgspec.UnsetType = msgspec.UNSET

    @classmethod
    def from_words(cls, words: str, unknown: Sequence[str] = (), *, good: bool, lead: Lead | None = None) -> Outcome:
        """An outcome whose verdict is ``words``, then what may change it and is not known. ``lead`` begins it."""
        words = lead_with(lead, words, good=good) if lead else words
        verdict = "; ".join([words.rstrip(".") if unknown else words, *unknown])
        return cls(good=good, verdict=verdict, unknown=tuple(unknown))

    def judge(self, *, good: bool) -> Outcome:
        """The same where the command has its own measure of what is good."""
        return msgspec.structs.replace(self, good=good)

    @property
    def exit_code(self) -> int:
        """0 if it is good, else 1."""
        return 0 if self.good else 1


class OutcomeResult(Result, frozen=True, kw_only=True):
    """An answer whose ``outcome`` decides whether it is good."""

    outcome: Outcome

    @property
    def good(self) -> bool:
        """Whether the answer is a yes."""
        return self.outcome.good

    @property
    def verdict(self) -> str:
        """The answer in one line."""
        return self.outcome.verdict

    @property
    def exit_code(self) -> int:
        """0 if the outcome is good, else 1."""
        return self.outcome.exit_code


class Concluded(OutcomeResult, ManifestResult, frozen=True, kw_only=True):
    """An answer that leaves a cluster behind, in which pods and objects may never have come to be."""
