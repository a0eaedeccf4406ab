"""Changes that help the pods of a change that find no node, each tried as ``explain`` does."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.commands.gate.proposal import ChangeScenario
from kwhatif.commands.review.commands import Commands
from kwhatif.commands.review.result import Remedy
from kwhatif.simulation.explanation.options import DEFAULT_OPTIONS
from kwhatif.simulation.explanation.workloads import explain_workloads

MOST_OF_ONE = 3
"""How many changes are named for a workload."""


def find_remedies(proposal: ChangeScenario, commands: Commands) -> Iterator[Remedy]:
    """The smallest changes for one waiting pod of each workload, tried beside the rest of the change."""
    explained = explain_workloads(
        proposal.new_session(),
        proposal.pods_to_schedule,
        DEFAULT_OPTIONS,
        rollouts=proposal.new_rollouts(),
        others=proposal.unknown_kinds,
    )
    for workload in explained.workloads:
        report = next(each for each in explained.pods if each.pod == workload.explained)
        if report.placement.good:
            continue
        for fix in report.fixes[:MOST_OF_ONE]:
            yield Remedy(
                workload=workload.workload,
                change=fix.change,
                node=fix.node,
                evicts=tuple(victim.pod for victim in fix.victims),
                command=commands.explain(report.pod),
            )
