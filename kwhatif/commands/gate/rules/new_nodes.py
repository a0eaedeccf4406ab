"""The change needs no new nodes, or no more than a maximum."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta

from kwhatif.api.document_numbers import Count
from kwhatif.api.spelling_hints import suggest_spelling
from kwhatif.commands.gate.context import MOST_NODES, Context, GrownCluster
from kwhatif.commands.gate.rule import Level, Parameters, Rule
from kwhatif.errors import InputError
from kwhatif.results.amounts import format_count
from kwhatif.results.gate import Finding
from kwhatif.results.place import Placement
from kwhatif.simulation.node_pools import pool_of


class NewNodesParameters(Parameters, frozen=True, kw_only=True):
    level: Level = "warn"
    most: Annotated[Count, Meta(description="So many nodes may have to be added.")] = 0
    like: Annotated[
        tuple[str, ...],
        Meta(description="Nodes that new ones would be like, by name. Default: the first open one of every pool."),
    ] = ()


class NewNodes(Rule[NewNodesParameters]):
    name = "new-nodes"
    purpose = "The change needs no more nodes than there are, or only so many more."
    parameters = NewNodesParameters

    def threshold(self) -> str:
        return f"no more than {self.given.most} new nodes"

    def check(self, context: Context) -> Iterator[Finding]:
        units = list(self.units(context))
        short = [unit for unit in units if any(map(_count_homeless, unit.pending))]
        if not short:
            self.summary = "no new node is needed"
            return
        keys = {each.pod for unit in short for each in unit.pending if _count_homeless(each)}
        pods = [info for unit in short for info in context.new_pods(unit) if info.key in keys]
        growth = GrownCluster(context)
        needed = [(growth.nodes(pods, like), like) for like in self._templates(context)]
        enough = sorted((number, like) for number, like in needed if number is not None)
        if enough and enough[0][0] <= self.given.most:
            self.summary = f"{format_count(enough[0][0], 'new node')} like {enough[0][1]} would do"
            return
        told = [f"{number} like {like}" for number, like in enough]
        told += [f"none like {like} would help" for number, like in needed if number is None]
        number = enough[0][0] if enough else -1
        self.summary = f"needed: {', '.join(told)}"
        whole = f"{format_count(len(pods), 'pod')} without a node"
        title = f"{format_count(number, 'new node')} needed" if enough else f"no new nodes would help {whole}"
        only = short[0] if len(short) == 1 else None
        yield self.finding(
            only.subject if only else None,
            title,
            f"For {whole}: {', '.join(told)}. At most {self.given.most} may be needed; up to {MOST_NODES} were tried.",
            location=only.location if only else None,
            numbers={
                "pods": len(pods),
                "nodes": number,
                "like": enough[0][1] if enough else "",
                "most": self.given.most,
            },
            hint="add the nodes first" if enough else "kwhatif explain says what keeps the pods from every node",
        )

    def _templates(self, context: Context) -> list[str]:
        nodes = sorted(context.cluster.columns.nodes, key=lambda node: node.name)
        if self.given.like:
            names = [node.name for node in nodes]
            for name in self.given.like:
                if name not in names:
                    raise InputError(f"rule {self.name}: like: there is no node {name}{suggest_spelling(name, names)}")
            return list(self.given.like)
        pools: dict[str, str] = {}
        for node in nodes:
            if not node.spec.unschedulable:
                pools.setdefault(pool_of(node), node.name)
        return sorted(pools.values())


def _count_homeless(placement: Placement) -> bool:
    """Whether a node is all that a pod lacks: a gate or a permit is another matter."""
    return placement.outcome in ("unschedulable", "preempted")
