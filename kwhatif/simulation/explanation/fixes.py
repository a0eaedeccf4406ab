"""The smallest fixes: single changes to the pod, to one node or to a device claim, each verified by a trial.

Candidates come from nodes that only one plugin rejects. Only changes that the trial confirms are reported.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

import msgspec
from msgspec import structs

from kwhatif.api.core import Node, Pod
from kwhatif.api.devices import ResourceClaim
from kwhatif.cluster.shapes import PodInfo
from kwhatif.plugins.shared.pod_changes import with_priority
from kwhatif.results.explain import Fix
from kwhatif.results.place import Victim
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.describe import feasible_rows
from kwhatif.scheduling.driver import Driver
from kwhatif.simulation.edits.cordon import uncordon_node
from kwhatif.simulation.placement.cluster_simulation import ClusterSimulation
from kwhatif.simulation.placement.pod_origins import PodOrigins
from kwhatif.simulation.session import PodToSchedule, Session

MOST_TRIALS = 40
MOST_PRIORITY = 1_000_000_000
"""No PriorityClass but those of the system may have a higher value."""

MOST_NODES = 2
"""How many nodes are suggested to be uncordoned."""

MOST_LEVELS = 3
"""How many priorities are tried."""

Edited = Pod | Node | ResourceClaim


class _Landing(msgspec.Struct, frozen=True):
    """The node that a change leads to, how many pods it places, and what it does to others: see ``Fix``."""

    node: str
    pods: int = 1
    victims: tuple[Victim, ...] = ()
    pending: tuple[str, ...] = ()


_Trial = tuple[str, Edited, Callable[[], _Landing | None]]
"""What the change is, the object as it is then, and a function that tries it."""


class TrialCluster(msgspec.Struct, frozen=True):
    """The cluster of the trials: that of a ``session``, where the whole change is placed as far as it fits.

    Pods of the ``workloads`` (as ``PodOrigins.owner_of`` names them) that change together are no victims of each other.
    ``pending`` are those without a node.
    """

    session: Session
    origins: PodOrigins
    workloads: Collection[str]
    pending: Sequence[PodToSchedule] = ()

    @classmethod
    def of_pod(cls, session: Session, pod: Pod) -> TrialCluster:
        """The cluster as it is, for a pod that is asked about by itself."""
        origins = PodOrigins(session.snapshot)
        return cls(session, origins, frozenset([origins.owner_of(pod)]))

    def changes(self, pod: Pod) -> bool:
        """Whether a pod belongs to one of the workloads."""
        return self.origins.owner_of(pod) in self.workloads

    def siblings_of(self, pod: Pod) -> list[PodToSchedule]:
        """The other pods of its workload that wait and are as it is: what helps one is a change of all."""
        owner = self.origins.owner_of(pod)
        alike = (
            pod_to_schedule
            for pod_to_schedule in self.pending
            if pod_to_schedule.pod.key != pod.key and pod_to_schedule.pod.spec == pod.spec
        )
        return [pod_to_schedule for pod_to_schedule in alike if self.origins.owner_of(pod_to_schedule.pod) == owner]


def smallest_fixes(tried_in: TrialCluster, asked: PodToSchedule, attempt: Attempt) -> tuple[tuple[Fix, ...], int]:
    """The fixes, each once, those that cost others least first, and how many changes were tried. ``attempt`` is the
    pod's in that very cluster.
    """
    fixes: list[Fix] = []
    effects: list[_Landing] = []
    tried = 0
    trials = _Trials(tried_in, asked, attempt)
    for change, landing in trials.distinct():
        if tried >= MOST_TRIALS:
            break
        tried += 1
        node = landing()
        if node is None or (node.victims and node in effects):
            # A higher priority that evicts the same pods is no other way out.
            continue
        effects.append(node)
        fixes.append(
            Fix(
                change=change,
                node=node.node,
                pods=node.pods,
                waiting=1 + len(trials.siblings),
                victims=node.victims,
                pending=node.pending,
            )
        )
    return tuple(sorted(fixes, key=lambda fix: (fix.harm, -fix.pods))), tried


@dataclass
class _Trials:
    tried_in: TrialCluster
    asked: PodToSchedule
    attempt: Attempt

    def __post_init__(self) -> None:
        self.session, self.pod = self.tried_in.session, self.attempt.pod
        self.siblings = self.tried_in.siblings_of(self.asked.pod)

    def distinct(self) -> Iterator[tuple[str, Callable[[], _Landing | None]]]:
        """The changes, each once: several plugins may suggest the same."""
        seen, made = set[str](), list[Edited]()
        for change, edited, landing in self._trials():
            if change not in seen and edited not in made:
                seen.add(change)
                made.append(edited)
                yield change, landing

    def _trials(self) -> Iterator[_Trial]:
        diagnosis, gate = self.attempt.diagnosis, self.attempt.gated
        if gate is not None:
            yield from self._try_suggestions({gate.plugin: []}, [])
        if diagnosis is None or diagnosis.verdicts is None:
            return
        of_nodes: list[_Trial] = []
        rows = {plugin: rows for plugin, rows in diagnosis.verdicts.only_blocked_by().items() if rows}
        yield from self._try_suggestions(rows, of_nodes)
        for node in self._find_cordoned_nodes()[:MOST_NODES]:
            edited = uncordon_node(node)
            yield f"uncordon node {node.name}", edited, self._with_node(edited)
        yield from of_nodes
        yield from self._priorities()

    def _find_cordoned_nodes(self) -> list[Node]:
        """Cordoned nodes that would be feasible for the pod if none were cordoned, by name."""
        given = self.session.cluster.columns.given
        cordoned = {node.name: node for node in given if node.spec.unschedulable}
        if not cordoned:
            return []
        tried = self.session.driver.sandbox()
        tried.cluster.replace_nodes([uncordon_node(node) for node in given])
        pod = tried.cluster.shapes.info(self.pod.pod)
        evaluation = tried.scheduler_for(pod).evaluation(pod)
        evaluation.begin(pod)
        if evaluation.refusal is not None:
            return []
        rows = feasible_rows(evaluation, evaluation.verdicts(pod)).tolist()
        fitting = {tried.cluster.columns.names[row] for row in rows}
        return [cordoned[name] for name in sorted(fitting & cordoned.keys())]

    def _try_suggestions(self, rows: dict[str, list[int]], of_nodes: list[_Trial]) -> Iterator[_Trial]:
        """Try suggestions of the plugins that reject these nodes; changes ``of_nodes`` are kept for later."""
        plugins = {plugin.name: plugin for plugin in self.session.driver.scheduler_for(self.pod).framework.all_plugins}
        for name in (name for name in rows if name in plugins):  # others are extenders
            for change, edited in plugins[name].suggestions(self.pod, self.session.cluster, rows[name]):
                match edited:
                    case Pod():
                        yield change, edited, self._with_pod(edited)
                    case ResourceClaim():
                        yield change, edited, self._with_claim(edited)
                    case Node():
                        of_nodes.append((change, edited, self._with_node(edited)))

    def _priorities(self) -> Iterator[_Trial]:
        """Priorities just high enough to evict some pod, where no pod is evicted already."""
        if self.pod.shape.spec.preemption_policy == "Never" or self.attempt.nominated:
            return
        others = (
            info.priority
            for info, _ in self.session.cluster.pods()
            if self.pod.priority <= info.priority < MOST_PRIORITY and not self.tried_in.changes(info.pod)
        )
        for level in sorted(set(others))[:MOST_LEVELS]:
            edited = with_priority(self.pod.pod, level + 1)
            change = f"raise its priority from {self.pod.priority} to {level + 1}, which evicts pods"
            yield change, edited, self._with_priority(level + 1)

    # --- what comes of them

    def _with_pod(self, pod: Pod) -> Callable[[], _Landing | None]:
        siblings = [structs.replace(sibling.pod, spec=pod.spec) for sibling in self.siblings]
        return lambda: _land(self.session.driver, pod, siblings)

    def _with_node(self, node: Node) -> Callable[[], _Landing | None]:
        def attempt() -> _Landing | None:
            tried = self.session.driver.sandbox()
            tried.cluster.replace_nodes([node if n.name == node.name else n for n in tried.cluster.columns.given])
            return _land(tried, self.pod.pod, [sibling.pod for sibling in self.siblings])

        return attempt

    def _with_claim(self, claim: ResourceClaim) -> Callable[[], _Landing | None]:
        def attempt() -> _Landing | None:
            tried = self.session.driver.sandbox()
            tried.cluster.devices.put(claim)
            return _land(tried, self.pod.pod, [sibling.pod for sibling in self.siblings])

        return attempt

    def _with_priority(self, priority: int) -> Callable[[], _Landing | None]:
        return lambda: _evict(self.tried_in, self.asked, self.pod.pod, priority)


def _land(driver: Driver, pod: Pod, siblings: Sequence[Pod]) -> _Landing | None:
    """The node that a pod would get without evictions, and how many siblings find one after it."""
    info = driver.cluster.shapes.info(pod)
    row = driver.decide(info).row if _has_feasible_node(driver, info) else None
    if row is None:
        return None
    number = 1
    if siblings:
        tried = driver.sandbox()
        tried.attempt(info)
        infos = map(tried.cluster.shapes.info, siblings)
        placed = takewhile(
            lambda pod_info: _has_feasible_node(tried, pod_info) and tried.attempt(pod_info).is_placed, infos
        )
        number += sum(1 for _ in placed)
    return _Landing(driver.cluster.columns.names[row], number)


def _has_feasible_node(driver: Driver, info: PodInfo) -> bool:
    """Whether a pod fits a node without evictions; the message of one that does not, and victims, are not needed."""
    evaluation = driver.scheduler_for(info).evaluate_all_nodes(info)
    return evaluation is not None and bool(evaluation.passing(info).any())


def _evict(tried_in: TrialCluster, asked: PodToSchedule, pod: Pod, priority: int) -> _Landing | None:
    """The outcome of a higher priority for all pods of the workload, once the cluster has come to rest.

    None if the pod gets no node by it, or if a pod of the change has to leave.
    """
    tried = tried_in.session.sandbox()
    _raise_siblings(tried, tried_in.origins, pod, priority)
    info = tried.cluster.shapes.info(with_priority(pod, priority))
    first = tried.driver.decide(info)
    if not first.nominated or any(tried_in.changes(victim.pod) for victim in first.victims):
        return None
    simulation = ClusterSimulation(tried, tried_in.origins)
    asked = structs.replace(asked, pod=info.pod)
    simulation.arrive(asked, info)
    simulation.run()
    placement = simulation.placement(asked, info)
    if placement.outcome != "placed" or any(tried_in.changes(pod_info.pod) for pod_info in simulation.evicted_since()):
        return None
    ended = simulation.run_of([placement], simulation.replacements())
    return _Landing(placement.node, 1, placement.victims, tuple(pending_pod.pod for pending_pod in ended.pending))


def _raise_siblings(session: Session, origins: PodOrigins, pod: Pod, priority: int) -> None:
    """Give the other pods of a pod's workload the same priority, as a change of its template does."""
    cluster, owner = session.cluster, origins.owner_of(pod)
    mine = [
        (info, row) for info, row in cluster.pods() if info.priority < priority and origins.owner_of(info.pod) == owner
    ]
    for info, row in mine:
        raised = cluster.shapes.info(with_priority(info.pod, priority), bound=True)
        raised.start = info.start
        cluster.forget(info.uid)
        cluster.assume(raised, row)


def suggested_pods(session: Session, asked: PodToSchedule) -> Iterator[tuple[str, Pod]]:
    """Changes of a pod that finds no node, as plugins suggest them, in words and as the changed pod."""
    if session.driver.scheduler(asked.pod.spec.scheduler_name) is None:
        return
    info = session.info(asked)
    diagnosis = session.driver.decide(info).diagnosis
    if diagnosis is None or diagnosis.verdicts is None:
        return
    there = {plugin.name: plugin for plugin in session.driver.scheduler_for(info).framework.all_plugins}
    for name, rows in diagnosis.verdicts.only_blocked_by().items():
        if name in there and rows:
            for change, edited in there[name].suggestions(info, session.cluster, rows):
                if isinstance(edited, Pod):
                    yield change, edited
