"""Answers about a session, with what they stand on: what the stages make of what is found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kwhatif.commands.capacity.capacity import measure_capacity
from kwhatif.commands.capacity.result import CapacityResult
from kwhatif.commands.diff.diff import Side, compare_sides
from kwhatif.results.diff import DecisionDiff
from kwhatif.results.explain import ExplainResult
from kwhatif.results.place import PlaceResult
from kwhatif.simulation.expansion.expanded_manifests import ExpandedManifests
from kwhatif.simulation.explanation.explain import explain_pods
from kwhatif.simulation.fidelity.assess import assess
from kwhatif.simulation.placement.conclusion import place_result_of
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.placement.runs import place_pods, simulate_timeline
from kwhatif.simulation.session import PodToSchedule, Session


def told(run: Run) -> PlaceResult:
    return place_result_of(run, assess(run))


def place(session: Session, asked: Sequence[PodToSchedule], **options: Any) -> PlaceResult:
    return told(place_pods(session, asked, **options))


def simulate(session: Session, asked: Sequence[PodToSchedule], **options: Any) -> PlaceResult:
    return told(simulate_timeline(session, asked, **options))


def explain(session: Session, asked: Sequence[PodToSchedule], *looking: Any, **options: Any) -> ExplainResult:
    return explain_pods(session, asked, *looking, **options).result


def capacity(session: Session, expanded: ExpandedManifests, *, release: bool = False, **options: Any) -> CapacityResult:
    """Pods of one workload are counted one by one, those of several together."""
    several = len({item.owner or item.pod.key for item in expanded.all_pods()}) > 1
    found = measure_capacity(session, expanded, single=not (release or several), **options).result
    return found.with_refusals(refusals=tuple(expanded.refusals), failed=tuple(expanded.failed))


def diff(a: Side, b: Side) -> DecisionDiff:
    return compare_sides(a, b).result
