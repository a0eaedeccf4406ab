"""The question of ``gate``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, cast

from kwhatif.commands.common_options import Explained, Seed
from kwhatif.commands.gate.change_question import ChangeQuestion
from kwhatif.results.gate import GateResult
from kwhatif.simulation.command import Output
from kwhatif.simulation.flag import Flag
from kwhatif.simulation.inputs import Files, Notes
from kwhatif.simulation.question import Answer
from kwhatif.simulation.scenario import LoadedScenario, PreparedScenario, Scenario

if TYPE_CHECKING:
    from kwhatif.commands.gate.judgement import GateSettings
    from kwhatif.commands.gate.proposal import ChangeScenario
    from kwhatif.scheduling.driver import DriverOptions
    from kwhatif.simulation.placement.run import Run


_FORMATS = ("json", "yaml", "markdown", "junit", "sarif", "github", "gitlab", "tap")


@dataclass(frozen=True, kw_only=True)
class Gate(ChangeQuestion[GateResult]):
    """Judge a change before it is merged: roll it out on paper, and check the result against rules.

    Options count more than KWHATIF_* variables, and those more than the rules file. KWHATIF_POLICY stands for --policy.
    """

    exit_1_when = "a rule of level error finds something"
    prints = Output(
        ("table", "wide", *_FORMATS),
        ("html", "table", *_FORMATS),
        report_help="Also write a report to a file, in any format of -o, or html, a page to look at (repeatable).",
        variable="KWHATIF_OUTPUT",
    )
    examples = (
        "samples/gate/head --base samples/gate/base --snapshot samples/gate/snapshot.json",
        (
            "samples/gate/head --base samples/gate/base --snapshot samples/gate/snapshot.json --rule "
            "preempts=error --report markdown=comment.md"
        ),
    )

    explain: Explained = ()
    levels: Annotated[
        Sequence[str],
        Flag(
            "--rule",
            metavar="NAME=LEVEL",
            pairs=str,
            variable="KWHATIF_RULE",
            help="Set a rule's level to error, warn or off, whatever the file says (repeatable).",
        ),
    ] = ()
    exemptions: Annotated[
        bool,
        Flag(
            "--no-exemptions",
            negated=True,
            variable="KWHATIF_NO_EXEMPTIONS",
            help="Ignore annotations that exempt workloads from rules.",
        ),
    ] = True
    seed: Seed = None

    def check_rules(self) -> None:
        # To read the settings is to check them.
        tuple(self.settings.rules)

    @cached_property
    def settings(self) -> GateSettings:
        """The settings of the judgement. Raises InputError for an invalid rules file, UsageError for an
        invalid level.
        """
        from kwhatif.commands.gate.gate_policy import rules_of
        from kwhatif.commands.gate.judgement import GateSettings
        from kwhatif.commands.gate.rule import all_rules

        known = all_rules()
        return GateSettings(
            rules_of(self.rules_file, known, self.levels),
            known_rules=frozenset(known),
            exemptions=self.exemptions and self.rules_file.policy.exemptions == "allowed",
            seed=self.seed or 0,
            policy=f"{self.rules_file.description}{', --rule ' + ' '.join(self.levels) if self.levels else ''}",
        )

    def files_of_settings(self, scenario: Scenario) -> Files:
        named = (getattr(rule.given, field) for rule in self.settings.rules for field in rule.given.files)
        files = (path for value in named for path in ([value] if isinstance(value, str) else value))
        return [*super().files_of_settings(scenario), *files]

    def options(self, scenario: PreparedScenario) -> DriverOptions:
        detailed = any(rule.scores and rule.given.level != "off" for rule in self.settings.rules)
        return {"seed": self.seed, "detailed": detailed, "observer": cast("ChangeScenario", scenario).cycles}

    def needs_pods(self, scenario: LoadedScenario) -> bool:
        judged = self.settings.kinds_without_pods
        return super().needs_pods(scenario) and not any(manifest.obj.kind in judged for manifest in scenario.manifests)

    def needs_pod_list(self, scenario: PreparedScenario) -> bool:
        from kwhatif.api.workloads_and_storage import PodDisruptionBudget

        expanded, there = scenario.expanded, scenario.snapshot.objects.list_all(PodDisruptionBudget)
        # The controller says of a budget that is there whether a pod of it is healthy.
        without_healthy_pods = {
            (budget.namespace, budget.name) for budget in there if budget.status.current_healthy == 0
        }
        budgets = (resource for resource in expanded.objects if isinstance(resource, PodDisruptionBudget))
        moving = bool(expanded.pods) or any(rollout.wants_pods for rollout in expanded.rollouts)
        return moving or any((budget.namespace, budget.name) not in without_healthy_pods for budget in budgets)

    def try_out(self, scenario: PreparedScenario) -> Run:
        from kwhatif.commands.gate.proposal import roll_out_change

        return roll_out_change(cast("ChangeScenario", scenario), self.select_pods).run

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> Answer[GateResult]:
        from kwhatif.commands.gate.excerpts import with_excerpts
        from kwhatif.commands.gate.judgement import judge_change

        (scenario,) = scenarios
        proposal = cast("ChangeScenario", scenario)

        answer = judge_change(proposal, self.settings, self)
        for text in answer.result.warnings:
            notes.warn(text)
        with self.repository():
            return replace(answer, result=with_excerpts(answer.result))
