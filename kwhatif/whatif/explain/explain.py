"""Why does a pod go where it goes, or nowhere? Every node, every blocker, every score, and the smallest fixes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import IntpArray
from kwhatif.errors import UsageError
from kwhatif.results.explain import Comparison, Eviction, ExplainResult, NodeReport, PodReport
from kwhatif.results.place import ClaimDevices
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.in_words import devices_of, evictions, feasible_rows, node_reports
from kwhatif.scheduling.schedule_one import Scheduler
from kwhatif.whatif.explain.fixes import smallest_fixes
from kwhatif.whatif.fidelity.assess import assess
from kwhatif.whatif.place.placing import not_ours, placement_of, skipped
from kwhatif.whatif.session import Asked, Session

if TYPE_CHECKING:
    from kwhatif.scheduling.extenders.asking import Asking

MOST_EVICTIONS = 10


def explain(
    session: Session,
    asked: Sequence[Asked],
    *,
    node: str = "",
    versus: str = "",
    fixes: bool = True,
    others: Sequence[str] = (),
) -> ExplainResult:
    """Explain each pod by itself, on the cluster as it is; nothing is placed.

    A pod that runs is taken off its node first: the question is where it would go now.
    ``node`` and ``versus`` ask for a comparison of two nodes (``node`` defaults to the chosen one).
    """
    for name in filter(None, (node, versus)):
        if session.cluster.columns.row(name) is None:
            raise UsageError(f"node {name} is not in the snapshot")
    reports = tuple(_explain(session, item, node, versus, fixes) for item in asked)
    placements = [report.placement for report in reports]
    return ExplainResult(
        nodes=len(session.cluster),
        pods=reports,
        fidelity=assess(session, asked, placements, others),
        warnings=session.setup.configuration.warnings,
    )


def _explain(session: Session, asked: Asked, node: str, versus: str, fixes: bool) -> PodReport:
    if session.driver.scheduler(asked.pod.spec.scheduler_name) is None:
        return PodReport(pod=asked.pod.key, placement=skipped(session, asked, not_ours(session, asked)))
    session, asked = session.before(asked)
    info = session.info(asked)
    attempt = session.driver.decide(info)
    scheduler = session.driver.of(info)
    placement = replace(placement_of(session, asked, [attempt]), devices=_devices(session, asked, attempt))
    evaluation = scheduler.evaluation(info) if len(session.cluster) else None
    reports: tuple[NodeReport, ...] = ()
    refusal = attempt.gated.message if attempt.gated else ""
    if evaluation is not None:
        evaluation.refresh(info)
        evaluation.begin(info)
        if evaluation.refusal is not None:
            refusal = evaluation.refusal.message
        else:
            verdicts = evaluation.verdicts(info)
            asking = _asked_of_all(scheduler, info, attempt, feasible_rows(evaluation, verdicts))
            reports = node_reports(info, evaluation, verdicts, attempt.row, asking)
    chosen = attempt.nominated or placement.node
    found, tried = smallest_fixes(session, info, attempt) if fixes and not attempt.placed else ((), 0)
    return PodReport(
        pod=info.key,
        placement=placement,
        refusal=refusal,
        nodes=_only(reports, node, versus),
        evictions=_evictions(session, info, attempt),
        fixes=found,
        tried=tried,
        comparison=_comparison(reports, node or chosen, versus) if versus else None,
    )


def _devices(session: Session, asked: Asked, attempt: Attempt) -> tuple[ClaimDevices, ...]:
    """The devices that the pod would get: it is bound, in a copy of the cluster."""
    if attempt.row is None or not (asked.pod.spec.resource_claims or session.cluster.devices.serving):
        return ()
    tried = session.apart()
    again = tried.driver.attempt(tried.info(asked))
    return devices_of(tried.cluster, again.pod) if again.row == attempt.row else ()


def _asked_of_all(scheduler: Scheduler, info: PodInfo, attempt: Attempt, rows: IntpArray) -> Asking | None:
    """What extenders say of all nodes that plugins let pass; a cycle may have asked them about some only."""
    if attempt.asking is None or attempt.refused is not None or not len(rows) or attempt.asking.covers(rows):
        return attempt.asking if attempt.refused is None else None
    return scheduler.opinions(info, scheduler.evaluation(info), rows)


def _evictions(session: Session, info: PodInfo, attempt: Attempt) -> tuple[Eviction, ...]:
    diagnosis = attempt.diagnosis
    if diagnosis is None or not attempt.nominated:
        return ()
    extenders = session.setup.extenders
    return evictions(info, diagnosis, chosen=attempt.nominated, most=MOST_EVICTIONS, extenders=extenders)


def _only(reports: tuple[NodeReport, ...], node: str, versus: str) -> tuple[NodeReport, ...]:
    wanted = {name for name in (node, versus) if name}
    return tuple(r for r in reports if r.node in wanted) if wanted else reports


def _comparison(reports: Sequence[NodeReport], left: str, right: str) -> Comparison | None:
    by_name = {report.node: report for report in reports}
    if not left:
        raise UsageError("--versus needs --node NODE, since the pod fits on no node")
    if left == right:
        # Asked to compare the chosen node with itself: the next best tells more.
        right = next((r.node for r in reports if r.node != left and r.feasible), "")
    if left not in by_name or right not in by_name:
        return None
    return compare(by_name[left], by_name[right])


def compare(left: NodeReport, right: NodeReport) -> Comparison:
    """Two nodes side by side, and what decides between them."""
    if left.feasible != right.feasible:
        good, bad = (left, right) if left.feasible else (right, left)
        why = "; ".join(b.detail or b.reason for b in bad.blockers)
        verdict = f"{good.node} fits, {bad.node} does not: {why}"
    elif not left.feasible:
        verdict = f"neither fits: {_count(left)}, {_count(right)}"
    else:
        verdict = _by_score(left, right)
    return Comparison(left=left, right=right, verdict=verdict)


def _count(node: NodeReport) -> str:
    number = len(node.blockers)
    return f"{node.node} has {number} blocker{'' if number == 1 else 's'}"


def _by_score(left: NodeReport, right: NodeReport) -> str:
    gap = (left.total or 0) - (right.total or 0)
    others = {score.plugin: score.weighted for score in right.scores}
    parts = [
        (score.weighted - others.get(score.plugin, 0), score.plugin)
        for score in left.scores
        if score.weighted != others.get(score.plugin, 0)
    ]
    why = ", ".join(f"{plugin} {delta:+d}" for delta, plugin in sorted(parts, key=lambda p: -abs(p[0])))
    if gap == 0:
        return f"a tie at {left.total}" + (f" ({why})" if why else "") + "; the first by name wins"
    better, worse = (left, right) if gap > 0 else (right, left)
    return f"{better.node} beats {worse.node} by {abs(gap)} ({why}, seen from {left.node})"
