"""Randomised trials, and their outcomes added up to probabilities.

Each trial randomises what upstream leaves to chance: the order in which the pods of several workloads arrive, and of
one workload's pods (those of a StatefulSet come in their order); where the first search for nodes begins; which nodes
the racing workers of a search find, and in which order; which of the best nodes is drawn where that is random; and
which candidates preemption tries and takes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from random import Random

import msgspec

from kwhatif.cluster.shapes import PodInfo
from kwhatif.commands.chances.result import (
    GroupChances,
    GrowthChances,
    PendingChances,
    PlaceChances,
    PodChances,
    Probability,
    WorkloadChances,
)
from kwhatif.errors import KwhatifError
from kwhatif.fleet.dispatch import run
from kwhatif.fleet.executors import LocalExecutor
from kwhatif.fleet.study import FailedTask, Study
from kwhatif.results.amounts import format_count
from kwhatif.results.gate import Subject
from kwhatif.results.group_outcome import GroupOutcome
from kwhatif.results.outcome import NodeCount
from kwhatif.simulation.cluster_use import pods_by_place, skew_of
from kwhatif.simulation.expansion.expanded_manifests import Rollout
from kwhatif.simulation.node_pools import zone_of
from kwhatif.simulation.ownership import Owners
from kwhatif.simulation.placement.autoscalers import Autoscalers
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.placement.runs import place_pods
from kwhatif.simulation.session import PodToSchedule, Session
from kwhatif.simulation.study import StudyBase

STATEFUL_SET = "StatefulSet "


class Trial(msgspec.Struct, frozen=True):
    """One of the trials: its number, and the seed of them all."""

    number: int
    seed: int


class GroupTrial(msgspec.Struct, frozen=True):
    """What a group of pods came to: how many members are ``bound``, if it was scheduled, and in which ``domain``."""

    scheduled: bool
    bound: int = 0
    domain: str = ""


class TrialOutcome(msgspec.Struct, frozen=True):
    """What a trial came to: of each workload's pods the nodes ("" for none), how many others each workload evicted, and
    by how many pods its fullest place exceeds its emptiest. ``pending`` counts all pods that wait in the end,
    those recreated for evicted ones included, ``missing`` those that controllers could not create. ``groups`` are those
    of the pods. ``growth`` is what autoscalers added, for how much ``cost`` a month; a new node goes by its group and
    zone (``new_zones``), whatever its name.
    """

    homes: dict[str, dict[str, str]]
    evicted: dict[str, int]
    skews: dict[str, int]
    pending: int = 0
    missing: int = 0
    groups: dict[str, GroupTrial] = {}
    growth: dict[str, int] | None = None
    cost: float | None = None
    new_zones: dict[str, str] = {}


class ChancesBase(msgspec.Struct, frozen=True, dict=True):
    """The base of all trials: a cluster, the arriving pods, and the topology key of skew.

    If there are ``updates``, each trial needs ``rollouts`` of its own. ``autoscalers`` may help in each of them.
    """

    base: StudyBase
    rollouts: Callable[[], Sequence[Rollout]]
    topology_key: str
    updates: bool = False
    autoscalers: Autoscalers | None = None

    @cached_property
    def session(self) -> Session:
        session = self.base.fork()
        session.driver.set_up_all()
        return session

    @cached_property
    def running(self) -> dict[str, list[PodInfo]]:
        """The pods of each workload that run before."""
        owners = Owners(self.base.session.snapshot)
        by_owner: dict[Subject, list[PodInfo]] = {}
        for info, _ in self.base.session.cluster.pods():
            by_owner.setdefault(owners.workload_of(info.pod), []).append(info)
        return {str(subject): infos for subject, infos in by_owner.items()}

    @property
    def is_picklable(self) -> bool:
        """Whether it can be sent to other processes: updates and autoscalers are walked through by functions of this
        one.
        """
        return self.base.is_picklable and not self.updates and self.autoscalers is None

    @contextmanager
    def trial(self) -> Iterator[Session]:
        """A session to try something in."""
        if self.autoscalers is not None or self.session.creations or not self.session.driver.undoable:
            yield self.base.fork()
            return
        before = self.session.cluster.checkpoint()
        try:
            yield self.session
        finally:
            self.session.cluster.go_back(before)

    def __reduce__(self) -> tuple[type[ChancesBase], tuple[StudyBase, Callable[[], Sequence[Rollout]], str]]:
        # Who travels has no updates and no autoscalers.
        return ChancesBase, (self.base, tuple, self.topology_key)


def run_trial(ground: ChancesBase, trial: Trial) -> TrialOutcome:
    """What becomes of the pods in one trial; the same for the same trial."""
    random = Random(f"{trial.seed}/{trial.number}")
    with ground.trial() as session:
        pods = shuffle_arrivals(ground.base.scenario.pods_to_schedule, random)
        dice = random.getstate()

        def take_chances() -> None:
            random.setstate(dice)
            session.driver.take_chances(random)

        rollouts = ground.rollouts() if ground.updates else ()
        scaler = None if ground.autoscalers is None else ground.autoscalers()
        run = place_pods(session, pods, rollouts=rollouts, scaler=scaler, prepare=take_chances)
        return _outcome(ground, session, run)


def outcomes_of(ground: ChancesBase, trials: int, seed: int) -> list[TrialOutcome]:
    """The outcomes of a number of trials, on as many processes as are worthwhile. Raises KwhatifError for one that
    comes to none.
    """
    pooled = []
    per_run = [Trial(number, seed) for number in range(trials)]
    outcomes = run(
        Study("Trying", ground, per_run, run_trial, TrialOutcome, "", stationary=not ground.is_picklable),
        LocalExecutor(),
    )
    for outcome in outcomes:
        if isinstance(outcome, FailedTask):
            raise KwhatifError(f"trial {outcome.index}: {outcome.error}")
        pooled.append(outcome)
    return pooled


def shuffle_arrivals(pods: Sequence[PodToSchedule], random: Random) -> list[PodToSchedule]:
    """The pods as they arrive: in any order, but those of a StatefulSet among each other in their own."""
    shuffled = list(pods)
    random.shuffle(shuffled)
    for owner in {item.owner for item in pods if item.owner.startswith(STATEFUL_SET)}:
        places = [place for place, item in enumerate(shuffled) if item.owner == owner]
        for place, item in zip(places, (item for item in pods if item.owner == owner), strict=True):
            shuffled[place] = item
    return shuffled


def workload_of(item: PodToSchedule) -> str:
    """The workload of a pod that is asked about; the pod itself if it has no controller."""
    return item.owner or f"Pod {item.pod.namespace}/{item.pod.name}"


def _outcome(ground: ChancesBase, session: Session, run: Run) -> TrialOutcome:
    items = {item.pod.key: item for item in run.pods_to_schedule}
    new = _describe_new_nodes(run)
    homes: dict[str, dict[str, str]] = {}
    evicted: dict[str, int] = {}
    for placement in run.placements:
        workload = workload_of(items[placement.pod])
        if placement.outcome == "skipped":
            continue
        home = placement.node if placement.good else run.nodes_of_replacements.get(placement.pod, "")
        homes.setdefault(workload, {})[placement.pod] = new[home][0] if home in new else home
        if placement.victims:
            evicted[workload] = evicted.get(workload, 0) + len(placement.victims)
    skews = {name: _skew(ground, session, items, name, pods) for name, pods in homes.items()}
    by_name = dict(sorted((name, dict(sorted(pods.items()))) for name, pods in homes.items()))
    groups = {group.group: _group_trial(group) for group in sorted(run.groups, key=lambda outcome: outcome.group)}
    growth, cost = None, None
    if run.scale_up is not None:
        growth = dict(sorted(Counter(node.group for node in run.scale_up.nodes).items()))
        cost = run.scale_up.cost if growth else 0.0
    pending, missing = len(run.pending), ground.base.missing_pods(run)
    return TrialOutcome(by_name, evicted, skews, pending, missing, groups, growth, cost, dict(new.values()))


def _describe_new_nodes(run: Run) -> dict[str, tuple[str, str]]:
    """What a new node is called among those of all trials, and its zone."""
    if run.scale_up is None:
        return {}
    groups = {node.node: node.group for node in run.scale_up.nodes}
    zones = {node.name: zone_of(node) for node in run.end.cluster.columns.nodes if node.name in groups}
    return {
        name: (f"new node of {groups[name]}" + (f" in {zone}" if zone else ""), zone) for name, zone in zones.items()
    }


def _group_trial(group: GroupOutcome) -> GroupTrial:
    domain = next((outcome.name for outcome in group.domains if outcome.chosen), "")
    return GroupTrial(group.good and group.bound > 0, group.bound, domain)


def _skew(
    ground: ChancesBase, session: Session, items: Mapping[str, PodToSchedule], workload: str, homes: dict[str, str]
) -> int:
    """The skew of a workload's pods, those that ran before and still do included."""
    cluster = session.cluster
    uids = [items[key].pod.identity for key in homes]
    places = [at for uid in uids if (at := cluster.find(uid)) is not None]
    places += [at for info in ground.running.get(workload, ()) if (at := cluster.find(info.uid)) is not None]
    if not places:
        return 0
    return skew_of(pods_by_place(cluster, ground.topology_key, places[0][0].shape, (row for _, row in places)))


