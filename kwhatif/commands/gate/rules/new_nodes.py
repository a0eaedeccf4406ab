"""The change needs no new nodes, or no more than a maximum."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta

from kwhatif.api.document_numbers import Count
from kwhatif.api.spelling_hints import suggest_spelling
from kwhatif.cluster.shapes import PodInfo
from kwhatif.commands.gate.context import MOST_NODES, Context, GrownCluster
from kwhatif.commands.gate.rule import Level, Parameters, Rule
from kwhatif.errors import InputError
from kwhatif.results.amounts import format_count, format_counts
from kwhatif.results.gate import Finding
from kwhatif.results.place import Placement
from kwhatif.simulation.explanation.workload_changes import WorkloadChange, added_nodes
from kwhatif.simulation.session import PodToSchedule


class NewNodesParameters(Parameters, frozen=True, kw_only=True):
    level: Level = "warn"
    most: Annotated[Count, Meta(description="Most nodes that may have to be added.")] = 0
    like: Annotated[
        tuple[str, ...],
        Meta(description="Nodes that new ones would be like, by name. Default: the first open one of every pool."),
    ] = ()


class NewNodes(Rule[NewNodesParameters]):
    name = "new-nodes"
    purpose = "The change fits the nodes there are, or needs no more new ones than allowed."
    details = (
        "Adds up to 200 nodes like the first schedulable node of each pool, with daemon pods, without "
        "evictions, and reports the fewest that do."
    )
    parameters = NewNodesParameters

    def threshold(self) -> str:
        return f"no more than {self.given.most} new nodes"

    def check(self, context: Context) -> Iterator[Finding]:
        units = list(self.units(context))
        short = [unit for unit in units if any(map(_count_homeless, unit.pending))]
        keys = {placement.pod for unit in short for placement in unit.pending if _count_homeless(placement)}
        pods = [info for unit in short for info in context.new_pods(unit) if info.key in keys]
        evicted = [] if self.given.selector else self._evicted_pods(context)
        pods += evicted
        added = len(context.scale_up.nodes) if context.scale_up is not None else 0
        if added > self.given.most:
            yield self._finding_of_autoscalers(context, added)
        if not pods:
            self.summary = f"autoscalers add {format_count(added, 'node')}" if added else "no new node is needed"
            return
        growth = GrownCluster(context)
        needed = [(growth.nodes(pods, like), like) for like in self._templates(context)]
        enough = sorted((number, like) for number, like in needed if number is not None)
        if enough and enough[0][0] <= self.given.most:
            self.summary = f"{format_count(enough[0][0], 'new node')} like {enough[0][1]} would do"
            return
        parts = [f"{number} like {like}" for number, like in enough]
        parts += [f"none like {like} would help" for number, like in needed if number is None]
        number = enough[0][0] if enough else -1
        self.summary = f"needed: {', '.join(parts)}"
        whole = f"{format_count(len(pods), 'pod')} without a node"
        title = f"{format_count(number, 'new node')} needed" if enough else f"no new nodes would help {whole}"
        only = short[0] if len(short) == 1 and not evicted else None
        yield self.finding(
            only.subject if only else None,
            title,
            f"For {whole}: {', '.join(parts)}. At most {self.given.most} may be needed; up to {MOST_NODES} were tried.",
            location=only.location if only else None,
            numbers={
                "pods": len(pods),
                "nodes": number,
                "like": enough[0][1] if enough else "",
                "most": self.given.most,
            },
            hint="" if enough else f"--explain {pods[0].key} says why no node takes it",
            pod="" if enough else pods[0].key,
        )

    def remedies(self, finding: Finding, context: Context) -> Iterator[WorkloadChange]:
        if finding.numbers.get("like"):
            yield added_nodes(int(finding.numbers["nodes"]), str(finding.numbers["like"]))

    def _evicted_pods(self, context: Context) -> list[PodInfo]:
        """The pods that had to leave for new ones and find no other node."""
        keys = {pod.pod for pod in context.run.pending if pod.cause == "evicted"}
        return [context.session.info(PodToSchedule(pod)) for pod in context.run.left if pod.key in keys]

    def _finding_of_autoscalers(self, context: Context, added: int) -> Finding:
        nodes = () if context.scale_up is None else context.scale_up.nodes
        groups = format_counts(Counter(node.group for node in nodes))
        return self.finding(
            None,
            f"autoscalers add {format_count(added, 'new node')}",
            f"{groups}. At most {self.given.most} may be needed.",
            about="autoscalers",
            numbers={"nodes": added, "most": self.given.most},
        )

    def _templates(self, context: Context) -> list[str]:
        if self.given.like:
            names = sorted(context.cluster.columns.names)
            for name in self.given.like:
                if name not in names:
                    raise InputError(f"rule {self.name}: like: there is no node {name}{suggest_spelling(name, names)}")
            return list(self.given.like)
        return list(context.examples_of_pools)


def _count_homeless(placement: Placement) -> bool:
    """Whether a node is all that a pod lacks: a gate or a permit is another matter."""
    return placement.outcome in ("unschedulable", "preempted")
