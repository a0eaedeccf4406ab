"""Every new pod finds a node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta

from kwhatif.api.document_numbers import Count
from kwhatif.api.objects import section
from kwhatif.cel.globs import matches_any
from kwhatif.commands.chances.trials import TrialOutcome
from kwhatif.commands.gate.chance import TrialParameters, check_frequency, describe_frequency, in_trials, numbers_of
from kwhatif.commands.gate.context import Context
from kwhatif.commands.gate.remedies import with_number
from kwhatif.commands.gate.rule import Rule
from kwhatif.plugins.volume_binding import UNBOUND
from kwhatif.results.amounts import format_count
from kwhatif.results.gate import Finding, Subject
from kwhatif.results.outcome import PendingPod
from kwhatif.results.place import Placement
from kwhatif.simulation.explanation.workload_changes import WorkloadChange

_WHAT_IT_TAKES = "says for every node what it would take"
_WHY_UNBOUND = "names the claims without a volume, and says why"
_WHY_HELD = "kwhatif queue says whose end frees the quota, and what would change it"


class UnschedulableParameters(TrialParameters, frozen=True, kw_only=True):
    most: Annotated[Count, Meta(description="Most pods of a workload that may find no node.")] = 0
    gated: Annotated[bool, Meta(description="Pods held back by scheduling gates count, too.")] = True
    evicted: Annotated[
        bool, Meta(description="Pods that had to leave for new ones and find no other node count, too.")
    ] = True


class Unschedulable(Rule[UnschedulableParameters]):
    name = "unschedulable"
    purpose = "Every new pod finds a node, and so does every pod that is evicted for one."
    parameters = UnschedulableParameters

    def threshold(self) -> str:
        return f"no more than {self.given.most} pods of a workload without a node"

    def check(self, context: Context) -> Iterator[Finding]:
        pods = left = foreign = 0
        for unit in self.units(context):
            # What another scheduler makes of a pod is a gap, not a fault of the change.
            ours = [placement for placement in unit.pending if placement.outcome != "unclaimed"]
            out = [placement for placement in ours if self.given.gated or placement.outcome != "gated"]
            pods += sum(placement.outcome != "skipped" for placement in unit.placements)
            left += len(out)
            foreign += len(unit.pending) - len(ours)
            if len(out) > self.given.most:
                first = out[0]
                others = "" if len(out) == 1 else f" (and {len(out) - 1} more)"
                yield self.finding_about(
                    unit,
                    f"{len(out)} of {format_count(len(unit.placements), 'new pod finds', 'new pods find')} no node",
                    f"{first.pod}{others}: {first.reason}",
                    numbers={"pods": len(unit.placements), "pending": len(out), "most": self.given.most},
                    hint=_hint_for(first, is_held=first.pod in context.session.queues.held),
                    pod=first.pod,
                )
            elif frequency := check_frequency(context, self.given, unit, self._left_without):
                yield self.finding_about(
                    unit,
                    f"{in_trials(frequency)} pods stay pending",
                    f"That more than {self.given.most} find no node does not happen in this run. "
                    f"{describe_frequency(frequency)}",
                    about="chance",
                    numbers=numbers_of(frequency, self.given),
                    hint="kwhatif chances tells how many, and where the others go",
                )
        others = f", {foreign} left to other schedulers" if foreign else ""
        self.summary = f"{pods - left - foreign} of {pods} new pods have a node{others}"
        yield from self._find_evicted(context)

    def remedies(self, finding: Finding, context: Context) -> Iterator[WorkloadChange]:
        """Of a workload that was to grow, as many replicas as have a node now."""
        unit = next((unit for unit in context.units if unit.subject == finding.subject), None)
        wanted = section(context.manifest_of(finding.subject) or {}, "spec").get("replicas")
        if unit is None or not isinstance(wanted, int):
            return
        before = sum(context.owners.workload_of(info.pod) == unit.subject for info, _ in context.before.pods())
        fitting = len(context.running(unit))
        if 0 < before <= fitting < wanted and before < wanted:
            words = f"{format_count(fitting, 'replica')} would fit"
            yield from with_number(context, unit.subject, "replicas", fitting, words)

    def _find_evicted(self, context: Context) -> Iterator[Finding]:
        """Pods that had to leave for new ones and find no other node, by workload."""
        given, out = self.given, dict[str, list[PendingPod]]()
        by_kueue = context.session.queues.pending
        for pod in (*by_kueue, *context.run.pending) if given.evicted and not given.selector else ():
            if pod.cause == "evicted":
                out.setdefault(pod.workload or f"Pod/{pod.pod}", []).append(pod)
        for workload, pods in out.items():
            kind, namespace, name = workload.split("/", 2)
            named = not given.namespaces or matches_any(namespace, given.namespaces)
            if not named or (given.kinds and kind not in given.kinds) or len(pods) <= given.most:
                continue
            yield self.finding(
                Subject(kind=kind, namespace=namespace, name=name),
                f"{format_count(len(pods), 'evicted pod finds', 'evicted pods find')} no other node",
                f"{pods[0].pod}{'' if pods[0] in by_kueue else ' replaces an evicted pod'}: {pods[0].why}",
                about="evicted",
                numbers={"pending": len(pods), "most": given.most},
            )
        for name in context.run.unsettled:
            yield self.finding(
                None,
                f"{name} evicts others in turns without end",
                "Each time its victims have left it finds no node, and they come back.",
                about=name,
                pod=name,
            )

    def _left_without(self, outcome: TrialOutcome, workload: str) -> bool:
        return sum(not home for home in outcome.homes.get(workload, {}).values()) > self.given.most


def _hint_for(pod: Placement, *, is_held: bool) -> str:
    if is_held:
        return _WHY_HELD
    return f"--explain {pod.pod} {_WHY_UNBOUND if UNBOUND in pod.reason else _WHAT_IT_TAKES}"
