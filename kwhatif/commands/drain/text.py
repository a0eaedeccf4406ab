"""A drain as blocks: nodes, evicted pods, what blocks, and what is left."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.commands.expand.text import refusal_blocks, rollout_blocks
from kwhatif.commands.view import View
from kwhatif.render.blocks import NONE, Block, Grouping, Heading, Lines, build_table, table
from kwhatif.render.page_spec import PageSpec, PodOutcomes
from kwhatif.render.pod_groups import disruption_table
from kwhatif.render.sections import budget_fix_blocks, fidelity_blocks, scale_up_blocks, verdict_of
from kwhatif.results.amounts import format_column, format_some
from kwhatif.results.disruption import DrainedPod, DrainResult, Remaining
from kwhatif.results.place import Victim


def drain_blocks(result: DrainResult) -> list[Block]:
    """The report."""
    numbers = [(n.evicted, n.ignored, n.refused, n.blocked) for n in result.nodes]
    drained = tuple(
        (node.node, "drained" if node.drained else "NOT DRAINED", *map(str, numbers_of_node))
        for node, numbers_of_node in zip(result.nodes, numbers, strict=True)
    )
    blocks = build_table(
        "PLACED BEFORE",
        ("pod [pod, same]", "node [node]"),
        [(p.pod, p.node or p.reason) for p in result.before],
        Grouping("pod"),
    )
    blocks += [*rollout_blocks(result.rollouts), *refusal_blocks(result.refusals, result.failed)]
    blocks += [Heading("DRAINED")] if blocks else []
    headers: tuple[str, ...] = (
        *("node [node]", "outcome [same, fails NOT]", "evicted", "ignored [drop 1]"),
        *("refused [fails (?!0$)]", "blocked [fails (?!0$)]"),
    )
    blocks.append(table(headers, drained, Grouping("node")))
    moved = [pod for pod in result.pods if pod.outcome == "evicted"]
    headers = (
        *("node [node, drop 5]", "turn [drop 4]", "pod [pod]", "owner [same, drop 2]"),
        *("budget [same, drop 3]", "recreated as [pod, drop 1]", "lands on [node, fails nowhere]"),
    )
    rows = [(pod.node, pod.turn, pod.pod, pod.owner or NONE, pod.budget or NONE, *_way(pod)) for pod in moved]
    blocks += build_table("EVICTIONS", headers, rows, Grouping("pod"))
    stuck = [pod for pod in result.pods if pod.outcome in ("refused", "blocked")]
    reasons = [(pod.node, pod.pod, pod.budget or NONE, pod.reason) for pod in stuck]
    blocks += build_table(
        "BLOCKED BY",
        ("node [node, drop 1]", "pod [pod]", "budget [same]", "why it stays [same]"),
        reasons,
        Grouping("pod"),
    )
    pending = [(pod.pod, pod.why) for pod in result.outcome.pending]
    blocks += build_table("PENDING", ("pod [pod]", "message [same]"), pending, Grouping("pod"))
    placements = (*result.before, *result.placements)
    victims = [(v.pod, p.pod, v.node, _then(v)) for p in placements for v in p.victims]
    blocks += build_table(
        "EVICTED BY OTHER PODS" if result.before else "EVICTED BY REPLACEMENTS",
        ("pod [pod, same]", "for [pod, same]", "on [node, drop 1]", "then lands on [node, fails nowhere]"),
        victims,
        Grouping("pod"),
    )
    groups = result.groups if isinstance(result.groups, tuple) else ()
    blocks += disruption_table("GROUPS THAT LOSE MEMBERS", [("", group) for group in groups])
    blocks += scale_up_blocks(result.scale_up)
    headers = ("budget", "evictions [drop 1]", "allowed before", "allowed after", "pods kept")
    budgets = [(b.budget, b.evictions, b.allowed_before, b.allowed_after, len(b.blocks)) for b in result.budgets]
    blocks += build_table("BUDGETS", headers, budgets, Grouping("budget"))
    blocks += budget_fix_blocks(result.budgets)
    left = [
        tuple(_shares(remaining))
        for remaining in result.remaining
        if remaining.requested_before or remaining.requested_after
    ]
    blocks += build_table("OTHER NODES", ("resource", "allocatable", "requested before", "requested after"), left)
    blocks.append(verdict_of(result.outcome))
    if result.warnings:
        blocks.append(Lines(tuple(map(_briefly, result.warnings))))
    return [*blocks, *fidelity_blocks(result.fidelity, result.outcome.unknown)]


def _way(pod: DrainedPod) -> tuple[str, str]:
    if not pod.replacement:
        return NONE, pod.reason
    back = f", once {pod.node} is back" if pod.waits else ""
    return pod.replacement, f"{pod.lands_on}{back}" if pod.lands_on else "nowhere"


def _then(victim: Victim) -> str:
    return victim.lands_on or ("nowhere" if victim.replacement else "it is not recreated")


def _shares(remaining: Remaining) -> Iterator[str]:
    """The resource, how much of it there is, and what is requested of that before and afterwards."""
    parts = (remaining.requested_before, remaining.requested_after)
    whole, *spelt = format_column(remaining.resource, (remaining.allocatable, *parts))
    yield from (remaining.resource, whole)
    for text, part in zip(spelt, parts, strict=True):
        yield f"{text} ({100 * part // remaining.allocatable}%)" if remaining.allocatable else text


def _briefly(warning: str) -> str:
    """kubectl's warning, which names every pod, with a few of them."""
    about, colon, pods = warning.partition(": ")
    return f"{about}{colon}{format_some(pods.split(', '))}"


VIEW = View(
    lambda result, look: drain_blocks(result),
    page=PageSpec(
        "drain",
        "Nodes to drain",
        pods=lambda result: PodOutcomes(
            (*result.before, *result.placements),
            {pod.pod: pod.replacement for pod in result.pods if pod.replacement},
            [(pod.pod, pod.reason) for pod in result.pods if pod.outcome in ("blocked", "refused")],
        ),
        data=lambda result: {"drained": [(node.node, node.drained) for node in result.nodes]},
    ),
)
