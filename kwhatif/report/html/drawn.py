"""What is drawn on a page, as plain values: the map, what became of pods, matrices and the story over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kwhatif.report.explain_nodes import distance
from kwhatif.report.html.packing import front_coded, packed_column
from kwhatif.results.cluster_map import ClusterMap
from kwhatif.results.drain import DrainResult
from kwhatif.results.explain import ExplainResult, NodeReport, PodReport
from kwhatif.results.parts import Result
from kwhatif.results.place import Placement, PlaceResult, Score

MOST_SCORED = 500
"""Of so many pods the scores are shown; each takes a row a plugin."""

MOST_SINGLE = 200
"""So many feasible nodes of a pod are listed with their scores, the best ones."""


def map_data(found: ClusterMap) -> dict[str, Any]:
    """The nodes in order of zone and pool; rows of ``rooms`` and ``asks`` are by resource."""
    rooms = list(dict.fromkeys(node.room for node in found.nodes))
    row_of = {room: row for row, room in enumerate(rooms)}
    return {
        "states": found.states,
        "resources": found.resources,
        "rooms": [list(map(float, room)) for room in rooms],
        "asks": [list(map(float, asks)) for asks in found.asks],
        "nodes": {
            "name": front_coded([node.node for node in found.nodes]),
            "zone": packed_column([node.zone for node in found.nodes], {}),
            "pool": packed_column([node.pool for node in found.nodes], {}),
            "closed": packed_column([node.closed for node in found.nodes], {}),
            "taints": packed_column([", ".join(node.taints) for node in found.nodes], {}),
            "room": [row_of[node.room] for node in found.nodes],
        },
        "pods": {
            "name": front_coded([pod.pod for pod in found.pods]),
            "asks": [pod.asks for pod in found.pods],
            "at": [[pod.at[state] for pod in found.pods] for state in range(len(found.states))],
        },
    }


def placements_of(result: Result) -> tuple[Placement, ...]:
    """Everything that was tried for this answer."""
    match result:
        case PlaceResult():
            return (*result.placements, *result.replacements)
        case DrainResult():
            return (*result.before, *result.placements)
        case ExplainResult():
            return tuple(report.placement for report in result.pods)
    return ()


def pods_data(result: Result, nodes: Mapping[str, int]) -> dict[str, Any]:
    """What became of pods, as far as a map cannot tell it: why they wait, who made room for whom, and scores."""
    placements = placements_of(result)
    waiting = [each for each in placements if not each.good]
    victims = [(victim, each) for each in placements for victim in each.victims]
    again = {victim.pod: victim.replacement for victim, _ in victims if victim.replacement}
    kept: Sequence[Any] = ()
    if isinstance(result, DrainResult):
        again |= {each.pod: each.replacement for each in result.pods if each.replacement}
        kept = [each for each in result.pods if each.outcome in ("blocked", "refused")]
    scored = [each for each in placements if each.scores][:MOST_SCORED]
    return {
        "waiting": _pairs([(each.pod, each.reason) for each in waiting]),
        "again": _pairs(list(again.items())),
        "victims": _pairs([(victim.pod, each.pod) for victim, each in victims]),
        "kept": _pairs([(each.pod, each.reason) for each in kept]),
        "scores": {each.pod: {"node": nodes.get(each.node, -1), "scores": _scores(each.scores)} for each in scored},
        "left": max(sum(1 for each in placements if each.scores) - len(scored), 0),
    }


def drained_nodes(result: Result) -> list[tuple[str, bool]]:
    """The nodes that were to be emptied, and whether they are."""
    return [(node.node, node.drained) for node in result.nodes] if isinstance(result, DrainResult) else []


def _pairs(pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Two columns; nothing where there are no rows."""
    if not pairs:
        return {}
    return {"pod": packed_column([pod for pod, _ in pairs], {}), "of": packed_column([told for _, told in pairs], {})}


def _scores(scores: Sequence[Score]) -> list[list[Any]]:
    return [[each.plugin, each.weight, each.raw, each.normalized, each.weighted] for each in scores]


def story_data(result: Result) -> dict[str, Any]:
    """What happened when, over simulated time; nothing if none passed."""
    if not isinstance(result, PlaceResult) or not result.timeline:
        return {}
    entries = result.timeline
    return {
        "time": [float(entry.time) for entry in entries],
        "pod": packed_column([entry.pod for entry in entries], {}),
        "what": packed_column([entry.what for entry in entries], {}),
        "node": packed_column([entry.node for entry in entries], {}),
        "why": packed_column([entry.why for entry in entries], {}),
    }


def matrices_of(result: Result) -> list[dict[str, Any]]:
    """Each explained pod: what every plugin says of every node, nodes with the same verdict in one row."""
    reports = result.pods if isinstance(result, ExplainResult) else result.explained
    return [_matrix(report) for report in reports if isinstance(report, PodReport)]


def _matrix(report: PodReport) -> dict[str, Any]:
    compared = report.comparison
    nodes = report.nodes if compared is None else (compared.left, compared.right)
    feasible = sorted((node for node in nodes if node.feasible), key=lambda node: node.rank or 0)
    rejected = [node for node in nodes if not node.feasible]
    return {
        "pod": report.pod,
        "outcome": report.placement.outcome,
        "node": report.placement.node,
        "message": report.placement.message or report.refusal,
        "feasible": [
            {
                "node": node.node,
                "rank": node.rank,
                "total": node.total,
                "chosen": node.chosen,
                "scores": _scores(node.scores),
            }
            for node in feasible[:MOST_SINGLE]
        ],
        "more": max(len(feasible) - MOST_SINGLE, 0),
        "rejected": list(_rejected(rejected)),
        "state": report.state,
        "alike": [(each.pod, each.node) for each in report.alike],
        "compared": "" if compared is None else compared.verdict,
        "evictions": [
            (
                each.node,
                len(each.victims),
                each.violations,
                each.top_priority,
                each.earliest_start,
                each.chosen,
                each.behind,
            )
            for each in report.evictions
        ],
        "fixes": [[fix.change, fix.node] for fix in report.fixes],
        "tried": report.tried,
    }


def _rejected(nodes: Sequence[NodeReport]) -> Iterator[dict[str, Any]]:
    """Nodes that the same plugins reject for the same reasons, the nearest misses first."""
    groups: dict[tuple[tuple[str, str], ...], list[NodeReport]] = {}
    for node in sorted(nodes, key=distance):
        groups.setdefault(tuple((each.plugin, each.reason) for each in node.blockers), []).append(node)
    for key, group in groups.items():
        details: list[str] = []
        for place in range(len(key)):
            told = dict.fromkeys(node.blockers[place].detail for node in group if node.blockers[place].detail)
            details.append(next(iter(told), "") + (f" (and {len(told) - 1} more)" if len(told) > 1 else ""))
        yield {
            "nodes": front_coded(sorted(node.node for node in group)),
            "blockers": [
                [plugin, reason, detail, group[0].blockers[place].reported, group[0].blockers[place].resolvable]
                for place, ((plugin, reason), detail) in enumerate(zip(key, details, strict=True))
            ],
        }