class _Places(msgspec.Struct):
    """In how many trials a pod came to each place, and how many pods did in all of them."""

    trials: Counter[str] = msgspec.field(default_factory=Counter)
    pods: Counter[str] = msgspec.field(default_factory=Counter)

    def add(self, names: Iterable[str]) -> None:
        counts = Counter(name for name in names if name)
        self.pods += counts
        self.trials.update(counts.keys())

    def summarize(self, trials: int) -> tuple[PlaceChances, ...]:
        """The likeliest first."""
        ranked = sorted(self.trials, key=lambda name: (-self.trials[name], -self.pods[name], name))
        return tuple(
            PlaceChances(
                name=name,
                probability=Probability.from_counts(self.trials[name], trials),
                pods=round(self.pods[name] / trials, 6),
            )
            for name in ranked
        )


class _Workload(msgspec.Struct):
    pods: int = 0
    pending: Counter[int] = msgspec.field(default_factory=Counter)
    evicting: int = 0
    skewed: int = 0
    nodes: _Places = msgspec.field(default_factory=_Places)
    zones: _Places = msgspec.field(default_factory=_Places)
    homes: dict[str, Counter[str]] = {}


class _Group(msgspec.Struct):
    scheduled: int = 0
    domains: _Places = msgspec.field(default_factory=_Places)


