"""Tables of nodes by plugins: feasible nodes with their scores, rejected ones with what is missing.

Nodes with the same verdict of all plugins share a row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from kwhatif.render.blocks import Block, Column, Grouping, Heading, Lines, Table, table
from kwhatif.render.grouping import format_names, format_range, skeleton
from kwhatif.results.amounts import format_count, format_some
from kwhatif.results.explain import Blocker, Fix, NodeReport
from kwhatif.results.outcome import PreemptionFailure
from kwhatif.results.place import Score, Victim

MOST_FEASIBLE = 10
MOST_REJECTED = 16
"""Rows that are shown without ``--all``."""


def nearest(nodes: Sequence[NodeReport]) -> NodeReport | None:
    """The rejected node with the smallest distance."""
    return min((node for node in nodes if not node.feasible), key=distance, default=None)


def distance(node: NodeReport) -> tuple[int, float, str]:
    """How far a node is from feasible: the number of plugins that reject it, and the missing share of what the pod
    requests.

    Where nothing is counted, as for a taint, the whole is missing.
    """
    short = max((blocker.short or 1.0 for blocker in node.blockers), default=0.0)
    return len({blocker.plugin for blocker in node.blockers}), short, node.node


def missing(nodes: Sequence[NodeReport]) -> str:
    """What is missing on nodes with the same verdict, with numbers from the least to the most."""
    parts = []
    for place, first in enumerate(nodes[0].blockers):
        texts = [node.blockers[place].detail or node.blockers[place].reason for node in nodes]
        if len(nodes) > 1:
            texts = [_anywhere(text, node.node) for text, node in zip(texts, nodes, strict=True)]
        parts.append(format_range(texts) or f"e.g. {nodes[0].node}: {first.detail or first.reason}")
    return "; ".join(parts)


# --- nodes that are out


def rejected_blocks(
    nodes: Sequence[NodeReport],
    total: int | None,
    preemption: PreemptionFailure,
    *,
    everything: bool = False,
) -> Iterator[Block]:
    """The nodes that reject a pod, by distance.

    ``total`` is the number of nodes, where all were evaluated; ``preemption`` is why no pod leaves any of them.
    """
    if not nodes:
        return
    groups = [[node] for node in nodes] if everything else _group_alike(nodes)
    groups = sorted((sorted(group, key=distance) for group in groups), key=_nearness)
    shown = groups if everything else groups[:MOST_REJECTED]
    plugins = _in_order([[blocker.plugin for blocker in group[0].blockers] for group in shown])
    yield Heading(
        f"REJECTED NODES{share(len(nodes), total)}, the nearest first (* kube-scheduler's own reason, x another)"
    )
    rows = tuple(_row(group, plugins, preemption) for group in shown)
    names = (Column(plugin, name=True) for plugin in plugins)
    headers: tuple[Column | str, ...] = (
        "nodes [node]",
        *names,
        "EVICTION [name]",
        "AMONG THEM [name, node]",
        "WHAT IS MISSING [name]",
    )
    if all(len(group) == 1 for group in shown):
        headers, rows = (*headers[:-2], headers[-1]), tuple((*row[:-2], row[-1]) for row in rows)
        yield table(headers, rows)
    else:
        yield table(headers, rows, Grouping("row"))
    left = groups[len(shown) :]
    more = f"{format_count(sum(map(len, left)), 'more node')} in {format_count(len(left), 'row')}; " if left else ""
    if left or any(len(group) > 1 for group in shown):
        yield Lines((f"{more}--all shows every node by itself.",))


def _nearness(group: Sequence[NodeReport]) -> tuple[int, float, int, str]:
    plugins, short, name = distance(group[0])
    return plugins, short, -len(group), name


def describe_eviction(preemption: PreemptionFailure, *, resolvable: bool) -> str:
    """Whether evictions might make room on a node that rejects a pod."""
    return (preemption or "may help") if resolvable else "no help"


def _row(group: Sequence[NodeReport], plugins: Sequence[str], preemption: PreemptionFailure) -> tuple[str, ...]:
    first, names = group[0], [node.node for node in group]
    alone = len(group) == 1
    return (
        first.node if alone else f"{len(group)} nodes",
        *_marks(first.blockers, plugins),
        describe_eviction(preemption, resolvable=all(blocker.resolvable for blocker in first.blockers)),
        "" if alone else format_some(names),
        missing(group),
    )


def _in_order(lists: Sequence[Sequence[str]]) -> list[str]:
    """Plugins in their order, of which each list holds some."""
    order: list[str] = []
    for names in sorted(lists, key=len, reverse=True):
        for number, name in enumerate(names):
            if name not in order:
                behind = (order.index(other) for other in names[number:] if other in order)
                order.insert(next(behind, len(order)), name)
    return order


def _group_alike(nodes: Sequence[NodeReport]) -> list[list[NodeReport]]:
    """Nodes with the same reasons but for numbers; if that makes too many rows, by the reasons' first words."""
    groups = _group_by_reasons(nodes, lambda node, blocker: skeleton(_anywhere(blocker.detail, node.node)))
    return groups if len(groups) <= MOST_REJECTED else _group_by_reasons(nodes, lambda node, _node: "")


def _group_by_reasons(
    nodes: Sequence[NodeReport], words_of: Callable[[NodeReport, Blocker], str]
) -> list[list[NodeReport]]:
    groups: dict[tuple[tuple[object, ...], ...], list[NodeReport]] = {}
    for node in nodes:
        key = tuple(
            (blocker.plugin, blocker.reason, blocker.reported, blocker.resolvable, words_of(node, blocker))
            for blocker in node.blockers
        )
        groups.setdefault(key, []).append(node)
    return list(groups.values())


