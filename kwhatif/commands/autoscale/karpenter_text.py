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
            each.node_pool,
            len(each.pods),
            ", ".join(f"{name} {amount}" for name, amount in each.requests.items()),
            _types(each.types),
            _cheapest(each),
            _money(each.cost),
        )
        for number, each in enumerate(result.machines, 1)
    ]
    headers = ("machine", "nodepool", "pods", "requests [drop 1]", "types, cheapest first", "cheapest", "a month")
    blocks += new_node_blocks(result.scale_up)
    blocks += build_table("NODECLAIMS OF THE FIRST ROUND", headers, machines, Grouping("machine"))
    blocks += chance_blocks(result.chance, "Karpenter's maps")
    if loose := _loose(result):
        blocks.append(Lines((loose,)))
    requirements = [
        (number, "; ".join(filter(_tells, each.requirements))) for number, each in enumerate(result.machines, 1)
    ]
    blocks += build_table("REQUIREMENTS", ("machine", "requirements"), requirements, Grouping("machine"))
    pods = [(each.pod, *_outlook(each)) for each in result.pods]
    blocks += build_table(
        "PODS AFTER THE FIRST ROUND",
        ("pod [pod]", "outlook [same, fails (no |is refused)]", "given up [same]"),
        pods,
        Grouping("pod"),
    )
    refused = [
        (each.pod, refusal.node_pool, "; ".join(map(_short, refusal.reasons)), refusal.nearest or NONE)
        for each in result.pods
        for refusal in each.refusals
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
        (each.node_pool, each.type, each.capacity_type, each.a, each.b, _money(each.cost_a), _money(each.cost_b))
        for each in result.machines
    ]
    headers = ("nodepool", "type", "capacity", "A", "B", "A, a month", "B, a month")
    blocks += build_table("MACHINES", headers, machines)
    moves = [(each.pod, each.a, each.b) for each in result.moves]
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
    for each in result.nodes:
        blocks += [Heading(f"NODE {each.node}"), Facts(tuple(_why(each)))]
        blocks += build_table("PODS MOVE", ("pod", "to"), each.moves.items())
    if result.incomplete:
        blocks.append(Lines((f"The catalogue is incomplete: {result.incomplete}.",)))
    return [*blocks, *fidelity_blocks(result.fidelity)]


def _why(each: NodeConsolidation) -> Iterator[tuple[str, str]]:
    yield "Outlook", "goes" if each.now else "stays"
    yield "Why", "; ".join(each.reasons) or "the first command is about it"
    if each.node_pool:
        yield "Machine", f"{each.type or 'of unknown type'} of NodePool {each.node_pool}"
    if each.price is not None:
        yield "Price", f"{each.price:,.4f} an hour"
    if each.cost is not None:
        yield (
            "Disruption",
            f"cost {each.cost:,.4f}; the budgets of its NodePool let {format_count(each.budget or 0, 'node')} go now",
        )
    if each.decision != "keep":
        instead = "; ".join(f"{_types(one.types)} of {one.node_pool}" for one in each.replacements)
        what = f"replace it by {instead}" if instead else "delete it"
        yield "Possible" if not each.now else "Command", f"{what}, saves {each.monthly:,.2f} a month"


def _loose(result: KarpenterResult) -> str:
    """The parts that differ in other orders, and those that are firm."""
    machines = [str(number) for number, each in enumerate(result.machines, 1) if not each.firm]
    commands = [each.method for each in result.consolidations if not each.firm]
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
    if result.cost is not None:
        yield "Cost", f"{result.cost:,.2f} more a month"
    first = next((each for each in result.consolidations if each.decision != "nothing"), None)
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


def _consolidation(each: Consolidation) -> tuple[str, ...]:
    if each.decision == "nothing":
        return (each.method, each.decision, NONE, NONE, NONE, "-")
    moves = ", ".join(f"{pod} to {home}" for pod, home in each.moves.items())
    instead = "; ".join(f"{_types(one.types)} of {one.node_pool}" for one in each.replacements)
    return (each.method, each.decision, join_texts(each.nodes), instead or NONE, moves or NONE, _money(each.monthly))


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
            f"{format_count(sum(each.to - each.size for each in result.cluster_autoscaler.plan), 'new node')} by"
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
