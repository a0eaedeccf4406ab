"""Lets every rule judge the outcome of a change."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, cast

import msgspec
from msgspec import structs

from kwhatif.commands.explain.changed_scenario import prepare_changed
from kwhatif.commands.gate.context import Context
from kwhatif.commands.gate.files import describe_missing
from kwhatif.commands.gate.gate_policy import EXEMPTIONS, apply_exemptions, find_forbidden, read_exemptions
from kwhatif.commands.gate.proposal import ChangeScenario, RolledOutChange, roll_out_change
from kwhatif.commands.gate.remedies import Remedies
from kwhatif.commands.gate.rule import Rule
from kwhatif.commands.gate.units import Unit
from kwhatif.errors import KwhatifError, PluginError
from kwhatif.progress import track
from kwhatif.results.amounts import format_count, format_some
from kwhatif.results.gate import Change, Finding, GateFiles, GateResult, RuleOutcome, describe_findings
from kwhatif.simulation.explanation.workload_changes import WorkloadChange
from kwhatif.simulation.fidelity.assess import assess
from kwhatif.simulation.placement.conclusion import conclude
from kwhatif.simulation.placement.scaled_out import ScaledOutChange, place_scaled_out
from kwhatif.simulation.question import Answer, Question
from kwhatif.workloads.pod_autoscalers import AUTOSCALERS

NOTHING = "nothing to judge: the change adds and removes no pods"
_MOST_NAMED = 3


class GateSettings(msgspec.Struct, frozen=True):
    """How to judge.

    ``known_rules`` are the rules that an exemption may name, run or not; none counts unless ``exemptions``. ``policy``
    says where the rules came from. Trials that are left to chance go by a ``seed``.
    """

    rules: Sequence[Rule[Any]]
    known_rules: Collection[str]
    exemptions: bool = True
    policy: str = ""
    seed: int = 0

    @property
    def kinds_without_pods(self) -> frozenset[str]:
        """The kinds that a rule looks at though no pod may change with them."""
        on = (rule.kinds_without_pods for rule in self.rules if rule.given.level != "off")
        return frozenset[str]().union(*on)


def judge_change(
    proposal: ChangeScenario, settings: GateSettings, question: Question[GateResult]
) -> Answer[GateResult]:
    """Roll a change out, as the question has it; the rules judge it."""
    rolled_out = roll_out_change(proposal, question.select_pods)
    fidelity = assess(rolled_out.run)

    def context_of(rolled_out: RolledOutChange) -> Context:
        def scale_out() -> ScaledOutChange:
            scenario = rolled_out.proposal
            return place_scaled_out(scenario, scenario.changes.apply, question.select_pods)

        return rolled_out.context(fidelity, settings.seed, scale_out)

    def roll_out_with(change: WorkloadChange) -> Context:
        changed = prepare_changed(question, proposal, proposal.before, change)
        return context_of(roll_out_change(cast("ChangeScenario", changed), question.select_pods))

    context = context_of(rolled_out)
    result = _judgement(rolled_out, settings, context, Remedies(context, roll_out_with))
    return Answer(result, [rolled_out.run], rolled_out.run.placements)


def _judgement(rolled_out: RolledOutChange, settings: GateSettings, context: Context, remedies: Remedies) -> GateResult:
    proposal, changes = rolled_out.proposal, rolled_out.changes(context)
    judgement = _Judgement(context, settings)
    open_ends = [*proposal.unknown_kinds, *proposal.read.gaps]
    nothing = (
        (proposal.read.base is not None or not context.units)
        and not open_ends
        and not _affects_pods(context.units, changes)
        and not any(
            change.what in ("added", "changed") and change.subject.kind in settings.kinds_without_pods
            for change in changes
        )
    )
    if not nothing:
        judgement.run(remedies)
    files: GateFiles = proposal.read.files or GateFiles()
    verdict, words = judgement.verdict, judgement.verdict_text
    if files.missing:
        verdict, words = "unknown", f"UNKNOWN  {describe_missing(files)}"
    warnings = (*_unmatched_workloads(changes, context), *_unscheduled_by_choice(context), *judgement.warnings)
    return GateResult(
        outcome=conclude(structs.replace(rolled_out.run, **proposal.refusal_fields), context.fidelity, words).judge(
            good=verdict in ("pass", "warn")
        ),
        verdict=verdict,
        judged="everything" if proposal.read.base is None else "change",
        note=_describe_nothing(changes) if nothing else "",
        files=files,
        changes=changes,
        placements=tuple(context.placements),
        scale_up=context.scale_up,
        rules=tuple(judgement.outcomes()),
        findings=tuple(judgement.findings),
        exemptions=tuple(judgement.exempted),
        warnings=(*context.setup.configuration.warnings, *warnings),
        fidelity=context.fidelity,
        policy=settings.policy,
    )


def _describe_nothing(changes: Sequence[Change]) -> str:
    """``nothing to judge: ...; no rule looks at ConfigMap shop/settings``."""
    others = [str(change.subject) for change in changes if change.what != "unchanged"]
    return f"{NOTHING}; no rule looks at {format_some(others, _MOST_NAMED)}" if others else NOTHING


def _unmatched_workloads(changes: Sequence[Change], context: Context) -> Iterator[str]:
    """Workloads that are new to the snapshot although their pods run in it, or although the base has them."""
    updated = {unit.subject for unit in context.units if unit.plan is not None}
    for change in changes:
        known = change.subject in updated or change.subject.kind == "Pod" or change.what not in ("added", "changed")
        if not known and change.what == "changed" and not change.pods_before and change.pods_after:
            pods = format_count(change.pods_after, "pod of it is", "pods of it are")
            yield f"{change.subject} is changed by the manifests, but not in the snapshot: {pods} taken to be new"
        elif not known and change.pods_after > change.pods_before > 0:
            yield (
                f"{change.subject} is not in the snapshot, though {format_count(change.pods_before, 'pod')} of it are: "
                "they are taken to stay beside the new ones"
            )


def _unscheduled_by_choice(context: Context) -> Iterator[str]:
    """Pods of the change that are not scheduled, and that do not run either."""
    running = {info.key for info, _ in context.cluster.pods()}
    for unit in context.units:
        alone = [
            placement
            for placement in unit.placements
            if placement.outcome == "skipped" and placement.pod not in running
        ]
        if alone:
            yield f"{unit.subject}: {format_count(len(alone), 'pod')} not judged: {alone[0].message}"


def _affects_pods(units: Sequence[Unit], changes: Sequence[Change]) -> bool:
    """Whether any pod is affected, or would be but for a refusal, or will be under another load."""
    return any(
        unit.placements
        or unit.refusals
        or unit.failed
        or (unit.plan is not None and (unit.plan.creates or unit.plan.removes or unit.plan.unfinished))
        for unit in units
    ) or any(
        (change.what == "removed" and change.pods_before)
        or (change.what != "unchanged" and change.subject.kind in AUTOSCALERS)
        for change in changes
    )


# --- the verdict


class _Judgement:
    """The outcome of all rules on a change."""

    def __init__(self, context: Context, settings: GateSettings) -> None:
        self._context, self._settings = context, settings
        self.findings: list[Finding] = []
        self.exempted: list[Any] = []
        self.warnings: list[str] = []
        self._outcomes: list[RuleOutcome] | None = None

    def run(self, remedies: Remedies) -> None:
        units = self._context.units
        settings = self._settings
        exemptions, invalid = read_exemptions(units, settings.known_rules) if settings.exemptions else ({}, [])
        if not settings.exemptions:
            self.warnings += find_forbidden(units)
        self._outcomes = []
        for rule in track(self._settings.rules, "Judging by", "rules"):
            findings = [] if rule.given.level == "off" else _findings_of(rule, self._context)
            counted, exempted = apply_exemptions(findings, exemptions)
            self.findings += counted
            self.exempted += exempted
            self._outcomes.append(_outcome(rule, counted, bool(exempted)))
        if claimed := len(exemptions) + len(invalid):
            self.findings += invalid
            self._outcomes.append(
                RuleOutcome(
                    rule=EXEMPTIONS,
                    level="error",
                    status="failed" if invalid else "passed",
                    checked=claimed,
                    findings=len(invalid),
                    threshold="each names a rule and a reason",
                    summary=f"{format_count(claimed, 'exemption')}, {len(self.exempted)} made use of",
                )
            )
        self.findings = remedies.with_hints(sorted(self.findings, key=_report_order), self._settings.rules)

    @property
    def verdict_text(self) -> str:
        """``FAIL  2 errors, 1 warning, 1 exempted``."""
        errors = sum(finding.level == "error" for finding in self.findings)
        findings = describe_findings(errors, len(self.findings) - errors, len(self.exempted), self._context.placements)
        return f"{self.verdict.upper()}  {findings}"

    @property
    def verdict(self) -> Any:
        if any(finding.level == "error" for finding in self.findings):
            return "fail"
        return "warn" if self.findings else "pass"

    def outcomes(self) -> list[RuleOutcome]:
        """The outcome of each rule; without any rule run, none applies."""
        if self._outcomes is not None:
            return self._outcomes
        return [
            RuleOutcome(
                rule=rule.name,
                level=rule.given.level,
                status="off" if rule.given.level == "off" else "not applicable",
                threshold=rule.threshold(),
            )
            for rule in self._settings.rules
        ]


def _findings_of(rule: Rule[Any], context: Context) -> list[Finding]:
    """What a rule finds. Raises PluginError for one that fails."""
    try:
        findings = list(rule.check(context))
    except KwhatifError:
        raise
    except Exception as error:
        raise PluginError(rule.name, "check", f"{type(error).__name__}: {error}") from error
    for finding in findings:
        if not isinstance(finding, Finding):
            raise PluginError(rule.name, "check", f"expected findings, found {finding!r}")
    return findings


def _outcome(rule: Rule[Any], findings: Sequence[Finding], exempted: bool) -> RuleOutcome:
    level, scope = rule.given.level, rule.given.scope
    if level == "off":
        status = "off"
    elif findings:
        status = "failed" if level == "error" else "warned"
    elif exempted:
        status = "exempted"
    else:
        status = "passed" if rule.checked else "not applicable"
    return RuleOutcome(
        rule=rule.name,
        level=level,
        status=status,  # type: ignore[arg-type]
        checked=rule.checked,
        findings=len(findings),
        threshold=rule.threshold(),
        summary=f"{rule.summary} ({scope} alone)" if rule.summary and scope else rule.summary,
    )


def _report_order(finding: Finding) -> tuple[Any, ...]:
    """Errors first, then by file, line and rule."""
    where = finding.location
    return (
        finding.level != "error",
        where.file if where else "",
        where.line if where else 0,
        finding.rule,
        str(finding.subject or ""),
        finding.title,
    )
