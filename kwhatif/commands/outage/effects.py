"""The effects of one failure: which pods are replaced, which find no node, victims, and what is left of workloads;
compared with the state before any failure.

The nodes fail at once, and no budget is checked. Controllers replace all pods before the scheduler tries the first of
them, in its order, and the cluster runs to rest, as where ``place`` removes the nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from kwhatif.api.core import Node, Pod
from kwhatif.api.node_provisioning import NodeClaim
from kwhatif.api.objects import section
from kwhatif.api.workloads_and_storage import PodDisruptionBudget
from kwhatif.bounds import pods_to_make
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.node_bound_pods import BOUND_TO_NODES
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.storage import claim_names
from kwhatif.cluster.types import BoolArray
from kwhatif.commands.outage.failures import ZONE, FailingCluster, NodeFailure
from kwhatif.plugins.shared.volume_reach import reachable
from kwhatif.results.disruption import BrokenFloor, Failure, Headroom, Hit, LossOutcome, LostPod
from kwhatif.results.group_outcome import GroupDisruption, words_of_disruptions
from kwhatif.results.outcome import EvictedPod
from kwhatif.scheduling.controllers import Replacements, is_made_elsewhere
from kwhatif.scheduling.selected_budgets import SelectedBudgets
from kwhatif.simulation.autoscalers.scaler import Scaler
from kwhatif.simulation.expansion.unfinished_workloads import pods_made_anew
from kwhatif.simulation.ownership import Owners
from kwhatif.simulation.placement.autoscalers import Autoscalers
from kwhatif.simulation.placement.conclusion import conclude, words_of_never_made
from kwhatif.simulation.placement.group_outcomes import GroupMembers, disrupted_groups, running_members
from kwhatif.simulation.placement.pod_origins import PodOrigins
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.placement.runs import place_pods
from kwhatif.simulation.session import PodToSchedule, Session
from kwhatif.simulation.study import StudyBase
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.workloads.job_failures import Job, JobFailures, job_of
from kwhatif.workloads.objects import integer, name_of, namespace_of

STATEFUL_SET = "StatefulSet"

_RECREATED = ("back", "pending", "uncreated", "waiting", "lost")
"""What becomes of pods that have business elsewhere."""


class Baseline:
    """Workloads and budgets of the cluster before any failure."""

    def __init__(self, snapshot: Snapshot, cluster: Cluster) -> None:
        self._owners = Owners(snapshot)
        self._workloads: dict[tuple[int, str], str] = {}
        self._cluster = cluster
        self._snapshot = snapshot

    @cached_property
    def origins(self) -> PodOrigins:
        """Looks up the workload of a pod, and why the pod looks for a node."""
        return PodOrigins(self._snapshot)

    def workload_of(self, info: PodInfo) -> str:
        """The workload at the top, as ``Deployment shop/web``."""
        controller = info.shape.controller
        # Pods of one shape share their controller; one without is its own workload.
        key = info.shape.index, "" if controller is not None else info.key
        if key not in self._workloads:
            self._workloads[key] = str(self._owners.workload_of(info.pod))
        return self._workloads[key]

    @cached_property
    def running(self) -> dict[str, PodInfo]:
        """The pods that have a node, by ``namespace/name``."""
        return {info.key: info for info, _ in self._cluster.pods()}

    @cached_property
    def replicas(self) -> Counter[str]:
        """How many pods of each workload have a node."""
        return Counter(self.workload_of(info) for info, _ in self._cluster.pods())

    @cached_property
    def _desired_replicas(self) -> dict[str, int]:
        """The replicas that each StatefulSet asks for, where the snapshot tells."""
        return {
            f"{STATEFUL_SET} {namespace_of(manifest)}/{name_of(manifest)}": integer(
                section(manifest, "spec").get("replicas"), 1
            )
            for manifest in self._snapshot.whole.get(STATEFUL_SET, ())
        }

    def loses_quorum(self, workload: str, replicas: int) -> bool:
        """Whether a StatefulSet has lost its majority: at most half of its replicas remain, and there were
        more before.
        """
        if not workload.startswith(STATEFUL_SET):
            return False
        wanted = max(self._desired_replicas.get(workload, 0), self.replicas[workload])
        return 2 * replicas <= wanted < 2 * self.replicas[workload]

    # --- budgets

    @cached_property
    def _budgets(self) -> SelectedBudgets[BrokenFloor]:
        """Budgets with a status, as none of their pods is lost: the healthy pods they want and have."""
        budgets = self._cluster.objects.list_all(PodDisruptionBudget)
        return SelectedBudgets((budget for budget in budgets if budget.status.desired_healthy is not None), _floor_of)

    def broken_floors(self, pods: Iterable[PodInfo]) -> tuple[BrokenFloor, ...]:
        """The budgets that have fewer healthy pods than they want once these are lost, and had enough before."""
        healthy = (info.shape for info in pods if is_healthy(info))
        gone = Counter(floor.budget for shape in healthy for floor in self._budgets.of(shape.namespace, shape.labels))
        floors = (value for value in self._budgets.values if value.budget in gone)
        left = (replace(floor, after=floor.before - gone[floor.budget]) for floor in floors)
        return tuple(
            replace(floor, after=max(floor.after, 0)) for floor in left if floor.after < floor.desired <= floor.before
        )


def _floor_of(budget: PodDisruptionBudget) -> BrokenFloor:
    status = budget.status
    desired, healthy = status.desired_healthy or 0, status.current_healthy
    if healthy is None:
        healthy = desired + (status.disruptions_allowed or 0)
    return BrokenFloor(budget=f"{budget.namespace}/{budget.name}", desired=desired, before=healthy, after=healthy)


def is_healthy(info: PodInfo) -> bool:
    """Whether a budget counts the pod: it is ready, as far as its conditions tell, and not on its way out."""
    if info.shape.terminating:
        return False
    return all(one.status == "True" for one in info.pod.status.conditions or () if one.type == "Ready")


class FailureEffects(msgspec.Struct, dict=True):
    """Computes one failure after the other; the session's cluster is restored after each.

    ``unreachable``: the nodes stay in the cluster and do not answer, so it is unknown whether their pods still run.
    """

    session: Session
    unreachable: bool = False
    autoscalers: Autoscalers | None = None

    @cached_property
    def _failing(self) -> FailingCluster:
        # Nodes that come cannot be taken back.
        return FailingCluster(self.session.cluster, self.session.setup, isolated=self.autoscalers is not None or None)

    @cached_property
    def standing(self) -> Baseline:
        return Baseline(self.session.snapshot, self.session.cluster)

    @cached_property
    def _members(self) -> GroupMembers:
        return running_members(self.session.cluster)

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(self.standing.running)

    @cached_property
    def _replacements(self) -> Replacements:
        return Replacements(taken=self._names.__contains__, renewed=pods_made_anew(self.session.snapshot))

    def failure_of(self, node_failure: NodeFailure) -> Failure:
        """The effects of this failure."""
        rows = self._failing.rows(node_failure.nodes)
        names = self.session.cluster.columns.names
        home = {info.uid: names[row] for row in rows for info in self.session.cluster.pods_on[row]}
        losses, members = _Losses(self.standing, home), self._members
        lost = sorted(self._failing.pods_on(node_failure.nodes), key=self._place_of)
        failing = self._failing_jobs([info.pod for info in lost])
        again = [info for info in lost if self._try_to_recreate(info, losses, failing)]
        self._replacements.begin_anew()
        with pods_to_make(), self._failing.without(node_failure.nodes) as driver:
            queue = []
            for info, _ in list(driver.cluster.pods()) if failing else ():
                if job_of(info.pod) in failing:
                    driver.cluster.remove_pod(info.uid)
            for old, info in self._replacements.replace_lost(again, driver.cluster):
                if driver.scheduler(info.pod.spec.scheduler_name) is None:
                    name = info.pod.spec.scheduler_name
                    losses.record(
                        old, "pending", message=f"schedulerName {name} is none of the configuration's profiles"
                    )
                else:
                    queue.append((old, info))
            session, scaler = self.session.driven_by(driver), None
            if self.autoscalers is not None:
                session.snapshot = _snapshot_without(session.snapshot, node_failure.nodes)
                zone = node_failure.name if node_failure.kind == ZONE else ""
                scaler = self.autoscalers.without(node_failure.nodes, zone)()
            run = losses.place(session, queue, scaler, node_failure)
            headroom = tuple(_headroom(driver.cluster))
            groups = tuple(disrupted_groups(members, driver.cluster))
        return losses.failure(node_failure, run, headroom, groups)

    def _failing_jobs(self, pods: Sequence[Pod]) -> Collection[Job]:
        """The jobs that fail for good by the loss of these pods."""
        if not any(map(job_of, pods)):
            return ()
        return JobFailures(self.session.snapshot.whole.get("Job", ())).lose(pods)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {pod.key: place for place, pod in enumerate(self.session.snapshot.objects.list_all(Pod))}

    def _place_of(self, info: PodInfo) -> int:
        """The place of a pod in the snapshot, the order in which pods of nodes that go are made again."""
        return self._places.get(info.key, len(self._places))

    def _try_to_recreate(self, info: PodInfo, losses: _Losses, failing: Collection[Job]) -> bool:
        """Whether the pod is replaced; other outcomes are recorded."""
        owner = info.shape.controller
        outcome: LossOutcome
        if info.pod.is_mirror or (owner is not None and owner.kind in BOUND_TO_NODES):
            outcome = "bound"
        elif self.unreachable and owner is not None and owner.kind == STATEFUL_SET:
            outcome = "waiting"
        elif not is_made_elsewhere(info) or job_of(info.pod) in failing:
            outcome = "lost"
        else:
            return True
        losses.record(info, outcome)
        return False


class _Losses(msgspec.Struct):
    """What becomes of the pods of failed nodes, and of others that have to leave for them; ``home``: uid -> node."""

    standing: Baseline
    home: dict[str, str]
    pods: list[LostPod] = []
    counts: dict[str, Counter[str]] = {}
    gone: list[PodInfo] = []

    def record(self, old: PodInfo, outcome: LossOutcome, **more: Any) -> None:
        workload = self.standing.workload_of(old)
        self.counts.setdefault(workload, Counter())[outcome] += 1
        self.gone.append(old)
        self.pods.append(
            LostPod(pod=old.key, node=self.home[old.uid], workload=workload, outcome=outcome, **more),
        )

    def place(
        self,
        session: Session,
        replaced: Sequence[tuple[PodInfo, PodInfo]],
        scaler: Scaler | None,
        node_failure: NodeFailure,
    ) -> Run:
        """Schedule the replacements, and run to rest; autoscalers may help."""
        run = place_pods(
            session,
            [PodToSchedule(info.pod, ran_before=True) for _, info in replaced],
            scaler=scaler,
            replaced=replaced,
            origins=self.standing.origins,
        )
        placements = {placement.pod: placement for placement in run.placements}
        for old, info in replaced:
            placed = placements[info.key]
            home = placed.node if placed.good else run.nodes_of_replacements.get(info.key, "")
            uncreated = placed.outcome == "uncreated"
            outcome: LossOutcome = "back" if home else "uncreated" if uncreated else "pending"
            more = {"lands_on": home} if home else {"message": placed.message if uncreated else placed.reason}
            if not home:
                more["cause"] = _lost_volume_of(info.pod, session.cluster, node_failure)
            self.record(old, outcome, replacement=info.key, victims=placed.victims, **more)
        made = {info.key: info for _, info in replaced}
        for victim in run.victims[len(replaced) :]:
            left = made.get(victim.pod) or self.standing.running.get(victim.pod)
            # Who is neither has been recreated in the meantime.
            is_made_again = left is None or is_made_elsewhere(left)
            counts = self.counts.setdefault(_name_of(victim), Counter())
            counts["evicted"] += 1
            counts["homeless"] += is_made_again and victim.pod not in run.nodes_of_replacements
        return run

    def failure(
        self, node_failure: NodeFailure, run: Run, headroom: tuple[Headroom, ...], groups: tuple[GroupDisruption, ...]
    ) -> Failure:
        totals: Counter[str] = sum(self.counts.values(), Counter())
        pods = sorted(self.pods, key=lambda pod: (pod.node, pod.pod))
        counts = {name: totals[name] for name in (*_RECREATED, "bound", "evicted", "homeless")}
        reported = ("back", "pending", "waiting", "lost", "evicted")
        words = [f"{counts[name]} {name}" for name in reported if counts[name]] + words_of_never_made(run)
        words += words_of_disruptions(groups)
        verdict = f"{node_failure.kind} {node_failure.name}: {', '.join(words) or 'no pod has to be recreated'}"
        stuck = counts["pending"] + counts["uncreated"] + counts["waiting"] + counts["homeless"]
        return Failure(
            outcome=conclude(run, None, verdict, bad=bool(stuck)),
            kind=node_failure.kind,
            name=node_failure.name,
            nodes=node_failure.nodes,
            pods=len(pods),
            **counts,
            hits=tuple(self._hits()),
            budgets=self.standing.broken_floors(self.gone),
            headroom=headroom,
            lost_pods=tuple(pods),
            groups=groups or msgspec.UNSET,
        )

    def _hits(self) -> Iterator[Hit]:
        """Workloads by name, without those whose pods are bound to their nodes."""
        for workload, counts in sorted(self.counts.items()):
            lost = sum(counts[outcome] for outcome in _RECREATED)
            if not lost and not counts["evicted"]:
                continue
            replicas = self.standing.replicas[workload]
            yield Hit(
                workload=workload,
                replicas=replicas,
                lost=lost,
                back=counts["back"],
                pending=counts["pending"],
                uncreated=counts["uncreated"],
                waiting=counts["waiting"],
                gone=counts["lost"],
                evicted=counts["evicted"],
                homeless=counts["homeless"],
                down=lost == replicas,
                quorum_lost=self.standing.loses_quorum(workload, replicas - lost),
            )


def _lost_volume_of(pod: Pod, cluster: Cluster, failure: NodeFailure) -> str:
    """``volume pvc-1 is in eu-west-1b, which is lost``; empty if each volume of a pod can be reached from some node."""
    storage = cluster.storage
    for name, _ in claim_names(pod):
        claim = storage.claims.get((pod.namespace, name))
        volume = None if claim is None else storage.volumes.get(claim.spec.volume_name or "")
        if volume is not None and not (reachable(volume, cluster) & _rows_left(cluster, failure.nodes)).any():
            where = f"is in {failure.name}, which is lost" if failure.kind == ZONE else "is of nodes that are lost"
            return f"volume {volume.name} {where}"
    return ""


def _rows_left(cluster: Cluster, failed_nodes: Sequence[str]) -> BoolArray:
    """bool[rows]: the nodes that have not failed."""
    left = np.ones(len(cluster.columns.names), np.bool_)
    left[[row for name in failed_nodes if (row := cluster.columns.row(name)) is not None]] = False
    return left


def _name_of(victim: EvictedPod) -> str:
    """The workload of a victim, as ``Deployment shop/web``."""
    return f"Pod {victim.pod}" if victim.workload is None else victim.workload.replace("/", " ", 1)


def _snapshot_without(snapshot: Snapshot, nodes: Collection[str]) -> Snapshot:
    """The snapshot once these nodes are gone, as autoscalers see it."""
    left = snapshot.copy()
    gone = [node for node in snapshot.objects.list_all(Node) if node.name in nodes]
    machines = {node.spec.provider_id for node in gone if node.spec.provider_id}
    left.objects.put(Node, [node for node in snapshot.objects.list_all(Node) if node.name not in nodes])
    left.objects.put(Pod, [pod for pod in snapshot.objects.list_all(Pod) if pod.spec.node_name not in nodes])
    claims = snapshot.objects.list_all(NodeClaim)
    left.objects.put_if_any(NodeClaim, [claim for claim in claims if claim.status.provider_id not in machines])
    return left


def _headroom(cluster: Cluster) -> Iterator[Headroom]:
    """The allocatable and requested amounts of the nodes that are left and take pods."""
    rows = cluster.node_order
    for name, (has, asks) in cluster.totals(rows[~cluster.columns.unschedulable[rows]].tolist()).items():
        if asks or name == "pods":
            yield Headroom(resource=name, allocatable=has, requested=asks)


class OutageBase(msgspec.Struct, frozen=True, dict=True):
    """The base of all failures."""

    base: StudyBase
    unreachable: bool
    autoscalers: Autoscalers | None = None

    @cached_property
    def effects(self) -> FailureEffects:
        return FailureEffects(self.base.fork(), self.unreachable, self.autoscalers)

    def __reduce__(self) -> tuple[type[OutageBase], tuple[StudyBase, bool, Autoscalers | None]]:
        return OutageBase, (self.base, self.unreachable, self.autoscalers)


def simulate_failure(ground: OutageBase, node_failure: NodeFailure) -> Failure:
    """The effects of one failure."""
    return ground.effects.failure_of(node_failure)
