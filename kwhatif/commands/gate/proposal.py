"""A change rolled out on a copy of the cluster.

Removed objects leave first; objects without pods are applied next; then all new pods are scheduled, by priority; then
updates are rolled out one by one, as ``place`` does it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec import structs
from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.api.objects import section
from kwhatif.clock import read_clock
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.commands.chances.trials import ChancesBase, TrialOutcome, outcomes_of
from kwhatif.commands.gate.change import (
    ChangeSet,
    compare_manifests,
    differences_from,
    differences_without_pods,
    remove,
)
from kwhatif.commands.gate.context import Context, body_in
from kwhatif.commands.gate.units import subject_of, subject_of_workload, units_of
from kwhatif.results.base import Fidelity
from kwhatif.results.gate import Change, Subject
from kwhatif.results.place import failures_left
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.schedule_one import Observer, Scheduler
from kwhatif.simulation.autoscalers.node_groups import observation_time_of
from kwhatif.simulation.edits.draft import Draft
from kwhatif.simulation.expansion.pods import template_paths
from kwhatif.simulation.ownership import Owners
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.placement.runs import place_pods
from kwhatif.simulation.placement.scaled_out import PodsOf, ScaledOutChange, find_first_moments
from kwhatif.simulation.scenario import LoadedScenario, PreparedScenario
from kwhatif.simulation.study import StudyBase
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.workloads.controllers import makes_pods


@dataclass(frozen=True, eq=False, kw_only=True)
class ChangeScenario(PreparedScenario):
    """A change to judge.

    ``changes`` are what differs, and ``before`` is the snapshot with all that is removed. ``cycles`` remembers what the
    scheduler did.
    """

    changes: ChangeSet
    before: Snapshot
    cycles: CycleRecorder = field(default_factory=lambda: CycleRecorder())


def apply_change(scenario: LoadedScenario) -> tuple[ChangeSet, LoadedScenario]:
    """What changes, and the scenario without what is removed. Raises InputError for what cannot be understood."""
    changes = compare_manifests(
        scenario.read.base, scenario.manifests, template_paths(scenario.inputs.manifest_options)
    )
    draft = Draft(scenario.snapshot)
    remove(draft, {subject_of(manifest) for manifest in changes.removed}, Owners(scenario.snapshot))
    return changes, scenario.with_snapshot(draft.snapshot)


class RolledOutChange(msgspec.Struct, frozen=True, eq=False):
    """A change once it is rolled out by a ``run``, and the cluster as it was without it."""

    proposal: ChangeScenario
    run: Run
    make_before: Callable[[], Cluster]

    def context(
        self, fidelity: Fidelity, seed: int = 0, scale_out: Callable[[], ScaledOutChange] = ScaledOutChange
    ) -> Context:
        """What may be asked about it. Trials go by the ``seed``; ``scale_out`` rolls it out once more, with its
        workloads at the upper bounds of their autoscalers.
        """
        proposal, run, session, expanded = self.proposal, self.run, self.proposal.session, self.proposal.expanded
        owners, placements = Owners(proposal.snapshot), tuple(run.placements)

        def run_trials(topology_key: str, trials: int) -> Sequence[TrialOutcome]:
            ground = ChancesBase(
                StudyBase.from_scenario(proposal), proposal.new_rollouts, topology_key, updates=bool(expanded.rollouts)
            )
            return outcomes_of(ground, trials, seed)

        made = structs.replace(
            expanded,
            pods=[*expanded.pods, *(session.creations.pods if session.creations is not None else ())],
            failed=list(failures_left(expanded.failed, run.created)),
        )
        templates, moved = template_paths(proposal.inputs.manifest_options), proposal.edited.waiting_pods
        return Context(
            units=units_of(proposal.changes.apply, templates, made, moved, placements, run.rollouts, owners),
            placements=placements,
            session=session,
            owners=owners,
            fidelity=fidelity,
            now=observation_time_of(proposal.snapshot, proposal.inputs.now),
            judged_at=proposal.inputs.now or read_clock(),
            make_before=self.make_before,
            scale_up=run.scale_up,
            run=run,
            margins=proposal.cycles.margins,
            tried=proposal.cycles.tried,
            run_trials=run_trials,
            scaled=expanded.scaled,
            scale_out=scale_out,
            groups=run.groups,
            changes=proposal.changes.changes,
            manifests=proposal.changes.apply,
        )

    def changes(self, context: Context) -> tuple[Change, ...]:
        """The objects of the change, with the numbers of their pods before and after."""
        changes = [*self.proposal.changes.changes, *_rescaled_workloads(context)]
        return tuple(_with_pod_counts(changes, self.proposal, context))


def roll_out_change(proposal: ChangeScenario, pods_of: PodsOf) -> RolledOutChange:
    """Roll a change out to rest on the cluster of its session. The snapshot ``before`` is not changed; ``pods_of``
    names the pods of a scenario to schedule.
    """
    session = proposal.session
    session.make_pods_in_turn()
    forked = session.cluster.fork()
    run = place_pods(
        session,
        proposal.pods_to_schedule,
        rollouts=proposal.expanded.rollouts,
        unknown_kinds=proposal.unknown_kinds,
        scaler=proposal.scaler,
    )
    moments = tuple(find_first_moments(proposal, proposal.changes.apply, pods_of))
    run = structs.replace(run, first_moments=moments)

    def before() -> Cluster:
        if not proposal.changes.removed:
            return forked
        whole = session.with_snapshot(proposal.before, shapes=session.cluster.shapes)
        whole.make_pods_in_turn()
        return whole.cluster

    return RolledOutChange(proposal, run, before)


class CycleRecorder(Observer):
    """Records which pods were tried, and by how much a node beat the next best if scores are kept at all."""

    def __init__(self) -> None:
        self.margins: dict[str, int] = {}
        self.tried: dict[str, PodInfo] = {}

    def start_over(self) -> None:
        self.margins.clear()
        self.tried.clear()

    def after_cycle(self, scheduler: Scheduler, attempt: Attempt) -> None:
        key = attempt.pod.key
        self.tried[key] = attempt.pod
        self.margins.pop(key, None)
        if attempt.is_placed and attempt.scores:
            of_plugins = (score.weighted_score.tolist() for score in attempt.scores)
            *_, second, best = sorted([0, *map(sum, zip(*of_plugins, strict=True))])
            self.margins[key] = best - second


def _rescaled_workloads(context: Context) -> Iterator[Change]:
    """The workloads that no manifest is about, and whose replicas an autoscaler of the change makes others."""
    units = {unit.subject: unit for unit in context.units if unit.by_autoscaler}
    for workload in context.scaled:
        unit = units.get(subject_of_workload(workload))
        if unit is not None and workload.replicas != workload.stored:
            details = (f"spec.replicas: {workload.stored} -> {workload.replicas}, by {workload.bounds}",)
            yield Change(what="changed", subject=unit.subject, location=unit.location, details=details)


def _with_pod_counts(changes: Sequence[Change], proposal: ChangeScenario, context: Context) -> Iterator[Change]:
    """The changes with the numbers of their pods; without a base they follow from what is in the cluster."""
    owners, pods = Owners(proposal.before), proposal.before.objects.list_all(Pod)
    counts: Counter[Subject] = Counter()
    if changes:
        counts.update(owners.workload_of(pod) for pod in pods if not pod.is_finished)
    units = {unit.subject: unit for unit in context.units}
    manifests = {subject_of(change): change for change in proposal.changes.apply}
    templates = template_paths(proposal.inputs.manifest_options)
    waiting: dict[Subject, set[str]] = {}
    for pod in pods if changes else ():
        if not pod.spec.node_name and not pod.is_finished and pod.key not in context.run.removed:
            waiting.setdefault(owners.workload_of(pod), set()).add(pod.key)
    for change in changes:
        before, unit = counts[change.subject], units.get(change.subject)
        what, details, replicas = change.what, change.details, change.replicas
        manifest = manifests.get(change.subject)
        if proposal.read.base is None and manifest is not None and not makes_pods(manifest.raw, templates):
            there = differences_without_pods(proposal.before, manifest)
            if there is not None:
                what, details = "changed" if there else "unchanged", there
        if unit is None:
            after = 0 if what == "removed" else before
            yield replace(change, what=what, details=details, pods_before=before, pods_after=after)
            continue
        if proposal.read.base is None and unit.plan is not None:
            # An update of which no pod can be created is one, too.
            moves = unit.plan.creates or unit.plan.removes or unit.plan.unfinished
            what = "changed" if moves else "unchanged"
            live = body_in(proposal.before, change.subject)
            if what == "changed" and live is not None and manifest is not None:
                details = differences_from(live, manifest, templates)
        # What is there, what waits, be it since before or since the change, and what comes.
        running = {info.key for info, _ in context.running(unit)}
        left = {placement.pod for placement in unit.pending} | waiting.get(change.subject, set())
        after = len(running | left)
        if unit.plan is not None and unit.plan.unfinished and not unit.by_autoscaler:
            wanted = section(context.manifest_of(change.subject) or {}, "spec").get("replicas")
            replicas = wanted if isinstance(wanted, int) and wanted < after else replicas
        yield replace(change, what=what, pods_before=before, pods_after=after, replicas=replicas, details=details)