_FEWEST, _NARROW, _MOVED = 200, 0.02, 0.05
"""When an answer is settled: after so many trials, within two points, and not moved by more than five."""


class Counts:
    """What trials came to so far; ``pending`` counts those with a pending pod, ``missing`` those with one not created.

    ``zones`` says which zone each node is in; more than ``max_skew`` is skewed.
    """

    def __init__(self, zones: Mapping[str, str], max_skew: int) -> None:
        self._zones, self._max_skew = dict(zones), max_skew
        self._workloads: dict[str, _Workload] = {}
        self._groups: dict[str, _Group] = {}
        self._growth: Counter[tuple[tuple[tuple[str, int], ...], float | None]] = Counter()
        self._before: dict[int, dict[tuple[str, str], float]] = {}
        self.trials = 0
        self.pending = 0
        self.missing = 0

    def add(self, outcome: TrialOutcome) -> None:
        """One more trial."""
        self.trials += 1
        self.pending += outcome.pending > 0
        self.missing += outcome.missing > 0
        self._zones |= outcome.new_zones
        if outcome.growth is not None:
            self._growth[tuple(outcome.growth.items()), outcome.cost] += 1
        for group, came_to in outcome.groups.items():
            counted = self._groups.setdefault(group, _Group())
            counted.scheduled += came_to.scheduled
            counted.domains.add([came_to.domain] * came_to.bound)
        for name, homes in outcome.homes.items():
            workload = self._workloads.setdefault(name, _Workload())
            workload.pods = max(workload.pods, len(homes))
            workload.pending[sum(not home for home in homes.values())] += 1
            workload.evicting += bool(outcome.evicted.get(name))
            workload.skewed += outcome.skews[name] > self._max_skew
            workload.nodes.add(homes.values())
            workload.zones.add(self._zones.get(home, "") for home in homes.values())
            for pod, home in homes.items():
                workload.homes.setdefault(pod, Counter())[home] += 1

    def is_precise(self, precision: float) -> bool:
        """Whether all intervals are so narrow: no more than this to either side."""
        return all(workload.precision <= precision for workload in self.workloads())

    def is_settled(self) -> bool:
        """Whether more trials would hardly change the answer.

        Of what may go wrong all intervals are narrow, and no share of a place has moved much since half as many trials.
        To be asked time and again, after equally many trials.
        """
        shares = {
            (name, place): times / self.trials
            for name, workload in self._workloads.items()
            for kind in (workload.nodes, workload.zones)
            for place, times in kind.trials.items()
        }
        before, self._before[self.trials] = self._before.get(self.trials // 2), shares
        if before is None or self.trials < _FEWEST:
            return False
        moved = max((abs(shares[share] - before.get(share, 0.0)) for share in shares), default=0.0)
        wrong = [one for workload in self.workloads() for one in (workload.pending, workload.evicting, workload.skewed)]
        wrong += [Probability.from_counts(group.scheduled, self.trials) for group in self._groups.values()]
        wrong += [Probability.from_counts(times, self.trials) for times in (self.pending, self.missing)]
        return moved <= _MOVED and all(probability.precision <= _NARROW for probability in wrong)

    def workloads(self) -> Iterator[WorkloadChances]:
        """The workloads by name."""
        for name, workload in sorted(self._workloads.items()):
            without = sum(times for pods, times in workload.pending.items() if pods)
            yield WorkloadChances(
                workload=name,
                pods=workload.pods,
                pending=Probability.from_counts(without, self.trials),
                pending_pods=tuple(
                    PendingChances(pods=pods, probability=Probability.from_counts(times, self.trials))
                    for pods, times in sorted(workload.pending.items())
                    if pods
                ),
                evicting=Probability.from_counts(workload.evicting, self.trials),
                skewed=Probability.from_counts(workload.skewed, self.trials),
                zones=workload.zones.summarize(self.trials),
                nodes=workload.nodes.summarize(self.trials),
            )

    def groups(self) -> Iterator[GroupChances]:
        """The groups of pods by name."""
        for name, group in sorted(self._groups.items()):
            yield GroupChances(
                group=name,
                scheduled=Probability.from_counts(group.scheduled, self.trials),
                domains=group.domains.summarize(self.trials),
            )

    def growth(self) -> Iterator[GrowthChances]:
        """What autoscalers add, the likeliest first."""
        ranked = sorted(self._growth.items(), key=lambda growth: (-growth[1], growth[0][0]))
        for (groups, cost), times in ranked:
            nodes = tuple(NodeCount(group=group, nodes=number) for group, number in groups)
            yield GrowthChances(added_nodes=nodes, cost=cost, probability=Probability.from_counts(times, self.trials))

    def pods(self) -> Iterator[PodChances]:
        """The pods by workload and name."""
        for name, workload in sorted(self._workloads.items()):
            for pod, homes in sorted(workload.homes.items()):
                places = _Places(Counter({home: times for home, times in homes.items() if home}))
                places.pods = places.trials
                yield PodChances(
                    pod=pod,
                    workload=name,
                    pending=Probability.from_counts(homes[""], self.trials),
                    nodes=places.summarize(self.trials),
                )


def words_of_chances(workloads: Sequence[WorkloadChances], counts: Counts) -> str:
    """``pods of Deployment shop/web stay pending in 12.0% (10.1-14.2%) of 1000 trials (95% interval)``."""
    trials = format_count(counts.trials, "trial")
    worst = max(workloads, key=lambda chances: chances.pending.times, default=None)
    if worst is not None and worst.pending.times:
        others = sum(workload.pending.times > 0 for workload in workloads) - 1
        more = f", as do pods of {format_count(others, 'other workload')}" if others else ""
        text = (
            f"pods of {worst.workload} stay pending in {worst.pending} of {trials}{more} (in brackets: 95% intervals)"
        )
    elif counts.pending:
        probability = Probability.from_counts(counts.pending, counts.trials)
        text = f"evicted pods stay pending in {probability} of {trials} (in brackets: 95% interval)"
    else:
        text = f"no pod stays pending in {trials}"
    return text
