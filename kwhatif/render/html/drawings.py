"""The data of a page's drawings as plain values: the map, outcomes of pods, matrices and the timeline; in a compact
encoding.

``app/data.js`` decodes it.
"""

from __future__ import annotations

import json
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kwhatif.render.escape import clean
from kwhatif.render.explain_nodes import describe_eviction, describe_victims_of_fix, distance
from kwhatif.render.grouping import common_parts
from kwhatif.render.page_spec import PodOutcomes
from kwhatif.results.base import ClusterMap, Result
from kwhatif.results.explain import ExplainResult, NodeReport, PodReport
from kwhatif.results.group_outcome import GroupOutcome
from kwhatif.results.outcome import PreemptionFailure
from kwhatif.results.place import PlaceResult, Score

_LENGTHS = string.digits + string.ascii_uppercase + string.ascii_lowercase
_IN_MARKUP = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def json_in_page(value: Any) -> str:
    """Plain values as JSON that an HTML parser cannot misread; texts are cleaned first.

    ASCII alone, so that line separators, which are new lines in a script, are written as escapes, too.
    """
    text = json.dumps(_clean_value(value), separators=(",", ":"), ensure_ascii=True)
    for character, escape in _IN_MARKUP.items():
        text = text.replace(character, escape)
    return text


def _clean_value(value: Any) -> Any:
    match value:
        case str():
            return clean(value)
        case dict():
            return {clean(key): _clean_value(part) for key, part in value.items()}
        case _RawJson():
            return value.text
        case list() | tuple():
            return [element if isinstance(element, int) else _clean_value(element) for element in value]
    return value


class _RawJson:
    """Cleaned texts with line feeds between them, which no clean text has."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.text = "\n".join(texts)


def front_coded(texts: Sequence[str]) -> dict[str, Any]:
    """Each text as what it shares with the one before, and the rest: names in order have long beginnings in common."""
    parts, last, shared = [], "", 0
    for text in map(clean, texts):
        most = min(len(text), len(last), len(_LENGTHS) - 1)
        # Mostly as much as two names before.
        if shared > most or text[:shared] != last[:shared]:
            shared = 0
        while shared < most and text[shared] == last[shared]:
            shared += 1
        parts.append(_LENGTHS[shared] + text[shared:])
        last = text
    return {"f": _RawJson(parts), "n": len(parts)}


def packed_column(texts: Sequence[str], nodes: Mapping[str, int]) -> dict[str, Any]:
    """A column of a table in the way that takes least: places among the ``nodes``, a few distinct texts, or names."""
    distinct = dict.fromkeys(texts)
    if len(distinct) == 1:
        return {"c": texts[0], "n": len(texts)}
    others = {text: -1 - place for place, text in enumerate(text for text in distinct if text not in nodes)}
    if len(others) <= len(distinct) // 2:
        return {"m": [nodes[text] if text in nodes else others[text] for text in texts], "d": list(others)}
    if 4 * len(distinct) <= len(texts):
        places = {text: place for place, text in enumerate(distinct)}
        return {"i": [places[text] for text in texts], "d": list(distinct)}
    return front_coded(texts)


MOST_SCORED = 500
"""Of how many pods the scores are shown; each takes a row a plugin."""

SHORT_BEGINNING = 4
"""Characters of a common beginning that names on tiles lose."""

MOST_SINGLE = 200
"""How many feasible nodes of a pod are listed with their scores, the best ones."""


def map_data(cluster_map: ClusterMap) -> dict[str, Any]:
    """The nodes in order of zone and pool; rows of ``rooms`` and ``asks`` are by resource."""
    rooms = list(dict.fromkeys(node.room for node in cluster_map.nodes))
    row_of = {room: row for row, room in enumerate(rooms)}
    return {
        "states": cluster_map.states,
        "resources": cluster_map.resources,
        "rooms": [list(map(float, room)) for room in rooms],
        "asks": [list(map(float, asks)) for asks in cluster_map.asks],
        "nodes": {
            "name": front_coded([node.node for node in cluster_map.nodes]),
            "common": common_parts({node.node for node in cluster_map.nodes}, SHORT_BEGINNING),
            "zone": packed_column([node.zone for node in cluster_map.nodes], {}),
            "pool": packed_column([node.pool for node in cluster_map.nodes], {}),
            "closed": packed_column([node.closed for node in cluster_map.nodes], {}),
            "taints": packed_column([", ".join(node.taints) for node in cluster_map.nodes], {}),
            "room": [row_of[node.room] for node in cluster_map.nodes],
            "absent": [
                [place for place, node in enumerate(cluster_map.nodes) if not node.there[state]]
                for state in range(len(cluster_map.states))
            ],
        },
        "pods": {
            "name": front_coded([pod.pod for pod in cluster_map.pods]),
            "asks": [pod.asks for pod in cluster_map.pods],
            "at": [[pod.at[state] for pod in cluster_map.pods] for state in range(len(cluster_map.states))],
        },
        "gone": front_coded(cluster_map.gone),
    }


def pods_data(outcomes: PodOutcomes, nodes: Mapping[str, int]) -> dict[str, Any]:
    """Outcomes of pods that a map does not show: why they wait, victims, and scores."""
    placements = outcomes.placements
    waiting = [placement for placement in placements if not placement.good]
    victims = [(victim, placement) for placement in placements for victim in placement.victims]
    again = {victim.pod: victim.replacement for victim, _ in victims if victim.replacement} | dict(outcomes.again)
    scored = [placement for placement in placements if placement.scores][:MOST_SCORED]
    return {
        "waiting": _pairs([(placement.pod, placement.reason) for placement in waiting]),
        "again": _pairs(list(again.items())),
        "victims": _pairs([(victim.pod, placement.pod) for victim, placement in victims]),
        "kept": _pairs(outcomes.kept),
        "scores": {
            placement.pod: {"node": nodes.get(placement.node, -1), "scores": _scores(placement.scores)}
            for placement in scored
        },
        "left": max(sum(1 for placement in placements if placement.scores) - len(scored), 0),
    }


def groups_data(result: Result) -> list[dict[str, Any]]:
    """Groups of pods with the domain that each runs in, or how many of it fit in each of those that were tried."""
    groups: Sequence[GroupOutcome] = ()
    if isinstance(result, PlaceResult) and isinstance(result.groups, tuple):
        groups = result.groups
    elif isinstance(result, ExplainResult):
        groups = [report.outcome for report in result.group_reports]
    return [
        {
            "text": group.text,
            "good": group.good,
            "domains": [
                {"name": domain.name, "chosen": domain.chosen, "words": f"{domain.fit} of {group.members} fit"}
                for domain in group.domains
                if domain.chosen or not group.good
            ],
        }
        for group in groups
    ]


def _pairs(pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Two columns; nothing where there are no rows."""
    if not pairs:
        return {}
    return {
        "pod": packed_column([pod for pod, _ in pairs], {}),
        "of": packed_column([partner for _, partner in pairs], {}),
    }


