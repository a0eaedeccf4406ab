"""Ask one plugin about one pod and get the answer by node name, the way a table of expectations is written."""

from __future__ import annotations

from typing import Any

import numpy as np

from kwhatif.api.core import Pod
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.node_view import NodeView, PodDelta
from kwhatif.cluster.shapes import PodInfo
from kwhatif.framework.interface import Plugin, overrides
from kwhatif.framework.status import SKIP, Code, PreFilterResult, Rejection, Skip, Status, Verdicts

AnyPlugin = Plugin[Any, Any]

EVICTION_MIGHT_HELP = Code.UNSCHEDULABLE
HOPELESS = Code.UNRESOLVABLE


def pre_filter(plugin: AnyPlugin, pod: PodInfo, cluster: Cluster) -> Any:
    """What PreFilter says; None for a plugin without one."""
    return plugin.pre_filter(pod, cluster) if overrides(type(plugin), "pre_filter") else None


def made(plugin: AnyPlugin, pod: PodInfo, cluster: Cluster) -> Any:
    """The state that PreFilter makes, as the hooks after Filter get it."""
    outcome = pre_filter(plugin, pod, cluster)
    if isinstance(outcome, PreFilterResult):
        return outcome.state
    return None if isinstance(outcome, Skip | Status) else outcome


def rejections(
    plugin: AnyPlugin,
    pod: PodInfo,
    cluster: Cluster,
    rows: np.ndarray | None = None,
    change: PodDelta | None = None,
) -> list[Rejection]:
    """All rejections on a view; none when PreFilter skips."""
    outcome = pre_filter(plugin, pod, cluster)
    if isinstance(outcome, Skip):
        return []
    assert not isinstance(outcome, Status), outcome
    state = outcome.state if isinstance(outcome, PreFilterResult) else outcome
    return list(plugin.filter(pod, NodeView(cluster, rows, change), state))


def refusals(plugin: AnyPlugin, pod: Pod, cluster: Cluster) -> dict[str, tuple[Code, tuple[str, ...]]]:
    """Node -> (code, reasons), of the nodes the plugin refuses."""
    verdicts = Verdicts(len(cluster))
    verdicts.take(plugin.name, rejections(plugin, cluster.shapes.info(pod), cluster))
    found = {}
    for row, name in enumerate(cluster.columns.names):
        status = verdicts.status(row)
        if status is not None:
            found[name] = (status.code, tuple(sorted(status.reasons)))
    return found


def refused(plugin: AnyPlugin, pod: Pod, cluster: Cluster) -> set[str]:
    """The names of the nodes the plugin refuses."""
    return set(refusals(plugin, pod, cluster))


def details(plugin: AnyPlugin, pod: Pod, cluster: Cluster, node: str) -> list[str]:
    """The arithmetic behind each reason to refuse one node."""
    row = cluster.columns.row(node)
    assert row is not None
    found = rejections(plugin, cluster.shapes.info(pod), cluster)
    return [r.detail(row) for r in found if r.where[row] and r.detail is not None]


def raw_scores(plugin: AnyPlugin, pod: Pod, cluster: Cluster, among: list[str] | None = None) -> dict[str, int] | Skip:
    """Node -> score before it is normalised, or SKIP."""
    return _scores(plugin, pod, cluster, among, normalized=False)


def scores(plugin: AnyPlugin, pod: Pod, cluster: Cluster, among: list[str] | None = None) -> dict[str, int] | Skip:
    """Node -> score from 0 to 100, or SKIP. ``among`` names the feasible nodes; all of them unless told."""
    return _scores(plugin, pod, cluster, among, normalized=True)


def _scores(
    plugin: AnyPlugin, pod: Pod, cluster: Cluster, among: list[str] | None, *, normalized: bool
) -> dict[str, int] | Skip:
    info = cluster.shapes.info(pod)
    names = among or cluster.columns.names
    view = NodeView(cluster, np.array([cluster.columns.row(name) for name in names], np.intp))
    state = made(plugin, info, cluster)
    if overrides(type(plugin), "pre_score"):
        state = plugin.pre_score(info, view, state)
    if isinstance(state, Skip):
        return SKIP
    found = plugin.score(info, view, state)
    if normalized and overrides(type(plugin), "normalize"):
        found = plugin.normalize(info, view, state, found)
    return dict(zip(names, found.tolist(), strict=True))
