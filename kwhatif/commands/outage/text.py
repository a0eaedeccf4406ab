"""Failures as blocks: the worst first, workloads, pods without a node, and what is left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kwhatif.commands.expand.text import refusal_blocks, rollout_blocks
from kwhatif.commands.outage.verdict import words_of_failure
from kwhatif.commands.view import View
from kwhatif.render.blocks import (
    NONE,
    Block,
    Column,
    Facts,
    Grouping,
    Heading,
    Lines,
    build_table,
    format_part,
)
from kwhatif.render.html.drawings import front_coded, packed_column
from kwhatif.render.page_spec import PageSpec
from kwhatif.render.pod_groups import disruption_table
from kwhatif.render.sections import fidelity_blocks, verdict_of
from kwhatif.results.amounts import format_amount, format_some
from kwhatif.results.disruption import Failure, Headroom, Hit, OutageResult

MOST_COLUMNS = 5
"""How many failures, the worst first, are columns of the matrix."""

_OUTCOMES = ("back", "pending", "uncreated", "waiting", "lost")
_LOSES = ".*(pending|created|recreated|lost|down$|no quorum$)"
"""Effects on a workload that stay; others pass."""

_HEADERS = {"uncreated": "not created"}


def outage_blocks(result: OutageResult, *, everything: bool = True) -> list[Block]:
    """The report; with ``everything`` also the workloads whose pods all come back, and where these go."""
    harmful = [failure for failure in result.failures if any(failure.badness[:-1]) or failure.new_nodes]
    blocks = build_table(
        "PLACED BEFORE",
        ("pod [pod, same]", "node [node]"),
        [(p.pod, p.node or p.reason) for p in result.before],
        Grouping("pod"),
    )
    blocks += [*rollout_blocks(result.rollouts), *refusal_blocks(result.refusals, result.failed)]
    blocks += _worst(result, harmful)
    blocks += _matrix(harmful[:MOST_COLUMNS], everything=everything)
    blocks += _pods(harmful, everything=everything)
    budgets = [(f.title, b.budget, b.desired, b.before, b.after) for f in harmful for b in f.budgets]
    blocks += build_table(
        "BUDGETS BELOW THEIR FLOOR",
        ("failure", "budget [same]", "wants healthy [same]", "before [same]", "right after [same]"),
        budgets,
        Grouping("budget"),
    )
    groups = [(f.title, group) for f in harmful for group in (f.groups if isinstance(f.groups, tuple) else ())]
    blocks += disruption_table("GROUPS THAT LOSE MEMBERS", groups, "failure")
    errors = [(f"{error.kind} {error.name}", error.error) for error in result.errors]
    blocks += build_table("NOT SIMULATED", ("failure", "error [same]"), errors, Grouping("failure"))
    blocks.append(verdict_of(result.outcome))
    blocks += [Heading("ASSUMED"), Lines(result.assumed, listed=True)]
    return [*blocks, *fidelity_blocks(result.fidelity, result.outcome.unknown)]


def _worst(result: OutageResult, harmful: Sequence[Failure]) -> list[Block]:
    """Failures that do harm, and in one line how many do none."""
    counts = {
        "nodes": [len(failure.nodes) for failure in harmful],
        "pods": [failure.pods - failure.bound for failure in harmful],
        **{_HEADERS.get(name, name): [getattr(failure, name) for failure in harmful] for name in _OUTCOMES},
        "evicts": [failure.evicted for failure in harmful],
        "workloads down": [failure.down for failure in harmful],
        "no quorum": [failure.quorums_lost for failure in harmful],
        "new nodes": [failure.new_nodes for failure in harmful],
    }
    columns: dict[str, Sequence[object]] = {"failure": [failure.title for failure in harmful]}
    columns |= {name: numbers for name, numbers in counts.items() if any(numbers)}
    if any(failure.new_nodes for failure in harmful):
        costs = (failure.outcome.cost for failure in harmful)
        columns["a month"] = [NONE if cost is None else f"{cost:,.2f}" for cost in costs]
    for resource in ("cpu", "memory"):
        columns[f"{resource} left"] = [_left(failure.headroom, resource) for failure in harmful]
    drop_orders = {"nodes": 1, "back": 2, "memory left": 3, "cpu left": 4}
    fails = dict.fromkeys(("pending", "not created", "workloads down", "no quorum"), "(?!0$)")
    headers = [Column(name, drop_order=drop_orders.get(name, 0), fails=fails.get(name, "")) for name in columns]
    rows = zip(*columns.values(), strict=True)
    blocks = build_table("WORST FIRST", headers, rows, Grouping("failure"))
    harmless = len(result.failures) - len(harmful)
    facts = list(_cures(result))
    if harmless:
        rest = "all pods come back elsewhere, no workload is down, and no pod is evicted"
        facts.insert(0, (f"in {format_part(harmless, len(result.failures), 'failure')}", rest))
    return [*blocks, Facts(tuple(facts))] if facts else blocks


def _cures(result: OutageResult) -> Iterator[tuple[str, str]]:
    """``to survive``: ``zone a, node b: --add-nodes 2,like=c``, or why no nodes do."""
    failures: dict[str, list[str]] = {}
    for cure in result.cures:
        words = f"--add-nodes {cure.nodes},like={cure.like}" if cure.nodes else cure.reason
        failures.setdefault(words, []).append(f"{cure.kind} {cure.name}")
    for place, (words, names) in enumerate(failures.items()):
        yield "" if place else "to survive", f"{format_some(names)}: {words}"


def _left(headroom: Sequence[Headroom], resource: str) -> str:
    """What is free of what the nodes that are left have."""
    for room in headroom:
        if room.resource == resource:
            free = max(room.allocatable - room.requested, 0)
            share = f" ({100 * free // room.allocatable}%)" if room.allocatable else ""
            return f"{format_amount(resource, free)}{share}"
    return NONE


def _matrix(worst: Sequence[Failure], *, everything: bool) -> list[Block]:
    """What the worst failures do to each workload that suffers from one of them, or with ``everything`` is hit."""
    cells = [{hit.workload: _cell(hit, back=everything) for hit in failure.hits} for failure in worst]
    names = sorted({name for column in cells for name, text in column.items() if text})
    rows = [(name, *(column.get(name) or NONE for column in cells)) for name in names]
    headers: tuple[Column | str, ...] = (
        "workload",
        *(Column(failure.title, name=True, same=True, fails=_LOSES, warns="(?!<)") for failure in worst),
    )
    return build_table("EFFECT ON WORKLOADS", headers, rows, Grouping("workload", totals=False))


def _cell(hit: Hit, *, back: bool) -> str:
    """``2 of 3 pending, down``; nothing where all pods come ``back`` and some replicas never went, unless that is to be
    said.
    """
    said = [f"{hit.back} of {hit.replicas} back"] if back and hit.back else []
    if hit.pending:
        said.append(f"{hit.pending} of {hit.replicas} pending")
    if hit.uncreated:
        said.append(f"{hit.uncreated} of {hit.replicas} not created")
    if hit.waiting:
        said.append(f"{hit.waiting} of {hit.replicas} not recreated")
    if hit.gone:
        said.append("lost")
    if hit.down:
        said.append("down for a while" if hit.back else "down")
    elif hit.quorum_lost:
        again = 2 * (hit.replicas - hit.lost + hit.back) > hit.replicas
        said.append("no quorum for a while" if again else "no quorum")
    if hit.evicted:
        said.append(f"{hit.evicted} evicted" + (f", {hit.homeless} of them pending" if hit.homeless else ""))
    return ", ".join(said)


def _pods(harmful: Sequence[Failure], *, everything: bool) -> Iterator[Block]:
    headers: tuple[str, ...] = ("failure", "pod [pod]", "workload [same]", "message [same]")
    for heading, outcome in (("PENDING", "pending"), ("NOT CREATED", "uncreated")):
        rows = [
            (f.title, p.pod, p.workload, f"{p.cause}: {p.message}" if p.cause else p.message)
            for f in harmful
            for p in f.lost_pods
            if p.outcome == outcome
        ]
        yield from build_table(heading, headers, rows, Grouping("pod"))
    if everything:
        back = [(f.title, p.pod, p.workload, p.lands_on) for f in harmful for p in f.lost_pods if p.outcome == "back"]
        yield from build_table("BACK ELSEWHERE", (*headers[:3], "lands on [node]"), back, Grouping("pod"))
    waiting = [(f.title, p.pod, p.workload) for f in harmful for p in f.lost_pods if p.outcome == "waiting"]
    heading = "NOT RECREATED UNTIL THE NODE IS DELETED"
    yield from build_table(heading, headers[:3], waiting, Grouping("pod"))
    lost = [(f.title, p.pod, p.workload) for f in harmful for p in f.lost_pods if p.outcome == "lost"]
    yield from build_table("LOST", headers[:2], [row[:2] for row in lost], Grouping("pod", whole=True))
    evicted = [
        (f.title, v.pod, p.replacement, v.node, v.lands_on or ("nowhere" if v.replacement else "it is not recreated"))
        for f in harmful
        for p in f.lost_pods
        for v in p.victims
    ]
    headers = ("failure", "pod [pod, same]", "for [pod, same]", "on [node]", "then lands on [node, fails nowhere]")
    yield from build_table("EVICTED BY REPLACEMENTS", headers, evicted, Grouping("pod"))


MOST_DRAWN = 200
"""How many failures, the worst first, can be chosen on the map of a page."""


def failures_data(result: OutageResult) -> list[dict[str, Any]]:
    """For the map of a page: the nodes of each failure, and the pods that go elsewhere for it, or to no node."""
    return [
        {
            "kind": failure.kind,
            "name": failure.name,
            "title": failure.title,
            "words": words_of_failure(failure),
            "stuck": failure.stuck,
            "nodes": packed_column(failure.nodes, {}),
            "pods": front_coded([pod for pod, _ in _moves(failure)]),
            "to": packed_column([node for _, node in _moves(failure)], {}),
        }
        for failure in result.failures[:MOST_DRAWN]
    ]


def _moves(failure: Failure) -> list[tuple[str, str]]:
    """Pods that come back elsewhere, and those that leave for them; the others are gone with their nodes."""
    moves = {pod.pod: pod.lands_on for pod in failure.lost_pods if pod.lands_on}
    moves |= {victim.pod: victim.lands_on for pod in failure.lost_pods for victim in pod.victims}
    return sorted(moves.items())


VIEW = View(
    lambda result, look: outage_blocks(result, everything=look.everything),
    page=PageSpec("outage", "Failures", data=lambda result: {"failures": failures_data(result)}),
)
