"""Makes the result of ``rightsize``: numbers and strings, the risks, and the verdict in a sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from kwhatif.cluster.cluster import Cluster
from kwhatif.commands.rightsize.advice import Advice, AdviceSet, format_quantity, resize_of
from kwhatif.commands.rightsize.consequence import Consequence, nodes_by_group
from kwhatif.commands.rightsize.limit_ranges import quota_bounds
from kwhatif.commands.rightsize.policy_document import RightsizingPolicy
from kwhatif.commands.rightsize.result import (
    Binding,
    Rescaled,
    RightsizeResult,
    Risk,
    SizedContainer,
    Step,
    Today,
)
from kwhatif.commands.rightsize.usage_sources import usage_read
from kwhatif.commands.rightsize.workload_pods import WorkloadPods
from kwhatif.results.amounts import format_count, format_some
from kwhatif.results.base import Fidelity
from kwhatif.results.outcome import Cause, EvictedPod, NodeCount, Outcome, PendingPod
from kwhatif.simulation.edits.new_resources import NewResources
from kwhatif.simulation.placement.verdict import gaps_of_verdict
from kwhatif.simulation.scenario import PreparedScenario
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.usage.book import RESOURCES, UsageBook
from kwhatif.usage.read import UsageInputs


class Findings(msgspec.Struct, frozen=True):
    """Usage, advice, and what changes by it: advice and new resources by workload, and autoscalers of its pods."""

    read: UsageInputs
    advised: AdviceSet
    changes: Mapping[str, Sequence[Advice]]
    new: NewResources
    rescaled: Sequence[Rescaled]

    @property
    def scalings(self) -> Sequence[Rescaled]:
        """Those with which replicas change."""
        return [rescaled for rescaled in self.rescaled if rescaled.then != rescaled.replicas]


def rightsize_result(
    scenario: PreparedScenario,
    policy: RightsizingPolicy,
    findings: Findings,
    before: Consequence,
    after: Consequence,
    binds: Sequence[Binding],
    steps: Sequence[Step],
    fidelity: Fidelity,
) -> RightsizeResult:
    """The answer."""
    book, features = findings.read.book, scenario.setup.features
    advice = findings.advised.advice
    return RightsizeResult(
        policy=policy.words,
        usage=usage_read(findings.read),
        workloads=tuple(_row(sizing, resize_of(sizing, features)) for sizing in advice),
        unchanged={reason: len(names) for reason, names in findings.advised.unchanged.items()},
        today=Today(nodes=before.nodes_today, cost=before.cost_today),
        before=before.side,
        after=after.side,
        binds=tuple(binds),
        unpriced=() if after.side.cost is None else tuple(after.unpriced),
        rescaled=tuple(findings.rescaled),
        risks=tuple(risks_of(advice, book, after.state.session.cluster, after.state.session.snapshot)),
        steps=tuple(steps),
        outcome=_outcome(findings, before, after, binds, fidelity),
        fidelity=fidelity,
    )


def _row(advice: Advice, resize: str) -> SizedContainer:
    def text(amount: int | None) -> str | None:
        return None if amount is None else format_quantity(advice.resource, amount)

    return SizedContainer(
        workload=advice.workload.name,
        container=advice.container,
        resource=advice.resource,
        request=text(advice.request),
        advised=format_quantity(advice.resource, advice.advised),
        percentile=text(advice.percentile),
        peak=text(advice.peak),
        limit=text(advice.limit),
        new_limit=text(advice.new_limit),
        pods=len(advice.workload.pods),
        resize=resize,
    )


def _outcome(
    findings: Findings,
    before: Consequence,
    after: Consequence,
    binds: Sequence[Binding],
    fidelity: Fidelity,
) -> Outcome:
    state, costs = after.state, (before.side.cost, after.side.cost)
    of_pod = WorkloadPods(after.state.session.snapshot).of_pod
    unknown = gaps_of_verdict(fidelity, evicting=bool(state.evicted))
    if findings.read.book.is_of_one_moment:
        unknown += ("usage is of 1 moment, which is no percentile: take a day of samples",)
    outcome = Outcome.from_words(
        _verdict(findings, before, after, binds), unknown, good=after.side.pending <= before.side.pending
    )
    return replace(
        outcome,
        pending=tuple(_pending(of_pod, before, after)),
        evicted=len(state.evicted),
        victims=tuple(EvictedPod(pod=pod, workload=of_pod.get(pod)) for pod in state.evicted),
        added_nodes=_count_nodes(state.added, state.groups),
        removed_nodes=_count_nodes(state.removed, state.groups),
        cost=None if None in costs else round((costs[1] or 0.0) - (costs[0] or 0.0), 2),
    )


def _count_nodes(names: Sequence[str] | None, groups: Mapping[str, str]) -> tuple[NodeCount, ...]:
    return tuple(NodeCount(group=group, nodes=nodes) for group, nodes in nodes_by_group(names or (), groups))


def _pending(of_pod: Mapping[str, str], before: Consequence, after: Consequence) -> Iterator[PendingPod]:
    waited = set(before.side.pending_pods)
    why = {placement.pod: placement.message for placement in after.state.run.placements}
    evicted = set(after.state.evicted)
    for pod in after.side.pending_pods:
        cause: Cause = "waiting" if pod in waited else "evicted" if pod in evicted else "new"
        yield PendingPod(pod=pod, workload=of_pod.get(pod), cause=cause, why=why.get(pod, ""))


def _verdict(findings: Findings, before: Consequence, after: Consequence, binds: Sequence[Binding]) -> str:
    """``Saves no node: CPU requests -41%, memory requests -3%; memory binds in pool a.``"""
    if not findings.changes:
        return "No change: requests stay as they are."
    sums = {name: (before.requested[name], after.requested[name]) for name in before.requested}
    text = f"{_change('CPU', *sums['cpu'])}, {_change('memory', *sums['memory'])}"
    more_pods = sum(scaling.then - scaling.replicas for scaling in findings.scalings)
    if more_pods > 0:
        text += f", autoscalers add {format_count(more_pods, 'pod')}"
    more = after.side.pending - before.side.pending
    waits = f"Does not fit: {format_count(more, 'more pod stays', 'more pods stay')} pending. " if more > 0 else ""
    gone = before.side.nodes - after.side.nodes
    tight = _tight(binds)
    if before.side.nodes_removable is None and not waits:
        return f"Requests change: {text}; {tight}." if tight else f"Requests change: {text}."
    if gone > 0:
        money = ""
        if before.side.cost and after.side.cost is not None:
            saved = before.side.cost - after.side.cost
            money = f" and {saved:,.2f} a month ({saved / before.side.cost:.0%})"
        return f"{waits}Saves {format_count(gone, 'node')}{money}: {text}."
    if gone < 0:
        return f"{waits}Needs {format_count(-gone, 'more node')}: {text}."
    return f"{waits}Saves no node: {text}{f'; {tight}' if tight and not waits else ''}."


def _change(name: str, before: int, after: int) -> str:
    if not before:
        return f"{name} requests stay at 0" if not after else f"{name} requests are new"
    percent = round(100 * (after - before) / before)
    if not percent:
        return f"{name} requests +0%"
    return f"{name} requests {percent:+}%"


_IN_WORDS = {"pods": "the number of pods", "cpu": "CPU"}


def _tight(binds: Sequence[Binding]) -> str:
    parts = [
        f"{_IN_WORDS.get(binding.resource, binding.resource)} {'is shortest' if binding.nodes_freed == 0 else 'binds'} "
        f"{f'in pool {binding.pool} ' if binding.pool else ''}({binding.share:.0%})"
        for binding in binds
    ]
    return format_some(parts, 3) if parts else ""


HOT = 99.0
"""Percent of the time in which a node may not use more than it has."""


def risks_of(advice: Sequence[Advice], book: UsageBook, cluster: Cluster, snapshot: Snapshot) -> list[Risk]:
    """The risks, the gravest first: containers that would be killed, hot nodes, full quotas, peaks above requests."""
    return [
        *_find_oom_kills(advice),
        *_hot_nodes(book, cluster),
        *_full_quotas(cluster, snapshot),
        *_peaks(advice, book),
    ]


def _find_oom_kills(advice: Sequence[Advice]) -> Iterator[Risk]:
    for sizing in advice:
        if sizing.resource == "memory" and sizing.new_limit is not None and (sizing.peak or 0) > sizing.new_limit:
            yield _risk("oom", sizing, sizing.peak or 0, sizing.new_limit, len(sizing.workload.pods))


def _peaks(advice: Sequence[Advice], book: UsageBook) -> Iterator[Risk]:
    """Pods count by their own peaks, not by that of their workload."""
    for sizing in advice:
        if not sizing.changes:
            continue
        peaks = (book.pod_peaks.get((pod.key, sizing.container, sizing.resource), 0) for pod in sizing.workload.pods)
        above = [peak for peak in peaks if peak > sizing.advised]
        if above:
            yield _risk("peak", sizing, max(above), sizing.advised, len(above))


def _risk(kind: str, advice: Advice, amount: int, bound: int, pods: int) -> Risk:
    resource = advice.resource
    return Risk(
        kind=kind,
        subject=advice.workload.name,
        container=advice.container,
        resource=resource,
        amount=format_quantity(resource, amount),
        bound=format_quantity(resource, bound),
        pods=pods,
    )


def _hot_nodes(book: UsageBook, cluster: Cluster) -> Iterator[Risk]:
    """Nodes whose pods used more together, at the same times, than there is; pods without samples do not count."""
    pods: dict[int, list[str]] = {}
    for info, row in cluster.pods():
        pods.setdefault(row, []).append(info.key)
    for resource in RESOURCES:
        room = cluster.shapes.resources.amounts(cluster.columns.allocatable, resource).tolist()
        for row in cluster.columns.name_rank.argsort().tolist():
            used = book.together(pods.get(row, ()), resource, HOT)
            if used is not None and used > room[row]:
                yield Risk(
                    kind="node",
                    subject=cluster.columns.names[row],
                    resource=resource,
                    amount=format_quantity(resource, used),
                    bound=format_quantity(resource, int(room[row])),
                    pods=len(pods.get(row, ())),
                )


def _full_quotas(cluster: Cluster, snapshot: Snapshot) -> Iterator[Risk]:
    sums: dict[str, Counter[str]] = {}
    amounts: dict[int, dict[str, int]] = {}
    shapes = cluster.shapes
    for info, _ in cluster.pods():
        index = info.shape.index
        if index not in amounts:
            requests = zip(shapes.resources.names, shapes.requests[index].tolist(), strict=False)
            amounts[index] = {**{name: amount for name, amount in requests if name in RESOURCES}, "pods": 1}
        sums.setdefault(info.pod.namespace, Counter()).update(amounts[index])
    for quota, namespace, resource, hard in quota_bounds(snapshot):
        wanted = sums.get(namespace, Counter())[resource]
        if wanted > hard:
            written = (
                (str(wanted), str(hard))
                if resource == "pods"
                else (format_quantity(resource, wanted), format_quantity(resource, hard))
            )
            yield Risk(kind="quota", subject=quota, resource=resource, amount=written[0], bound=written[1])
