"""What a page shows, by question: the verdict, what it stands on, and all the report has to say, as plain values.

What a page shows of the gate: its findings beside the lines they are about, the change, the pods and the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kwhatif.commands.autoscale.karpenter_result import AutoscalersResult, KarpenterResult, NodesExplained, PoolsDiff
from kwhatif.commands.autoscale.karpenter_text import (
    autoscalers_blocks,
    karpenter_blocks,
    nodes_explained_blocks,
    pools_diff_blocks,
)
from kwhatif.commands.autoscale.result import AutoscaleResult
from kwhatif.commands.autoscale.text import autoscale_blocks
from kwhatif.commands.backtest.diff_result import BacktestDiff
from kwhatif.commands.backtest.diff_text import backtest_diff_blocks
from kwhatif.commands.backtest.result import BacktestResult
from kwhatif.commands.backtest.text import backtest_blocks
from kwhatif.commands.capacity.result import CapacityResult
from kwhatif.commands.capacity.text import capacity_blocks
from kwhatif.commands.chances.result import ChancesResult
from kwhatif.commands.chances.text import chances_blocks
from kwhatif.commands.diff.text import diff_blocks
from kwhatif.commands.drain.text import drain_blocks
from kwhatif.commands.expand.text import refusal_blocks
from kwhatif.commands.gate.formats.words import count_findings, describe_change, format_location, place_of
from kwhatif.commands.outage.text import outage_blocks
from kwhatif.commands.place.text import place_blocks
from kwhatif.commands.rightsize.result import RightsizeResult
from kwhatif.commands.rightsize.text import rightsize_blocks
from kwhatif.commands.snapshot.info.result import InfoResult
from kwhatif.commands.snapshot.info.text import info_blocks
from kwhatif.commands.sweep.result import SweepResult
from kwhatif.commands.sweep.text import sweep_blocks
from kwhatif.render.blocks import (
    Block,
    Commands,
    Facts,
    Grouping,
    Heading,
    Lines,
    Table,
    Verdict,
    build_table,
    flatten_blocks,
)
from kwhatif.render.sections import describe_edits, describe_fidelity, fidelity_blocks
from kwhatif.results.amounts import format_count
from kwhatif.results.base import Result
from kwhatif.results.diff import DecisionDiff
from kwhatif.results.disruption import DrainResult, OutageResult
from kwhatif.results.explain import ExplainResult
from kwhatif.results.gate import Finding, GateResult
from kwhatif.results.place import PlaceResult

_ANSWERS = {
    "pass": ("good", "The gate passes"),
    "warn": ("warn", "The gate passes with warnings"),
    "fail": ("bad", "The gate fails"),
}


def gate_answer(result: GateResult) -> tuple[str, str]:
    """The tone of the verdict, and the verdict in a few words."""
    return _ANSWERS[result.verdict]


def gate_blocks(result: GateResult) -> list[Block]:
    """Everything but the findings, as tables."""
    changes = [
        (
            change.what,
            change.subject,
            change.pods_before,
            change.pods_after,
            "; ".join(change.details),
            format_location(place_of(change)),
        )
        for change in result.changes
        if change.what != "unchanged"
    ]
    pods = [(placement.pod, placement.node or "<none>", placement.reason) for placement in result.placements]
    rules = [
        (outcome.rule, outcome.status, outcome.checked, outcome.findings, outcome.threshold, outcome.summary)
        for outcome in result.rules
    ]
    return [
        Verdict(f"{count_findings(result)}. {describe_change(result)}", not result.exit_code),
        *build_table("WHAT CHANGES", ("change", "object", "pods before", "pods after", "fields", "where"), changes),
        *build_table("PODS", ("pod", "node", "reason"), pods, None, Grouping("pod", (2,), (0,)), (1,)),
        *build_table("RULES", ("rule", "status", "looked at", "findings", "wanted", "found"), rules),
    ]


def findings_data(result: GateResult) -> list[dict[str, Any]]:
    """The findings as plain values, then those that are exempted, with the reason."""
    return [_finding(finding, result) for finding in result.findings] + [
        _finding(exemption.finding, result) | {"exempted": exemption.reason} for exemption in result.exemptions
    ]


def _finding(finding: Finding, result: GateResult) -> dict[str, Any]:
    return {
        "level": finding.level,
        "rule": finding.rule,
        "about": str(finding.subject or ""),
        "at": format_location(place_of(finding)),
        "title": finding.title,
        "message": finding.message,
        "numbers": [(name, str(value)) for name, value in finding.numbers.items()],
        "hint": finding.hint,
        "lines": result.excerpts.get(finding.location, ()) if finding.location else (),
    }


MOST_PODS_OF_A_GAP = 50
MOST_MOVES_EXPLAINED = 30


PageVerdict = tuple[str, str]
"""A tone, which a colour and a sign stand for, and a few words."""


def _yes_or_no(yes: str, no: str, tone: str = "bad") -> Callable[[Result], PageVerdict]:
    return lambda result: (tone, no) if result.exit_code else ("good", yes)


@dataclass(frozen=True)
class PageSpec:
    """How a result is told: the name of the question, the answer at a glance, the blocks, and a title for the first of
    them; a ``verdict`` where no block is one.
    """

    name: str
    answer: Callable[[Any], PageVerdict]
    blocks: Callable[[Any], list[Block]]
    title: str
    verdict: Callable[[Any], str] = lambda result: ""


def _autoscaling_answer(result: AutoscaleResult | KarpenterResult | AutoscalersResult) -> PageVerdict:
    about = result.karpenter if isinstance(result, AutoscalersResult) else result
    if not about.pods:
        return "plain", "No pod waits for a node"
    return _yes_or_no("Every pod gets a node", "Not every pod gets a node")(result)


def _outage_answer(result: OutageResult) -> PageVerdict:
    if result.exit_code:
        return "bad", "Not all is survived that must be"
    return ("good", "All is survived that must be") if result.survive else ("plain", "What failures would do")


PAGES: dict[type[Result], PageSpec] = {
    PlaceResult: PageSpec(
        "place", _yes_or_no("Every pod has a node", "Not every pod has a node"), place_blocks, "Pods"
    ),
    ExplainResult: PageSpec(
        "explain",
        _yes_or_no("Every pod finds a node", "Not every pod finds a node"),
        lambda result: refusal_blocks(result.refusals, result.failed),
        "Refused",
        lambda result: f"{format_count(len(result.pods), 'pod')} explained, {format_count(result.nodes, 'node')}",
    ),
    GateResult: PageSpec("gate", gate_answer, gate_blocks, "Change"),
    DrainResult: PageSpec(
        "drain",
        _yes_or_no("The nodes can be drained", "The drain leaves something behind"),
        drain_blocks,
        "Nodes to drain",
    ),
    CapacityResult: PageSpec("capacity", _yes_or_no("It fits", "Not enough fits"), capacity_blocks, "What ends it"),
    DecisionDiff: PageSpec(
        "diff",
        _yes_or_no("No difference", "They differ", "differs"),
        lambda result: diff_blocks(result, everything=len(result.changes) <= MOST_MOVES_EXPLAINED),
        "What is compared",
    ),
    AutoscaleResult: PageSpec(
        "autoscale",
        _autoscaling_answer,
        autoscale_blocks,
        "cluster-autoscaler",
        lambda result: f"{result.result}; {format_count(sum(each.to - each.size for each in result.plan), 'new node')}",
    ),
    KarpenterResult: PageSpec(
        "autoscale",
        _autoscaling_answer,
        karpenter_blocks,
        "Karpenter",
        lambda result: format_count(len(result.machines), "new NodeClaim"),
    ),
    AutoscalersResult: PageSpec(
        "autoscale",
        _autoscaling_answer,
        autoscalers_blocks,
        "Both autoscalers",
        lambda result: (
            f"{format_count(sum(each.to - each.size for each in result.cluster_autoscaler.plan), 'new node')} by"
            f" cluster-autoscaler, {format_count(len(result.karpenter.machines), 'new NodeClaim')} by Karpenter"
        ),
    ),
    PoolsDiff: PageSpec(
        "diff", _yes_or_no("No difference", "They differ", "differs"), pools_diff_blocks, "What is compared"
    ),
    NodesExplained: PageSpec(
        "explain",
        lambda result: ("plain", "What Karpenter makes of the nodes"),
        nodes_explained_blocks,
        "Nodes",
    ),
    OutageResult: PageSpec("outage", _outage_answer, outage_blocks, "Failures"),
    ChancesResult: PageSpec(
        "chances",
        _yes_or_no("Every pod finds a node in every trial", "In some trials a pod finds no node"),
        lambda result: chances_blocks(result, everything=True),
        "Workloads",
    ),
    RightsizeResult: PageSpec(
        "rightsize",
        _yes_or_no("No more pods wait than today", "More pods wait than today"),
        rightsize_blocks,
        "How requests follow",
    ),
    SweepResult: PageSpec(
        "sweep",
        lambda result: ("plain", "Which policies no other beats"),
        lambda result: sweep_blocks(result, wide=True),
        "What was tried",
    ),
    BacktestResult: PageSpec(
        "backtest",
        lambda result: ("bad", "Less agrees than was asked for") if result.exit_code else ("plain", "How much agrees"),
        backtest_blocks,
        "Decisions",
    ),
    BacktestDiff: PageSpec(
        "backtest",
        _yes_or_no("The day goes the same way", "The day goes another way", "differs"),
        lambda result: backtest_diff_blocks(result, everything=True),
        "The day",
    ),
    InfoResult: PageSpec(
        "snapshot info",
        lambda result: ("plain", "What is in the snapshot"),
        info_blocks,
        "The snapshot",
        lambda result: f"{_sum_of(result, 'nodes', 'node')}, {_sum_of(result, 'pods', 'pod')} on them",
    ),
}
"""The results that can be told as a page."""


def _sum_of(result: InfoResult, field: str, one: str) -> str:
    return format_count(sum(getattr(group, field) for group in result.groups), one)


def verdict_of(result: Result, blocks: Iterable[Block]) -> dict[str, str]:
    """The answer: its tone, a few words, and the sentence that every report of it begins with."""
    question = PAGES[type(result)]
    told = next((block.text for block in blocks if isinstance(block, Verdict)), "") or question.verdict(result)
    tone, words = question.answer(result)
    return {"tone": tone, "words": words, "text": told}


def fidelity_data(result: Result) -> list[dict[str, Any]]:
    """The rules and the snapshot, of each side where they differ, and the gaps, those first that touch a pod."""
    told = list(dict.fromkeys(result.fidelities))
    return [
        {
            "side": side if len(told) > 1 else "",
            "lines": [describe_fidelity(each), *describe_edits(each.edits)],
            "gaps": [
                {
                    "what": gap.what,
                    "effect": gap.consequence,
                    "pods": gap.pods[:MOST_PODS_OF_A_GAP],
                    "number": len(gap.pods),
                }
                for gap in sorted(each.gaps, key=lambda gap: not gap.pods)
            ],
        }
        for side, each in zip(("A", "B"), told, strict=False)
    ]


@dataclass(frozen=True)
class Section:
    """A part of the page: a title of ours, and what stands under it."""

    title: str
    blocks: Sequence[Block]


def sections_of(result: Result, blocks: Sequence[Block]) -> list[Section]:
    """The report's blocks under their headings, but for the verdict and what it stands on, which have their places."""
    elsewhere = [block for each in result.fidelities for block in fidelity_blocks(each)]
    elsewhere += [Heading("A STANDS ON"), Heading("B STANDS ON")]
    found: list[tuple[str, list[Block]]] = []
    for block in flatten_blocks(blocks):
        if isinstance(block, Verdict) or block in elsewhere:
            continue
        moved = isinstance(block, Heading) and block.text.startswith("WHY ") and " MOVED " in block.text
        if moved and found and found[-1][0] == _WHY_MOVED:
            found[-1][1].append(block)
        elif moved:
            found.append((_WHY_MOVED, [block]))
        elif isinstance(block, Heading):
            found.append((sentence(block.text), []))
        elif not found:
            found.append((PAGES[type(result)].title, [block]))
        else:
            found[-1][1].append(block)
    return [Section(title, told) for title, told in found]


