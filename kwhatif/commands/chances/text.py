"""How likely pods go where, in words: workloads, their zones and nodes, and what was left to chance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kwhatif.commands.chances.result import ChancesResult, PlaceChances, WorkloadChances
from kwhatif.commands.expand.text import refusal_blocks
from kwhatif.render.blocks import NONE, Block, Grouping, Heading, Lines, Verdict, build_table
from kwhatif.render.page_spec import PageSpec, answer_in_words
from kwhatif.render.sections import fidelity_blocks
from kwhatif.results.amounts import format_count

MOST_NODES = 8
"""So many nodes of a workload are listed, the likeliest."""


def chances_blocks(result: ChancesResult, *, everything: bool = False) -> list[Block]:
    """The report."""
    blocks: list[Block] = [*refusal_blocks(result.refusals, result.failed)]
    rows = [(each.workload, each.pods, each.pending, each.evicting, each.skewed) for each in result.workloads]
    headers = ("workload", "pods", "some pending", "evicts others", f"skew above {result.max_skew}")
    blocks += build_table("CHANCES", headers, rows, None, Grouping("workload", (1, 2, 3, 4)))
    pending = [
        (each.workload, f"{some.pods} of {each.pods}", some.probability)
        for each in result.workloads
        for some in each.pending_pods
    ]
    blocks += build_table("PENDING", ("workload", "pods", "chance"), pending, None, Grouping("workload", (1, 2)))
    zones = [row for each in result.workloads for row in _places(each, each.zones, len(each.zones))]
    blocks += build_table("ZONES", ("workload", "zone", "chance", "pods on average"), zones, None, Grouping("zone"))
    nodes = [
        row
        for each in result.workloads
        for row in _places(each, each.nodes, len(each.nodes) if everything else MOST_NODES)
    ]
    blocks += build_table(
        "NODES", ("workload", "node", "chance", "pods on average"), nodes, None, Grouping("node"), (1,)
    )
    blocks += build_table("TRIALS THAT CAME TO NONE", ("error",), [(error,) for error in result.errors])
    blocks.append(Verdict(_summary(result), not result.exit_code))
    blocks += [Heading("LEFT TO CHANCE"), Lines(result.chance, listed=True)]
    return [*blocks, *fidelity_blocks(result.fidelity)]


def _places(workload: WorkloadChances, places: Sequence[PlaceChances], most: int) -> Iterator[tuple[str, ...]]:
    for each in places[:most]:
        yield workload.workload, each.name, str(each.probability), f"{each.pods:.2f}"
    left = places[most:]
    if left:
        pods = sum(each.pods for each in left)
        yield workload.workload, f"{format_count(len(left), 'other node')}", NONE, f"{pods:.2f}"


def _summary(result: ChancesResult) -> str:
    """``in 12.0% (10.1-14.2%) of 1000 trials one pod or more of Deployment shop/web stays pending``."""
    trials = format_count(result.trials, "trial")
    worst = max(result.workloads, key=lambda each: each.pending.times, default=None)
    if worst is None or not worst.pending.times:
        text = f"in none of {trials} does a pod stay pending"
    else:
        others = sum(each.pending.times > 0 for each in result.workloads) - 1
        more = f", and of {format_count(others, 'other workload')}" if others else ""
        text = (
            f"in {worst.pending} of {trials} pods of {worst.workload} stay pending{more} (in brackets: 95% intervals)"
        )
    early = f"; stopped early: all intervals are within {result.precision}" if result.trials < result.wanted else ""
    return text + (early if result.precision else "")


PAGE = PageSpec(
    "chances",
    answer_in_words("Every pod finds a node in every trial", "In some trials a pod finds no node"),
    lambda result: chances_blocks(result, everything=True),
    "Workloads",
)
