"""Answers about a session, with what they stand on: what the stages make of what is found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from kwhatif.results.capacity import CapacityResult
from kwhatif.results.diff import DecisionDiff
from kwhatif.results.explain import ExplainResult
from kwhatif.results.parts import Result
from kwhatif.results.place import PlaceResult
from kwhatif.whatif.capacity.capacity import capacity as capacity_of
from kwhatif.whatif.diff.diff import Side, compared
from kwhatif.whatif.expand.expand import Expanded
from kwhatif.whatif.explain.explain import explain as explained
from kwhatif.whatif.fidelity.assess import assess
from kwhatif.whatif.place.place import Placed, placed
from kwhatif.whatif.place.timeline import simulated
from kwhatif.whatif.session import Asked, Session
from kwhatif.whatif.stages.question import Answer

R = TypeVar("R", bound=Result)


def concluded(answer: Answer[R]) -> R:
    return answer.result(*map(assess, answer.bases))


def told(run: Placed) -> PlaceResult:
    return run.result(assess(run.basis))


def place(session: Session, asked: Sequence[Asked], **options: Any) -> PlaceResult:
    return told(placed(session, asked, **options))


def simulate(session: Session, asked: Sequence[Asked], **options: Any) -> PlaceResult:
    return told(simulated(session, asked, **options))


def explain(session: Session, asked: Sequence[Asked], *looking: Any, **options: Any) -> ExplainResult:
    return concluded(explained(session, asked, *looking, **options))


def capacity(session: Session, expanded: Expanded, **options: Any) -> CapacityResult:
    found = concluded(capacity_of(session, expanded, **options))
    return found.refusing(refusals=tuple(expanded.refusals), failed=tuple(expanded.failed))


def diff(a: Side, b: Side) -> DecisionDiff:
    return concluded(compared(a, b)[0])
