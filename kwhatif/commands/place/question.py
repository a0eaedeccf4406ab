"""The question of ``place``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Self

from msgspec import structs

from kwhatif.commands.common_options import (
    CLUSTER,
    MANIFESTS,
    Explained,
    ManifestFiles,
    Seed,
    WrittenSnapshot,
    refuse_standard_output,
)
from kwhatif.errors import UsageError
from kwhatif.results.amounts import format_count
from kwhatif.results.place import PlaceResult
from kwhatif.simulation.command import Output
from kwhatif.simulation.flag import Flag
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.question import Answer, Question
from kwhatif.simulation.scenario import LoadedScenario, PreparedScenario, Scenario
from kwhatif.simulation.scenario_options import AutoscaledOptions

if TYPE_CHECKING:
    from kwhatif.scheduling.driver import DriverOptions
    from kwhatif.simulation.placement.run import Run


@dataclass(frozen=True, kw_only=True)
class _PlaceOptions(AutoscaledOptions):
    """Extenders may be asked to bind, too."""

    call_extender_bind: Annotated[
        bool,
        Flag(
            "--call-extender-bind",
            help="With --call-extenders: call bind as well, which really binds pods. Otherwise bind is assumed to "
            "succeed.",
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class Place(Question[PlaceResult]):
    """Place pods on a cluster as kube-scheduler would, in its order: by priority, then as given."""

    takes = _PlaceOptions
    lacks: ClassVar[frozenset[str]] = frozenset()
    exit_1_when = "a pod finds no node, is refused or not created, or an update gets stuck"
    prints = Output(("table", "wide", "json", "yaml", "markdown", "name", "summary"))
    reads_rules_file = True
    examples = (
        f"{MANIFESTS}/web.yaml {CLUSTER}",
        f"-f {MANIFESTS}/too-big.yaml {CLUSTER} --explain too-big",
        f"--with-pending {CLUSTER} --uncordon general-a-2 -o wide",
    )

    manifests: ManifestFiles = ()
    explain: Explained = ()
    with_pending: Annotated[bool, Flag("--with-pending", help="Also place the snapshot's own pending pods.")] = False
    timeline: Annotated[
        bool, Flag("--timeline", help="Simulate the queue over time, with retries, and print the timeline.")
    ] = False
    recreate: Annotated[
        bool,
        Flag("--no-recreate", negated=True, help="With --timeline: controllers do not recreate evicted pods."),
    ] = True
    write_snapshot: WrittenSnapshot = ""
    seed: Seed = None

    detailed: bool = True
    """Whether every plugin's score is kept, which costs time and is shown in some outputs only (``for_output``)."""

    def for_output(self, output: str, *, has_reports: bool) -> Self:
        return replace(self, detailed=output in ("wide", "json", "yaml") or has_reports)

    def check(self, scenario: Scenario) -> None:
        if not scenario.inputs.manifests and not self.with_pending and scenario.inputs.edits is None:
            raise _nothing_to_place()
        refuse_standard_output(self.write_snapshot)
        if not self.recreate and not self.timeline:
            raise UsageError("--no-recreate needs --timeline: without it nothing is recreated")

    def check_edited(self, scenario: LoadedScenario) -> None:
        if not (scenario.inputs.manifests or self.with_pending or scenario.edited.has_moved_pods):
            raise _nothing_to_place()

    def needs_pods(self, scenario: LoadedScenario) -> bool:
        # A snapshot with other objects, such as a budget, is an answer, too.
        return not (self.with_pending or scenario.edited.has_moved_pods or self.write_snapshot)

    def options(self, scenario: PreparedScenario) -> DriverOptions:
        return {"seed": self.seed, "detailed": self.detailed}

    def try_out(self, scenario: PreparedScenario) -> Run:
        from kwhatif.simulation.placement.runs import place_pods, simulate_timeline

        if self.timeline:
            return simulate_timeline(
                scenario.session,
                scenario.pods_to_schedule,
                rollouts=scenario.expanded.rollouts,
                recreate=self.recreate,
                unknown_kinds=scenario.unknown_kinds,
                scaler=scenario.scaler,
            )
        return place_pods(
            scenario.session,
            scenario.pods_to_schedule,
            rollouts=scenario.expanded.rollouts,
            unknown_kinds=scenario.unknown_kinds,
            scaler=scenario.scaler,
        )

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> Answer[PlaceResult]:
        from kwhatif.simulation.fidelity.assess import assess
        from kwhatif.simulation.placement.conclusion import place_result_of
        from kwhatif.simulation.placement.hot_nodes import hot_nodes
        from kwhatif.simulation.placement.scaled_out import find_first_moments

        (scenario,) = scenarios
        run = self.try_out(scenario)
        moments = find_first_moments(scenario, scenario.manifests, self.select_pods)
        run = structs.replace(run, first_moments=tuple(moments))
        for text in hot_nodes(scenario.snapshot, scenario.session.cluster, run.placements):
            notes.note(text)
        fidelity = assess(run)
        if self.write_snapshot:
            self._write(scenario, run, notes)
        result = place_result_of(structs.replace(run, **scenario.refusal_fields), fidelity)
        return Answer(result, [run], [*run.replacements, *run.placements])

    def _write(self, scenario: PreparedScenario, run: Run, notes: Notes) -> None:
        """Write the cluster afterwards."""
        from kwhatif.commands.written_snapshot import write_afterwards
        from kwhatif.snapshot.read.files import display_path

        files = [display_path(file) for file in scenario.inputs.manifests if isinstance(file, str)]
        placed = sum(placement.outcome in ("placed", "autoscaled") for placement in run.placements)
        text = f"place {format_count(placed, 'pod')}" + (f" of {', '.join(files)}" if files else "")
        write_afterwards(self.write_snapshot, scenario, run, text, notes)


def _nothing_to_place() -> UsageError:
    return UsageError("name the files with the pods to place, or ask for --with-pending")
