"""Karpenter's plan as blocks: new machines, pods and nodes."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.commands.autoscale.karpenter_result import (
    AutoscalersResult,
    Consolidation,
    KarpenterResult,
    Machine,
    NodeConsolidation,
    NodePlan,
    NodesExplained,
    PodPlan,
    PoolsDiff,
)
from kwhatif.commands.autoscale.text import autoscale_blocks
from kwhatif.commands.expand.text import refusal_blocks
from kwhatif.commands.view import View
from kwhatif.render.blocks import (
    NONE,
    Block,
    Facts,
    Grouping,
    Heading,
    Lines,
    Verdict,
    build_table,
    format_part,
    join_texts,
)
from kwhatif.render.page_spec import PageSpec, answer_in_words
from kwhatif.render.sections import chance_blocks, fidelity_blocks, new_node_blocks, verdict_of
from kwhatif.results.amounts import format_count, format_some
from kwhatif.results.node_costs import words_of_cost
from kwhatif.results.outcome import DIFFERS, lead_with

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
    blocks: list[Block] = [verdict_of(result.outcome), Facts(tuple(_facts(result)))]
    machines = [
        (
            number,
            machine.node_pool,
            len(machine.pods),
            ", ".join(f"{name} {amount}" for name, amount in machine.requests.items()),
            _types(machine.types),
            _cheapest(machine),
            _money(machine.cost),
        )
        for number, machine in enumerate(result.machines, 1)
    ]
    headers = ("machine", "nodepool", "pods", "requests [drop 1]", "types, cheapest first", "cheapest", "a month")
    blocks += new_node_blocks(result.scale_up)
    blocks += build_table("NODECLAIMS OF THE FIRST ROUND", headers, machines, Grouping("machine"))
    blocks += chance_blocks(result.chance, "Karpenter's maps")
    if loose := _loose(result):
        blocks.append(Lines((loose,)))
    requirements = [
        (number, "; ".join(filter(_tells, machine.requirements))) for number, machine in enumerate(result.machines, 1)
    ]
    blocks += build_table("REQUIREMENTS", ("machine", "requirements"), requirements, Grouping("machine"))
    pods = [(group.pod, *_outlook(group)) for group in result.pods]
    blocks += build_table(
        "PODS AFTER THE FIRST ROUND",
        ("pod [pod]", "outlook [same, fails (no |is refused)]", "given up [same]"),
        pods,
        Grouping("pod"),
    )
    refused = [
        (group.pod, refusal.node_pool, "; ".join(map(_short, refusal.reasons)), refusal.nearest or NONE)
        for group in result.pods
        for refusal in group.refusals
    ]
    blocks += build_table(
        "WHY NOT", ("pod [pod]", "nodepool [same]", "reason [same]", "nearest miss"), refused, Grouping("row")
    )
    blocks += build_table("SKIPPED", ("nodepool", "why"), result.skipped.items())
    blocks += build_table(
        "CONSOLIDATION",
        ("method", "decision", "nodes", "instead", "pods move to", "saves a month"),
        map(_consolidation, result.consolidations),
    )
    columns = ("node [node]", "nodepool [same]", "type [same]", "an hour", "outlook [same]", "why [same]")
    blocks += build_table("NODES", columns, map(_node, result.nodes), Grouping("node"))
    if result.incomplete:
        blocks.append(Lines((f"The catalogue is incomplete: {result.incomplete}.",)))
    standing = fidelity_blocks(result.fidelity, result.outcome.unknown)
    return [*blocks, *refusal_blocks(result.refusals, result.failed), *standing]


def pools_diff_blocks(result: PoolsDiff) -> list[Block]:
    """Two sides, and what differs."""
    facts = [("A", _side(result.label_a, result.a)), ("B", _side(result.label_b, result.b))]
    if result.rebuilt:
        facts.append(("Rebuilt", "as if Karpenter's nodes were all bought anew"))
    blocks: list[Block] = [Facts(tuple(facts)), Verdict(_difference(result), not result.differs)]
    machines = [
        (group.node_pool, group.type, group.capacity_type, group.a, group.b, _money(group.cost_a), _money(group.cost_b))
        for group in result.machines
    ]
    headers = ("nodepool", "type", "capacity", "A", "B", "A, a month", "B, a month")
    blocks += build_table("MACHINES", headers, machines)
    moves = [(group.pod, group.a, group.b) for group in result.moves]
    blocks += build_table("PODS", ("pod [pod]", "A [same]", "B [same]"), moves, Grouping("pod"))
    for label, side in (("A", result.a), ("B", result.b)):
        blocks += build_table(f"SKIPPED IN {label}", ("nodepool", "why"), side.skipped.items())
        if side.incomplete:
            blocks.append(Lines((f"The catalogue of {label} is incomplete: {side.incomplete}.",)))
    return [*blocks, *refusal_blocks(result.a.refusals, result.a.failed), *fidelity_blocks(result.a.fidelity)]


def _side(label: str, result: KarpenterResult) -> str:
    will = format_part(sum(pod.good for pod in result.pods), len(result.pods), "pod")
    cost = "" if result.cost is None else f" for {result.cost:,.2f} a month"
    return f"{label}: {format_count(len(result.machines), 'NodeClaim')}{cost}; {will} will run"


def _difference(result: PoolsDiff) -> str:
    moved = f"{format_count(len(result.moves), 'pod')} on other nodes" if result.moves else "no pod on another node"
    cost = "same cost"
    if result.difference is None:
        cost = "cost unknown"
    elif result.difference:
        cost = f"{abs(result.difference):,.2f} {'more' if result.difference > 0 else 'less'} a month with B"
    return lead_with(DIFFERS, f"{cost}, {moved}", good=not result.differs)


def nodes_explained_blocks(result: NodesExplained) -> list[Block]:
    """Why nodes go or stay, one after the other."""
    blocks: list[Block] = []
    for group in result.nodes:
        blocks += [Heading(f"NODE {group.node}"), Facts(tuple(_why(group)))]
        blocks += build_table("PODS MOVE", ("pod", "to"), group.moves.items())
    if result.incomplete:
        blocks.append(Lines((f"The catalogue is incomplete: {result.incomplete}.",)))
    return [*blocks, *fidelity_blocks(result.fidelity)]


def _why(consolidation: NodeConsolidation) -> Iterator[tuple[str, str]]:
    yield "Outlook", "goes" if consolidation.now else "stays"
    yield "Why", "; ".join(consolidation.reasons) or "the first command is about it"
    if consolidation.node_pool:
        yield "Machine", f"{consolidation.type or 'of unknown type'} of NodePool {consolidation.node_pool}"
    if consolidation.price is not None:
        yield "Price", f"{consolidation.price:,.4f} an hour"
    if consolidation.cost is not None:
        yield (
            "Disruption",
            f"cost {consolidation.cost:,.4f}; "
            f"the budgets of its NodePool let {format_count(consolidation.budget or 0, 'node')} go now",
        )
    if consolidation.decision != "keep":
        instead = "; ".join(f"{_types(one.types)} of {one.node_pool}" for one in consolidation.replacements)
        what = f"replace it by {instead}" if instead else "delete it"
        yield "Possible" if not consolidation.now else "Command", f"{what}, saves {consolidation.monthly:,.2f} a month"


def _loose(result: KarpenterResult) -> str:
    """The parts that differ in other orders, and those that are firm."""
    machines = [str(number) for number, machine in enumerate(result.machines, 1) if not machine.firm]
    commands = [group.method for group in result.consolidations if not group.firm]
    parts = (
        [f"NodeClaims {format_some(machines, 8)} have other pods, types or requirements in some order"]
        if machines
        else []
    )
    parts += [f"consolidation ({', '.join(commands)}) takes other nodes in some order"] if commands else []
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}. All else is the same in every order tried." if parts else ""


def _facts(result: KarpenterResult) -> Iterator[tuple[str, str]]:
    first_round = format_count(len(result.machines), "NodeClaim") if result.machines else "no NodeClaim"
    if result.price is not None:
        first_round += f", {result.price:,.4f} an hour, each at its cheapest"
    if result.pods:
        good = sum(pod.good for pod in result.pods)
        first_round += f"; {format_part(good, len(result.pods), 'pod')} will run"
    yield "First round", first_round
    if result.scale_up is not None and (cost := words_of_cost(result.scale_up.nodes, " more")):
        yield "Cost", cost
    first = next((group for group in result.consolidations if group.decision != "nothing"), None)
    if first is not None:
        yield "Consolidation", f"{first.decision} {format_some(first.nodes)}, saves {first.monthly:,.2f} a month"
    elif result.consolidations:
        yield "Consolidation", "nothing"


def _tells(requirement: str) -> bool:
    """Whether it says more than the machine's NodePool."""
    key = requirement.partition(" ")[0]
    return key != "karpenter.sh/nodepool" and not key.endswith("nodeclass")


