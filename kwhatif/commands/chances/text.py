"""Chances as blocks: workloads with their zones and nodes, and what was randomised."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kwhatif.commands.chances.result import ChancesResult, GrowthChances, PlaceChances, WorkloadChances
from kwhatif.commands.expand.text import refusal_blocks
from kwhatif.commands.view import View
from kwhatif.render.blocks import NONE, Block, Grouping, Heading, Lines, build_table
from kwhatif.render.page_spec import PageSpec
from kwhatif.render.sections import fidelity_blocks, verdict_of
from kwhatif.results.amounts import format_count

MOST_NODES = 8
"""How many nodes of a workload are listed, the likeliest first."""


def chances_blocks(result: ChancesResult, *, everything: bool = False) -> list[Block]:
    """The report."""
    blocks: list[Block] = [*refusal_blocks(result.refusals, result.failed)]
    rows = [(each.workload, each.pods, each.pending, each.evicting, each.skewed) for each in result.workloads]
    skew = f"skew above {result.max_skew} [same]"
    headers = ("workload", "pods [same]", "some pending [same]", "evicts others [same]", skew)
    blocks += build_table("CHANCES", headers, rows, Grouping("workload"))
    pending = [
        (each.workload, f"{some.pods} of {each.pods}", some.probability)
        for each in result.workloads
        for some in each.pending_pods
    ]
    blocks += build_table("PENDING", ("workload", "pods [same]", "chance [same]"), pending, Grouping("workload"))
    groups = result.groups if isinstance(result.groups, tuple) else ()
    blocks += build_table("GROUPS", ("group", "scheduled"), [(each.group, each.scheduled) for each in groups])
    domains = [(each.group, d.name, d.probability, f"{d.pods:.2f}") for each in groups for d in each.domains]
    blocks += build_table("DOMAINS OF GROUPS", ("group", "domain", "chance", "pods on average"), domains)
    growth = result.growth if isinstance(result.growth, tuple) else ()
    columns = ("nodes that come", "a month", "chance")
    blocks += build_table("AUTOSCALERS ADD", columns, map(_describe_growth, growth), Grouping("plan"))
    zones = [row for each in result.workloads for row in _places(each, each.zones, len(each.zones))]
    blocks += build_table("ZONES", ("workload", "zone", "chance", "pods on average"), zones, Grouping("zone"))
    nodes = [
        row
        for each in result.workloads
        for row in _places(each, each.nodes, len(each.nodes) if everything else MOST_NODES)
    ]
    blocks += build_table("NODES", ("workload", "node [node]", "chance", "pods on average"), nodes, Grouping("node"))
    blocks += build_table("FAILED TRIALS", ("error",), [(error,) for error in result.errors])
    blocks.append(verdict_of(result.outcome))
    blocks += [Heading("WHAT IS RANDOM"), Lines(result.chance, listed=True)]
    return [*blocks, *fidelity_blocks(result.fidelity, result.outcome.unknown)]


def _describe_growth(growth: GrowthChances) -> tuple[str, str, str]:
    nodes = ", ".join(f"{each.nodes} of {each.group}" for each in growth.added_nodes) or NONE
    return nodes, "-" if growth.cost is None else f"{growth.cost:,.2f}", str(growth.probability)


def _places(workload: WorkloadChances, places: Sequence[PlaceChances], most: int) -> Iterator[tuple[str, ...]]:
    for each in places[:most]:
        yield workload.workload, each.name, str(each.probability), f"{each.pods:.2f}"
    left = places[most:]
    if left:
        pods = sum(each.pods for each in left)
        yield workload.workload, f"{format_count(len(left), 'other node')}", NONE, f"{pods:.2f}"


def chances_data(result: ChancesResult) -> list[dict[str, Any]]:
    """For the map of a page: how likely each node is to have a pod of a workload, workload by workload."""
    return [
        {"workload": each.workload, "nodes": [(node.name, node.probability.share) for node in each.nodes]}
        for each in result.workloads
    ]


VIEW = View(
    lambda result, look: chances_blocks(result, everything=look.everything),
    page=PageSpec("chances", "Workloads", data=lambda result: {"chances": chances_data(result)}),
)
