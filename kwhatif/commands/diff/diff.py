"""Compares two runs over the same pods; the engine itself has no diff mode.

Each side places the pods that ``place`` does. A tie is no difference: where both consider the same nodes best, B takes
the one that A took, unless that changes which pods find a node at all. Pods are paired by name, else by workload and
order, since the pods of a deployment with another template have other names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import msgspec
from msgspec import structs
from msgspec.structs import replace

from kwhatif.commands.diff.verdict import outcome_of_diff
from kwhatif.framework.evaluation import PluginScore
from kwhatif.results.diff import Away, DecisionDiff, NodeScores, PodChange, Rule
from kwhatif.results.diff import Side as SideResult
from kwhatif.results.outcome import Outcome
from kwhatif.results.place import Placement
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.schedule_one import Observer, Scheduler
from kwhatif.simulation.autoscalers.scaler import Scaler
from kwhatif.simulation.cluster_use import nodes_of_replica_sets, replica_set_of, skews, use_of
from kwhatif.simulation.expansion.expanded_manifests import ExpandedManifests
from kwhatif.simulation.fidelity.assess import assess
from kwhatif.simulation.ownership import Owners
from kwhatif.simulation.placement.conclusion import outcome_of
from kwhatif.simulation.placement.placements import totals
from kwhatif.simulation.placement.placing import PlacementRun
from kwhatif.simulation.placement.rollout_progress import roll_out_all
from kwhatif.simulation.placement.run import FirstMoment, Run
from kwhatif.simulation.placement.runs import place_pods
from kwhatif.simulation.question import Answer
from kwhatif.simulation.replay import ReplayedPods
from kwhatif.simulation.session import PodToSchedule, Session
from kwhatif.versions import Features, rows


def pair_pods(a: Mapping[str, str], b: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The pods of both sides, each given with its workload (``Deployment shop/web``) or nothing: those of A in their
    order, then those that only B has. Nothing stands for one that is missing.
    """
    left: dict[str, list[str]] = {}
    for pod, workload in reversed(list(b.items())):
        if pod not in a:
            left.setdefault(workload or pod, []).append(pod)
    matched = set()
    for pod, workload in a.items():
        other = pod if pod in b else ""
        if not other and left.get(workload):
            other = left[workload].pop()
        matched.add(other)
        yield pod, other
    yield from (("", pod) for pod in b if pod not in matched)


MOST_EXPLAINED = 50
"""Of how many pods that moved the scores are shown."""

Choices = Mapping[str, str]
"""Pod -> node."""

Scores = dict[str, int] | None
"""Plugin -> weighted score of a node; None for one that was not scored."""


class Side(msgspec.Struct, frozen=True):
    """One of the two: a cluster with its scheduler, of which every run has a session, and the pods ``asked`` about.

    ``expand`` says what becomes of manifests, with updates that can be begun. ``replayed`` pods were taken off the
    cluster's nodes before. ``make_scaler`` makes autoscalers for each run, if any are to help. ``first_moments`` come
    before autoscalers of pods act.
    """

    label: str
    new_session: Callable[..., Session]
    pods_to_schedule: Sequence[PodToSchedule] = ()
    expand: Callable[[], ExpandedManifests] = ExpandedManifests
    replayed: ReplayedPods = msgspec.field(default_factory=ReplayedPods)
    unknown_kinds: Sequence[str] = ()
    make_scaler: Callable[[], Scaler] | None = None
    first_moments: tuple[FirstMoment, ...] = ()


