"""What Karpenter would do, in words: the machines it would buy, pod by pod, and node by node."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.report.autoscale_text import autoscale_blocks
from kwhatif.report.blocks import NONE, Block, Facts, Heading, Lines, joined, of, titled
from kwhatif.report.expand_text import refusal_blocks
from kwhatif.report.fidelity_text import fidelity_blocks
from kwhatif.results.amounts import counted, some
from kwhatif.results.karpenter import AutoscalersResult, Consolidation, KarpenterResult, Machine, NodePlan, PodPlan

_GIVEN_UP = {
    "requiredNodeAffinity": "term of its node affinity",
    "preferredNodeAffinity": "preferred node affinity",
    "preferredPodAffinity": "preferred pod affinity",
    "preferredPodAntiAffinity": "preferred pod anti-affinity",
    "spread": "spread constraint",
}


def autoscalers_blocks(result: AutoscalersResult) -> list[Block]:
    """The report on both."""
    return [
        Heading("CLUSTER-AUTOSCALER"),
        *autoscale_blocks(result.cluster_autoscaler),
        Heading("KARPENTER"),
        *karpenter_blocks(result.karpenter),
    ]


def karpenter_blocks(result: KarpenterResult) -> list[Block]:
    """The report."""
    blocks: list[Block] = [Facts(tuple(_facts(result)))]
    machines = [
        (
            number,
            each.node_pool,
            len(each.pods),
            ", ".join(f"{name} {amount}" for name, amount in each.requests.items()),
            _types(each.types),
            _cheapest(each),
            _money(each.cost),
        )
        for number, each in enumerate(result.machines, 1)
    ]
    headers = ("machine", "nodepool", "pods", "requests", "types, cheapest first", "cheapest", "a month")
    blocks += titled("NODECLAIMS", headers, machines)
    asked = [(number, "; ".join(filter(_tells, each.requirements))) for number, each in enumerate(result.machines, 1)]
    blocks += titled("REQUIREMENTS", ("machine", "requirements"), asked)
    blocks += titled("PODS", ("pod", "outlook", "given up"), [(each.pod, *_outlook(each)) for each in result.pods])
    refused = [
        (each.pod, refusal.node_pool, "; ".join(map(_short, refusal.reasons)), refusal.nearest or NONE)
        for each in result.pods
        for refusal in each.refusals
    ]
    blocks += titled("WHY NOT", ("pod", "nodepool", "reason", "nearest miss"), refused)
    blocks += titled("SKIPPED", ("nodepool", "why"), result.skipped.items())
    blocks += titled(
        "CONSOLIDATION",
        ("method", "decision", "nodes", "instead", "pods move to", "saves a month"),
        map(_consolidation, result.consolidations),
    )
    blocks += titled("NODES", ("node", "nodepool", "type", "an hour", "outlook", "why"), map(_node, result.nodes))
    if result.incomplete:
        blocks.append(Lines((f"The catalogue is incomplete: {result.incomplete}.",)))
    return [*blocks, *refusal_blocks(result.refusals, result.failed), *fidelity_blocks(result.fidelity)]


def _facts(result: KarpenterResult) -> Iterator[tuple[str, str]]:
    yield "NodeClaims", str(len(result.machines)) if result.machines else "none"
    if result.cost is not None and result.price is not None:
        yield "Cost", f"{result.price:,.4f} an hour, {result.cost:,.2f} a month, each at its cheapest"
    if result.pods:
        yield "Pods", f"{of(sum(pod.good for pod in result.pods), len(result.pods), 'pod')} will run"
    first = next((each for each in result.consolidations if each.decision != "nothing"), None)
    if first is not None:
        yield "Consolidation", f"{first.decision} {some(first.nodes)}, saves {first.monthly:,.2f} a month"
    elif result.consolidations:
        yield "Consolidation", "nothing"


def _tells(requirement: str) -> bool:
    """Whether it says more than which NodePool the machine is of."""
    key = requirement.partition(" ")[0]
    return key != "karpenter.sh/nodepool" and not key.endswith("nodeclass")


def _short(reason: str) -> str:
    """Without the requirements and amounts that are told elsewhere."""
    return reason.partition(", requirements=")[0]


def _types(types: tuple[str, ...]) -> str:
    return some(types) if types else NONE


def _cheapest(machine: Machine) -> str:
    if machine.price is None:
        return "no price is known"
    return f"{machine.type}, {machine.capacity_type} in {machine.zone}: {machine.price:,.4f}"


def _money(cost: float | None) -> str:
    return "-" if cost is None else f"{cost:,.2f}"


def _outlook(pod: PodPlan) -> tuple[str, str]:
    let_go = [
        "tolerates PreferNoSchedule" if what == "tolerate" else counted(count, _GIVEN_UP[what], f"{_GIVEN_UP[what]}s")
        for what, count in pod.given_up.items()
    ]
    given_up = joined(let_go)
    match pod.outcome:
        case "placed":
            return f"runs on {pod.node}", given_up
        case "existing":
            return f"will run on {pod.node}", given_up
        case "new":
            return f"machine {pod.machine} of NodePool {pod.node_pool} is bought for it", given_up
        case "ignored":
            return f"is left alone: {pod.message}" if pod.message else "is left alone", given_up
    return "no NodePool can help" if pod.refusals else f"is refused: {pod.message}", given_up


def _consolidation(each: Consolidation) -> tuple[str, ...]:
    if each.decision == "nothing":
        return (each.method, each.decision, NONE, NONE, NONE, "-")
    moves = ", ".join(f"{pod} to {home}" for pod, home in each.moves.items())
    instead = "; ".join(f"{_types(one.types)} of {one.node_pool}" for one in each.replacements)
    return (each.method, each.decision, joined(each.nodes), instead or NONE, moves or NONE, _money(each.monthly))


def _node(each: NodePlan) -> tuple[str, ...]:
    price = "-" if each.price is None else f"{each.price:,.4f}"
    return (
        each.node,
        each.node_pool or NONE,
        each.type or NONE,
        price,
        "goes" if each.goes else "stays",
        "; ".join(each.reasons) or NONE,
    )