def _short(reason: str) -> str:
    """Without the requirements and amounts that are shown elsewhere."""
    return reason.partition(", requirements=")[0]


def _types(types: tuple[str, ...]) -> str:
    return format_some(types) if types else NONE


def _cheapest(machine: Machine) -> str:
    if machine.price is None:
        return "no price is known"
    return f"{machine.type}, {machine.capacity_type} in {machine.zone}: {machine.price:,.4f}"


def _money(cost: float | None) -> str:
    return "-" if cost is None else f"{cost:,.2f}"


def _outlook(pod: PodPlan) -> tuple[str, str]:
    let_go = [
        "tolerates PreferNoSchedule"
        if what == "tolerate"
        else format_count(count, _GIVEN_UP[what], f"{_GIVEN_UP[what]}s")
        for what, count in pod.given_up.items()
    ]
    given_up = join_texts(let_go)
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


def _consolidation(consolidation: Consolidation) -> tuple[str, ...]:
    if consolidation.decision == "nothing":
        return (consolidation.method, consolidation.decision, NONE, NONE, NONE, "-")
    moves = ", ".join(f"{pod} to {home}" for pod, home in consolidation.moves.items())
    instead = "; ".join(f"{_types(one.types)} of {one.node_pool}" for one in consolidation.replacements)
    return (
        consolidation.method,
        consolidation.decision,
        join_texts(consolidation.nodes),
        instead or NONE,
        moves or NONE,
        _money(consolidation.monthly),
    )


