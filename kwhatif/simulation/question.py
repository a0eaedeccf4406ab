"""The interface of a question; its scenario, which the stages load and prepare; and an answer before its fidelity is
assessed.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, Unpack

from kwhatif.results.base import Result
from kwhatif.results.group_outcome import GroupOutcome
from kwhatif.results.place import Placement
from kwhatif.simulation.inputs import Inputs, Notes, SchedulerOptions

if TYPE_CHECKING:
    from kwhatif.results.base import Gap
    from kwhatif.scheduling.driver import DriverOptions
    from kwhatif.scheduling.setup import Setup
    from kwhatif.simulation.autoscalers.scaler import Scaler
    from kwhatif.simulation.edits.edited import EditedSnapshot
    from kwhatif.simulation.expansion.expand import ExpandedManifests, Rollout
    from kwhatif.simulation.fidelity.assess import RunRecord
    from kwhatif.simulation.session import PodToSchedule, Session
    from kwhatif.snapshot.format.model import Snapshot
    from kwhatif.snapshot.load import Manifest

R_co = TypeVar("R_co", bound=Result, covariant=True)


@dataclass(frozen=True, eq=False)
class Scenario:
    """The inputs of a question, and its scheduler options."""

    inputs: Inputs
    scheduler_options: SchedulerOptions = field(default_factory=SchedulerOptions)


@dataclass(frozen=True)
class ReadManifests:
    """The objects of a question's files.

    ``supporting`` are not asked about by themselves, but beside the others; ``base`` are those that a change is
    compared with, None where there is nothing to compare. ``gaps`` are what is missing in any of them.
    """

    manifests: Sequence[Manifest] = ()
    supporting: Sequence[Manifest] = ()
    base: Sequence[Manifest] | None = None
    gaps: Sequence[Gap] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class LoadedScenario(Scenario):
    """A scenario whose files have become objects: the manifests, and the cluster with its edits.

    ``scheduler`` is None before its stage, and for questions without a scheduler.
    """

    read: ReadManifests
    edited: EditedSnapshot
    scheduler: Setup | None = None

    @property
    def manifests(self) -> Sequence[Manifest]:
        return self.read.manifests

    @property
    def snapshot(self) -> Snapshot:
        return self.edited.snapshot

    @property
    def setup(self) -> Setup:
        assert self.scheduler is not None, "no scheduler is asked"
        return self.scheduler

    @property
    def gates(self) -> Mapping[str, bool]:
        """The feature gates set explicitly; none where no scheduler is involved."""
        return {} if self.scheduler is None else dict(self.scheduler.features.gates)

    def with_snapshot(self, snapshot: Snapshot) -> Self:
        """The same with another cluster."""
        return dataclasses.replace(self, edited=dataclasses.replace(self.edited, snapshot=snapshot))


@dataclass(frozen=True, eq=False, kw_only=True)
class PreparedScenario(LoadedScenario):
    """A scenario whose manifests have become pods, and whose cluster is ready to be scheduled on.

    ``expand_again`` expands manifests with updates once more, as the cluster was before any of it. ``pods_to_schedule``
    are the pods of the question; ``named_pods`` are explained by themselves, each on the cluster as it is.
    ``unknown_kinds`` are those of the manifests that may or may not make pods. ``make_scaler`` makes autoscalers for
    another run. ``only_session`` is that of a question whose answer takes one run.
    """

    expanded: ExpandedManifests
    expand_again: Callable[[], ExpandedManifests] | None = None
    pods_to_schedule: Sequence[PodToSchedule] = ()
    named_pods: Sequence[PodToSchedule] = ()
    unknown_kinds: Sequence[str] = ()
    make_scaler: Callable[[], Scaler] | None = None
    only_session: Session | None = None

    @classmethod
    def from_loaded(cls, loaded: LoadedScenario, expanded: ExpandedManifests, **more: Any) -> Self:
        """A loaded scenario with its expanded manifests."""
        known = {each.name: getattr(loaded, each.name) for each in dataclasses.fields(LoadedScenario)}
        return cls(**known, expanded=expanded, **more)

    @property
    def session(self) -> Session:
        assert self.only_session is not None, "the answer opens a session for each of its runs"
        return self.only_session

    @property
    def scaler(self) -> Scaler | None:
        """Autoscalers in their initial state, if there are any."""
        return None if self.make_scaler is None else self.make_scaler()

    def new_rollouts(self) -> Sequence[Rollout]:
        """The updates for one more run, since each can begin only once."""
        return () if self.expand_again is None else self.expand_again().rollouts

    def new_session(self, **options: Unpack[DriverOptions]) -> Session:
        """A session of its own, for one run: the cluster as the stages have left it, ready to be scheduled on."""
        from kwhatif.simulation.session import Session

        covered, doubts = self.edited.covered, self.expanded.doubts
        creations = None if self.expanded.creations is None else self.expanded.creations.fork()
        return Session(self.snapshot, self.setup, covered=covered, doubts=doubts, creations=creations, **options)

    @property
    def refusal_fields(self) -> dict[str, Any]:
        """The fields of a result about pods that were never created."""
        return {
            "refusals": tuple(self.expanded.refusals),
            "failed": (*self.edited.failed, *self.expanded.failed),
        }


@dataclass(frozen=True)
class RunEnd:
    """A cluster as an answer leaves it. ``snapshot`` has the pods that wait there, unsaid that of the scenario."""

    session: Session
    snapshot: Snapshot | None = None


@dataclass(frozen=True)
class PendingResult(Generic[R_co]):
    """What the scheduler did, before its fidelity is assessed.

    ``result`` makes the result, given the fidelity of each of the ``runs``. What has to wait for that is done there: a
    file is written, rules judge, autoscalers go on from what is left. ``placements`` are what became of pods, to
    explain one of them, ``groups`` what became of groups of pods. ``ends`` are the clusters afterwards, of each
    scenario that is not as its only session leaves it; ``beginning`` is where a map begins, unless with the cluster of
    the scenario.
    """

    runs: Sequence[RunRecord]
    result: Callable[..., R_co]
    placements: Sequence[Placement] = ()
    groups: Sequence[GroupOutcome] = ()
    ends: Sequence[RunEnd] = ()
    beginning: Session | None = None


class Question(ABC, Generic[R_co]):
    """A question, as a value: its own options. What all share is in the stages, which call these methods."""

    schedules: ClassVar[bool] = True
    """Whether a scheduler is asked; if not, the stages that are about one have nothing to do."""

    several_runs: ClassVar[bool] = False
    """Whether an answer takes more runs of the scheduler than one: it then opens a session for each of them, and the
    scenario has none of its own."""

    tells_merged: bool = True
    """Whether it is worth a note what is put into the snapshot besides pods."""

    as_new: bool = False
    """Whether workloads are created as if the cluster had none of their names, with all their pods."""

    with_pending: bool = False
    """Whether pods that wait in the snapshot are asked about, too."""

    def needs_pods(self, case: LoadedScenario) -> bool:
        """Whether manifests without any pod are an error, since there is nothing else to ask about."""
        return True

    def is_answered_by(self, expanded: ExpandedManifests) -> bool:
        """Whether what became of manifests is an answer, even if no pod did."""
        return bool(expanded.refusals)

    def check(self, case: Scenario) -> None:
        """Raise UsageError for options that make no sense, before anything is read."""

    def check_edited(self, case: LoadedScenario) -> None:
        """Raise UsageError for edits that this question does not allow."""

    def load(self, case: Scenario, notes: Notes) -> ReadManifests:
        """Read the manifests."""
        from kwhatif.simulation.manifest_loading import read_manifests

        return read_manifests(case, case.inputs.manifests, notes)

    def expand(self, case: LoadedScenario, cases: Sequence[LoadedScenario]) -> PreparedScenario:
        """Expand the manifests."""
        from kwhatif.simulation.expansion.pods import expand_manifests, require_pods

        reading, version = case.inputs.manifest_options, case.scheduler_options.kubernetes_version
        as_asked = partial(
            expand_manifests,
            manifests=case.manifests,
            reading=reading,
            version=version,
            as_new=self.as_new,
            gates=case.gates,
        )
        expanded = as_asked(case.snapshot)
        again = partial(as_asked, case.snapshot.copy()) if expanded.rollouts else None
        if self.needs_pods(case) and not self.is_answered_by(expanded):
            require_pods(case.inputs.manifests, case.manifests, reading)
        return PreparedScenario.from_loaded(case, expanded, expand_again=again)

    def pods(self, case: PreparedScenario) -> Sequence[PodToSchedule]:
        """The pods of the question, in the order in which they came."""
        asked = [*case.edited.waiting_pods, *case.expanded.pods]
        if self.with_pending:
            from kwhatif.simulation.session import is_unattempted, pending_pods

            given = {item.pod.key for item in asked}
            waiting = [item for item in pending_pods(case.snapshot) if item.pod.key not in given]
            # Who was tried in vain waits for something to happen.
            came_first = [item for item in waiting if is_unattempted(item.pod)]
            asked = [*came_first, *asked, *(item for item in waiting if not is_unattempted(item.pod))]
        return asked

    def options(self, case: PreparedScenario) -> DriverOptions:
        """Options of the scheduler process."""
        return {}

    @abstractmethod
    def answer(self, cases: Sequence[PreparedScenario], notes: Notes) -> PendingResult[R_co]:
        """Answer the question with the scheduler."""
