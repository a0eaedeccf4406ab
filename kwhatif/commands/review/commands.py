"""The commands that say more of a line of a review, and those that mend what it found."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from kwhatif.commands.gate.proposal import ChangeScenario
from kwhatif.commands.review.result import Remedy
from kwhatif.simulation.explanation.options import DEFAULT_OPTIONS
from kwhatif.simulation.explanation.workloads import explain_workloads
from kwhatif.simulation.inputs import Files
from kwhatif.simulation.scenario import Scenario

_AFTER = "after.json"


class Commands(msgspec.Struct, frozen=True):
    """Commands about one change: its ``files`` as they were named, its ``heads`` as any command takes them, what they
    are compared with, and the options that name the cluster and autoscalers. Empty where these are objects of Python,
    or the cluster is edited.
    """

    files: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()
    base: str = ""
    cluster: str = ""

    @classmethod
    def for_change(cls, base: Files | None, heads: Files, scenario: Scenario) -> Commands:
        """The commands about a scenario; ``heads`` are the manifests after the change."""
        inputs = scenario.inputs
        snapshot = [inputs.snapshot] if isinstance(inputs.snapshot, str) else inputs.snapshot
        if not isinstance(snapshot, Sequence) or inputs.edits is not None:
            return cls()
        named = [*inputs.manifests, *(base or ()), *snapshot]
        if not snapshot or not all(isinstance(file, str) for file in named):
            return cls()
        options = [("--snapshot", str(file)) for file in snapshot]
        options += [("--autoscale", file) for file in inputs.autoscale]
        return cls(
            tuple(map(str, inputs.manifests)),
            tuple(map(str, heads)),
            _options(("--base", str(file)) for file in base or ()),
            _options(options),
        )

    @property
    def gate(self) -> str:
        """The whole change, judged by rules."""
        return self._join("gate", shlex.join(self.files), self.base, self.cluster)

    def explain(self, pod: str) -> str:
        """Why pods are pending."""
        gate = self.gate
        return f"{gate} --explain {shlex.quote(pod)}" if gate else ""

    def outage(self, kind: str, name: str) -> str:
        """What the loss of a node or zone does after the change; what it removes is there still."""
        files = _options(("--filename", file) for file in self.heads)
        return self._join("outage", files, "--recursive", self.cluster, _options([(f"--{kind}", name)]))

    def upgrade(self, selector: str) -> str:
        """How the upgrade of a pool goes after the change."""
        place = self._join("place", shlex.join(self.heads), "--recursive", self.cluster, f"--write-snapshot {_AFTER}")
        return place and f"{place} && kwhatif upgrade --pool {shlex.quote(selector)} --snapshot {_AFTER}"

    def _join(self, *words: str) -> str:
        return " ".join(filter(None, ("kwhatif", *words))) if self.cluster else ""


def _options(pairs: Iterable[tuple[str, str]]) -> str:
    return shlex.join([word for pair in pairs for word in pair])


MOST_OF_ONE = 3
"""How many changes are named for a workload."""


def find_remedies(proposal: ChangeScenario, commands: Commands) -> Iterator[Remedy]:
    """The smallest changes for the waiting pods of each workload, tried beside the rest of the change."""
    explained = explain_workloads(
        proposal.new_session(),
        proposal.pods_to_schedule,
        DEFAULT_OPTIONS,
        rollouts=proposal.new_rollouts(),
        unknown_kinds=proposal.unknown_kinds,
    )
    for workload in explained.workloads:
        report = next(pod for pod in explained.pods if pod.pod == workload.explained)
        if report.placement.good:
            continue
        for fix in report.fixes[:MOST_OF_ONE]:
            yield Remedy(
                workload=workload.workload,
                change=fix.change,
                node=fix.node,
                pods=fix.pods,
                waiting=fix.waiting,
                evicts=tuple(victim.pod for victim in fix.victims),
                command=commands.explain(report.pod),
            )
