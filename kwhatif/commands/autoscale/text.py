"""cluster-autoscaler's plan as blocks: the plan, the options of each group, pods and nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kwhatif.commands.autoscale.result import AutoscaleResult, NodeOutlook, PodOutlook, Rejection
from kwhatif.commands.expand.text import refusal_blocks
from kwhatif.commands.view import View
from kwhatif.render.blocks import NONE, Block, Facts, Grouping, Lines, build_table, format_part, join_texts
from kwhatif.render.page_spec import PageSpec
from kwhatif.render.sections import chance_blocks, fidelity_blocks, new_node_blocks, verdict_of
from kwhatif.results.amounts import format_age, format_count, format_some
from kwhatif.results.node_costs import words_of_cost

_FEW = 8
"""The most groups that are listed one by one."""


def autoscale_blocks(result: AutoscaleResult) -> list[Block]:
    """The report."""
    blocks: list[Block] = [verdict_of(result.outcome), Facts(tuple(_facts(result)))]
    sizes = {group.group: group.to for group in (result.scale_up.groups if result.scale_up is not None else ())}
    rows = [
        (
            group.name,
            group.size,
            sizes.get(group.name, group.size),
            f"{group.min} to {group.max}",
            group.skipped or NONE,
            group.template or "unknown",
        )
        for group in result.groups
    ]
    blocks += build_table("GROUPS", ("group", "size", "then", "limits", "skipped", "new node like"), rows)
    blocks += new_node_blocks(result.scale_up)
    options = [
        (
            option.group,
            option.nodes,
            len(option.pods),
            f"{option.waste / 2:.1%}",
            join_texts(option.similar),
            "yes" if option.chosen else "no",
        )
        for option in result.options
    ]
    blocks += build_table("OPTIONS", ("group", "nodes", "pods", "idle", "shared with", "chosen"), options)
    pods = [(pod.pod, *_outlook(pod)) for pod in result.pods]
    blocks += build_table(
        "PODS AFTER THE FIRST LOOP",
        ("pod [pod]", "outlook [same, fails no , warns waits]", "why [same]"),
        pods,
        Grouping("pod"),
    )
    headers = ("node [node]", "group [same]", "used", "outlook [same]", "why [same]")
    blocks += build_table("NODES", headers, map(_node, result.nodes), Grouping("node"))
    blocks += [Lines((f"USED leaves out {join_texts(result.uncounted)}.",))] if result.uncounted else []
    steps = [
        (format_age(step.time) if step.time else "0", step.what, step.nodes, step.waiting) for step in result.steps
    ]
    columns = ("after", "what", "nodes", "pods waiting")
    blocks += build_table("UNTIL QUIET", columns, steps, Grouping("step"))
    blocks += chance_blocks(result.chance)
    return [
        *blocks,
        *refusal_blocks(result.refusals, result.failed),
        *fidelity_blocks(result.fidelity, result.outcome.unknown),
    ]


def _facts(result: AutoscaleResult) -> Iterator[tuple[str, str]]:
    yield "Result", result.result
    plan = ", ".join(
        f"{growth.group} from {growth.size} to {growth.to} (at most {growth.max})" for growth in result.plan
    )
    if result.pods:
        good = sum(pod.outcome in ("placed", "existing", "triggered") for pod in result.pods)
        plan = f"{plan or 'no group grows'}; {format_part(good, len(result.pods), 'pod')} will run"
    yield "First loop", plan or "no group grows"
    if result.options:
        yield "Expander", result.expander
    if result.scale_up is not None and (cost := words_of_cost(result.scale_up.nodes, " more")):
        yield "Cost", cost
    if result.peak is not None:
        yield "Peak", format_count(result.peak, "node")
    if result.nodes:
        unneeded = [node.node for node in result.nodes if node.unneeded]
        if result.saved is not None:
            yield "Saving", f"{result.saved:,.2f} a month, once they have gone"
        yield "Unneeded", f"{format_count(len(unneeded), 'node')}: {format_some(unneeded)}" if unneeded else "no node"


def _outlook(pod: PodOutlook) -> tuple[str, str]:
    match pod.outcome:
        case "placed":
            return f"runs on {pod.node}", NONE
        case "existing":
            return f"will run on {pod.node}", "there is room"
        case "triggered":
            return f"a node of group {pod.group} is added for it", NONE
        case "awaiting":
            where = f": group {pod.group} can help" if pod.group else ""
            return "waits for a later loop", f"the chosen group does not fit{where}"
        case "ignored":
            return "is left alone", pod.message
    return "no group can help", "; ".join(_by_reason(pod.rejections)) or pod.message or NONE


def _by_reason(rejections: Sequence[Rejection]) -> Iterator[str]:
    """Why groups don't help; groups with the same reason are put together."""
    if len(rejections) <= _FEW:
        yield from (f"{rejection.group}: {_reason(rejection)}" for rejection in rejections)
        return
    groups: dict[str, list[str]] = {}
    for rejection in rejections:
        groups.setdefault(_reason(rejection), []).append(rejection.group)
    yield from (f"{format_some(names)}: {reason}" for reason, names in groups.items())


def _reason(rejection: Rejection) -> str:
    return ", ".join(rejection.reasons) or rejection.plugin


def _node(node: NodeOutlook) -> tuple[str, ...]:
    used = "-" if node.utilization is None else f"{node.utilization:.0%} of {node.resource}"
    if not node.unneeded:
        why = f"{node.reason}: {node.pod} ({node.pod_reason})" if node.pod else node.reason
        return (node.node, node.group or NONE, used, "stays", why or NONE)
    moves = ", ".join(f"{pod} to {home}" for pod, home in node.moves.items())
    if node.after is None:
        return (node.node, node.group, used, "unneeded, stays", node.reason or NONE)
    when = f"removed after {format_age(int(node.after))}" + ("" if node.first else ", not among the first")
    return (node.node, node.group, used, when, moves or "empty")


VIEW = View(
    lambda result, look: autoscale_blocks(result),
    page=PageSpec(
        "autoscale",
        "cluster-autoscaler",
        verdict=lambda result: (
            f"{result.result}; {format_count(sum(group.nodes for group in result.outcome.added_nodes), 'new node')}"
        ),
    ),
)
