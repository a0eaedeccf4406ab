"""What one question differs in from the others, and what is known of a cluster it is asked about."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, Unpack

from kwhatif.results.base import Result
from kwhatif.results.group_outcome import GroupOutcome
from kwhatif.results.place import Placement
from kwhatif.simulation.inputs import Inputs, Notes, SchedulerOptions

if TYPE_CHECKING:
    from kwhatif.scheduling.driver import DriverOptions
    from kwhatif.scheduling.setup import Setup
    from kwhatif.simulation.autoscalers.scaler import Scaler
    from kwhatif.simulation.cluster_map import ClusterObservation
    from kwhatif.simulation.edits.edited import EditedSnapshot
    from kwhatif.simulation.expansion.expand import ExpandedManifests, Rollout
    from kwhatif.simulation.fidelity.assess import RunRecord
    from kwhatif.simulation.session import PodToSchedule, Session
    from kwhatif.snapshot.format.model import Snapshot
    from kwhatif.snapshot.load import Manifest

R_co = TypeVar("R_co", bound=Result, covariant=True)


@dataclass(eq=False)
class Scenario:
    """A cluster, who schedules there, and what comes to it. Every stage adds what it is named after.

    ``supporting_manifests`` are not asked about by themselves, but beside the others. ``unknown_kinds`` are those of
    the manifests that may or may not make pods. ``session_after`` is the cluster as the answer leaves it, where
    that places pods. ``initial_state`` is who was where before anything was asked, if the cluster is to be mapped.
    ``make_scaler`` makes autoscalers for another run.
    ``reading_notes`` are what is worth knowing of the manifests. ``named_pods`` are asked about by themselves,
    each on the cluster as it is. ``expand_anew`` expands manifests with updates once more, as the cluster was
    before any of it.
    """

    inputs: Inputs
    scheduler_options: SchedulerOptions = field(default_factory=SchedulerOptions)
    manifests: Sequence[Manifest] = ()
    supporting_manifests: Sequence[Manifest] = ()
    edited: EditedSnapshot = field(init=False)
    setup: Setup = field(init=False)
    expanded: ExpandedManifests = field(init=False)
    pods_to_schedule: list[PodToSchedule] = field(init=False)
    unknown_kinds: list[str] = field(init=False)
    session: Session = field(init=False)
    session_after: Session | None = field(init=False, default=None)
    named_pods: list[PodToSchedule] = field(init=False, default_factory=list)
    expand_anew: Callable[[], ExpandedManifests] | None = field(init=False, default=None)
    initial_state: ClusterObservation | None = None
    make_scaler: Callable[[], Scaler] | None = None
    reading_notes: list[str] = field(default_factory=list)

    @property
    def scaler(self) -> Scaler | None:
        """Autoscalers as they are before anything has happened, if any are to help."""
        return None if self.make_scaler is None else self.make_scaler()

    def new_rollouts(self) -> Sequence[Rollout]:
        """The updates for one more run: each is begun but once."""
        return () if self.expand_anew is None else self.expand_anew().rollouts

    @property
    def snapshot(self) -> Snapshot:
        return self.edited.snapshot

    @property
    def gates(self) -> Mapping[str, bool]:
        """The feature gates that are set by hand; none where no scheduler is asked."""
        setup: Setup | None = getattr(self, "setup", None)
        return {} if setup is None else dict(setup.features.gates)

    def new_session(self, **options: Unpack[DriverOptions]) -> Session:
        """A session of its own, for one run: the cluster as the stages have left it, ready to be scheduled on."""
        from kwhatif.simulation.session import Session

        covered, doubts = self.edited.covered, self.expanded.doubts
        session = Session(self.snapshot, self.setup, covered=covered, doubts=doubts, **options)
        if self.inputs.with_map and self.initial_state is None:
            from kwhatif.simulation.cluster_map import observe_cluster

            self.initial_state = observe_cluster(session.cluster, self.snapshot)
        return session

    @property
    def refusal_fields(self) -> dict[str, Any]:
        """The parts of a result that are about pods which never came to be."""
        return {
            "refusals": tuple(self.expanded.refusals),
            "failed": (*self.edited.failed, *self.expanded.failed),
        }


@dataclass(frozen=True)
class PendingResult(Generic[R_co]):
    """What the scheduler did, before anybody knows what that stands on.

    ``result`` makes the result, given the fidelity of each of the ``runs``. What has to wait for that is done there: a
    file is written, rules judge, autoscalers go on from what is left. ``placements`` are what became of pods, to
    explain one of them, ``groups`` what became of groups of pods.
    """

    runs: Sequence[RunRecord]
    result: Callable[..., R_co]
    placements: Sequence[Placement] = ()
    groups: Sequence[GroupOutcome] = ()


class Question(ABC, Generic[R_co]):
    """A question, as a value: its own options. What all have in common is in the stages, which call these methods."""

    schedules: ClassVar[bool] = True
    """Whether a scheduler is asked; if not, the stages that are about one have nothing to do."""

    several_runs: ClassVar[bool] = False
    """Whether an answer takes more runs of the scheduler than one: it then opens a session for each of them, and the
    case has none of its own."""

    tells_merged: bool = True
    """Whether it is worth a note what is put into the snapshot besides pods."""

    anew: bool = False
    """Whether workloads are created as if the cluster had none of their names, with all their pods."""

    with_pending: bool = False
    """Whether pods that wait in the snapshot are asked about, too."""

    def needs_pods(self, case: Scenario) -> bool:
        """Whether manifests without any pod must not pass for a good answer: there is nothing else to ask about."""
        return True

    def check(self, case: Scenario) -> None:
        """Raise UsageError for what makes no sense, before anything is read."""

    def check_edited(self, case: Scenario) -> None:
        """Raise UsageError for edits that this question cannot be asked with."""

    def load(self, case: Scenario) -> None:
        """Read the manifests."""
        from kwhatif.simulation.manifest_loading import read_manifests

        case.manifests = read_manifests(case.inputs, case.inputs.manifests, case.reading_notes)

    def expand(self, case: Scenario) -> None:
        """Find out what becomes of the manifests."""
        from kwhatif.simulation.expansion.pods import expand_manifests, require_pods

        reading, version = case.inputs.manifest_options, case.scheduler_options.kubernetes_version
        case.expanded = expand_manifests(
            case.snapshot, case.manifests, reading, version, anew=self.anew, gates=case.gates
        )
        if case.expanded.rollouts:
            before = case.snapshot.copy()
            case.expand_anew = lambda: expand_manifests(
                before, case.manifests, reading, version, anew=self.anew, gates=case.gates
            )
        if self.needs_pods(case) and not case.expanded.refusals:
            require_pods(case.inputs.manifests, case.manifests, reading)

    def pods(self, case: Scenario) -> list[PodToSchedule]:
        """The pods asked about, in the order in which they came."""
        asked = [*case.edited.waiting_pods, *case.expanded.pods]
        if self.with_pending:
            from kwhatif.simulation.session import is_unattempted, pending_pods

            given = {item.pod.key for item in asked}
            waiting = [item for item in pending_pods(case.snapshot) if item.pod.key not in given]
            # Who was tried in vain waits for something to happen.
            came_first = [item for item in waiting if is_unattempted(item.pod)]
            asked = [*came_first, *asked, *(item for item in waiting if not is_unattempted(item.pod))]
        return asked

    def options(self, case: Scenario) -> DriverOptions:
        """How the scheduler process goes about it."""
        return {}

    @abstractmethod
    def answer(self, cases: Sequence[Scenario], notes: Notes) -> PendingResult[R_co]:
        """Put the question to the scheduler."""
