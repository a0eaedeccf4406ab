"""The question of ``place``, and its Python function."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
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
from kwhatif.simulation.placement.conclusion import NeverMade
from kwhatif.simulation.placement.hot_nodes import hot_nodes
from kwhatif.simulation.placement.run_result import Placed
from kwhatif.simulation.placement.runs import place_pods
from kwhatif.simulation.placement.timeline import simulate_timeline
from kwhatif.simulation.question import PendingResult, Question, RunEnd
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

    def check(self, case: Scenario) -> None:
        if not case.inputs.manifests and not self.with_pending and case.inputs.edits is None:
            raise _nothing_to_place()
        if self.write_snapshot == "-":
            raise UsageError("--write-snapshot -: standard output is for the answer; name a file")
        if not self.recreate and not self.timeline:
            raise UsageError("--no-recreate is about --timeline: without it nothing is recreated")

    def check_edited(self, case: LoadedScenario) -> None:
        if not case.inputs.manifests and self.needs_pods(case):
            raise _nothing_to_place()

    def needs_pods(self, case: LoadedScenario) -> bool:
        return not (self.with_pending or case.edited.has_moved_pods)

    def pods(self, case: PreparedScenario) -> Sequence[PodToSchedule]:
        if self.timeline and case.expanded.rollouts:
            name = case.expanded.rollouts[0].name
            raise UsageError(f"{name} is in the cluster already: updates are planned step by step, not with --timeline")
        return super().pods(case)

    def options(self, case: PreparedScenario) -> DriverOptions:
        return {"seed": self.seed, "detailed": self.detailed}

    def answer(self, cases: Sequence[PreparedScenario], notes: Notes) -> PendingResult[PlaceResult]:
        (case,) = cases
        if self.timeline:
            run = simulate_timeline(
                case.session,
                case.pods_to_schedule,
                recreate=self.recreate,
                others=case.unknown_kinds,
                scaler=case.scaler,
            )
        else:
            run = place_pods(
                case.session,
                case.pods_to_schedule,
                rollouts=case.expanded.rollouts,
                others=case.unknown_kinds,
                scaler=case.scaler,
            )
        for text in hot_nodes(case.snapshot, case.session.cluster, run.placements):
            notes.note(text)

        def result(fidelity: Fidelity) -> PlaceResult:
            if self.write_snapshot:
                self._write(case, run, notes)
            return run.result(fidelity, NeverMade(**case.refusal_fields))

        placements = [*run.replacements, *run.placements]
        return PendingResult([run.basis], result, placements, run.groups, ends=[RunEnd(run.end.session)])

    def _write(self, case: PreparedScenario, run: Placed, notes: Notes) -> None:
        """Write the cluster afterwards."""
        files = [display_path(file) for file in case.inputs.manifests if isinstance(file, str)]
        number = sum(placement.outcome == "placed" for placement in run.placements)
        text = f"place {format_count(number, 'pod')}" + (f" of {', '.join(files)}" if files else "")
        after = snapshot_after_run(case.session.snapshot, case.edited.covered, case.expanded, run.end, text)
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
