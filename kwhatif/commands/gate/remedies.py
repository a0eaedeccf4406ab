"""Hints of rules that name a change: each was tried, by judging all once more with it.

A rule names what might help (``Rule.remedies``). It becomes a hint where the finding is gone with it and nothing else
is worse: no more pods wait, leave or cannot be created, nothing more is refused, no further update hangs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any

import msgspec
from msgspec.structs import replace

from kwhatif.api.objects import section
from kwhatif.cluster.shapes import PodInfo
from kwhatif.commands.gate.context import Context, GrownCluster
from kwhatif.commands.gate.rule import Rule
from kwhatif.errors import KwhatifError
from kwhatif.results.amounts import format_count
from kwhatif.results.gate import Finding, Subject
from kwhatif.simulation.explanation.workload_changes import Body, WorkloadChange, added_nodes, pod_spec_of
from kwhatif.simulation.placement.run import Run
from kwhatif.workloads.objects import integer

MOST_TRIALS = 8
"""How many changes are tried for the findings of one run."""


class Remedies(msgspec.Struct):
    """Tries what rules name. ``judged`` is the context of the findings; ``roll_out`` makes that of a changed change."""

    judged: Context
    roll_out: Callable[[WorkloadChange], Context]
    left: int = MOST_TRIALS

    def with_hints(self, findings: Sequence[Finding], rules: Sequence[Rule[Any]]) -> list[Finding]:
        """The findings, each with the first remedy of its rule that helps as its hint."""
        by_name = defaultdict[str, list[Rule[Any]]](list)
        for rule in rules:
            if type(rule).remedies is not Rule.remedies:
                by_name[rule.name].append(rule)
        # Several settings of a rule may find the same.
        hints = dict[str, str]()
        for finding in findings:
            if finding.fingerprint not in hints:
                hints[finding.fingerprint] = self._hint_of(finding, by_name.get(finding.rule, ()))
        return [replace(finding, hint=hints[finding.fingerprint] or finding.hint) for finding in findings]

    def _hint_of(self, finding: Finding, settings: Sequence[Rule[Any]]) -> str:
        """The first remedy that helps; empty if none does."""
        if not self.left:
            return ""
        for rule in settings:
            for remedy in rule.remedies(finding, self.judged):
                change: WorkloadChange | None = remedy
                while change is not None and self.left:
                    self.left -= 1
                    context = self._try(change)
                    if context is None:
                        break
                    if self._helps(settings, finding, context):
                        return change.change
                    change = rule.widen(finding, change, context)
        return ""

    def _try(self, change: WorkloadChange) -> Context | None:
        """The outcome with a change; None where it cannot be."""
        try:
            return self.roll_out(change)
        except KwhatifError:
            return None

    def _helps(self, rules: Sequence[Rule[Any]], finding: Finding, context: Context) -> bool:
        try:
            left = {remaining.fingerprint for rule in rules for remaining in type(rule)(rule.given).check(context)}
        except KwhatifError:
            return False
        before, after = _troubles(self.judged.run), _troubles(context.run)
        return finding.fingerprint not in left and all(now <= was for was, now in zip(before, after, strict=True))


def _troubles(run: Run) -> Sequence[int]:
    return (
        len(run.pending),
        len(run.victims),
        sum(failed_create.pods for failed_create in run.not_created),
        len(run.refusals),
        sum(bool(rollout.unfinished) for rollout in run.rollouts),
    )


# --- what rules name


def nodes_for(context: Context, pods: Sequence[PodInfo]) -> Iterator[WorkloadChange]:
    """As many nodes like one of a pool as take these pods, the fewest first.

    One fewer may do, since pods evict others and old ones of an update leave.
    """
    if pods:
        growth = GrownCluster(context)
        needed = [(growth.nodes(pods, like), like) for like in context.examples_of_pools]
        for count, like in sorted((count, like) for count, like in needed if count is not None):
            yield from (added_nodes(number, like) for number in range(max(count - 1, 1), count + 1))


def spread_over(context: Context, finding: Finding, key: str) -> Iterator[WorkloadChange]:
    """A constraint that spreads the pods of a workload over the domains of a label."""
    workload = context.manifest_of(finding.subject)
    if workload is None or not pod_spec_of(workload) or any(_keys_of(workload, key)):
        return
    selector = section(workload, "spec").get("selector")
    if not isinstance(selector, dict) or not selector.get("matchLabels"):
        return
    rule = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"}
    changed = deepcopy(workload)
    spec = pod_spec_of(changed)
    spec["topologySpreadConstraints"] = [
        *(spec.get("topologySpreadConstraints") or ()),
        {**rule, "labelSelector": selector},
    ]
    words = f"add a topologySpreadConstraint over {key} (maxSkew: 1, whenUnsatisfiable: DoNotSchedule)"
    yield WorkloadChange(words, "spread", [changed])


def _keys_of(workload: Body, key: str) -> Iterator[bool]:
    for constraint in pod_spec_of(workload).get("topologySpreadConstraints") or ():
        yield (
            constraint.get("topologyKey") == key
            and constraint.get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule"
        )


def with_number(
    context: Context, subject: Subject | None, field: str, number: int, words: str
) -> Iterator[WorkloadChange]:
    """An object with another number in a field of its spec that it has."""
    given = context.manifest_of(subject)
    if given is not None and field in section(given, "spec"):
        changed = deepcopy(given)
        section(changed, "spec")[field] = number
        yield WorkloadChange(words, field, [changed])


def one_more_replica(context: Context, subject: Subject | None) -> Iterator[WorkloadChange]:
    """A workload with one replica more."""
    workload = context.manifest_of(subject)
    number = integer(section(workload, "spec").get("replicas"), 1) + 1 if workload is not None else 0
    yield from with_number(context, subject, "replicas", number, f"run {format_count(number, 'replica')} of {subject}")
