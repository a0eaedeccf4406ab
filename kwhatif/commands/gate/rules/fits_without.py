"""The change still fits when nodes fail: the biggest, any one, or any one zone.

It is rolled out first. Then the nodes are removed with their pods, whose replacements have to find room on the others
without evictions (``OutageSimulator`` of ``commands/gate/context.py``). Pods that find none count if there are more of
them than without the change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Literal

from msgspec import Meta
from msgspec.structs import replace

from kwhatif.api.document_numbers import Count
from kwhatif.commands.gate.context import Context, StrandedPod
from kwhatif.commands.gate.rule import Level, Parameters, Rule
from kwhatif.commands.gate.units import Unit
from kwhatif.fleet.study import reduce_garbage_collection
from kwhatif.results.amounts import format_count, format_some
from kwhatif.results.gate import Finding
from kwhatif.simulation.explanation.workload_changes import WorkloadChange, added_nodes
from kwhatif.simulation.node_pools import zone_of

Gone = Literal["biggest-node", "any-node", "any-zone"]


class FitsWithoutParameters(Parameters, frozen=True, kw_only=True):
    level: Level = "warn"
    gone: Annotated[
        tuple[Gone, ...],
        Meta(description="What is lost: the biggest node (by cpu, then memory), any one node, any one zone."),
    ] = ("biggest-node",)
    most: Annotated[Count, Meta(description="Most pods that may find no room then.")] = 0


class FitsWithout(Rule[FitsWithoutParameters]):
    name = "fits-without"
    purpose = "After the change the cluster survives the loss of its biggest node, of any node or of any zone."
    details = (
        "Removes nodes after the rollout. Controllers recreate the pods at once, and they evict nobody. What "
        "finds no room counts if it is more than without the change."
    )
    parameters = FitsWithoutParameters

    def threshold(self) -> str:
        losses = " or ".join(map(_describe_loss, self.given.gone))
        return f"no more than {self.given.most} pods without room when {losses} is gone"

    def check(self, context: Context) -> Iterator[Finding]:
        cases = [(what, name, nodes) for what in self.given.gone for name, nodes in _cases(what, context)]
        self.checked = len(cases)
        with reduce_garbage_collection():
            bad = [findings for case in cases if (findings := self._findings(context, *case))]
        worst: dict[tuple[str, str], tuple[int, Finding]] = {}
        losses = Counter[tuple[str, str]]()
        for findings in bad:
            for what, pods, finding in findings:
                key = what, str(finding.subject or "")
                losses[key] += 1
                if key not in worst or pods > worst[key][0]:
                    worst[key] = pods, finding
        # Findings name what was lost; where there is none, the rule says what it tried.
        tried = f": without {format_some([name for _, name, _ in cases], 3)}" if cases and not bad else ""
        self.summary = f"{len(cases) - len(bad)} of {len(cases)} survived{tried}"
        for key, (_, finding) in worst.items():
            several = f", the worst of {losses[key]} {key[0].removeprefix('any-')}s" if losses[key] > 1 else ""
            yield replace(finding, title=f"{finding.title}{several}")

    def remedies(self, finding: Finding, context: Context) -> Iterator[WorkloadChange]:
        """A node like one of a pool, though not like one of several that are lost: it would be lost with them."""
        cases = (case for what in self.given.gone for case in _cases(what, context))
        nodes = next(nodes for name, nodes in cases if name == finding.numbers["gone"])
        for like in context.examples_of_pools:
            if len(nodes) == 1 or like not in nodes:
                yield added_nodes(1, like)

    def _findings(self, context: Context, what: str, name: str, nodes: list[str]) -> list[tuple[str, int, Finding]]:
        """What is gone, how many pods of one workload would have no room, and what to say of it."""
        lost, stranded = context.outage(nodes)
        if len(stranded) <= self.given.most:
            return []
        before = {pod.pod.key for pod in context.outage_before(nodes)[1]}
        if len(stranded) <= len(before):
            return []
        return [
            (what, len(mine), self._finding(what, name, unit, mine, lost, len(stranded), len(before)))
            for unit, mine in self._by_unit(context, stranded, before)
        ]

    def _by_unit(
        self, context: Context, stranded: list[StrandedPod], before: set[str]
    ) -> Iterator[tuple[Unit | None, list[StrandedPod]]]:
        """The pods by the workload of the change that they belong to; others together, if they had room before."""
        groups: dict[int, tuple[Unit | None, list[StrandedPod]]] = {}
        for pod in stranded:
            unit = context.owner.get(pod.pod.key)
            if pod.pod.key not in before if unit is None else self.given.selects(unit):
                groups.setdefault(id(unit), (unit, []))[1].append(pod)
        yield from groups.values()

    def _finding(
        self,
        what: str,
        name: str,
        unit: Unit | None,
        stranded_pods: list[StrandedPod],
        pods: int,
        stranded: int,
        before: int,
    ) -> Finding:
        message = (
            f"Without {name}, {format_count(pods, 'pod')} have to find another node and "
            f"{format_count(stranded, 'finds', 'find')} none"
            f" (without the change {before}): {format_some([pod.pod.key for pod in stranded_pods], 5)}. "
            f"{stranded_pods[0].pod.key}: {stranded_pods[0].message}"
        )
        whose = "" if unit is not None else "other workloads: "
        return self.finding(
            unit.subject if unit else None,
            f"{whose}{format_count(len(stranded_pods), 'pod')} would not fit without {name}",
            message,
            location=unit.location if unit else None,
            about=what,
            numbers={
                "gone": name,
                "pods": pods,
                "stranded": stranded,
                "strandedHere": len(stranded_pods),
                "before": before,
                "most": self.given.most,
            },
        )


def _describe_loss(what: str) -> str:
    return {"biggest-node": "the biggest node", "any-node": "any one node", "any-zone": "any one zone"}[what]


def _cases(what: str, context: Context) -> Iterator[tuple[str, list[str]]]:
    """What is gone by name, and its nodes. One without pods that would have to go elsewhere is survived at once."""
    columns = context.cluster.columns
    if what == "any-node":
        yield from ((f"node {name}", [name]) for name in sorted(columns.names))
    elif what == "any-zone":
        zones: dict[str, list[str]] = {}
        for node in columns.nodes:
            zones.setdefault(zone_of(node), []).append(node.name)
        yield from ((f"zone {zone}", nodes) for zone, nodes in sorted(zones.items()) if zone)
    elif len(columns):
        amounts = context.cluster.shapes.resources.amounts
        cpu, memory = (amounts(columns.allocatable, name) for name in ("cpu", "memory"))
        row = min(range(len(columns)), key=lambda row: (-cpu[row], -memory[row], columns.names[row]))
        yield f"node {columns.names[row]}", [columns.names[row]]