def compare_sides(a: Side, b: Side) -> Answer[DecisionDiff]:
    """Compare: each side's pods are scheduled, then its updates rolled out."""
    run_a = _run(a, {}, {})
    chosen = _choices(run_a.placements)
    known = ({item.pod.key: item.owner for item in side.pods_to_schedule} for side in (a, b))
    to_b = {ours: theirs for ours, theirs in pair_pods(*known) if ours and theirs}
    expected = {to_b.get(pod, pod): node for pod, node in chosen.items()}
    run_b = _run(b, expected, expected)
    if run_b.used_tie_break:
        plain = _run(b, {}, expected)
        if _pending(plain) != _pending(run_b):
            run_b = plain
    matched = _match_placements(
        run_a, run_b, {rollout.name for run in (run_a, run_b) for rollout in run.expanded.rollouts}
    )
    back = {theirs.pod: ours.pod for ours, theirs in matched if ours is not None and theirs is not None}
    moved, nodes_of_b = run_b.scores, _choices(run_b.placements)
    of_b = {back.get(pod, pod): nodes_of_b[pod] for pod in moved if pod in nodes_of_b}
    of_a = _scores_of_others(a, of_b) if of_b else {}
    changes = [_explain_change(change, of_a, moved) for change in _changes(matched, run_a.placements, run_b.placements)]
    changes = _mark_swaps(changes, run_a.end, run_b.end)
    tried = {placement.pod for run in (run_a, run_b) for placement in run.placements}
    result = DecisionDiff(
        outcome=Outcome(good=True, verdict=""),
        a=_build_side_result(a, run_a),
        b=_build_side_result(b, run_b),
        pods=sum(any(end is not None and end.pod in tried for end in pair) for pair in matched),
        replayed=len(a.replayed.pods),
        changes=tuple(changes),
        refusals=tuple(_refusals(run_a.expanded, run_b.expanded)),
        cluster_a=use_of(run_a.end.cluster),
        cluster_b=use_of(run_b.end.cluster),
        skews=tuple(skews(run_a.end.cluster, run_b.end.cluster)),
        rules=tuple(_rules(run_a.session.setup.features, run_b.session.setup.features, changes)),
    )
    return Answer(replace(result, outcome=outcome_of_diff(result)), [run_a.run, run_b.run])


def _build_side_result(side: Side, side_run: _SideRun) -> SideResult:
    run, numbers = side_run.run, totals(side_run.placements, side_run.end.cluster)
    fidelity = assess(run)
    return SideResult(
        outcome=outcome_of(run, fidelity),
        label=side.label,
        placed=numbers.placed + numbers.autoscaled,
        unplaced=numbers.unplaced,
        rollouts=run.rollouts,
        scale_up=run.scale_up,
        fidelity=fidelity,
    )


# --- a run


class _Pair(msgspec.Struct, frozen=True):
    """The scores of the node a side chose, and those it gave to the other side's, or why it gave it none."""

    own: Scores
    other: Scores
    missing: str


class _MoveObserver(Observer):
    """Records scores where pods move: for the first of those that get another node than the one ``expected``, the
    scores of both nodes. ``leaned``: some tie was not decided as it is by itself.
    """

    def __init__(self, expected: Choices) -> None:
        self._expected = expected
        self.scores: dict[str, _Pair] = {}
        self.leaned = False

    def on_decision(self, scheduler: Scheduler, attempt: Attempt) -> None:
        pod, row = attempt.pod, attempt.row
        ranks = scheduler.cluster.columns.name_rank
        self.leaned |= row is not None and len(attempt.best) > 1 and bool(ranks[row] != ranks[attempt.best].min())
        name = self._expected.get(pod.key)
        if not name or row is None or len(self.scores) == MOST_EXPLAINED:
            return
        expected = scheduler.cluster.columns.row(name)
        if row == expected:
            return
        evaluation = scheduler.evaluation(pod)
        evaluation.begin(pod)
        table = evaluation.scores(pod, attempt.sampled)
        places = {row: place for place, row in enumerate(attempt.sampled.tolist())}
        missing = ""
        if expected is None:
            missing = "it has no such node"
        elif expected not in places:
            status = evaluation.verdicts(pod).status(expected)
            missing = ", ".join(status.reasons) if status is not None else "it was not among the nodes looked at"
        own = _scores_of(table, places.get(row))
        of_expected = None if expected is None else _scores_of(table, places.get(expected))
        self.scores[pod.key] = _Pair(own, of_expected, missing)


def _scores_of(table: Sequence[PluginScore], place: int | None) -> Scores:
    return None if place is None else {scores.plugin: int(scores.weighted_score[place]) for scores in table}


class _SideRun(msgspec.Struct, frozen=True):
    """The ``run`` of a side. Pods that are ``gone`` made room for those of its updates."""

    run: Run
    expanded: ExpandedManifests
    gone: Collection[str]
    scores: Mapping[str, _Pair]
    used_tie_break: bool

    @property
    def session(self) -> Session:
        return self.run.session

    @property
    def end(self) -> Session:
        return self.run.end

    @property
    def placements(self) -> Sequence[Placement]:
        return self.run.placements


