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
    rows = [
        (workload.workload, workload.pods, workload.pending, workload.evicting, workload.skewed)
        for workload in result.workloads
    ]
    skew = f"skew above {result.max_skew} [same]"
    headers = ("workload", "pods [same]", "some pending [same]", "evicts others [same]", skew)
    blocks += build_table("CHANCES", headers, rows, Grouping("workload"))
    pending = [
        (workload.workload, f"{some.pods} of {workload.pods}", some.probability)
        for workload in result.workloads
        for some in workload.pending_pods
    ]
    blocks += build_table("PENDING", ("workload", "pods [same]", "chance [same]"), pending, Grouping("workload"))
    groups = result.groups if isinstance(result.groups, tuple) else ()
    blocks += build_table("GROUPS", ("group", "scheduled"), [(group.group, group.scheduled) for group in groups])
    domains = [(group.group, d.name, d.probability, f"{d.pods:.2f}") for group in groups for d in group.domains]
    blocks += build_table("DOMAINS OF GROUPS", ("group", "domain", "chance", "pods on average"), domains)
    growth = result.growth if isinstance(result.growth, tuple) else ()
    columns = ("nodes that come", "a month", "chance")
    blocks += build_table("AUTOSCALERS ADD", columns, map(_describe_growth, growth), Grouping("plan"))
    zones = [row for workload in result.workloads for row in _places(workload, workload.zones, len(workload.zones))]
    blocks += build_table("ZONES", ("workload", "zone", "chance", "pods on average"), zones, Grouping("zone"))
    nodes = [
        row
        for workload in result.workloads
        for row in _places(workload, workload.nodes, len(workload.nodes) if everything else MOST_NODES)
    ]
    blocks += build_table("NODES", ("workload", "node [node]", "chance", "pods on average"), nodes, Grouping("node"))
    blocks += build_table("FAILED TRIALS", ("error",), [(error,) for error in result.errors])
    blocks.append(verdict_of(result.outcome))
    blocks += [Heading("WHAT IS RANDOM"), Lines(result.chance, listed=True)]
    return [*blocks, *fidelity_blocks(result.fidelity, result.outcome.unknown)]


def _describe_growth(growth: GrowthChances) -> tuple[str, str, str]:
    nodes = ", ".join(f"{added_node.nodes} of {added_node.group}" for added_node in growth.added_nodes) or NONE
    return nodes, "-" if growth.cost is None else f"{growth.cost:,.2f}", str(growth.probability)


def _places(workload: WorkloadChances, places: Sequence[PlaceChances], most: int) -> Iterator[tuple[str, ...]]:
    for place in places[:most]:
        yield workload.workload, place.name, str(place.probability), f"{place.pods:.2f}"
    left = places[most:]
    if left:
        pods = sum(place_chances.pods for place_chances in left)
        yield workload.workload, f"{format_count(len(left), 'other node')}", NONE, f"{pods:.2f}"


def chances_data(result: ChancesResult) -> list[dict[str, Any]]:
    """For the map of a page: how likely each node is to have a pod of a workload, workload by workload."""
    return [
        {"workload": workload.workload, "nodes": [(node.name, node.probability.share) for node in workload.nodes]}
        for workload in result.workloads
    ]


VIEW = View(
    lambda result, look: chances_blocks(result, everything=look.everything),
    page=PageSpec("chances", "Workloads", data=lambda result: {"chances": chances_data(result)}),
)
