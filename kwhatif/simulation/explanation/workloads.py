"""Explains workloads as they are placed: how many of their pods find a node alone, and how many together.

The explained pod of each is the first that finds no node, in the state of the cluster in which it fails.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import msgspec
from msgspec import structs
from msgspec.structs import replace

from kwhatif.progress import track
from kwhatif.results.explain import ExplainResult, GroupReport, PodReport, WorkloadReport
from kwhatif.results.place import Placement
from kwhatif.simulation.autoscalers.scaler import Scaler
from kwhatif.simulation.expansion.expanded_manifests import Rollout
from kwhatif.simulation.explanation.explain import decide_pod, report_of
from kwhatif.simulation.explanation.fixes import TrialCluster
from kwhatif.simulation.explanation.groups import explain_groups_of, group_of
from kwhatif.simulation.explanation.observer import PodAttempt, WorkloadRecorder, report_of_attempt
from kwhatif.simulation.explanation.options import ExplainOptions
from kwhatif.simulation.fidelity.assess import assess
from kwhatif.simulation.placement.conclusion import outcome_of
from kwhatif.simulation.placement.placements import cause
from kwhatif.simulation.placement.pod_origins import PodOrigins
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.placement.runs import place_pods
from kwhatif.simulation.question import Answer
from kwhatif.simulation.session import PodToSchedule, Session

IN_THE_END = "at rest, when no pod moves any more"
BEFORE_ALL = "before anything is placed"


class WorkloadExplanation(msgspec.Struct, frozen=True):
    """Workloads as a ``run`` placed them, and the report of one pod of each; groups of pods stand for their members."""

    run: Run
    workloads: tuple[WorkloadReport, ...]
    pods: tuple[PodReport, ...]
    groups: tuple[GroupReport, ...] = ()

    def answer(self) -> Answer[ExplainResult]:
        """The answer, whose outcome is that of the run."""
        session, fidelity = self.run.session, assess(self.run)
        result = ExplainResult(
            outcome=outcome_of(self.run, fidelity),
            nodes=len(session.cluster),
            workloads=self.workloads,
            groups=self.groups or msgspec.UNSET,
            pods=self.pods,
            fidelity=fidelity,
            warnings=session.setup.configuration.warnings,
            scale_up=self.run.scale_up or msgspec.UNSET,
        )
        return Answer(result, [self.run])


def explain_workloads(
    session: Session,
    asked: Sequence[PodToSchedule],
    looking: ExplainOptions,
    *,
    rollouts: Sequence[Rollout] = (),
    unknown_kinds: Sequence[str] = (),
    is_meant: Callable[[PodToSchedule], bool] = lambda item: True,
    scaler: Scaler | None = None,
) -> WorkloadExplanation:
    """Place pods and updates as ``place`` does, in a copy of the cluster, and explain the workloads.

    Those of other pods are explained only if one of their pods finds no node. Autoscalers may help.
    """
    looking.check(session)
    origins = PodOrigins(session.snapshot)
    recorder = WorkloadRecorder(origins.owner_of)
    recorder.session = placing = session.fork(detailed=True, imagined=True, observer=recorder)
    run = place_pods(placing, asked, rollouts=rollouts, unknown_kinds=unknown_kinds, scaler=scaler)
    items = {item.pod.key: item for item in run.pods_to_schedule if group_of(session, item) is None}
    by_owner: dict[str, list[Placement]] = {origins.owner_of(item.pod): [] for item in items.values()}
    for ended in run.placements:
        if ended.pod in items and ended.pod not in run.removed:
            by_owner[origins.owner_of(items[ended.pod].pod)].append(ended)
    pending = [items[other.pod] for placements in by_owner.values() for other in placements if not other.good]
    tried_in = TrialCluster(run.end.sandbox(), origins, by_owner.keys(), pending)
    alone = session.sandbox()
    workloads, reports = [], []
    for owner, placements in track(by_owner.items(), "Explaining", "workloads"):
        mine = [items[other.pod] for other in placements]
        if mine and (any(map(is_meant, mine)) or not all(other.good for other in placements)):
            chosen, tried = _choose(placements, recorder, owner)
            item, placement = mine[chosen], placements[chosen]
            workloads.append(_count(owner, placements, chosen, *_count_alone(alone, mine, placements)))
            report = (
                _report_without_attempt(session, item, placement, looking, tried_in)
                if tried is None
                else report_of_attempt(tried, item, placement, looking, tried_in)
            )
            rest = (other for other in placements if other is not placement and _end_of(other) == _end_of(placement))
            reports.append(replace(report, alike=tuple(rest)))
    groups = explain_groups_of(run, with_fixes=looking.fixes)
    return WorkloadExplanation(run, tuple(workloads), tuple(reports), groups)


def _end_of(placement: Placement) -> tuple[str, str]:
    """A pod's outcome, whatever its node."""
    return placement.outcome, cause(placement.reason)


