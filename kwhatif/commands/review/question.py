"""The question of ``review``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, cast

from msgspec import structs

from kwhatif.commands.gate.change_question import ChangeQuestion, sides_of
from kwhatif.commands.review.result import ReviewResult
from kwhatif.results.gate import GateFiles
from kwhatif.simulation.flag import Flag
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.question import Answer
from kwhatif.simulation.scenario import PreparedScenario

if TYPE_CHECKING:
    from kwhatif.commands.gate.proposal import ChangeScenario
    from kwhatif.scheduling.driver import DriverOptions

_CHANGE = "samples/gate/head --base samples/gate/base --snapshot samples/gate/snapshot.json"


@dataclass(frozen=True, kw_only=True)
class Review(ChangeQuestion[ReviewResult]):
    """Show on one page what a change does: which pods go where, which wait, what it costs and puts at risk, what helps.

    It reads a change as the gate does, without rules. Each line names the command that says more.
    """

    workers: Annotated[
        int | None, Flag("--workers", metavar="N", least=1, help="Number of processes. Default: one a processor.")
    ] = None

    exit_1_when = "a pod of the change, or one that it evicts, finds no node"
    examples = (_CHANGE, f"{_CHANGE} -o markdown")

    def options(self, scenario: PreparedScenario) -> DriverOptions:
        return {"observer": cast("ChangeScenario", scenario).cycles}

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> Answer[ReviewResult]:
        from kwhatif.commands.gate.excerpts import at_changed_lines
        from kwhatif.commands.gate.files import describe_missing
        from kwhatif.commands.gate.proposal import roll_out_change
        from kwhatif.commands.review.commands import Commands, find_remedies
        from kwhatif.commands.review.consequences import (
            changed_budgets,
            changed_quotas,
            changed_requests,
            evicted_pods,
            placed_workloads,
        )
        from kwhatif.commands.review.risks import RiskSearch
        from kwhatif.simulation.fidelity.assess import assess
        from kwhatif.simulation.placement.afterwards import snapshot_after_run
        from kwhatif.simulation.placement.conclusion import conclude, outcome_of

        (scenario,) = scenarios
        proposal = cast("ChangeScenario", scenario)
        rolled_out = roll_out_change(proposal, self.select_pods)
        run = rolled_out.run
        with self.repository():
            _, heads = sides_of(self.base, scenario.inputs.manifests)
        commands = Commands.for_change(self.base, heads, scenario)
        fidelity = assess(run)
        context = rolled_out.context(fidelity)
        after = snapshot_after_run(proposal.session.snapshot, proposal.edited.covered, proposal.expanded, run)
        search = RiskSearch(rolled_out, after, context, commands, self.workers)
        risks = search.risks()
        files = proposal.read.files or GateFiles()
        concluded = structs.replace(run, **proposal.refusal_fields)
        if files.missing:
            outcome = conclude(concluded, fidelity, f"unknown: {describe_missing(files)}").judge(good=False)
        else:
            outcome = outcome_of(concluded, fidelity)
        with self.repository():
            changes = at_changed_lines(rolled_out.changes(context), files)
        result = ReviewResult(
            outcome=outcome,
            files=files,
            changes=changes,
            requests=tuple(changed_requests(context)),
            workloads=tuple(placed_workloads(context, commands)),
            evicted=tuple(evicted_pods(context)),
            budgets=tuple(changed_budgets(proposal.before, after)),
            quotas=tuple(changed_quotas(context, proposal.before, after)),
            rollouts=run.rollouts,
            scale_up=run.scale_up,
            risks=risks,
            examined=tuple(search.examined),
            remedies=() if outcome.good else tuple(find_remedies(proposal, commands)),
            refusals=tuple(concluded.refusals),
            failed=tuple(concluded.failed),
            fidelity=fidelity,
            more=commands.gate,
        )
        return Answer(result, [run], run.placements)
