"""Placements as blocks: a table like kubectl's with victims and gaps, a summary (``-o summary``), the timeline, and
names (``-o name``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import msgspec

from kwhatif.commands.expand.text import refusal_blocks, rollout_blocks
from kwhatif.commands.snapshot.info.text import bar
from kwhatif.commands.view import Look, View
from kwhatif.render.blocks import NONE, Block, Commands, Grouping, Heading, Lines, Table, build_table, join_texts, table
from kwhatif.render.escape import clean, in_text
from kwhatif.render.grouping import skeleton
from kwhatif.render.page_spec import PageSpec, PodOutcomes
from kwhatif.render.pod_groups import group_blocks
from kwhatif.render.sections import choice_lines, fidelity_blocks, scale_up_blocks, verdict_of
from kwhatif.results.amounts import format_column, format_count
from kwhatif.results.place import AllocatedDevice, Placement, PlaceResult, PoolAllocation, Victim
from kwhatif.scheduling.node_sampling import MIN_FEASIBLE_NODES_TO_FIND


def timeline_blocks(result: PlaceResult, *, wide: bool = False) -> list[Block]:
    """Nothing if time was not simulated. A ``wide`` report has the events, too."""
    rows = [(moment(e.time), e.pod or NONE, e.what, e.node or NONE, e.why or NONE) for e in result.timeline]
    blocks = build_table("TIMELINE", ("time", "pod", "what", "node [node]", "why"), rows, Grouping("line"))
    if rows and wide:
        events = tuple((moment(e.time), e.type, e.reason, f"pod/{e.pod}", e.message) for e in result.events)
        blocks += [
            Heading("EVENTS"),
            table(("time", "type", "reason", "object", "message"), events, Grouping("event")),
        ]
    return blocks


def moment(seconds: float) -> str:
    """Seconds since the start: ``0s``, ``30s``, ``0.5s``."""
    return f"{seconds:.3f}".rstrip("0").rstrip(".") + "s"


_HEADERS = (
    *("namespace [same]", "pod [pod, same]", "node [node, fails <none>]", "score", "feasible", "evaluated [drop 2]"),
    *("ties [drop 1]", "reason [same, first]"),
)
_WIDE = ("scheduler", "priority", "scores", "tied", "origin", "defaults")

MOST_COMMANDS = 5
"""For how many pods without a node the command that explains one is shown, unless all are."""


def place_blocks(result: PlaceResult, *, wide: bool = False, all_commands: bool = True) -> list[Block]:
    """The report; a ``wide`` one says more of each pod. With ``all_commands`` every pod without a node has the command
    that explains it.
    """
    blocks: list[Block] = timeline_blocks(result, wide=wide)
    if blocks and result.placements:
        blocks.append(Heading("OUTCOME"))
    if result.placements:
        headers = (*_HEADERS[:-1], *_WIDE, _HEADERS[-1]) if wide else _HEADERS
        # Where nodes have come, some pods were tried with fewer of them.
        nodes = result.nodes if result.scale_up is None else None
        rows = tuple(_row(placement, nodes, wide) for placement in (*result.placements, *result.replacements))
        blocks.append(table(headers, rows, Grouping("pod")))
        choices = tuple(choice_lines((*result.placements, *result.replacements), result.fidelity.rules))
        blocks += [Lines(choices)] if choices else []
    if result.groups is not msgspec.UNSET:
        blocks += group_blocks(result.groups)
    if wide:
        blocks += device_blocks((*result.placements, *result.replacements))
    blocks += _victim_blocks(result, wide=wide)
    blocks += scale_up_blocks(result.scale_up)
    blocks += [*rollout_blocks(result.rollouts, steps=wide), *refusal_blocks(result.refusals, result.failed)]
    blocks += _explained_by(result, all_commands=all_commands)
    blocks.append(verdict_of(result.outcome))
    return [*blocks, *fidelity_blocks(result.fidelity, result.outcome.unknown)]


def _victim_blocks(result: PlaceResult, *, wide: bool = False) -> list[Block]:
    tried = (*result.placements, *result.replacements)
    victims = [(placement, victim) for placement in tried for victim in placement.victims]
    return [Heading("VICTIMS"), victim_table(victims, wide=wide)] if victims else []


def _explained_by(result: PlaceResult, *, all_commands: bool) -> list[Block]:
    """For each pod without a node the command that explains it; of several with the same reason, the first stands."""
    placements = (*result.placements, *result.replacements)
    pending = [placement for placement in placements if not placement.good and placement.outcome != "uncreated"]
    if not pending or not result.command:
        return []
    shown = pending if all_commands else _first_of_each_reason(pending)[:MOST_COMMANDS]
    left = len(pending) - len(shown)
    more = [f"{format_count(left, 'more pod')} without a node: --explain POD works for any of them."] if left else []
    groups = result.groups if isinstance(result.groups, tuple) else ()
    names = [f"podgroup/{group.group}" for group in groups if not group.good] + [placement.pod for placement in shown]
    return [
        Heading("WHY PODS ARE PENDING"),
        Commands(tuple(map(result.explain_command_of, names))),
        *([Lines(tuple(more))] if more else []),
    ]


def _first_of_each_reason(placements: Sequence[Placement]) -> list[Placement]:
    """For each reason, whatever names and numbers it has, the first placement with it."""
    firsts: dict[str, Placement] = {}
    for placement in placements:
        firsts.setdefault(skeleton(placement.reason), placement)
    return list(firsts.values())


def _row(placement: Placement, nodes: int | None, wide: bool) -> tuple[str, ...]:
    namespace, _, name = placement.pod.partition("/")
    was_searched = placement.outcome in ("placed", "waiting", "unschedulable", "autoscaled")
    cells = (
        namespace,
        name,
        placement.node or NONE,
        "-" if placement.score is None else str(placement.score),
        _format_feasible(placement, nodes) if was_searched else "-",
        str(placement.evaluated) if was_searched else "-",
        str(placement.ties) if placement.ties else "-",
    )
    if not wide:
        return (*cells, _reason(placement))
    scores = ",".join(f"{score.plugin}={score.weighted}" for score in placement.scores)
    more = max(placement.ties - len(placement.tied), 0) if placement.tied else 0
    tied = ",".join((*placement.tied, *([f"and {more} more"] if more else [])))
    return (
        *cells,
        placement.scheduler or NONE,
        str(placement.priority),
        scores or NONE,
        tied or NONE,
        placement.origin or NONE,
        "; ".join(placement.defaults) or NONE,
        _reason(placement),
    )


def device_blocks(placements: Sequence[Placement]) -> list[Block]:
    """A row a claim and request: the devices that a pod has."""
    rows = []
    for placement in placements:
        namespace, _, pod = placement.pod.partition("/")
        for claim in placement.devices:
            for request, uses in groupby(claim.devices, key=lambda use: use.request):
                name = claim.claim.partition("/")[2]
                rows.append(
                    (
                        namespace,
                        pod,
                        name,
                        request,
                        ", ".join(map(_describe_device, uses)),
                        join_texts(claim.shared_with),
                    )
                )
    headers = ("namespace [same]", "pod [pod, same]", "claim [pod, same]", "request [same]", "devices", "shared with")
    return build_table("DEVICES", headers, rows, Grouping("request"))


def _describe_device(use: AllocatedDevice) -> str:
    more = [f"{name}={amount}" for name, amount in use.consumes.items()] + (["admin access"] if use.admin else [])
    return use.name + (f" ({', '.join(more)})" if more else "")


def _reason(placement: Placement) -> str:
    evicts = f"evicts {format_count(len(placement.victims), 'pod')}" if placement.victims else ""
    return "; ".join(filter(None, (evicts, placement.reason)))


def victim_table(victims: list[tuple[Placement, Victim]], *, wide: bool = False) -> Table:
    """A row a victim; ``FOR`` names the pod that takes its place, ``REPLACEMENT`` says what its controller makes."""
    replaced = any(victim.replacement for _, victim in victims)
    headers = (
        *("pod [pod]", "node [node]", "priority", "owner [same, drop 1]", "for [pod, same]", "budgets"),
        *(["replacement [node, fails → stays]"] if replaced else []),
        *(["chosen by"] if wide else []),
    )
    rows = []
    for placement, victim in victims:
        budgets = join_texts(victim.budgets)
        row = [
            victim.pod + (" (terminating)" if victim.terminating else ""),
            victim.node,
            str(victim.priority),
            victim.owner or NONE,
            placement.pod,
            f"{budgets} (violated)" if victim.violates else budgets,
        ]
        if replaced:
            row.append(_replacement(victim))
        if wide:
            row.append(placement.criterion or NONE)
        rows.append(tuple(row))
    return table(headers, rows, Grouping("pod"))


def _replacement(victim: Victim) -> str:
    if not victim.replacement:
        return NONE
    return f"→ {victim.lands_on or 'stays pending'}"


def summary_blocks(result: PlaceResult) -> list[Block]:
    """The report."""
    blocks: list[Block] = [verdict_of(result.outcome)]
    causes = [(cause.pods, cause.reason) for cause in result.totals.causes]
    blocks += build_table("PENDING", ("pods", "reason"), causes, Grouping("reason"))
    blocks += _victim_blocks(result)
    headers = ("resource", "pool", "nodes", "requested", "allocatable", "in use")
    blocks += build_table("ALLOCATED AFTERWARDS", headers, _allocation_rows(result.totals.pools))
    return [
        *blocks,
        *refusal_blocks(result.refusals, result.failed),
        *fidelity_blocks(result.fidelity, result.outcome.unknown),
    ]


def _allocation_rows(pools: tuple[PoolAllocation, ...]) -> Iterator[tuple[object, ...]]:
    """A row a resource and pool that has it; before those of several pools one of all."""
    names = dict.fromkeys(resource.resource for pool in pools for resource in pool.resources)
    for name in names:
        pairs = [(pool, resource) for pool in pools for resource in pool.resources if resource.resource == name]
        rows = [
            (pool.pool or NONE, pool.nodes, allocation.requested, allocation.allocatable) for pool, allocation in pairs
        ]
        if len(rows) > 1:
            _, *columns = zip(*rows, strict=True)
            nodes, asks, has = map(sum, columns)
            rows.insert(0, ("(all)", nodes, asks, has))
        spelt = iter(format_column(name, [amount for *_, asks, has in rows for amount in (asks, has)]))
        for pool, nodes, asks, has in rows:
            yield (name, pool, nodes, next(spelt), next(spelt), bar(asks, has))


def names_of(result: PlaceResult) -> str:
    """``pod/shop/web-1 -> node/node-b``, and ``<none>`` for a pod that found no node."""
    lines = (f"pod/{p.pod} -> {f'node/{p.node}' if p.node else NONE}" for p in result.placements)
    return in_text("".join(f"{clean(line)}\n" for line in lines))


def _list_notes(result: PlaceResult, look: Look) -> Iterator[str]:
    """The notes; where only names are listed also what has no place there: gaps, and pods that never came to be."""
    yield from result.notes
    if look.output == "name":
        if result.outcome.evicted:
            yield f"warning: {format_count(result.outcome.evicted, 'pod')} evicted"
        for gap in result.fidelity.touching:
            yield f"warning: {gap}"
        for refusal in result.refusals:
            yield f"warning: {refusal.object} is refused: {refusal.message}"
        for failed in result.failed:
            yield f"warning: {failed.owner}: {format_count(failed.pods, 'pod')} not created: {failed.message}"


VIEW = View(
    lambda result, look: place_blocks(result, wide=look.wide, all_commands=look.everything),
    formats={
        "name": lambda result, look: names_of(result),
        "summary": lambda result, look: summary_blocks(result),
    },
    notes=_list_notes,
    page=PageSpec("place", "Pods", pods=lambda result: PodOutcomes((*result.placements, *result.replacements))),
)


def _format_feasible(placement: Placement, nodes: int | None) -> str:
    """``3/5``, or ``>=420/1000`` where the scheduler had seen enough nodes before it had looked at all of them."""
    if nodes is None:
        return str(placement.feasible)
    sampled = placement.feasible >= MIN_FEASIBLE_NODES_TO_FIND and placement.evaluated < nodes
    return f"{'>=' if sampled else ''}{placement.feasible}/{nodes}"