_WHY_MOVED = "Why they moved"
"""What the scores of all pods that moved stand under; each of them has a heading of its own."""


def sentence(heading: str) -> str:
    """``VICTIMS of urgent`` as ``Victims of urgent``: words in capitals are ours, and are not shouted here."""
    words = heading.split(" ")
    # A and B alone are sides; in the middle of words in capitals an A is an article.
    article = [
        word == "A" and place > 0 and "".join(words[place + 1 :][:1]).isupper() for place, word in enumerate(words)
    ]
    plain = [
        word.lower() if word.isupper() and (len(word) > 1 or alone) else word
        for word, alone in zip(words, article, strict=True)
    ]
    text = " ".join(plain)
    return text[:1].upper() + text[1:]


def tables_of(sections: Iterable[Section]) -> Iterator[Table]:
    return (block for section in sections for block in section.blocks if isinstance(block, Table))


def plain_blocks(blocks: Iterable[Block], first_table: int) -> Iterator[dict[str, Any]]:
    """Blocks as plain values; tables by their number in the page, from ``first_table`` on."""
    for block in blocks:
        match block:
            case Facts(pairs):
                yield {"facts": pairs}
            case Heading(text):
                yield {"heading": sentence(text)}
            case Lines(texts, listed):
                yield {"lines": texts, "listed": listed}
            case Commands(texts):
                yield {"lines": texts, "listed": True}
            case Table():
                yield {"table": first_table}
                first_table += 1
