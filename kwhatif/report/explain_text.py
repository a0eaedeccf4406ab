"""Why a pod goes where it goes: every node's verdict, the scores plugin by plugin, evictions and fixes.

``*`` in the column REPORTED marks the blockers that kube-scheduler's own message counts; it stops at the first
plugin that rejects a node.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kwhatif.report.blocks import NONE, Block, Facts, Heading, Lines, Table, of, titled
from kwhatif.report.expand_text import refusal_blocks
from kwhatif.report.fidelity_text import fidelity_blocks
from kwhatif.report.place_text import device_blocks, victim_table
from kwhatif.results.amounts import counted, some
from kwhatif.results.explain import Blocker, Comparison, Eviction, ExplainResult, NodeReport, PodReport
from kwhatif.results.place import Placement

MANY_NODES = 12
"""More rejected nodes than these are grouped."""

MOST_FEASIBLE = 10
MOST_GROUPS = 20
SCORES_WIDTH = 100
"""So wide a table of scores may get before the next nodes go into another one."""


def explain_blocks(result: ExplainResult, *, everything: bool = False) -> list[Block]:
    """The report; ``everything`` shows each node by itself, however many there are."""
    blocks: list[Block] = []
    for report in result.pods:
        blocks += _pod(report, result.nodes, everything)
    return [*blocks, *refusal_blocks(result.refusals, result.failed), *fidelity_blocks(result.fidelity)]


def _pod(report: PodReport, nodes: int, everything: bool) -> Iterator[Block]:
    yield Facts(tuple(_facts(report, nodes)))
    yield from device_blocks((report.placement,))
    if report.comparison is not None:
        yield from _side_by_side(report.comparison)
    else:
        yield from _matrix(report, nodes, everything)
    yield from _evictions(report)
    yield from _fixes(report)


def _facts(report: PodReport, nodes: int) -> Iterator[tuple[str, str]]:
    placement = report.placement
    yield "Pod", report.pod
    yield "Outcome", _outcome(placement, nodes)
    yield "Priority", str(placement.priority)
    yield "Scheduler", placement.scheduler or NONE
    if placement.origin:
        yield "Origin", placement.origin
    if placement.defaults:
        yield "Filled in", "; ".join(placement.defaults)
    if placement.message:
        yield "Message", placement.message


def _outcome(placement: Placement, nodes: int) -> str:
    match placement.outcome:
        case "placed" if placement.score is None:
            return f"goes to {placement.node}, unscored: it is the only feasible one of {counted(nodes, 'node')}"
        case "placed":
            best = f"the best of {counted(placement.feasible, 'feasible node')}"
            if placement.ties > 1:
                rivals = [name for name in placement.tied if name != placement.node]
                best = (
                    f"tied with {some(rivals)}; one of the {placement.ties} best of {placement.feasible} feasible nodes"
                )
            looked = (
                "" if placement.evaluated >= nodes else f", after looking at {of(placement.evaluated, nodes, 'node')}"
            )
            return f"goes to {placement.node} with score {placement.score}, {best}{looked}"
        case "unclaimed":
            return "unclaimed: no scheduler of the configuration takes it up"
        case "gated":
            return "gated: it does not even enter the queue"
        case _ if placement.victims:
            evicted = f"{counted(len(placement.victims), 'pod')} on {placement.victims[0].node}"
            return f"fits nowhere as it is; it would evict {evicted} and go there"
        case _:
            return "unschedulable"


# --- nodes


def _matrix(report: PodReport, nodes: int, everything: bool) -> Iterator[Block]:
    if report.refusal:
        if report.placement.outcome != "gated":
            yield Lines((f"No node was looked at: {report.refusal}",))
        return
    total = nodes if len(report.nodes) == nodes else None
    feasible = [node for node in report.nodes if node.feasible]
    rejected = [node for node in report.nodes if not node.feasible]
    if feasible:
        yield from _feasible(feasible, total, everything)
    if rejected:
        yield Heading(f"REJECTED NODES{_share(len(rejected), total)} (* reported by kube-scheduler)")
        grouped = len(rejected) > MANY_NODES and not everything
        yield from _groups(rejected) if grouped else [_each(rejected)]


def _share(number: int, total: int | None) -> str:
    return "" if total is None else f": {number} of {total}"


def _feasible(feasible: Sequence[NodeReport], total: int | None, everything: bool) -> Iterator[Block]:
    shown = feasible if everything else feasible[:MOST_FEASIBLE]
    yield Heading(f"FEASIBLE NODES{_share(len(feasible), total)}")
    rows = tuple((str(node.rank), node.node, str(node.total), "*" if node.chosen else "") for node in shown)
    yield Table(("rank", "node", "total", "chosen"), rows)
    if len(shown) < len(feasible):
        yield Lines((f"{len(feasible) - len(shown)} more feasible nodes are not shown (--all shows them).",))
    yield from _scores(shown)


def _scores(nodes: Sequence[NodeReport]) -> Iterator[Block]:
    """Plugins down, nodes across, in as many tables as it takes."""
    if not any(node.scores for node in nodes):
        return
    yield Heading("SCORES (raw / from 0 to 100 / times weight)")
    weights = {score.plugin: score.weight for node in nodes for score in node.scores}
    columns = [_score_column(node, list(weights)) for node in nodes]
    names = ("", *weights, "")
    left = max(map(len, names)) + len("  weight  ")
    start = 0
    while start < len(columns):
        end, width = start, left
        while end < len(columns) and (end == start or width + _width(columns[end]) <= SCORES_WIDTH):
            width += _width(columns[end])
            end += 1
        part = columns[start:end]
        rows = [
            (plugin, str(weight), *(column[1 + i] for column in part))
            for i, (plugin, weight) in enumerate(weights.items())
        ]
        rows.append(("TOTAL", "", *(column[-1] for column in part)))
        yield Table(("plugin", "weight", *(column[0] for column in part)), tuple(rows), names_from=2)
        start = end


def _score_column(node: NodeReport, plugins: Sequence[str]) -> list[str]:
    by_plugin = {score.plugin: score for score in node.scores}
    cells = [node.node]
    for plugin in plugins:
        score = by_plugin.get(plugin)
        cells.append("-" if score is None else f"{score.raw}/{score.normalized}/{score.weighted}")
    return [*cells, str(node.total)]


def _width(column: Sequence[str]) -> int:
    return max(map(len, column)) + 2


_BLOCKER_HEADERS = ("reported", "plugin", "reason", "eviction", "detail")


def _blocker(blocker: Blocker, detail: str) -> tuple[str, ...]:
    return (
        "*" if blocker.reported else "",
        blocker.plugin,
        blocker.reason,
        "may help" if blocker.resolvable else "no help",
        detail,
    )


def _each(rejected: Sequence[NodeReport]) -> Table:
    """A row a blocker."""
    rows = [(node.node, *_blocker(blocker, blocker.detail)) for node in rejected for blocker in node.blockers]
    return Table(("node", *_BLOCKER_HEADERS), tuple(rows))


def _groups(rejected: Sequence[NodeReport]) -> Iterator[Block]:
    """Nodes with the same blockers together, the largest group first; their details may differ."""
    groups: dict[tuple[tuple[str, str, bool, bool], ...], list[NodeReport]] = {}
    for node in rejected:
        key = tuple((b.plugin, b.reason, b.reported, b.resolvable) for b in node.blockers)
        groups.setdefault(key, []).append(node)
    ordered = sorted(groups.values(), key=lambda group: -len(group))
    rows = []
    for group in ordered[:MOST_GROUPS]:
        head = (str(len(group)), some([node.node for node in group]))
        for place, blocker in enumerate(group[0].blockers):
            details = {node.blockers[place].detail for node in group}
            alike = len(details) == 1 or not blocker.detail
            detail = blocker.detail if alike else f"e.g. {group[0].node}: {blocker.detail}"
            rows.append((*(head if place == 0 else ("", "")), *_blocker(blocker, detail)))
    yield Table(("nodes", "names", *_BLOCKER_HEADERS), tuple(rows))
    left = ordered[MOST_GROUPS:]
    more = f"{counted(sum(map(len, left)), 'more node')} in {counted(len(left), 'smaller group')}; " if left else ""
    yield Lines((f"{more}--all shows every node by itself.",))


# --- two nodes


def _side_by_side(comparison: Comparison) -> Iterator[Block]:
    left, right = comparison.left, comparison.right
    yield Heading(f"{left.node} VERSUS {right.node}: {comparison.verdict}")
    if left.feasible and right.feasible:
        yield _differences(left, right)
        return
    for node in (left, right):
        if node.feasible:
            yield Heading(f"{node.node} is feasible: rank {node.rank}, total {node.total}")
            yield from _scores([node])
        else:
            yield Heading(f"{node.node} is rejected (* reported by kube-scheduler)")
            rows = tuple(_blocker(blocker, blocker.detail) for blocker in node.blockers)
            yield Table(_BLOCKER_HEADERS, rows)


def _differences(left: NodeReport, right: NodeReport) -> Table:
    others = {score.plugin: score for score in right.scores}
    rows = []
    for score in left.scores:
        other = others.get(score.plugin)
        rows.append(
            (
                score.plugin,
                str(score.weight),
                f"{score.raw}/{score.normalized}/{score.weighted}",
                "-" if other is None else f"{other.raw}/{other.normalized}/{other.weighted}",
                _signed(score.weighted - (other.weighted if other else 0)),
            )
        )
    total = (left.total or 0) - (right.total or 0)
    rows.append(("TOTAL", "", str(left.total), str(right.total), _signed(total)))
    headers = ("plugin", "weight", left.node, right.node, "DIFFERENCE")
    return Table(headers, tuple(rows), names_from=2)


def _signed(number: int) -> str:
    return f"{number:+d}" if number else "0"


# --- ways out


def _evictions(report: PodReport) -> Iterator[Block]:
    placement = report.placement
    if not placement.victims:
        return
    measures = ("budgets violated", "highest priority", "sum of priorities", "victims", "earliest start")
    rows = [
        (
            *(e.node, e.violations, e.top_priority, _raised(e), len(e.victims), e.earliest_start or NONE),
            placement.criterion if e.chosen else "",
            e.behind,
        )
        for e in report.evictions
    ]
    headers = ("node", *measures, "chosen by", "behind the last by")
    yield from titled("EVICTIONS that would make room, the best first", headers, rows)
    yield Heading("VICTIMS")
    yield victim_table([(placement, victim) for victim in placement.victims])


def _raised(eviction: Eviction) -> str:
    """``2 * 2^31 - 20``: how kube-scheduler adds up priorities."""
    number = len(eviction.victims)
    rest = eviction.sum_of_priorities - number * 2**31
    return f"{number} * 2^31" + (f" {'+' if rest > 0 else '-'} {abs(rest)}" if rest else "")


def _fixes(report: PodReport) -> Iterator[Block]:
    if report.fixes:
        works = "this works" if len(report.fixes) == 1 else "these work"
        yield Heading(f"FIXES: tried {counted(report.tried, 'change')}, {works}")
        yield Table(("change", "leads to"), tuple((fix.change, fix.node) for fix in report.fixes))
    elif report.tried:
        yield Lines((f"FIXES: none of {counted(report.tried, 'change')} tried helps.",))