def _choose(placements: Sequence[Placement], recorder: WorkloadRecorder, owner: str) -> tuple[int, PodAttempt | None]:
    """The pod that represents its workload, and its attempt, if the cluster was kept as it was then."""
    failed = [at for at, placement in enumerate(placements) if not placement.good]
    evicting = [at for at, placement in enumerate(placements) if placement.victims]
    for there, kept in ((failed, recorder.failed), (evicting, recorder.evicting)):
        if there:
            tried = kept.get(owner)
            mine = (at for at in there if tried is not None and placements[at].pod == tried.info.key)
            at = next(mine, None)
            return (there[0], None) if at is None else (at, tried)
    tried = recorder.first.get(owner)
    keys = [placement.pod for placement in placements]
    return (0, None) if tried is None or tried.info.key not in keys else (keys.index(tried.info.key), tried)


def _count(owner: str, placements: Sequence[Placement], chosen: int, alone: int, shapes: int) -> WorkloadReport:
    """A workload in numbers; ``alone`` counts the pods that find a node each on its own."""
    good = [placement for placement in placements if placement.good]
    return WorkloadReport(
        workload=owner,
        pods=len(placements),
        alone=alone,
        together=len(good),
        evicting=sum(bool(placement.victims) for placement in good),
        identical=shapes <= 1,
        explained=placements[chosen].pod,
        number=chosen + 1,
        nodes=dict(sorted(Counter(placement.node for placement in good if placement.node).items())),
    )


def _count_alone(session: Session, items: Sequence[PodToSchedule], placements: Sequence[Placement]) -> tuple[int, int]:
    """How many pods would find a node in the cluster as it is, each by itself; and how many kinds of them there are.

    Pods that plugins cannot tell apart are decided on once. Pods that are not tried at all count by their outcome.
    """
    shapes: dict[int, bool] = {}
    count = 0
    for item, placement in zip(items, placements, strict=True):
        if placement.outcome in ("skipped", "unclaimed"):
            count += placement.good
            continue
        info = session.info(item)
        if info.shape.index not in shapes:
            shapes[info.shape.index] = session.driver.decide(info).is_placed
        count += shapes[info.shape.index]
    return count, len(shapes)


def _report_without_attempt(
    session: Session, item: PodToSchedule, placement: Placement, looking: ExplainOptions, tried_in: TrialCluster
) -> PodReport:
    """The report of a pod without a kept cluster: by the final state if it has no node then, else by the
    initial one.
    """
    if placement.good:
        decided = decide_pod(session, item)
        if decided.runs_on or decided.info is None:
            return report_of(decided, looking)
        return replace(report_of(structs.replace(decided, placement=placement), looking), state=BEFORE_ALL)
    decided = structs.replace(decide_pod(tried_in.session, item), placement=placement)
    report = report_of(decided, looking, tried_in)
    return replace(report, state=IN_THE_END) if report.nodes else report
