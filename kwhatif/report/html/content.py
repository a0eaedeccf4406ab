"""What a page shows, by question: the verdict, what it stands on, and all the report has to say, as plain values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kwhatif.report.autoscale_text import autoscale_blocks
from kwhatif.report.backtest_diff_text import backtest_diff_blocks
from kwhatif.report.backtest_text import backtest_blocks
from kwhatif.report.blocks import Block, Commands, Facts, Heading, Lines, Table, Verdict, flat
from kwhatif.report.capacity_text import capacity_blocks
from kwhatif.report.chances_text import chances_blocks
from kwhatif.report.diff_text import diff_blocks
from kwhatif.report.drain_text import drain_blocks
from kwhatif.report.expand_text import refusal_blocks
from kwhatif.report.fidelity_text import edited, fidelity_blocks, standing
from kwhatif.report.html.gate_content import gate_answer, gate_blocks
from kwhatif.report.karpenter_text import (
    autoscalers_blocks,
    karpenter_blocks,
    nodes_explained_blocks,
    pools_diff_blocks,
)
from kwhatif.report.outage_text import outage_blocks
from kwhatif.report.place_text import place_blocks
from kwhatif.report.snapshot_info_text import info_blocks
from kwhatif.report.sweep_text import sweep_blocks
from kwhatif.results.amounts import counted
from kwhatif.results.autoscale import AutoscaleResult
from kwhatif.results.backtest import BacktestResult
from kwhatif.results.backtest_diff import BacktestDiff
from kwhatif.results.capacity import CapacityResult
from kwhatif.results.chances import ChancesResult
from kwhatif.results.diff import DecisionDiff
from kwhatif.results.drain import DrainResult
from kwhatif.results.explain import ExplainResult
from kwhatif.results.gate import GateResult
from kwhatif.results.karpenter import AutoscalersResult, KarpenterResult, NodesExplained, PoolsDiff
from kwhatif.results.outage import OutageResult
from kwhatif.results.parts import Result
from kwhatif.results.place import PlaceResult
from kwhatif.results.snapshot_info import InfoResult
from kwhatif.results.sweep import SweepResult

MOST_PODS_OF_A_GAP = 50
MOST_MOVES_EXPLAINED = 30


Answer = tuple[str, str]
"""A tone, which a colour and a sign stand for, and a few words."""


def _yes_or_no(yes: str, no: str, tone: str = "bad") -> Callable[[Result], Answer]:
    return lambda result: (tone, no) if result.exit_code else ("good", yes)


@dataclass(frozen=True)
class Question:
    """How a result is told: the name of the question, the answer at a glance, the blocks, and a title for the first of
    them; a ``verdict`` where no block is one.
    """

    name: str
    answer: Callable[[Any], Answer]
    blocks: Callable[[Any], list[Block]]
    title: str
    verdict: Callable[[Any], str] = lambda result: ""


def _autoscaled(result: AutoscaleResult | KarpenterResult | AutoscalersResult) -> Answer:
    about = result.karpenter if isinstance(result, AutoscalersResult) else result
    if not about.pods:
        return "plain", "No pod waits for a node"
    return _yes_or_no("Every pod gets a node", "Not every pod gets a node")(result)


def _outlived(result: OutageResult) -> Answer:
    if result.exit_code:
        return "bad", "Not all is survived that must be"
    return ("good", "All is survived that must be") if result.survive else ("plain", "What failures would do")


QUESTIONS: dict[type[Result], Question] = {
    PlaceResult: Question(
        "place", _yes_or_no("Every pod has a node", "Not every pod has a node"), place_blocks, "Pods"
    ),
    ExplainResult: Question(
        "explain",
        _yes_or_no("Every pod finds a node", "Not every pod finds a node"),
        lambda result: refusal_blocks(result.refusals, result.failed),
        "Refused",
        lambda result: f"{counted(len(result.pods), 'pod')} explained, {counted(result.nodes, 'node')}",
    ),
    GateResult: Question("gate", gate_answer, gate_blocks, "Change"),
    DrainResult: Question(
        "drain",
        _yes_or_no("The nodes can be drained", "The drain leaves something behind"),
        drain_blocks,
        "Nodes to drain",
    ),
    CapacityResult: Question("capacity", _yes_or_no("It fits", "Not enough fits"), capacity_blocks, "What ends it"),
    DecisionDiff: Question(
        "diff",
        _yes_or_no("No difference", "They differ", "differs"),
        lambda result: diff_blocks(result, everything=len(result.changes) <= MOST_MOVES_EXPLAINED),
        "What is compared",
    ),
    AutoscaleResult: Question(
        "autoscale",
        _autoscaled,
        autoscale_blocks,
        "cluster-autoscaler",
        lambda result: f"{result.result}; {counted(sum(each.to - each.size for each in result.plan), 'new node')}",
    ),
    KarpenterResult: Question(
        "autoscale",
        _autoscaled,
        karpenter_blocks,
        "Karpenter",
        lambda result: counted(len(result.machines), "new NodeClaim"),
    ),
    AutoscalersResult: Question(
        "autoscale",
        _autoscaled,
        autoscalers_blocks,
        "Both autoscalers",
        lambda result: (
            f"{counted(sum(each.to - each.size for each in result.cluster_autoscaler.plan), 'new node')} by"
            f" cluster-autoscaler, {counted(len(result.karpenter.machines), 'new NodeClaim')} by Karpenter"
        ),
    ),
    PoolsDiff: Question(
        "diff", _yes_or_no("No difference", "They differ", "differs"), pools_diff_blocks, "What is compared"
    ),
    NodesExplained: Question(
        "explain",
        lambda result: ("plain", "What Karpenter makes of the nodes"),
        nodes_explained_blocks,
        "Nodes",
    ),
    OutageResult: Question("outage", _outlived, outage_blocks, "Failures"),
    ChancesResult: Question(
        "chances",
        _yes_or_no("Every pod finds a node in every trial", "In some trials a pod finds no node"),
        lambda result: chances_blocks(result, everything=True),
        "Workloads",
    ),
    SweepResult: Question(
        "sweep",
        lambda result: ("plain", "Which policies no other beats"),
        lambda result: sweep_blocks(result, wide=True),
        "What was tried",
    ),
    BacktestResult: Question(
        "backtest",
        lambda result: ("bad", "Less agrees than was asked for") if result.exit_code else ("plain", "How much agrees"),
        backtest_blocks,
        "Decisions",
    ),
    BacktestDiff: Question(
        "backtest",
        _yes_or_no("The day goes the same way", "The day goes another way", "differs"),
        lambda result: backtest_diff_blocks(result, everything=True),
        "The day",
    ),
    InfoResult: Question(
        "snapshot info",
        lambda result: ("plain", "What is in the snapshot"),
        info_blocks,
        "The snapshot",
        lambda result: f"{_sum_of(result, 'nodes', 'node')}, {_sum_of(result, 'pods', 'pod')} on them",
    ),
}
"""The results that can be told as a page."""


def _sum_of(result: InfoResult, field: str, one: str) -> str:
    return counted(sum(getattr(group, field) for group in result.groups), one)


def verdict_of(result: Result, blocks: Iterable[Block]) -> dict[str, str]:
    """The answer: its tone, a few words, and the sentence that every report of it begins with."""
    question = QUESTIONS[type(result)]
    told = next((block.text for block in blocks if isinstance(block, Verdict)), "") or question.verdict(result)
    tone, words = question.answer(result)
    return {"tone": tone, "words": words, "text": told}


def stands_on(result: Result) -> list[dict[str, Any]]:
    """The rules and the snapshot, of each side where they differ, and the gaps, those first that touch a pod."""
    told = list(dict.fromkeys(result.stands_on))
    return [
        {
            "side": side if len(told) > 1 else "",
            "lines": [standing(each), *edited(each.edits)],
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
    elsewhere = [block for each in result.stands_on for block in fidelity_blocks(each)]
    elsewhere += [Heading("A STANDS ON"), Heading("B STANDS ON")]
    found: list[tuple[str, list[Block]]] = []
    for block in flat(blocks):
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
            found.append((QUESTIONS[type(result)].title, [block]))
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
