"""Explains why a group of pods runs where it runs, or nowhere: domain by domain, with changes that would help the
group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import structs
from msgspec.structs import replace

from kwhatif.cluster.pod_group_states import GroupKey
from kwhatif.results.amounts import format_some
from kwhatif.results.explain import ExplainResult, GroupReport
from kwhatif.results.group_outcome import GroupOutcome
from kwhatif.scheduling.round_queue import takes_groups
from kwhatif.simulation.explanation.group_fixes import group_fixes
from kwhatif.simulation.explanation.group_room import unbind
from kwhatif.simulation.explanation.group_trials import GroupTrials, schedule_group
from kwhatif.simulation.fidelity.assess import assess
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.question import Answer
from kwhatif.simulation.session import PodToSchedule, Session


def group_of(session: Session, asked: PodToSchedule) -> GroupKey | None:
    """The group that a pod names, where groups are taken up together; no scheduler of another name takes it up."""
    named = asked.pod.spec.scheduling_group
    known = session.driver.scheduler(asked.pod.spec.scheduler_name) is not None
    if named is None or not known or not takes_groups(session.driver):
        return None
    return asked.pod.namespace, named.pod_group_name or ""


def split_groups(
    session: Session, asked: Iterable[PodToSchedule]
) -> tuple[dict[GroupKey, list[PodToSchedule]], list[PodToSchedule]]:
    """The members of groups, and the pods that are on their own."""
    groups: dict[GroupKey, list[PodToSchedule]] = {}
    alone = []
    for item in asked:
        key = group_of(session, item)
        if key is None:
            alone.append(item)
        else:
            groups.setdefault(key, []).append(item)
    return groups, alone


def explain_running_groups(
    session: Session,
    groups: Mapping[GroupKey, Sequence[PodToSchedule]],
    *,
    with_fixes: bool,
    unknown_kinds: Sequence[str] = (),
) -> Answer[ExplainResult]:
    """Explain groups whose members in question all have nodes: where they would be placed today."""
    reports = tuple(_explain_running(session, key, items, with_fixes=with_fixes) for key, items in groups.items())
    asked = [item for items in groups.values() for item in items]
    run = Run(session, asked, (), unknown_kinds, by_group=True)
    result = ExplainResult(
        nodes=len(session.cluster),
        groups=reports,
        pods=(),
        fidelity=assess(run),
        warnings=session.setup.configuration.warnings,
    )
    return Answer(result, [run])


def explain_groups_of(run: Run, *, with_fixes: bool) -> tuple[GroupReport, ...]:
    """The groups that a run has scheduled, as they were tried then. Fixes are tried in the cluster as it is left."""
    return group_reports(run.end, run.groups, run.pods_to_schedule, with_fixes=with_fixes)


def group_reports(
    after: Session, outcomes: Iterable[GroupOutcome], asked: Iterable[PodToSchedule], *, with_fixes: bool
) -> tuple[GroupReport, ...]:
    """Groups by what became of them in a run, which left the cluster as it is in the session; pods ``asked`` about are
    their members, among others.
    """
    groups, _ = split_groups(after, asked)
    reports = []
    for outcome in outcomes:
        namespace, _, name = outcome.group.partition("/")
        key = namespace, name
        waiting = [item for item in groups.get(key, ()) if after.running(item.pod) is None]
        reports.append(_report(GroupTrials(after, key, waiting), outcome, with_fixes=with_fixes))
    return tuple(reports)


def _explain_running(
    session: Session, key: GroupKey, members: Sequence[PodToSchedule], *, with_fixes: bool
) -> GroupReport:
    """Explain where a group whose members all have nodes would be placed today: it is unbound first."""
    earlier, where = session.sandbox(), list[str]()
    for item in members:
        pod_and_row = session.running(item.pod)
        if pod_and_row is not None:
            where.append(session.cluster.columns.names[pod_and_row[1]])
            earlier.cluster.remove_pod(pod_and_row[0].uid, deleted=False)
    trials = GroupTrials(earlier, key, [structs.replace(item, pod=unbind(item.pod)) for item in members])
    outcome = schedule_group(earlier.sandbox(), key, trials.members).outcome
    report = _report(trials, outcome, with_fixes=with_fixes)
    domains = {_domain_of(session, report.topology_key, node) for node in where} if report.topology_key else set(where)
    return replace(report, runs_in=format_some(sorted(domains)))


def _domain_of(session: Session, label: str, node: str) -> str:
    row = session.cluster.columns.row(node)
    column = session.cluster.columns.label(label)
    code = -1 if row is None else int(column.codes[row])
    return column.values[code] if code >= 0 else ""


def _report(trials: GroupTrials, outcome: GroupOutcome, *, with_fixes: bool) -> GroupReport:
    group = trials.group
    fixes, tried = group_fixes(trials, outcome) if with_fixes and not outcome.good else ((), 0)
    return GroupReport(
        outcome=outcome,
        priority=group.priority if group is not None else 0,
        topology_key=(group.topology_key if group is not None else "") or "",
        fixes=fixes,
        tried=tried,
    )
