"""The question of ``place``, and its Python function."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Unpack

from kwhatif.api.core import Pod
from kwhatif.commands.api_options import AutoscaledKeywords, ClusterSource, Manifests, Path, ask, build_scenario
from kwhatif.commands.place.options import PlaceOptions
from kwhatif.errors import UsageError
from kwhatif.results.amounts import format_count
from kwhatif.results.base import Fidelity
from kwhatif.results.place import PlaceResult
from kwhatif.scheduling.driver import DriverOptions
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.placement.afterwards import snapshot_after_run
from kwhatif.simulation.placement.conclusion import place_result_of
from kwhatif.simulation.placement.hot_nodes import hot_nodes
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.placement.runs import place_pods
from kwhatif.simulation.placement.timeline import simulate_timeline
from kwhatif.simulation.question import PendingResult, Question
from kwhatif.simulation.scenario import LoadedScenario, PreparedScenario, Scenario
from kwhatif.simulation.session import PodToSchedule
from kwhatif.snapshot.format.model import write_snapshot
from kwhatif.snapshot.read.files import display_path


@dataclass(frozen=True)
class Place(PlaceOptions, Question[PlaceResult]):
    """Where would these pods go?

    Those of the manifests, those that edits took their node from, and ``with_pending`` those that wait in the snapshot.
    With a ``timeline`` the queue is simulated, and ``recreate`` lets the controllers of victims make new pods.
    ``detailed`` answers have every plugin's score. The cluster afterwards is written to the file ``write_snapshot``, if
    one is named.
    """

    detailed: bool = True

    def check(self, scenario: Scenario) -> None:
        if not scenario.inputs.manifests and not self.with_pending and scenario.inputs.edits is None:
            raise _nothing_to_place()
        if self.write_snapshot == "-":
            raise UsageError("--write-snapshot -: standard output is for the answer; name a file")
        if not self.recreate and not self.timeline:
            raise UsageError("--no-recreate is about --timeline: without it nothing is recreated")

    def check_edited(self, scenario: LoadedScenario) -> None:
        if not scenario.inputs.manifests and self.needs_pods(scenario):
            raise _nothing_to_place()

    def needs_pods(self, scenario: LoadedScenario) -> bool:
        return not (self.with_pending or scenario.edited.has_moved_pods)

    def pods(self, scenario: PreparedScenario) -> Sequence[PodToSchedule]:
        if self.timeline and scenario.expanded.rollouts:
            name = scenario.expanded.rollouts[0].name
            raise UsageError(f"{name} is in the cluster already: updates are planned step by step, not with --timeline")
        return super().pods(scenario)

    def options(self, scenario: PreparedScenario) -> DriverOptions:
        return {"seed": self.seed, "detailed": self.detailed}

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> PendingResult[PlaceResult]:
        (scenario,) = scenarios
        if self.timeline:
            run = simulate_timeline(
                scenario.session,
                scenario.pods_to_schedule,
                recreate=self.recreate,
                others=scenario.unknown_kinds,
                scaler=scenario.scaler,
            )
        else:
            run = place_pods(
                scenario.session,
                scenario.pods_to_schedule,
                rollouts=scenario.expanded.rollouts,
                others=scenario.unknown_kinds,
                scaler=scenario.scaler,
            )
        for text in hot_nodes(scenario.snapshot, scenario.session.cluster, run.placements):
            notes.note(text)

        def result(fidelity: Fidelity) -> PlaceResult:
            if self.write_snapshot:
                self._write(scenario, run, notes)
            return place_result_of(replace(run, **scenario.refusal_fields), fidelity)

        placements = [*run.replacements, *run.placements]
        return PendingResult([run], result, placements, run.groups)

    def _write(self, scenario: PreparedScenario, run: Run, notes: Notes) -> None:
        """Write the cluster afterwards."""
        files = [display_path(file) for file in scenario.inputs.manifests if isinstance(file, str)]
        number = sum(placement.outcome == "placed" for placement in run.placements)
        text = f"place {format_count(number, 'pod')}" + (f" of {', '.join(files)}" if files else "")
        after = snapshot_after_run(scenario.session.snapshot, scenario.edited.covered, scenario.expanded, run, text)
        write_snapshot(after, self.write_snapshot)
        number = len(after.objects.list_all(Pod))
        notes.note(f"{self.write_snapshot}: the cluster afterwards, with {format_count(number, 'pod')}")


def _nothing_to_place() -> UsageError:
    return UsageError("name the files with the pods to place, or ask for --with-pending")


def place(
    manifests: Manifests = (),
    *,
    snapshot: ClusterSource,
    with_pending: bool = False,
    timeline: bool = False,
    recreate: bool = True,
    seed: int | None = None,
    verb: str = "",
    at: str = "",
    write_snapshot: Path | None = None,
    **options: Unpack[AutoscaledKeywords],
) -> PlaceResult:
    """Where would these pods go?

    ``with_pending`` also places those that wait in the snapshot. With a ``timeline`` the queue is simulated, retries
    and all; ``recreate`` lets the controllers of victims make new pods then. Ties are broken by name, or at random
    from a ``seed``. ``verb`` is as for ``expand``. Workloads that autoscalers of
    pods scale have as many replicas as run, within their bounds, or as these are ``at`` (``max``, ``min``, ``50%``).
    The cluster afterwards goes to the file ``write_snapshot``, to ask further. With ``autoscale``, pods that a node
    comes for count as placed.
    """

    question = Place(
        with_pending=with_pending,
        timeline=timeline,
        recreate=recreate,
        seed=seed,
        write_snapshot="" if write_snapshot is None else os.fspath(write_snapshot),
    )
    return ask(question, build_scenario(manifests, snapshot, {**options, "verb": verb, "at": at}))