def _scores(scores: Sequence[Score]) -> list[list[Any]]:
    return [[score.plugin, score.weight, score.raw, score.normalized, score.weighted] for score in scores]


def story_data(result: Result) -> dict[str, Any]:
    """The timeline of simulated time; empty if no time passed."""
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
    """Each explained pod: every plugin's verdict on every node, nodes with the same verdict in one row."""
    reports = result.pods if isinstance(result, ExplainResult) else result.explanations
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
                "how": [[score.plugin, score.raw, score.detail] for score in node.scores if score.detail],
            }
            for node in feasible[:MOST_SINGLE]
        ],
        "more": max(len(feasible) - MOST_SINGLE, 0),
        "rejected": list(_rejection_groups(rejected, report.preemption)),
        "state": report.state,
        "alike": [(placement.pod, placement.node) for placement in report.alike],
        "compared": "" if compared is None else compared.verdict,
        "evictions": [
            (
                eviction.node,
                len(eviction.victims),
                eviction.violations,
                eviction.top_priority,
                eviction.earliest_start,
                eviction.chosen,
                eviction.behind,
            )
            for eviction in report.evictions
        ],
        "fixes": [
            [fix.change, f"{fix.pods} of {fix.waiting} pending", fix.node, describe_victims_of_fix(fix)]
            for fix in report.fixes
        ],
        "tried": report.tried,
    }


def _rejection_groups(nodes: Sequence[NodeReport], preemption: PreemptionFailure) -> Iterator[dict[str, Any]]:
    """Nodes that the same plugins reject for the same reasons, the nearest misses first."""
    groups: dict[tuple[tuple[str, str], ...], list[NodeReport]] = {}
    for node in sorted(nodes, key=distance):
        groups.setdefault(tuple((blocker.plugin, blocker.reason) for blocker in node.blockers), []).append(node)
    for key, group in groups.items():
        details: list[str] = []
        for place in range(len(key)):
            why = dict.fromkeys(node.blockers[place].detail for node in group if node.blockers[place].detail)
            details.append(next(iter(why), "") + (f" (and {len(why) - 1} more)" if len(why) > 1 else ""))
        yield {
            "nodes": front_coded(sorted(node.node for node in group)),
            "blockers": [
                [
                    *(blocker.plugin, blocker.reason, detail, blocker.reported),
                    describe_eviction(preemption, resolvable=blocker.resolvable),
                ]
                for blocker, detail in zip(group[0].blockers, details, strict=True)
            ],
        }
