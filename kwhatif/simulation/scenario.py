"""A scenario: a cluster with what is asked of it, as it was given and as the pipeline's stages have prepared it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, Unpack

import msgspec
from msgspec import structs

from kwhatif.simulation.inputs import Inputs, SchedulerOptions

if TYPE_CHECKING:
    from kwhatif.results.base import Gap
    from kwhatif.scheduling.driver import DriverOptions
    from kwhatif.scheduling.setup import Setup
    from kwhatif.simulation.autoscalers.scaler import Scaler
    from kwhatif.simulation.edits.edited import EditedSnapshot
    from kwhatif.simulation.expansion.expanded_manifests import ExpandedManifests, Rollout
    from kwhatif.simulation.placement.autoscalers import Autoscalers
    from kwhatif.simulation.session import PodToSchedule, Session
    from kwhatif.snapshot.format.model import Snapshot
    from kwhatif.snapshot.load import Manifest


@dataclass(frozen=True, eq=False)
class Scenario:
    """The inputs of a question, and its scheduler options."""

    inputs: Inputs
    scheduler_options: SchedulerOptions = field(default_factory=SchedulerOptions)


class ReadManifests(msgspec.Struct, frozen=True):
    """The objects of a question's files.

    ``supporting`` are not asked about by themselves, but beside the others; ``base`` are those that a change is
    compared with, None where there is nothing to compare. ``gaps`` are what is missing in any of them,
    ``files`` the account of files that the question keeps.
    """

    manifests: Sequence[Manifest] = ()
    supporting: Sequence[Manifest] = ()
    base: Sequence[Manifest] | None = None
    gaps: Sequence[Gap] = ()
    files: Any = None


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
    def all_manifests(self) -> Sequence[Manifest]:
        """The manifests that are asked about, and those beside them."""
        return (*self.read.manifests, *self.read.supporting)

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
        """The same scenario with another snapshot."""
        return dataclasses.replace(self, edited=structs.replace(self.edited, snapshot=snapshot))


@dataclass(frozen=True, eq=False, kw_only=True)
class PreparedScenario(LoadedScenario):
    """A scenario whose manifests have become pods, and whose cluster is ready to be scheduled on.

    ``expand_again`` expands manifests with updates once more, as the cluster was before any of it: ``before_change``,
    which is there only where it may be needed. ``pods_to_schedule`` are the pods of the question; ``named_pods`` are
    explained by themselves, each on the cluster as it is. ``unknown_kinds`` are those of the manifests that may or may
    not make pods. ``autoscalers`` are those that are asked, if any are. ``only_session`` is that of a question whose
    answer takes one run. ``beside`` is what the supporting manifests come to, where they are expanded.
    """

    expanded: ExpandedManifests
    expand_again: Callable[[], ExpandedManifests] | None = None
    before_change: Snapshot | None = None
    pods_to_schedule: Sequence[PodToSchedule] = ()
    named_pods: Sequence[PodToSchedule] = ()
    unknown_kinds: Sequence[str] = ()
    autoscalers: Autoscalers | None = None
    only_session: Session | None = None
    beside: ExpandedManifests | None = None

    @classmethod
    def from_loaded(cls, loaded: LoadedScenario, expanded: ExpandedManifests, **more: Any) -> Self:
        """A loaded scenario with its expanded manifests."""
        known = {
            state_field.name: getattr(loaded, state_field.name) for state_field in dataclasses.fields(LoadedScenario)
        }
        return cls(**known, expanded=expanded, **more)

    @property
    def session(self) -> Session:
        assert self.only_session is not None, "the answer opens a session for each of its runs"
        return self.only_session

    @property
    def all_expanded(self) -> Sequence[ExpandedManifests]:
        """The expanded manifests, and those beside them."""
        return (self.expanded,) if self.beside is None else (self.expanded, self.beside)

    @property
    def scaler(self) -> Scaler | None:
        """Autoscalers in their initial state, if there are any."""
        return None if self.autoscalers is None else self.autoscalers()

    def new_rollouts(self) -> Sequence[Rollout]:
        """The updates for one more run, since each can begin only once."""
        return () if self.expand_again is None else self.expand_again().rollouts

    def new_session(self, **options: Unpack[DriverOptions]) -> Session:
        """A session of its own, for one run: the cluster as the stages have left it, ready to be scheduled on."""
        from kwhatif.simulation.session import Session

        covered, doubts = self.edited.covered, self.expanded.doubts
        creations = None if self.expanded.creations is None else self.expanded.creations.fork()
        return Session(
            self.snapshot,
            self.setup,
            covered=covered,
            doubts=doubts,
            gaps=self.read.gaps,
            strict=self.scheduler_options.strict,
            creations=creations,
            queues=self.edited.queues,
            ties=self.edited.ties,
            made_later={item.pod.key for item in self.edited.waiting_pods},
            **options,
        )

    @property
    def refusal_fields(self) -> dict[str, Any]:
        """The fields of a result about pods that were never created."""
        # The controller of a workload that an edit has scaled tries again when its manifest comes.
        again = {rollout.name for rollout in self.expanded.rollouts if not rollout.resumed}
        edited = (failed_create for failed_create in self.edited.failed if failed_create.owner not in again)
        return {
            "refusals": tuple(self.expanded.refusals),
            "failed": (*edited, *self.expanded.failed),
        }