def _run(side: Side, prefers: Choices, expects: Choices) -> _SideRun:
    moves, expanded = _MoveObserver(expects), side.expand()
    run = place_pods(
        side.new_session(prefers=prefers, observer=moves),
        side.pods_to_schedule,
        replayed=side.replayed.pods,
        rollouts=expanded.rollouts,
        unknown_kinds=side.unknown_kinds,
        scaler=None if side.make_scaler is None else side.make_scaler(),
    )
    gone: set[str] = set()
    for rollout, plan in zip(expanded.rollouts, run.rollouts, strict=True):
        for step in plan.steps:
            # A pod of a StatefulSet comes back under the name of the one that went.
            gone.difference_update(f"{rollout.namespace}/{name}" for name in step.creates)
            gone.update(f"{rollout.namespace}/{name}" for name in step.removes)
    run = structs.replace(run, refusals=expanded.refusals, failed=expanded.failed, first_moments=side.first_moments)
    return _SideRun(run, expanded, gone, moves.scores, moves.leaned)


def _scores_of_others(side: Side, expects: Choices) -> Mapping[str, _Pair]:
    """What a side makes of the nodes that pods have on the other, which is known only after its run: it does the same a
    second time, no further than those pods.
    """
    moves, left = _MoveObserver(expects), set(expects)
    tried = PlacementRun(side.new_session(observer=moves))
    for item in side.replayed.pods:
        if not left:
            return moves.scores
        left.discard(item.pod.key)
        tried.replay([item])
    tried.schedule_all(side.pods_to_schedule)
    roll_out_all(side.expand().rollouts, tried, [])
    return moves.scores


def _pending(run: _SideRun) -> set[str]:
    return {placement.pod for placement in run.placements if not placement.good}


def _choices(placements: Sequence[Placement]) -> dict[str, str]:
    return {placement.pod: placement.node for placement in placements if placement.node}


# --- the comparison


def _match_placements(a: _SideRun, b: _SideRun, rolled: set[str]) -> list[tuple[Placement | None, Placement | None]]:
    """The placements of each pod on either side, in A's order; for workloads that are updated on one of them, including
    the pods that stay.
    """
    ends = [
        _standing(run, rolled) | {placement.pod: _at_rest(placement, run.run) for placement in run.placements}
        for run in (a, b)
    ]
    workloads = []
    for run, of_side in zip((a, b), ends, strict=True):
        owners = Owners(run.end.snapshot)
        owner_of = {item.pod.key: item.owner for item in run.run.pods_to_schedule}
        pods = {info.key: info.pod for info, _ in run.end.cluster.pods()} if rolled else {}
        nodes = {
            pod: owner_of.get(pod) or (str(owners.workload_of(pods[pod])) if pod in pods else "") for pod in of_side
        }
        workloads.append({pod: workload for pod, workload in nodes.items() if pod not in run.gone})
    return [(ends[0].get(ours), ends[1].get(theirs)) for ours, theirs in pair_pods(*workloads)]


def _at_rest(placement: Placement, run: Run) -> Placement:
    """A pod that lost its node is where the pod in its place runs, if that found a node."""
    node = "" if placement.good else run.nodes_of_replacements.get(placement.pod, "")
    return replace(placement, outcome="placed", node=node, message="") if node else placement


def _standing(run: _SideRun, workloads: set[str]) -> dict[str, Placement]:
    """The pods of workloads that run, and did so before, by name."""
    if not workloads:
        return {}
    owners, names = Owners(run.end.snapshot), run.end.cluster.columns.names
    running = sorted((info.key, names[row], info.pod) for info, row in run.end.cluster.pods())
    return {
        pod: Placement(pod=pod, outcome="skipped", node=node)
        for pod, node, obj in running
        if str(owners.workload_of(obj)) in workloads
    }


def _changes(
    matched: Sequence[tuple[Placement | None, Placement | None]], a: Sequence[Placement], b: Sequence[Placement]
) -> list[PodChange]:
    """What differs, pod by pod, in A's order; then pods that run and are evicted by one side alone, by name."""
    changes = [_change(*pair) for pair in matched]
    victims_a, victims_b = _victims(a), _victims(b)
    changes += [
        PodChange(pod=key, what="evicted", message_b=f"for {victims_b[key]}")
        for key in sorted(victims_b.keys() - victims_a.keys())
    ]
    changes += [
        PodChange(pod=key, what="spared", message_a=f"for {victims_a[key]}")
        for key in sorted(victims_a.keys() - victims_b.keys())
    ]
    return [change for change in changes if change is not None]


def _victims(placements: Sequence[Placement]) -> dict[str, str]:
    return {victim.pod: placement.pod for placement in placements for victim in placement.victims}


def _change(a: Placement | None, b: Placement | None) -> PodChange | None:
    what = _what(a, b)
    if not what:
        return None
    ours, theirs = (placement.pod if placement is not None else "" for placement in (a, b))
    return PodChange(
        pod=ours or theirs,
        pod_b=theirs if ours and theirs != ours else "",
        what=what,
        node_a=a.node if a else "",
        node_b=b.node if b else "",
        message_a=_message_of(a),
        message_b=_message_of(b),
    )


