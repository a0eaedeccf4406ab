"""Agreement with a recording as blocks: a row for each sort of decision, and the disagreements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kwhatif.commands.backtest.result import Agreement, BacktestResult, BindingChoices, RecordedBindings
from kwhatif.commands.view import View
from kwhatif.render.blocks import NONE, Block, Grouping, Lines, Verdict, build_table, format_part, table
from kwhatif.render.page_spec import PageSpec
from kwhatif.render.sections import describe_fidelity
from kwhatif.results.amounts import format_count


def backtest_blocks(result: BacktestResult) -> list[Block]:
    """The shares, the texts of refusals, what was left out, and the disagreements."""
    headers = ("decisions", "recorded", "same", "foretold", "tied", "searched", "near", "differing", "share")
    lines = [
        *((_texts(result),) if result.texts else ()),
        *(f"Left out: {format_count(number, 'decision')}: {why}." for why, number in result.left_out.items()),
        *(() if result.reach is None else (_reach(result.reach),)),
        *(() if result.bindings is None or not result.bindings.total else _describe_bindings(result.bindings)),
        describe_fidelity(result.fidelity),
    ]
    rows = [
        (each.pod, each.version or NONE, each.recorded, each.answer, f"{each.verdict}: {each.evidence}")
        for each in result.disagreements
    ]
    decisions, agreeing = (sum(getattr(each, what) for each in result.agreement) for what in ("total", "agreeing"))
    lead = "Differs" if result.exit_code else "Agrees"
    verdict = f"{lead}: {format_part(agreeing, decisions, 'decision')} reproduced{_worth(result.choices)}."
    if not decisions:
        verdict = "No decision can be judged: none in this recording is evidence."
    return [
        Verdict(verdict, not result.exit_code),
        table(headers, tuple(map(_row, result.agreement))),
        Lines(tuple(lines)),
        *build_table(
            "DISAGREEMENTS", ("pod", "version", "recorded", "answer", "verdict"), rows, Grouping("disagreement")
        ),
    ]


def _worth(found: BindingChoices) -> str:
    """What that says: how many bindings had a choice, and how many of these would agree whatever node was taken."""
    if not found.decisions:
        return ", none of them with a choice of nodes, so this says nothing about how nodes are chosen"
    agrees, at_random = (f"{int(1000 * each / found.decisions) / 10}%" for each in (found.agreeing, found.chance))
    bindings = format_part(found.agreeing, found.decisions, "binding")
    return f"; with a choice of nodes {bindings}, {agrees}, where any node that passes would reach {at_random}"


def _row(each: Agreement) -> tuple[str, ...]:
    # Rounded down: 100% is said only where all agree.
    share = f"{1000 * each.agreeing // each.total / 10:.1f}%" if each.total else NONE
    numbers = (each.total, each.same, each.foretold, each.tied, each.searched, each.near, each.total - each.agreeing)
    return (each.what, *map(str, numbers), share)


def _reach(share: float) -> str:
    return (
        f"Where a search began is not recorded: {100 * share:.0f}% of the nodes that pass come out of one search or "
        "another, so much agrees by chance."
    )


def _describe_bindings(found: RecordedBindings) -> Iterator[str]:
    """Who bound pods, and whether it was one process."""
    total, own = format_count(found.total, "pod"), found.total - found.by_others
    who = [
        *(f"{number} from {name}" for name, number in found.by_other_schedulers.items()),
        *([f"{found.created_with_node} created with one"] if found.created_with_node else ()),
        *([format_count(found.static, "static pod")] if found.static else ()),
    ]
    if who:
        yield f"{found.by_others} of {total} got a node from others than the recorded scheduler: {', '.join(who)}."
    else:
        yield f"The recorded scheduler alone gave nodes to pods: {total}."
    if own > found.confirmed:
        yield f"For {own - found.confirmed} of {own} that it bound, only the schedulerName says so, and no Event."
    if found.instances > 1:
        yield f"Its Events come from {found.instances} hosts: each process begins its searches on its own."
    if found.elections:
        times = format_count(found.elections, "time")
        yield f"A leader was elected {times}: each begins its searches at the first node."


def _texts(result: BacktestResult) -> str:
    texts = format_count(result.texts, "text")
    return f"{result.texts_agreeing} of {texts} of refusals came out word for word every time."


def _curves(result: BacktestResult) -> list[dict[str, Any]] | None:
    """For a page: how many decisions agree and differ, from the first to the last one."""
    spans = result.over_time
    if not spans:
        return None
    counts = {
        "agree": [each.agreeing for each in spans],
        "differ": [each.decisions - each.agreeing for each in spans],
    }
    lines = [{"name": name, "values": values} for name, values in counts.items()]
    moments = [each.at for each in spans]
    return [{"title": "Decisions", "unit": "decisions", "stacked": True, "moments": moments, "lines": lines}]


VIEW = View(lambda result, look: backtest_blocks(result))
PAGE = PageSpec(
    "backtest",
    lambda result: ("bad", "Less agrees than required") if result.exit_code else ("plain", "How much agrees"),
    backtest_blocks,
    "Decisions",
    data=lambda result: {"curves": _curves(result)},
)
