"""What rules read: the workloads of the change, the cluster after it, and further simulations on it.

The simulations: which nodes could ever take a pod, if no other pod ran there (without affinity to pods, spread, and
outside plugins' view of other pods); whether pods of failed nodes find room elsewhere, without preemption, all
recreated at once, compared with the same outage without the change; and how many nodes like a given one would have to
be added, trying first what the requests alone would take, then one more at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import msgspec
from msgspec.structs import replace

from kwhatif.api.core import Node, Pod, PodStatus
from kwhatif.api.workloads_and_storage import PodDisruptionBudget
from kwhatif.bounds import pods_to_make
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.commands.chances.trials import TrialOutcome
from kwhatif.commands.gate.units import Unit, subject_of, subject_of_budget
from kwhatif.commands.outage.failures import FailingCluster
from kwhatif.progress import track
from kwhatif.results.base import Fidelity
from kwhatif.results.gate import Change, Subject
from kwhatif.results.group_outcome import GroupOutcome
from kwhatif.results.place import Placement, ScaleUp
from kwhatif.scheduling.budget_status import recount_disruptions
from kwhatif.scheduling.controllers import Replacements, with_claims
from kwhatif.scheduling.driver import Driver
from kwhatif.scheduling.selected_budgets import SelectedBudgets
from kwhatif.scheduling.setup import Setup
from kwhatif.simulation.edits.add_nodes import ADD_NODES, AddNodes
from kwhatif.simulation.edits.document import apply_edits
from kwhatif.simulation.edits.kind import ParsedEdit
from kwhatif.simulation.expansion.scaled_workloads import ScaledWorkload
from kwhatif.simulation.fewest_nodes import least_nodes, try_fewest
from kwhatif.simulation.node_pools import pool_of
from kwhatif.simulation.ownership import Owners
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.placement.scaled_out import ScaledOutChange
from kwhatif.simulation.session import PodToSchedule, Session
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.load import Manifest
from kwhatif.workloads.objects import name_of, namespace_of


class StrandedPod(msgspec.Struct, frozen=True):
    """A pod of a failed node, and why its replacement finds no other node."""

    pod: PodInfo
    message: str


class OutageSimulator:
    """Simulates outages of one cluster, one after the other; the cluster is not changed."""

    def __init__(self, cluster: Cluster, setup: Setup) -> None:
        self._failing = FailingCluster(cluster.fork(), setup)
        self._replacements = Replacements(evicting=False)

    def fail_nodes(self, nodes: Collection[str]) -> tuple[int, list[StrandedPod]]:
        """How many pods need another node when these fail, and those that find none."""
        lost = self._failing.pods_on(nodes)
        if not lost:
            return 0, []
        self._replacements.begin_anew()
        with pods_to_make(), self._failing.without(nodes) as driver:
            queue = [
                (old, info)
                for old, info in self._replacements.replace_lost(lost, driver.cluster)
                if driver.scheduler(info.pod.spec.scheduler_name) is not None
            ]
            stranded = []
            in_order = driver.in_order(queue, lambda entry: entry[1])
            for old, info in track(in_order, "Placing", "pods of lost nodes"):
                attempt = driver.attempt(info)
                if attempt.gated is not None and not attempt.is_made:
                    stranded.append(StrandedPod(old, attempt.gated.message))
                elif not attempt.is_placed and attempt.gated is None:
                    stranded.append(StrandedPod(old, _without_preemption(attempt.message)))
        return len(queue), stranded


def _without_preemption(message: str) -> str:
    """What kept a pod from the nodes, preemption aside."""
    return message.partition(" preemption: ")[0].removesuffix("no new claims to deallocate,").rstrip()


class Context(msgspec.Struct, dict=True):
    """Everything about the change that a rule may ask.

    ``units`` are its workloads, in the order of their manifests; ``session`` is how things stand once it is rolled
    out and ``before`` how they stood before, which is worked out when it is first asked for. ``margins`` has, by pod,
    by how much its node beat the next best; only rules that say so (``scores``) find anything in there. ``tried`` are
    the pods that a scheduler took up, by ``namespace/name``. ``scale_up`` is what autoscalers added for those without a
    node, if they were asked; the nodes are in the cluster. ``run_trials`` makes trials that leave to chance what the
    scheduler does, of which autoscalers know nothing. ``run`` says who waits when nobody would move any more.
    ``scaled`` are the workloads of the change that autoscalers of pods scale; ``scale_out`` rolls the change out with
    these at their upper bounds. ``groups`` are what became of groups of pods that are scheduled together.
    ``changes`` are the objects that come, change or go, also those without pods, and ``manifests`` those that are
    applied.
    It is ``now`` in the cluster, for the age of pods, and ``judged_at`` for that of the snapshot.
    """

    units: Sequence[Unit]
    placements: Sequence[Placement]
    session: Session
    owners: Owners
    fidelity: Fidelity
    now: datetime
    judged_at: datetime
    make_before: Callable[[], Cluster]
    run: Run
    scale_up: ScaleUp | None = None
    margins: dict[str, int] = {}
    tried: dict[str, PodInfo] = {}
    run_trials: Callable[[str, int], Sequence[TrialOutcome]] = lambda topology_key, trials: ()
    scaled: Sequence[ScaledWorkload] = ()
    scale_out: Callable[[], ScaledOutChange] = ScaledOutChange
    groups: Sequence[GroupOutcome] = ()
    changes: Sequence[Change] = ()
    manifests: Sequence[Manifest] = ()
    _outcomes: dict[tuple[str, int], Sequence[TrialOutcome]] = {}

    @property
    def cluster(self) -> Cluster:
        return self.session.cluster

    @property
    def setup(self) -> Setup:
        return self.session.setup

    @property
    def snapshot(self) -> Snapshot:
        return self.session.snapshot

    @cached_property
    def before(self) -> Cluster:
        return self.make_before()

    @cached_property
    def _running(self) -> dict[Subject, list[tuple[PodInfo, int]]]:
        mine = {item.pod.key: unit.subject for unit in self.units for item in unit.pods_to_schedule}
        pods_of: dict[Subject, list[tuple[PodInfo, int]]] = {}
        for info, row in self.cluster.pods():
            owner = mine.get(info.key) or self.owners.workload_of(info.pod)
            pods_of.setdefault(owner, []).append((info, row))
        return pods_of

    @cached_property
    def change_by_subject(self) -> Mapping[Subject, Change]:
        """The objects that come or change."""
        return {change.subject: change for change in self.changes if change.what in ("added", "changed")}

    @cached_property
    def units_under_changed_budgets(self) -> Sequence[Unit]:
        """The workloads of which the change has but a disruption budget; each where that budget stands."""
        budgets = SelectedBudgets(
            self.snapshot.objects.list_all(PodDisruptionBudget),
            lambda budget: self.change_by_subject.get(subject_of_budget(budget)),
        )
        mine, units = {unit.subject for unit in self.units}, list[Unit]()
        for subject, pods in self._running.items():
            labels = pods[0][0].pod.metadata.labels or {}
            change = next(filter(None, budgets.of(pods[0][0].pod.namespace, labels)), None)
            if change is not None and subject not in mine:
                units.append(Unit(subject, change.location, labels=labels))
        return units

    @cached_property
    def owner(self) -> dict[str, Unit]:
        """The workload of each pod that runs in the end and belongs to one of the change, by pod."""
        return {info.key: unit for unit in self.units for info, _ in self.running(unit)}

    @cached_property
    def examples_of_pools(self) -> Sequence[str]:
        """The first open node of every pool, by name: new nodes may be like it."""
        pools: dict[str, str] = {}
        for node in sorted(self.cluster.columns.nodes, key=lambda node: node.name):
            if not node.spec.unschedulable:
                pools.setdefault(pool_of(node), node.name)
        return sorted(pools.values())

    @cached_property
    def snapshot_after(self) -> Snapshot:
        """The cluster as the change leaves it: pods that have a node run and are ready there, and no other is there.

        Disruption budgets of pods that came, went or moved are counted anew.
        """
        snapshot = self.snapshot.copy()
        names = self.cluster.columns.names
        created = self.now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        before = [pod for pod in snapshot.objects.list_all(Pod) if pod.spec.node_name]
        pods = [_running_pod(info.pod, names[row], created) for info, row in self.cluster.pods()]
        snapshot.objects.put(Pod, pods)
        snapshot.objects.put(Node, list(self.cluster.columns.given))
        recount_disruptions(snapshot.objects, before)
        return snapshot

    def outcomes(self, topology_key: str, trials: int) -> Sequence[TrialOutcome]:
        """The results of a number of trials of the change, with the skew over the domains of a label."""
        key = topology_key, trials
        if key not in self._outcomes:
            self._outcomes[key] = self.run_trials(topology_key, trials)
        return self._outcomes[key]

    def running(self, unit: Unit) -> Sequence[tuple[PodInfo, int]]:
        """All pods of a workload that have a node in the end, old and new ones, and the rows of their nodes."""
        return self._running.get(unit.subject, ())

    def node(self, row: int) -> str:
        """The name of a node."""
        return self.cluster.columns.names[row]

    def manifest_of(self, subject: Subject | None) -> dict[str, Any] | None:
        """The object of the change, else that of the cluster, as it can be applied; None if there is none."""
        if subject is None:
            return None
        manifest = self._manifests_by_subject.get(subject)
        return body_in(self.snapshot, subject) if manifest is None else manifest.raw

    @cached_property
    def _manifests_by_subject(self) -> Mapping[Subject, Manifest]:
        """The first of each."""
        return {subject_of(manifest): manifest for manifest in reversed(self.manifests)}

    def budgets_of(self, pod: Pod) -> Sequence[PodDisruptionBudget]:
        """The disruption budgets that select a pod."""
        budgets = self.snapshot.objects.list_all(PodDisruptionBudget)
        return SelectedBudgets(budgets, lambda budget: budget).of(pod.namespace, pod.metadata.labels or {})

    def new_pods(self, unit: Unit) -> list[PodInfo]:
        """The pods of a workload that were to be scheduled."""
        return [self.tried[placement.pod] for placement in unit.placements if placement.pod in self.tried]

    def outage(self, nodes: Collection[str]) -> tuple[int, list[StrandedPod]]:
        """The outage of these nodes once the change is rolled out."""
        return self._outages.fail_nodes(nodes)

    def outage_before(self, nodes: Collection[str]) -> tuple[int, list[StrandedPod]]:
        """The outage of these nodes without the change."""
        return self._outages_before.fail_nodes(nodes)

    @cached_property
    def _outages(self) -> OutageSimulator:
        return OutageSimulator(self.cluster, self.setup)

    @cached_property
    def _outages_before(self) -> OutageSimulator:
        return OutageSimulator(self.before, self.setup)


def body_in(snapshot: Snapshot, subject: Subject) -> dict[str, Any] | None:
    """An object of a snapshot as it can be applied; None if there is none."""
    for body in snapshot.whole.get(subject.kind, ()):
        if (namespace_of(body), name_of(body)) == (subject.namespace, subject.name):
            return {key: value for key, value in body.items() if key != "status"}
    return None


def _running_pod(pod: Pod, node: str, created: str) -> Pod:
    """A pod with the status that it has once it runs."""
    if pod.spec.node_name == node and pod.status.phase == "Running":
        return pod
    metadata = replace(pod.metadata, creation_timestamp=pod.metadata.creation_timestamp or created)
    status = pod.status if pod.status.phase == "Running" else PodStatus(phase="Running", start_time=created)
    return replace(pod, metadata=metadata, spec=replace(pod.spec, node_name=node), status=status)


class EmptyCluster:
    """An empty cluster with the same nodes, and a scheduler process to ask."""

    def __init__(self, context: Context) -> None:
        self._context = context
        given = context.cluster
        self._cluster = Cluster(given.columns.given, given.shapes, given.objects)
        self._driver = Driver(self._cluster, context.setup, imagined=True)
        self._known: dict[int, list[str]] = {}

    def distinct_pods(self, unit: Unit) -> Iterator[PodInfo]:
        """A pod of each shape among the new pods."""
        seen: set[int] = set()
        for tried in self._context.new_pods(unit):
            info = self._cluster.shapes.info(with_claims(tried.pod, self._cluster))
            if info.shape.index not in seen:
                seen.add(info.shape.index)
                yield info

    def nodes(self, pod: PodInfo) -> list[str]:
        """The nodes that could take it, by name."""
        names = self._known.get(pod.shape.index)
        if names is None:
            names = self._known[pod.shape.index] = self._ask(pod)
        return names

    def _ask(self, pod: PodInfo) -> list[str]:
        scheduler = self._driver.scheduler(pod.pod.spec.scheduler_name)
        if scheduler is None or not len(self._cluster):
            return []
        evaluation = scheduler.evaluation(pod)
        evaluation.begin(pod)
        if evaluation.refusal is not None:
            return []
        rows = set(range(len(self._cluster)) if evaluation.narrowed is None else evaluation.narrowed.tolist())
        about_others = {plugin.name for plugin in scheduler.framework.all_plugins if plugin.depends_on_other_pods}
        for blocker in evaluation.verdicts(pod).blockers:
            if blocker.plugin not in about_others:
                rows.difference_update(blocker.where.nonzero()[0].tolist())
        return sorted(self._cluster.columns.names[row] for row in rows)


MOST_NODES = 200
"""The most nodes that are tried."""


class GrownCluster:
    """The cluster after a change, to which nodes are added."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._after = context.snapshot_after

    def nodes(self, pods: Sequence[PodInfo], like: str) -> int | None:
        """How many nodes like this one it takes for all the pods; None if that many do not help."""
        least = least_nodes(self._context.cluster, pods, like)
        if least > MOST_NODES:
            return None

        def attempt(count: int) -> int | None:
            return count if self._count_placed(pods, like, count) == len(pods) else None

        # No pod needs more than a node.
        return try_fewest(least, min(max(least, len(pods)), MOST_NODES), attempt)

    def _count_placed(self, pods: Sequence[PodInfo], like: str, count: int) -> int:
        with pods_to_make():
            grown = apply_edits(self._after, [ParsedEdit(ADD_NODES, AddNodes(count=count, like=like), "the gate")])
        session = self._context.session.with_snapshot(
            grown.snapshot, shapes=self._context.cluster.shapes, imagined=True
        )
        placed = 0
        for pod in pods:
            if session.driver.scheduler(pod.pod.spec.scheduler_name) is not None:
                spec = replace(pod.pod.spec, preemption_policy="Never")
                placed += session.driver.attempt(session.info(PodToSchedule(replace(pod.pod, spec=spec)))).is_placed
        return placed