def _node(node_plan: NodePlan) -> tuple[str, ...]:
    price = "-" if node_plan.price is None else f"{node_plan.price:,.4f}"
    return (
        node_plan.node,
        node_plan.node_pool or NONE,
        node_plan.type or NONE,
        price,
        "goes" if node_plan.goes else "stays",
        "; ".join(node_plan.reasons) or NONE,
    )


VIEW = View(
    lambda result, look: karpenter_blocks(result),
    page=PageSpec("autoscale", "Karpenter", verdict=lambda result: format_count(len(result.machines), "new NodeClaim")),
)


BOTH_VIEW = View(
    lambda result, look: autoscalers_blocks(result),
    page=PageSpec(
        "autoscale",
        "Both autoscalers",
        verdict=lambda result: (
            f"{format_count(sum(group.to - group.size for group in result.cluster_autoscaler.plan), 'new node')} by"
            f" cluster-autoscaler, {format_count(len(result.karpenter.machines), 'new NodeClaim')} by Karpenter"
        ),
    ),
)


POOLS_VIEW = View(
    lambda result, look: pools_diff_blocks(result),
    page=PageSpec("diff", "What is compared", answer_in_words("No difference", "They differ", "differs")),
)


NODES_VIEW = View(
    lambda result, look: nodes_explained_blocks(result),
    page=PageSpec("explain", "Nodes", lambda result: ("plain", "What Karpenter makes of the nodes")),
)