def _marks(blockers: Sequence[Blocker], plugins: Sequence[str]) -> Iterator[str]:
    """``*`` for a plugin that kube-scheduler's message counts, ``x`` for one that rejects the node as well."""
    for plugin in plugins:
        mine = [blocker.reported for blocker in blockers if blocker.plugin == plugin]
        yield "*" if any(mine) else "x" if mine else "-"


# --- nodes that come into question


def feasible_blocks(nodes: Sequence[NodeReport], total: int | None, *, everything: bool = False) -> Iterator[Block]:
    """The feasible nodes, by rank, with their scores where these differ."""
    if not nodes:
        return
    yield Heading(f"FEASIBLE NODES{share(len(nodes), total)}")
    if len(nodes) == 1:
        yield table(
            ("rank", "node [node]", "total", "chosen"),
            ((str(nodes[0].rank), nodes[0].node, str(nodes[0].total), _star(nodes)),),
        )
        if nodes[0].scores:
            yield score_table(nodes[0])
            yield from arithmetic_blocks([nodes])
        return
    rows = [[node] for node in nodes] if everything else _of_same_score(nodes)
    shown = rows if everything else rows[:MOST_FEASIBLE]
    plugins = [score.plugin for score in nodes[0].scores]
    differing = [place for place, _ in enumerate(plugins) if len({_cell(row[0].scores[place]) for row in shown}) > 1]
    yield table(
        ("rank", "nodes [node]", "total", "chosen", *(Column(plugins[place], name=True) for place in differing)),
        tuple(
            (
                str(row[0].rank),
                format_names([node.node for node in row]),
                str(row[0].total),
                _star(row),
                *(_cell(row[0].scores[place]) for place in differing),
            )
            for row in shown
        ),
        Grouping("row"),
    )
    lines = ["Scores are raw / from 0 to 100 / times weight."] if differing else []
    same = [f"{score.plugin} {score.weighted}" for place, score in enumerate(nodes[0].scores) if place not in differing]
    lines += [f"The same on each of these: {', '.join(same)}."] if same else []
    if len(shown) < len(rows):
        lines.append(f"{sum(map(len, rows[len(shown) :]))} more feasible nodes are not shown (--all shows them).")
    if lines:
        yield Lines(tuple(lines))
    yield from arithmetic_blocks(shown)


def arithmetic_blocks(groups: Sequence[Sequence[NodeReport]]) -> Iterator[Block]:
    """How scores come about, of nodes with the same ones together, where plugins tell it."""
    rows = []
    for nodes in groups:
        for place, score in enumerate(nodes[0].scores):
            details = [node.scores[place].detail for node in nodes]
            texts = [text for text in details if text]
            if len(nodes) > 1:
                texts = [_anywhere(text, node.node) for text, node in zip(details, nodes, strict=True) if text]
            if texts:
                detail = format_range(texts) or f"e.g. {nodes[0].node}: {score.detail or texts[0]}"
                rows.append((format_names([node.node for node in nodes]), score.plugin, str(score.raw), detail))
    if rows:
        yield Heading("HOW RAW SCORES COME ABOUT")
        yield table(("nodes [node]", "plugin", "raw", "ARITHMETIC"), tuple(rows))


def _of_same_score(nodes: Sequence[NodeReport]) -> list[list[NodeReport]]:
    """Nodes by rank, those with the same scores in one row, the chosen one before the others."""
    rows: list[list[NodeReport]] = []
    for _, tied in groupby(nodes, key=lambda node: node.rank):
        by_scores: dict[tuple[str, ...], list[NodeReport]] = {}
        for node in sorted(tied, key=lambda node: not node.chosen):
            by_scores.setdefault(tuple(map(_cell, node.scores)), []).append(node)
        rows += by_scores.values()
    return rows


def _star(nodes: Sequence[NodeReport]) -> str:
    if not any(node.chosen for node in nodes):
        return ""
    return "*" if len(nodes) == 1 else f"* {nodes[0].node}"


def _cell(score: Score) -> str:
    return f"{score.raw}/{score.normalized}/{score.weighted}"


def score_table(node: NodeReport) -> Table:
    """The scores of one node: plugins down."""
    headers = ("plugin", "raw", "0 to 100", "weight", "score")
    rows: list[tuple[str, ...]] = [
        (score.plugin, str(score.raw), str(score.normalized), str(score.weight), str(score.weighted))
        for score in node.scores
    ]
    return table(headers, (*rows, ("TOTAL", "", "", "", str(node.total))))


def share(number: int, total: int | None) -> str:
    """``: 3 of 5``, if the whole is known."""
    return "" if total is None else f": {number} of {total}"


def _anywhere(text: str, node: str) -> str:
    """A reason without the name of its node, so that it can be compared."""
    return re.sub(rf"(?<![\w.-]){re.escape(node)}(?![\w-]|\.\w)", "<node>", text) if node in text else text


# --- fixes


def describe_victims_of_fix(fix: Fix) -> str:
    """``shop/a goes to bee-1, shop/b stays pending``, and the pods that lose a node on account of these."""
    parts = [f"{victim.pod} {_describe_end(victim)}" for victim in fix.victims]
    theirs = {victim.replacement for victim in fix.victims}
    others = [pod for pod in fix.pending if pod not in theirs]
    parts += [f"{format_some(others)} {'stays' if len(others) == 1 else 'stay'} pending as a result"] if others else []
    return ", ".join(parts)


def _describe_end(victim: Victim) -> str:
    if victim.lands_on:
        return f"goes to {victim.lands_on}"
    return "stays pending" if victim.replacement else "is lost"
