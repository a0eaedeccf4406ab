"""The smallest fixes: single changes to the pod, to one node or to a device claim, each found by trying it.

Candidates come from nodes that only one plugin rejects. Only what the pipeline then accepts is suggested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from kwhatif.api.core import Node, Pod
from kwhatif.api.devices import ResourceClaim
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import BoolArray
from kwhatif.framework.status import Verdicts
from kwhatif.plugins.shared.pod_changes import with_priority
from kwhatif.results.explain import Fix
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.describe import feasible_rows
from kwhatif.scheduling.driver import Driver
from kwhatif.simulation.edits.cordon import uncordon_node
from kwhatif.simulation.session import Session

MOST_TRIALS = 40
MOST_PRIORITY = 1_000_000_000
"""No PriorityClass but those of the system may have a higher value."""

MOST_NODES = 2
"""So many nodes are offered to be uncordoned."""

Trial = tuple[str, Callable[[], str]]
"""What the change is, and a function that tries it and gives the node it leads to, or nothing."""


def smallest_fixes(session: Session, pod: PodInfo, attempt: Attempt) -> tuple[tuple[Fix, ...], int]:
    """Fixes that work, and how many were tried."""
    fixes: list[Fix] = []
    tried = 0
    for change, attempt_it in _Trials(session, pod, attempt):
        if tried >= MOST_TRIALS:
            break
        tried += 1
        node = attempt_it()
        if node:
            fixes.append(Fix(change=change, node=node))
    return tuple(fixes), tried


@dataclass
class _Trials:
    session: Session
    pod: PodInfo
    attempt: Attempt

    def __iter__(self) -> Iterator[Trial]:
        diagnosis, gate = self.attempt.diagnosis, self.attempt.gated
        if gate is not None:
            yield from self._try_suggestions({gate.plugin: []}, [])
        if diagnosis is None or diagnosis.verdicts is None:
            return
        alone = _only_blocked_by(diagnosis.verdicts)
        of_nodes: list[Trial] = []
        rows = {plugin: np.flatnonzero(where).tolist() for plugin, where in alone.items() if where.any()}
        yield from self._try_suggestions(rows, of_nodes)
        for node in self._find_cordoned_nodes()[:MOST_NODES]:
            yield f"uncordon node {node.name}", self._with_node(uncordon_node(node))
        yield from of_nodes
        yield from self._priorities()

    def _find_cordoned_nodes(self) -> list[Node]:
        """Cordoned nodes that would do for the pod if none were cordoned, by name."""
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

    def _try_suggestions(self, rows: dict[str, list[int]], of_nodes: list[Trial]) -> Iterator[Trial]:
        """What plugins suggest that refuse these nodes; changes ``of_nodes`` are put aside."""
        plugins = {plugin.name: plugin for plugin in self.session.driver.scheduler_for(self.pod).framework.all_plugins}
        for name in (name for name in rows if name in plugins):  # others are extenders
            for change, edited in plugins[name].suggestions(self.pod, self.session.cluster, rows[name]):
                match edited:
                    case Pod():
                        yield change, self._with_pod(edited)
                    case ResourceClaim():
                        yield change, self._with_claim(edited)
                    case Node():
                        of_nodes.append((change, self._with_node(edited)))

    def _priorities(self) -> Iterator[Trial]:
        """Priorities just high enough to be allowed to evict somebody, where no pod is evicted already."""
        if self.pod.shape.spec.preemption_policy == "Never" or self.attempt.nominated:
            return
        above = {p.priority for p, _ in self.session.cluster.pods() if self.pod.priority <= p.priority < MOST_PRIORITY}
        levels = sorted(above)
        for level in levels[:3]:
            edited = with_priority(self.pod.pod, level + 1)
            yield (
                f"raise its priority from {self.pod.priority} to {level + 1}, which evicts pods",
                self._evicting(edited),
            )

    def _with_pod(self, pod: Pod) -> Callable[[], str]:
        return lambda: _lands_on(self.session.driver, pod)

    def _evicting(self, pod: Pod) -> Callable[[], str]:
        return lambda: self.session.driver.decide(self.session.cluster.shapes.info(pod)).nominated

    def _with_node(self, node: Node) -> Callable[[], str]:
        def attempt() -> str:
            tried = self.session.driver.sandbox()
            tried.cluster.replace_nodes([node if n.name == node.name else n for n in tried.cluster.columns.given])
            return _lands_on(tried, self.pod.pod)

        return attempt

    def _with_claim(self, claim: ResourceClaim) -> Callable[[], str]:
        def attempt() -> str:
            tried = self.session.driver.sandbox()
            tried.cluster.devices.put(claim)
            return _lands_on(tried, self.pod.pod)

        return attempt


def _lands_on(driver: Driver, pod: Pod) -> str:
    """The node that a pod would get, or nothing."""
    info = driver.cluster.shapes.info(pod)
    evaluation = driver.scheduler_for(info).evaluate_all_nodes(info)
    if evaluation is None or not evaluation.passing(info).any():
        return ""  # why not, and who would have to go, nobody asks
    row = driver.decide(info).row
    return "" if row is None else driver.cluster.columns.names[row]


def _only_blocked_by(verdicts: Verdicts) -> dict[str, BoolArray]:
    """Plugin -> bool[N]: nodes that this plugin rejects and no other does."""
    by_plugin: dict[str, BoolArray] = {}
    for blocker in verdicts.blockers:
        have = by_plugin.get(blocker.plugin)
        by_plugin[blocker.plugin] = blocker.where if have is None else have | blocker.where
    if not by_plugin:
        return {}
    count = np.sum(list(by_plugin.values()), axis=0)
    return {plugin: where & (count == 1) for plugin, where in by_plugin.items()}
