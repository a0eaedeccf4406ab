"""Rightsizing as blocks: before and after, the binding resource, changed workloads, and risks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from kwhatif.commands.rightsize.result import Binding, RightsizeResult, Risk, Side, SizedContainer, Step
from kwhatif.commands.view import View
from kwhatif.render.blocks import NONE, Block, Facts, Grouping, Lines, build_table
from kwhatif.render.page_spec import PageSpec
from kwhatif.render.sections import fidelity_blocks, verdict_of
from kwhatif.results.amounts import format_amount, format_count, format_some

_UNCHANGED = {
    "noUsage": "without usage",
    "excluded": "that the policy leaves out",
    "static": "static pods",
    "switchedOff": "switched off by their VerticalPodAutoscalers",
}
MOST_NODES = 8
"""How many nodes are named."""

_RISKS = {
    "oom": "memory peak above the limit",
    "node": "p99 of all pods above allocatable",
    "quota": "above the quota",
    "peak": "own peak above the request",
}


def rightsize_blocks(result: RightsizeResult) -> list[Block]:
    """The report."""
    blocks: list[Block] = [verdict_of(result.outcome), Facts(tuple(_facts(result)))]
    blocks += build_table("BEFORE AND AFTER", ("at rest", "before", "after"), _sides(result.before, result.after))
    blocks += build_table(
        "LIMITING RESOURCES", ("pool", "resource", "before", "after", "others", "if unlimited"), _binds(result)
    )
    blocks += _steps(result)
    blocks += build_table(
        "REPLICAS THAT FOLLOW",
        ("autoscaler", "workload", "target", "request", "advised", "replicas", "then"),
        [
            (
                rescaled.autoscaler,
                rescaled.workload,
                f"{rescaled.target:g}% of {rescaled.resource}",
                rescaled.request,
                rescaled.advised,
                rescaled.replicas,
                f"{rescaled.then}{f' ({rescaled.bounded})' if rescaled.bounded else ''}",
            )
            for rescaled in result.rescaled
        ],
    )
    blocks += _risks(result.risks)
    headers = (
        *("workload", "container [drop 2]", "resource", "pods"),
        *("request", "advised", "used", "peak", "resize [drop 1]"),
    )
    blocks += build_table("REQUESTS", headers, map(_row, result.workloads), Grouping("container"))
    return [*blocks, *fidelity_blocks(result.fidelity, result.outcome.unknown)]


def _facts(result: RightsizeResult) -> Iterator[tuple[str, str]]:
    usage = result.usage
    yield "Policy", result.policy
    when = f", {usage.since} to {usage.until}" if usage.since else ""
    yield "Usage", f"{', '.join(usage.sorts)}: {usage.samples:,} samples of {format_count(usage.pods, 'pod')}{when}"
    if result.today.nodes != result.before.nodes:
        cost = "" if result.today.cost is None else f", {result.today.cost:,.2f} a month"
        yield "Today", f"{format_count(result.today.nodes, 'node')}{cost}; before and after are what remains at rest"
    changed = {workload.workload for workload in result.workloads if workload.resize}
    known = {workload.workload for workload in result.workloads}
    yield "Changed", f"{len(changed)} of {format_count(len(known), 'workload')} with usage"
    for reason, number in result.unchanged.items():
        if number:
            yield "Unchanged", f"{format_count(number, 'workload')} {_UNCHANGED.get(reason, reason)}"
    resizes = Counter(dict.fromkeys(("in-place", "restart", "recreate"), 0))
    pods = {(workload.workload, workload.resize): workload.pods for workload in result.workloads if workload.resize}
    for (_, resize), number in pods.items():
        resizes[resize] += number
    parts = [f"{number} {name}" for name, number in resizes.items() if number]
    if parts:
        yield "Pods", f"resized: {', '.join(parts)}"
    if result.after.removed:
        today = (
            f"; without the change {format_some(result.before.removed, MOST_NODES)}" if result.before.removed else ""
        )
        yield "Removed nodes", f"{format_some(result.after.removed, MOST_NODES)}{today}"
    if result.unpriced:
        nodes = format_count(len(result.unpriced), "node")
        yield "Unknown prices", f"{nodes} in no cost: {format_some(result.unpriced, MOST_NODES)}"


def _sides(before: Side, after: Side) -> Iterator[tuple[str, str, str]]:
    def both(label: str, one: object, other: object) -> tuple[str, str, str]:
        return label, NONE if one is None else str(one), NONE if other is None else str(other)

    yield both("pods", before.pods, after.pods)
    yield both("pending", before.pending, after.pending)
    pending = " (pending pods too)" if before.pending or after.pending else ""
    for resource in before.requested:
        yield both(f"{resource} requested{pending}", before.requested[resource], after.requested[resource])
    yield both("nodes removed", before.nodes_removable, after.nodes_removable)
    if before.nodes_added or after.nodes_added:
        yield both("nodes added", before.nodes_added, after.nodes_added)
    yield both("nodes", before.nodes, after.nodes)
    yield both("nodes in use", before.nodes_in_use, after.nodes_in_use)
    yield both("cost a month", *(None if side.cost is None else f"{side.cost:,.2f}" for side in (before, after)))
    slots = (
        None if side.largest_slot is None else f"{side.largest_slot.cpu} CPU, {side.largest_slot.memory}"
        for side in (before, after)
    )
    yield both("largest free slot", *slots)


def _binds(result: RightsizeResult) -> Iterator[tuple[str, ...]]:
    for binding in result.binds:
        others = ", ".join(f"{name} {share:.0%}" for name, share in binding.shares.items() if name != binding.resource)
        before = NONE if binding.before is None else f"{binding.before:.0%}"
        yield (
            binding.pool or NONE,
            binding.resource,
            before,
            f"{binding.share:.0%}",
            others or NONE,
            _describe_nodes_freed(binding),
        )


def _describe_nodes_freed(binding: Binding) -> str:
    if binding.nodes_freed is None:
        return NONE
    return (
        f"{format_count(binding.nodes_freed, 'more node goes', 'more nodes go')}"
        if binding.nodes_freed
        else "no more node goes"
    )


def _steps(result: RightsizeResult) -> list[Block]:
    if not result.steps:
        return []
    whole = sum(step.nodes for step in result.steps)
    best = next((n for n in range(1, len(result.steps) + 1) if sum(s.nodes for s in result.steps[:n]) >= whole), 0)
    steps = [step for step in result.steps[:best] if step.workload]
    lines: list[Block] = []
    if whole > 0 and len(steps) == best:
        workloads = format_count(len(steps), "workload frees", "workloads free")
        text = f"{workloads} {format_count(whole, 'node')}, the whole saving."
        lines = [Lines((text,))]
    headers = ("workload", "nodes", "cost a month", "pending", "CPU", "memory")
    return [*build_table("SAVINGS ADDED BY EACH WORKLOAD", headers, map(_step, result.steps)), *lines]


def _step(step: Step) -> tuple[str, ...]:
    name = step.workload or f"all others ({step.workloads})"
    cost = NONE if step.cost is None else f"{-step.cost:+,.2f}" if step.cost else "0"
    return name, _less(step.nodes), cost, _less(step.pending), _minus(step.cpu), _minus(step.memory)


def _less(number: int) -> str:
    return f"{-number:+d}" if number else "0"


def _minus(freed: str) -> str:
    return freed.removeprefix("-") if freed.startswith("-") else freed if freed == "0" else f"-{freed}"


def _risks(risks: tuple[Risk, ...]) -> list[Block]:
    rows = [
        (
            _RISKS.get(risk.kind, risk.kind),
            f"{risk.subject}{f' ({risk.container})' if risk.container else ''}",
            risk.resource,
            str(risk.pods) if risk.pods else NONE,
            _readable(risk.resource, risk.amount),
            _readable(risk.resource, risk.bound),
        )
        for risk in risks
    ]
    headers = ("risk [same]", "of [pod]", "resource [same]", "pods", "used", "bound")
    return build_table("RISKS", headers, rows, Grouping("risk"))


def _row(container: SizedContainer) -> tuple[object, ...]:
    return (
        container.workload,
        container.container,
        container.resource,
        container.pods,
        container.request or NONE,
        container.advised,
        _readable(container.resource, container.percentile),
        _readable(container.resource, container.peak),
        container.resize or "as it is",
    )


def _readable(resource: str, amount: str | None) -> str:
    """Bytes that are no whole number of anything, rounded."""
    if amount is None:
        return NONE
    return format_amount(resource, int(amount)) if resource == "memory" and amount.isdigit() else amount


VIEW = View(
    lambda result, look: rightsize_blocks(result),
    page=PageSpec("rightsize", "How requests are derived", data=lambda result: {"sizing": sizing_data(result)}),
)


_QUANTITY = re.compile(r"(-?[0-9.]+)(m|[kKMGTPE]i?)?")
_SUFFIXES = {"": 1.0, "m": 1e-3}
_SUFFIXES |= {letter: 1000.0**power for power, letter in enumerate("kMGTPE", 1)}
_SUFFIXES |= {f"{letter}i": 1024.0**power for power, letter in enumerate("KMGTPE", 1)}


def sizing_data(result: RightsizeResult) -> dict[str, Any]:
    """Cores and bytes: what containers ask for, would, and used at their peak; and the steps, as they add up."""
    return {
        "points": [
            [
                f"{workload.workload} {workload.container}",
                workload.resource,
                _number(workload.request),
                _number(workload.advised),
                _number(workload.peak),
                workload.pods,
            ]
            for workload in result.workloads
        ],
        "steps": [[step.workload or f"all others ({step.workloads})", step.nodes, step.cost] for step in result.steps],
    }


def _number(quantity: str | None) -> float | None:
    """A quantity as Kubernetes writes it, as a number of cores or bytes."""
    match = _QUANTITY.fullmatch(quantity or "")
    return None if match is None else float(match[1]) * _SUFFIXES[match[2] or ""]
