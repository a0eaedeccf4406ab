"""The interface of a question, and its answer."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from kwhatif.results.base import Result
from kwhatif.results.place import Placement
from kwhatif.simulation.command import Command
from kwhatif.simulation.inputs import Files, Notes
from kwhatif.simulation.scenario import LoadedScenario, PreparedScenario, ReadManifests, Scenario
from kwhatif.simulation.scenario_options import ScenarioOptions

if TYPE_CHECKING:
    from kwhatif.scheduling.driver import DriverOptions
    from kwhatif.simulation.expansion.expanded_manifests import ExpandedManifests
    from kwhatif.simulation.placement.run import Run
    from kwhatif.simulation.session import PodToSchedule, Session

R_co = TypeVar("R_co", bound=Result, covariant=True)


@dataclass(frozen=True)
class Answer(Generic[R_co]):
    """A result, and the runs that leave the clusters behind, of each scenario one, for its pages.

    ``placements`` are what became of pods, of which a page explains those without a node. ``beginning`` is where its
    map begins, unless with the cluster of the scenario.
    """

    result: R_co
    ends: Sequence[Run] = ()
    placements: Sequence[Placement] = ()
    beginning: Session | None = None


class Question(Command[R_co]):
    """A question, as a value: its own options. What all share is in the stages, which call these methods."""

    takes: ClassVar[type[Any] | None] = ScenarioOptions
    lacks: ClassVar[Collection[str]] = frozenset({"verb", "at"})

    manifests: Files = ()

    schedules: ClassVar[bool] = True
    """Whether a scheduler is asked; if not, the stages that are about one have nothing to do."""

    starts_jobs: ClassVar[bool] = True
    """Whether Kueue decides about jobs before anything else."""

    asks_autoscalers: ClassVar[bool] = False
    """Whether it is about autoscalers, which then answer Kueue's ProvisioningRequests."""

    counts_copies: ClassVar[bool] = False
    """Whether it is about further copies of the manifests, which Kueue lets in or not."""

    several_runs: ClassVar[bool] = False
    """Whether an answer takes more runs of the scheduler than one: it then opens a session for each of them, and the
    scenario has none of its own."""

    tells_merged: bool = True
    """Whether it is worth a note what is put into the snapshot besides pods."""

    as_new: bool = False
    """Whether workloads are created as if the cluster had none of their names, with all their pods."""

    with_pending: bool = False
    """Whether pods that wait in the snapshot are asked about, too."""

    @classmethod
    def has_gaps(cls) -> bool:
        return cls.schedules

    def build_scenarios(self, options: Any) -> Sequence[Scenario]:
        """What is asked of the manifests, and of what the command ``takes`` besides."""
        return [options.build_scenario(self.manifests)]

    def needs_pods(self, scenario: LoadedScenario) -> bool:
        """Whether manifests without any pod are an error, since there is nothing else to ask about."""
        return True

    def needs_pod_list(self, scenario: PreparedScenario) -> bool:
        """Whether the answer depends on what runs on the nodes."""
        return True

    def is_answered_by(self, expanded: ExpandedManifests) -> bool:
        """Whether what became of manifests is an answer, even if no pod did."""
        return bool(expanded.refusals)

    def check(self, scenario: Scenario) -> None:
        """Raise UsageError for options that make no sense, before anything is read."""

    def check_edited(self, scenario: LoadedScenario) -> None:
        """Raise UsageError for edits that this question does not allow."""

    def load(self, scenario: Scenario, notes: Notes) -> ReadManifests:
        """Read the manifests."""
        from kwhatif.simulation.manifest_loading import read_manifests

        return read_manifests(scenario, scenario.inputs.manifests, notes)

    def expand(self, scenario: LoadedScenario, scenarios: Sequence[LoadedScenario]) -> PreparedScenario:
        """Expand the manifests."""
        from kwhatif.simulation.expansion.pods import expand_manifests, require_pods

        reading, version = scenario.inputs.manifest_options, scenario.scheduler_options.kubernetes_version
        as_asked = partial(
            expand_manifests,
            manifests=scenario.manifests,
            reading=reading,
            version=version,
            as_new=self.as_new,
            gates=scenario.gates,
            resumes=self.with_pending,
        )
        expanded = as_asked(scenario.snapshot)
        before = scenario.snapshot.copy() if expanded.rollouts or expanded.scaled else None
        again = partial(as_asked, before) if before is not None and expanded.rollouts else None
        if self.needs_pods(scenario) and not self.is_answered_by(expanded):
            require_pods(scenario.inputs.manifests, scenario.manifests, reading, scenario.snapshot)
        return PreparedScenario.from_loaded(scenario, expanded, expand_again=again, before_change=before)

    def select_pods(self, scenario: PreparedScenario) -> Sequence[PodToSchedule]:
        """The pods of the question, in the order in which they came."""
        asked = [*scenario.edited.waiting_pods, *scenario.expanded.pods]
        if self.with_pending:
            from kwhatif.simulation.session import is_unattempted, pending_pods

            given = {item.pod.key for item in asked}
            waiting = [item for item in pending_pods(scenario.snapshot) if item.pod.key not in given]
            # Who was tried in vain waits for something to happen.
            came_first = [item for item in waiting if is_unattempted(item.pod)]
            asked = [*came_first, *asked, *(item for item in waiting if not is_unattempted(item.pod))]
        return asked

    def options(self, scenario: PreparedScenario) -> DriverOptions:
        """Options of the scheduler process."""
        return {}

    def try_out(self, scenario: PreparedScenario) -> Run:
        """The run that the answer depends on, of which ``--explain`` asks; for questions with that option."""
        raise NotImplementedError

    @abstractmethod
    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> Answer[R_co]:
        """Answer the question with the scheduler. Raises FidelityError if gaps forbid an answer."""
