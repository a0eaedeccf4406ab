"""Drains nodes: evictions as budgets allow them, and the nodes of the replacements.

As ``kubectl drain`` does it: all nodes are cordoned first, then emptied one after the other. Or, as in a maintenance,
one drain after the other, and each node is uncordoned before the next drain begins. All evictions of a node
are requested at once; what a budget refuses is requested again when replacements have become ready, which every pod
that found a node is assumed to do. Autoscalers add nodes for pods that found none when nothing else can be evicted, and
when a node is done. Upstream: k8s.io/kubectl/pkg/drain and cmd/drain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import msgspec
from msgspec import structs
from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.api.workloads_and_storage import PodDisruptionBudget
from kwhatif.cluster.shapes import PodInfo
from kwhatif.commands.drain.filters import Filters
from kwhatif.progress import track
from kwhatif.results.amounts import format_count
from kwhatif.results.disruption import DrainedNode, DrainedPod, DrainResult, Remaining
from kwhatif.results.group_outcome import GroupDisruption, words_of_disruptions
from kwhatif.scheduling.eviction_budgets import EvictionBudgets
from kwhatif.simulation.autoscalers.scaler import Scaler
from kwhatif.simulation.edits.cordon import cordon_node
from kwhatif.simulation.fidelity.assess import assess
from kwhatif.simulation.placement.conclusion import conclude_in_words
from kwhatif.simulation.placement.group_outcomes import disrupted_groups, running_members
from kwhatif.simulation.placement.placing import AttemptedPod, PlacementRun
from kwhatif.simulation.placement.recreated_pods import RecreatedPods, owner_of
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.placement.run_to_rest import settle_cluster
from kwhatif.simulation.placement.verdict import words_of_good, words_of_growth
from kwhatif.simulation.question import Answer
from kwhatif.simulation.session import PodToSchedule, Session
from kwhatif.workloads.job_failures import Job, JobFailures, job_of


def drain_nodes(
    session: Session,
    names: Sequence[str],
    filters: Filters,
    scaler: Scaler | None = None,
    before: Run | None = None,
    *,
    one_by_one: bool = False,
    **never_made: Any,
) -> Answer[DrainResult]:
    """Drain nodes in this order. What was ``never_made`` is so many fields of a run.

    All of them are cordoned; with ``one_by_one`` none is, and each takes pods again before the next is begun.
    Autoscalers may help replacements, and may have helped pods that were placed ``earlier``.
    """
    run, members = _Drain(session, filters, scaler), running_members(session.cluster)
    requested = run.requested_beside(names)
    drain = run.node_that_comes_back if one_by_one else run.node
    nodes = tuple(drain(name) for name in track(names, "Draining", "nodes"))
    run.placed.explain_futile()
    after = settle_cluster(
        session,
        run.placed,
        run.recreated_pods,
        scaler,
        emptied=run.emptied,
        earlier=() if before is None else before.placements,
    )
    homes = {placement.pod: placement.node for placement in after.placements if placement.good} | dict(
        after.nodes_of_replacements
    )
    pods = tuple(
        replace(pod, lands_on=pod.lands_on or homes.get(pod.replacement, "")) if pod.replacement else pod
        for pod in run.pods
    )
    evicted = [pod.pod for pod in pods if pod.outcome == "evicted"]
    after = structs.replace(after.following(before), evicted=evicted, **never_made)
    groups = tuple(disrupted_groups(members, after.end.cluster))
    words = "" if before is None else f"{words_of_good(before.placements)} placed before; "
    driven_out = len(after.victims) - len(run.emptied)
    rollouts = () if before is None else before.rollouts
    fidelity = assess(after, before)
    result = DrainResult(
        outcome=conclude_in_words(
            after,
            fidelity,
            [words + _verdict(nodes, after, driven_out, groups, run.waited)],
            bad=bool(run.waited)
            or not all(node.drained for node in nodes)
            or any(rollout.unfinished for rollout in rollouts),
            lead=("Safe to drain", "Not safe to drain"),
        ),
        nodes=nodes,
        pods=pods,
        budgets=run.budgets.uses(),
        placements=tuple(after.placements),
        remaining=() if one_by_one else _remaining(requested, run.requested_beside(names)),
        groups=groups or msgspec.UNSET,
        scale_up=after.scale_up,
        warnings=tuple(f"{reason}: {', '.join(pods)}" for reason, pods in sorted(run.warnings.items())),
        before=() if before is None else tuple(before.placements),
        rollouts=rollouts,
        fidelity=fidelity,
    )
    return Answer(result, [after])


def _verdict(
    nodes: Sequence[DrainedNode],
    run: Run,
    driven_out: int,
    groups: Sequence[GroupDisruption],
    waited: Collection[str],
) -> str:
    """``1 of 2 nodes drained, 3 pods evicted, 1 pending``."""
    drained, evicted = sum(node.drained for node in nodes), sum(node.evicted for node in nodes)
    parts = [f"{drained} of {format_count(len(nodes), 'node')} drained, {format_count(evicted, 'pod')} evicted"]
    if driven_out:
        parts.append(f"{driven_out} preempted")
    if run.pending:
        parts.append(f"{len(run.pending)} pending")
    if waited:
        parts.append(f"{len(waited)} pending until a node comes back")
    parts += words_of_disruptions(groups)
    return ", ".join([*parts, *words_of_growth(run.scale_up)])


Amounts = dict[str, tuple[int, int]]
"""Resource -> (allocatable, requested)."""


def _remaining(before: Amounts, after: Amounts) -> tuple[Remaining, ...]:
    return tuple(
        Remaining(
            resource=name,
            allocatable=allocatable,
            requested_before=before.get(name, (0, 0))[1],
            requested_after=requested,
        )
        for name, (allocatable, requested) in after.items()
        if name != "pods" and (allocatable or requested)
    )


def _by_node(pods: Iterable[Pod]) -> dict[str, list[Pod]]:
    """Pods by the names of their nodes, those that have finished as well."""
    pods_of: dict[str, list[Pod]] = {}
    for pod in pods:
        pods_of.setdefault(pod.spec.node_name or "", []).append(pod)
    return pods_of


class _NodeProgress(msgspec.Struct):
    """The pods of one node that are still to go, and what became of the others."""

    left: list[Pod]
    counts: Counter[str] = msgspec.field(default_factory=Counter)


class _Drain:
    def __init__(self, session: Session, filters: Filters, scaler: Scaler | None) -> None:
        self._session, self._filters = session, filters
        objects = session.snapshot.objects
        # A server is asked about the same pods again and again; their lists are those of all its answers.
        self._pods = dict(objects.share(_Drain, (Pod.__name__,), lambda: _by_node(objects.list_all(Pod))))
        self.budgets = EvictionBudgets(objects.list_all(PodDisruptionBudget))
        self.placed = PlacementRun(session, scaler)
        self._recreated = RecreatedPods(self.placed)
        self.emptied: list[PodInfo] = []
        self._reports: list[tuple[DrainedPod, AttemptedPod | None]] = []
        self._jobs = JobFailures(session.snapshot.whole.get("Job", ()))
        self.warnings: dict[str, list[str]] = {}
        self.waited: set[str] = set()

    def node_that_comes_back(self, name: str) -> DrainedNode:
        """Cordon and empty one node; then it takes pods as before, at first those that find no node without it."""
        given = next(node for node in self._session.cluster.columns.given if node.name == name)
        self._session.change_nodes([cordon_node(given)])
        drained = self.node(name)
        without = [pod.item.pod.identity for pod in self._recreated.without_node]
        self._session.change_nodes([given])
        self.placed.departed += 1
        self.placed.retry_all(self._recreated.waiting)
        self._become_ready()
        left = {pod.item.pod.identity for pod in self._recreated.without_node}
        self.waited |= {uid for uid in without if uid not in left}
        return drained

    def node(self, name: str) -> DrainedNode:
        """Empty one node. One with a pod that must not be touched is left as it is, as kubectl leaves it."""
        turns = _NodeProgress([])
        preempted = {victim.uid for victim in self.placed.evicted}
        there = [
            pod
            for pod in self._pods.pop(name, ())
            if pod.identity not in preempted and job_of(pod) not in self._jobs.failed
        ]
        for pod in sorted(there, key=lambda pod: (pod.namespace, pod.name)):
            intent = self._filters.intent(pod)
            if intent.warns:
                self.warnings.setdefault(intent.reason, []).append(pod.key)
            if intent.what == "evict":
                turns.left.append(pod)
            else:
                outcome = "ignored" if intent.what == "ignore" else "refused"
                self._tell(turns, _report_pod(pod, name, outcome, intent.reason))
        if turns.counts["refused"]:
            for pod in turns.left:
                self._tell(turns, _report_pod(pod, name, "blocked", "not begun: other pods of the node are refused"))
        else:
            self._empty(name, turns)
        return DrainedNode(
            node=name,
            drained=not turns.counts["refused"] and not turns.counts["blocked"],
            evicted=turns.counts["evicted"],
            ignored=turns.counts["ignored"],
            refused=turns.counts["refused"],
            blocked=turns.counts["blocked"],
        )

    def _tell(self, turns: _NodeProgress, drained: DrainedPod) -> None:
        self._reports.append((drained, None))
        turns.counts[drained.outcome] += 1

    def _empty(self, name: str, turns: _NodeProgress) -> None:
        turn = 0
        while turns.left:
            turn += 1
            going: list[Pod] = []
            kept: list[tuple[Pod, str]] = []
            for pod in turns.left:
                reason = self.budgets.evict(pod)
                if reason:
                    kept.append((pod, reason))
                else:
                    self.budgets.release(pod)
                    going.append(pod)
            turns.left = [pod for pod, _ in kept]
            if not going:
                if self._wait_for_nodes():
                    continue
                for pod, reason in kept:
                    self._tell(turns, _report_pod(pod, name, "blocked", reason, budget=self.budgets.names_of(pod)))
                return
            self._go(going, name, turn)
            turns.counts["evicted"] += len(going)
        self._wait_for_nodes()

    def _go(self, going: Sequence[Pod], node: str, turn: int) -> None:
        """Evict pods together; then their replacements are scheduled, and those that find a node become ready."""
        for pod in going:
            pod_and_row = self._session.running(pod)
            self.emptied += [pod_and_row[0]] if pod_and_row is not None else []
            self.placed.remove(pod.key)
        if failing := self._jobs.lose(going):
            self._delete_pods_of(failing)
        for pod in going:
            fails = job_of(pod) in self._jobs.failed
            taken = None if fails else self._recreated.make_replacement(pod)
            reason = "" if taken is not None else _JOB_FAILS if fails else _why_not_again(pod)
            report = _report_pod(pod, node, "evicted", reason, turn=turn, budget=self.budgets.names_of(pod))
            self._reports.append((report, taken))
        self.placed.retry_all(self._recreated.waiting)
        self._become_ready()

    def _delete_pods_of(self, failing: Collection[Job]) -> None:
        """Delete the pods of jobs that have failed, also those that were made in the place of others."""
        for pod in [info.pod for info, _ in self._session.cluster.pods() if job_of(info.pod) in failing]:
            self.placed.remove(pod.key)
        waiting = self._recreated.waiting
        self._recreated.waiting = [pod for pod in waiting if job_of(pod.item.pod) not in failing]

    def _wait_for_nodes(self) -> bool:
        """Whether replacements became ready, since nodes were added for them."""
        self.placed.help()
        return self._become_ready()

    def _become_ready(self) -> bool:
        """Pods that have found a node become ready, which the budgets count; returns whether there were any."""
        placed = self._recreated.take_placed()
        for pod in placed:
            self.budgets.ready(pod.item.pod)
            # Where nodes come back, it may have to leave once more.
            node = pod.placement.node
            self._pods[node] = [*self._pods.get(node, ()), pod.item.pod]
        return bool(placed)

    @property
    def pods(self) -> tuple[DrainedPod, ...]:
        """Every pod's outcome."""
        return tuple(
            report
            if taken is None
            else replace(
                report,
                replacement=taken.item.pod.key,
                lands_on=taken.placement.node,
                waits=taken.item.pod.identity in self.waited,
            )
            for report, taken in self._reports
        )

    @property
    def recreated_pods(self) -> list[PodToSchedule]:
        """The pods that were recreated."""
        return self._recreated.pods_to_schedule

    def requested_beside(self, names: Sequence[str]) -> Amounts:
        """Allocatable and requested amounts on the other nodes that take pods."""
        cluster = self._session.cluster
        closed = {*names, *(node.name for node in cluster.columns.given if node.spec.unschedulable)}
        return cluster.totals([row for row, name in enumerate(cluster.columns.names) if name not in closed])


def _report_pod(pod: Pod, node: str, outcome: str, reason: str = "", *, turn: int = 0, budget: str = "") -> DrainedPod:
    return DrainedPod(
        pod=pod.key, node=node, outcome=outcome, reason=reason, turn=turn, budget=budget, owner=owner_of(pod)
    )


_JOB_FAILS = "its job fails for it, beyond its backoffLimit"


def _why_not_again(pod: Pod) -> str:
    if pod.is_finished:
        return "it had finished"
    owner = pod.controller
    if owner is None:
        return "no controller recreates it"
    if pod.metadata.deletion_timestamp:
        return "it was being deleted and is replaced already"
    return f"whether a {owner.kind} recreates it is unknown"