def _what(a: Placement | None, b: Placement | None) -> str:
    """The kind of difference, or nothing."""
    if a is None:
        return "only in B"
    if b is None:
        return "only in A"
    if a.good != b.good:
        return "pending" if a.good else "placed"
    if a.node != b.node:
        return "moved"
    return "reason" if not a.good and _reason(a) != _reason(b) else ""


def _message_of(placement: Placement | None) -> str:
    return "" if placement is None or placement.good else placement.reason


def _reason(placement: Placement) -> str:
    """The nodes' reasons, without preemption's, whose words differ by minor."""
    return _message_of(placement).partition(". ")[0].removesuffix(".")


def _explain_change(change: PodChange, of_a: Mapping[str, _Pair], of_b: Mapping[str, _Pair]) -> PodChange:
    """A change with the scores that made it so, if they were written down."""
    in_b = change.pod_b or change.pod
    if change.what != "moved" or change.pod not in of_a or in_b not in of_b:
        return change
    a, b = of_a[change.pod], of_b[in_b]
    scores = (
        NodeScores(side="A", of_a=a.own, of_b=a.other, missing=a.missing),
        NodeScores(side="B", of_a=b.other, of_b=b.own, missing=b.missing),
    )
    return replace(change, scores=scores, decided_by=_deciders(a.own, a.other, b.other, b.own))


def _deciders(
    a_of_a: dict[str, int] | None,
    a_of_b: dict[str, int] | None,
    b_of_a: dict[str, int] | None,
    b_of_b: dict[str, int] | None,
) -> tuple[tuple[str, int], ...]:
    """How much each plugin turned from A's node to B's node; nothing where a node was not scored at all."""
    if a_of_a is None or a_of_b is None or b_of_a is None or b_of_b is None:
        return ()
    turned = {
        plugin: (b_of_b.get(plugin, 0) - b_of_a.get(plugin, 0)) - (a_of_b.get(plugin, 0) - a_of_a.get(plugin, 0))
        for plugin in a_of_a | b_of_a
    }
    return tuple(sorted(((p, by) for p, by in turned.items() if by), key=lambda entry: (-entry[1], entry[0])))


def _mark_swaps(changes: Sequence[PodChange], a: Session, b: Session) -> list[PodChange]:
    """The changes, with those said to be swaps that leave as many pods of a ReplicaSet on each node."""
    of_a, of_b, owners = nodes_of_replica_sets(a.cluster), nodes_of_replica_sets(b.cluster), Owners(a.snapshot)
    same = {name for name, nodes in of_a.items() if of_b.get(name) == nodes}
    moved = {change.pod for change in changes if change.what == "moved"} if same else set()
    pods = {info.key: info for info, _ in a.cluster.pods() if info.key in moved}
    swapped = {key: str(owners.workload_of(info.pod)) for key, info in pods.items() if replica_set_of(info) in same}
    return [replace(change, swapped=swapped.get(change.pod, "")) for change in changes]


def _refusals(a: ExpandedManifests, b: ExpandedManifests) -> list[Away]:
    """What only one side refuses."""
    said = {side: _collect_refusals(expanded) for side, expanded in (("A", a), ("B", b))}
    return [
        Away(side=side, object=name, message=message)
        for side, other in (("A", "B"), ("B", "A"))
        for name, message in sorted(said[side] - said[other])
    ]


def _collect_refusals(expanded: ExpandedManifests) -> set[tuple[str, str]]:
    return {(refusal.object, refusal.message) for refusal in expanded.refusals} | {
        (failed_create.owner, failed_create.message) for failed_create in expanded.failed
    }


def _rules(a: Features, b: Features, changes: Sequence[PodChange]) -> list[Rule]:
    """The rules in which the two sides' versions differ; first those about the plugins that decided otherwise."""
    plugins = {plugin for change in changes for plugin, _ in change.decided_by}
    rules = []
    for name, row in rows().items():
        in_a, in_b = getattr(a, name), getattr(b, name)
        if in_a != in_b:
            rules.append(
                Rule(
                    name=row.gate or name,
                    in_a=in_a,
                    in_b=in_b,
                    what=row.what,
                    source=row.source,
                    touches=tuple(sorted(plugins.intersection(row.whose))),
                )
            )
    return sorted(rules, key=lambda rule: not rule.touches)
