"""Rolls a change out on a copy of the cluster, and lets every rule judge the outcome.

Removed objects leave first; objects without pods are applied next; then all new pods are scheduled, by priority; then
updates are rolled out one by one, as ``place`` does it.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.clock import read_clock
from kwhatif.cluster.cluster import FINISHED, Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.commands.chances.trials import ChancesBase, Outcome, outcomes_of
from kwhatif.commands.gate.change import ChangeSet, compare_manifests, remove
from kwhatif.commands.gate.context import Context
from kwhatif.commands.gate.gate_policy import EXEMPTIONS, find_forbidden, read_claims, settle
from kwhatif.commands.gate.rule import Rule
from kwhatif.commands.gate.scaled_out import ScaledOutChange
from kwhatif.commands.gate.units import Unit, subject_of, subject_of_workload, units_of
from kwhatif.errors import KwhatifError, PluginError
from kwhatif.progress import track
from kwhatif.results.amounts import format_count, format_some
from kwhatif.results.base import Fidelity
from kwhatif.results.gate import Change, Finding, GateResult, RuleOutcome, Subject, describe_findings
from kwhatif.results.place import failures_left
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.schedule_one import Observer, Scheduler
from kwhatif.simulation.autoscalers.node_groups import observation_time_of
from kwhatif.simulation.edits.draft import Draft
from kwhatif.simulation.expansion.pods import template_paths
from kwhatif.simulation.ownership import Owners
from kwhatif.simulation.placement.conclusion import conclude
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.placement.runs import place_pods
from kwhatif.simulation.question import PendingResult
from kwhatif.simulation.scenario import LoadedScenario, PreparedScenario
from kwhatif.simulation.study import StudyBase
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.workloads.pod_autoscalers import AUTOSCALERS

NOTHING = "nothing to judge: the change makes no pods and takes none away"
_MOST_NAMED = 3


@dataclass(frozen=True)
class GateSettings:
    """How to judge.

    ``known`` are the rules that an exemption may name, run or not; none counts unless ``exemptions``. ``policy`` says
    where the rules came from. Trials that are left to chance go by a ``seed``.
    """

    rules: Sequence[Rule[Any]]
    known_rules: Collection[str]
    exemptions: bool = True
    policy: str = ""
    seed: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class GateScenario(PreparedScenario):
    """A change to judge.

    ``changes`` are what differs, and ``before`` is the snapshot with all that is removed, ``before_change`` the one
    without it, before anything is applied, where that is done more than once. ``cycles`` remembers what the scheduler
    did.
    """

    changes: ChangeSet
    before: Snapshot
    before_change: Snapshot | None = None
    cycles: CycleRecorder = field(default_factory=lambda: CycleRecorder())


def apply_change(scenario: LoadedScenario) -> tuple[ChangeSet, LoadedScenario]:
    """What changes, and the scenario without what is removed. Raises InputError for what cannot be understood."""
    changes = compare_manifests(
        scenario.read.base, scenario.manifests, template_paths(scenario.inputs.manifest_options)
    )
    draft = Draft(scenario.snapshot)
    remove(draft, {subject_of(manifest) for manifest in changes.removed}, Owners(scenario.snapshot))
    return changes, scenario.with_snapshot(draft.snapshot)


def judge_change(
    proposal: GateScenario, terms: GateSettings, scale_out: Callable[[], ScaledOutChange]
) -> PendingResult[GateResult]:
    """Roll a change out; the rules judge it once its fidelity is known. The snapshot ``before`` is not changed.
    ``scale_out`` rolls it out once more, with its workloads at the upper bounds of their autoscalers.
    """
    session, expanded = proposal.session, proposal.expanded
    forked = session.cluster.fork()
    run = place_pods(
        session,
        proposal.pods_to_schedule,
        rollouts=expanded.rollouts,
        others=proposal.unknown_kinds,
        scaler=proposal.scaler,
    )
    placements = tuple(run.placements)

    def before() -> Cluster:
        if not proposal.changes.removed:
            return forked
        return session.with_snapshot(proposal.before, shapes=session.cluster.shapes).cluster

    def throw(topology_key: str, trials: int) -> Sequence[Outcome]:
        ground = ChancesBase(
            StudyBase.from_scenario(proposal), proposal.new_rollouts, topology_key, updates=bool(expanded.rollouts)
        )
        return outcomes_of(ground, trials, terms.seed)

    def result(fidelity: Fidelity) -> GateResult:
        owners = Owners(proposal.snapshot)
        made = dataclasses.replace(
            expanded,
            pods=[*expanded.pods, *(session.creations.pods if session.creations is not None else ())],
            failed=list(failures_left(expanded.failed, run.created)),
        )
        templates, moved = template_paths(proposal.inputs.manifest_options), proposal.edited.waiting_pods
        context = Context(
            units=units_of(proposal.changes.apply, templates, made, moved, placements, run.rollouts, owners),
            placements=placements,
            session=session,
            owners=owners,
            fidelity=fidelity,
            now=observation_time_of(proposal.snapshot, proposal.inputs.now),
            judged_at=proposal.inputs.now or read_clock(),
            make_before=before,
            scale_up=run.scale_up,
            run=run,
            margins=proposal.cycles.margins,
            tried=proposal.cycles.tried,
            throw=throw,
            scaled=expanded.scaled,
            scale_out=scale_out,
            groups=run.groups,
            changes=proposal.changes.changes,
        )
        return _judgement(proposal, terms, context, run)

    return PendingResult([run], result, placements)


def _judgement(proposal: GateScenario, terms: GateSettings, context: Context, run: Run) -> GateResult:
    changes = tuple(_with_pod_counts([*proposal.changes.changes, *_rescaled_workloads(context)], proposal, context))
    judged = _Judgement(context, terms)
    open_ends = [*proposal.unknown_kinds, *proposal.read.gaps]
    seen = {kind for rule in terms.rules if rule.given.level != "off" for kind in rule.kinds_without_pods}
    nothing = (
        proposal.read.base is not None
        and not open_ends
        and not _count_outcomes(context.units, changes)
        and not any(change.what in ("added", "changed") and change.subject.kind in seen for change in changes)
    )
    if not nothing:
        judged.run()
    told = (*_strangers(changes, context), *_left_alone(context), *judged.warnings)
    return GateResult(
        outcome=conclude(
            dataclasses.replace(run, **proposal.refusal_fields), context.fidelity, judged.verdict_text
        ).judge(good=judged.verdict != "fail"),
        verdict=judged.verdict,
        judged="everything" if proposal.read.base is None else "change",
        note=_describe_nothing(changes) if nothing else "",
        changes=changes,
        placements=tuple(context.placements),
        scale_up=context.scale_up,
        rules=tuple(judged.outcomes()),
        findings=tuple(judged.findings),
        exemptions=tuple(judged.exempted),
        warnings=(*context.setup.configuration.warnings, *told),
        fidelity=context.fidelity,
        policy=terms.policy,
    )


def _describe_nothing(changes: Sequence[Change]) -> str:
    """``nothing to judge: ...; no rule looks at ConfigMap shop/settings``."""
    others = [str(change.subject) for change in changes if change.what != "unchanged"]
    return f"{NOTHING}; no rule looks at {format_some(others, _MOST_NAMED)}" if others else NOTHING


# --- the change


class CycleRecorder(Observer):
    """Records which pods were tried, and by how much a node beat the next best if scores are kept at all."""

    def __init__(self) -> None:
        self.margins: dict[str, int] = {}
        self.tried: dict[str, PodInfo] = {}

    def start_over(self) -> None:
        self.margins.clear()
        self.tried.clear()

    def after_cycle(self, scheduler: Scheduler, attempt: Attempt) -> None:
        key = attempt.pod.key
        self.tried[key] = attempt.pod
        self.margins.pop(key, None)
        if attempt.is_placed and attempt.scores:
            totals = np.sort(sum(score.weighted_score for score in attempt.scores))
            self.margins[key] = int(totals[-1] - totals[-2]) if len(totals) > 1 else int(totals[-1])


def _strangers(changes: Sequence[Change], context: Context) -> Iterator[str]:
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


def _left_alone(context: Context) -> Iterator[str]:
    """Pods of the change that are not scheduled, and that do not run either."""
    running = {info.key for info, _ in context.cluster.pods()}
    for unit in context.units:
        alone = [each for each in unit.placements if each.outcome == "skipped" and each.pod not in running]
        if alone:
            yield f"{unit.subject}: {format_count(len(alone), 'pod')} not judged: {alone[0].message}"


def _rescaled_workloads(context: Context) -> Iterator[Change]:
    """The workloads that no manifest is about, and whose replicas an autoscaler of the change makes others."""
    units = {unit.subject: unit for unit in context.units if unit.by_autoscaler}
    for each in context.scaled:
        unit = units.get(subject_of_workload(each))
        if unit is not None and each.replicas != each.stored:
            details = (f"spec.replicas: {each.stored} -> {each.replicas}, by {each.bounds}",)
            yield Change(what="changed", subject=unit.subject, location=unit.location, details=details)


def _with_pod_counts(changes: Sequence[Change], proposal: GateScenario, context: Context) -> Iterator[Change]:
    """The changes with the numbers of their pods; without a base they follow from what is in the cluster."""
    owners, pods = Owners(proposal.before), proposal.before.objects.list_all(Pod)
    counts: Counter[Subject] = Counter()
    if changes:
        counts.update(owners.workload_of(pod) for pod in pods if (pod.status.phase or "") not in FINISHED)
    units = {unit.subject: unit for unit in context.units}
    for change in changes:
        before, unit = counts[change.subject], units.get(change.subject)
        if unit is None:
            yield replace(change, pods_before=before, pods_after=before if change.what == "unchanged" else 0)
            continue
        what = change.what
        if proposal.read.base is None and unit.plan is not None:
            what = "changed" if unit.plan.creates or unit.plan.removes else "unchanged"
        after = len(context.running(unit)) + len(unit.pending)
        yield replace(change, what=what, pods_before=before, pods_after=after)


def _count_outcomes(units: Sequence[Unit], changes: Sequence[Change]) -> bool:
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

    def __init__(self, context: Context, terms: GateSettings) -> None:
        self._context, self._terms = context, terms
        self.findings: list[Finding] = []
        self.exempted: list[Any] = []
        self.warnings: list[str] = []
        self._outcomes: list[RuleOutcome] | None = None

    def run(self) -> None:
        units = self._context.units
        claims, wrong = read_claims(units, self._terms.known_rules) if self._terms.exemptions else ({}, [])
        if not self._terms.exemptions:
            self.warnings += find_forbidden(units)
        self._outcomes = []
        for rule in track(self._terms.rules, "Judging by", "rules"):
            found = [] if rule.given.level == "off" else _asked_of(rule, self._context)
            counted_, exempted = settle(found, claims)
            self.findings += counted_
            self.exempted += exempted
            self._outcomes.append(_outcome(rule, counted_, bool(exempted)))
        if claims or wrong:
            self.findings += wrong
            self._outcomes.append(
                RuleOutcome(
                    rule=EXEMPTIONS,
                    level="error",
                    status="failed" if wrong else "passed",
                    checked=len(claims) + len(wrong),
                    findings=len(wrong),
                    threshold="each names a rule and a reason",
                    summary=f"{format_count(len(claims) + len(wrong), 'exemption')}, {len(self.exempted)} made use of",
                )
            )
        self.findings.sort(key=_place)

    @property
    def verdict_text(self) -> str:
        """``FAIL  2 errors, 1 warning, 1 exempted``."""
        errors = sum(finding.level == "error" for finding in self.findings)
        found = describe_findings(errors, len(self.findings) - errors, len(self.exempted), self._context.placements)
        return f"{self.verdict.upper()}  {found}"

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
            for rule in self._terms.rules
        ]


def _asked_of(rule: Rule[Any], context: Context) -> list[Finding]:
    """What a rule finds. Raises PluginError for one that fails."""
    try:
        found = list(rule.check(context))
    except KwhatifError:
        raise
    except Exception as error:
        raise PluginError(rule.name, "check", f"{type(error).__name__}: {error}") from error
    for each in found:
        if not isinstance(each, Finding):
            raise PluginError(rule.name, "check", f"expected findings, found {each!r}")
    return found


def _outcome(rule: Rule[Any], found: Sequence[Finding], exempted: bool) -> RuleOutcome:
    level, scope = rule.given.level, rule.given.scope
    if level == "off":
        status = "off"
    elif found:
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
        findings=len(found),
        threshold=rule.threshold(),
        summary=f"{rule.summary} ({scope} alone)" if rule.summary and scope else rule.summary,
    )


def _place(finding: Finding) -> tuple[Any, ...]:
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
