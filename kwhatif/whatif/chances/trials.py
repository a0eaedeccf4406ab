"""One throw of the dice: pods arrive in some order, and the scheduler takes chances as upstream's does.

What is left to chance, trial by trial: how the pods of several workloads come between each other, and of one workload's
own pods which comes first (those of a StatefulSet come in their order); where the first search for nodes begins; which
nodes the racing workers of a search find, above a hundred nodes; and which of the best nodes is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from random import Random

import msgspec

from kwhatif.cluster.shapes import PodInfo
from kwhatif.errors import KwhatifError
from kwhatif.fleet.backs.here import Here
from kwhatif.fleet.course import run
from kwhatif.fleet.study import Failed, Study
from kwhatif.results.gate import Subject
from kwhatif.whatif.expand.expand import Rollout
from kwhatif.whatif.fidelity.ownership import Owners
from kwhatif.whatif.place.placing import Run
from kwhatif.whatif.place.rolling import roll_out
from kwhatif.whatif.place.skew import pods_by_place, skew_of
from kwhatif.whatif.session import Asked, Session
from kwhatif.whatif.stages.ground import Ground

STATEFUL_SET = "StatefulSet "


class Trial(msgspec.Struct, frozen=True):
    """One of the trials: its number, and the seed of them all."""

    number: int
    seed: int


class Outcome(msgspec.Struct, frozen=True):
    """What a trial came to: of each workload's pods the nodes ("" for none), how many others each workload evicted, and
    by how many pods its fullest place exceeds its emptiest.
    """

    homes: dict[str, dict[str, str]]
    evicted: dict[str, int]
    skews: dict[str, int]


@dataclass(frozen=True)
class ChancesGround:
    """What all trials have in common: a cluster, the pods and updates that come to it, and what tells places apart."""

    ground: Ground
    rollouts: Sequence[Rollout]
    topology_key: str

    @cached_property
    def session(self) -> Session:
        session = self.ground.fork()
        session.driver.set_up_all()
        return session

    @cached_property
    def running(self) -> dict[str, list[PodInfo]]:
        """The pods of each workload that run before."""
        owners = Owners(self.ground.session.snapshot)
        found: dict[Subject, list[PodInfo]] = {}
        for info, _ in self.ground.session.cluster.pods():
            found.setdefault(owners.workload_of(info.pod), []).append(info)
        return {str(subject): infos for subject, infos in found.items()}

    @property
    def travels(self) -> bool:
        """Whether another process may have it: updates are walked through by functions of this one."""
        return not self.rollouts

    @contextmanager
    def trial(self) -> Iterator[Session]:
        """A session to try something in."""
        if not self.session.driver.undoable:
            yield self.ground.fork()
            return
        before = self.session.cluster.checkpoint()
        try:
            yield self.session
        finally:
            self.session.cluster.go_back(before)

    def __reduce__(self) -> tuple[type[ChancesGround], tuple[Ground, Sequence[Rollout], str]]:
        return ChancesGround, (self.ground, self.rollouts, self.topology_key)


def throw(ground: ChancesGround, trial: Trial) -> Outcome:
    """What becomes of the pods in one trial; the same for the same trial."""
    random = Random(f"{trial.seed}/{trial.number}")
    with ground.trial() as session:
        asked = arrivals(ground.ground.case.asked, random)
        session.driver.take_chances(random)
        placing = Run(session)
        placing.all_of(asked)
        for rollout in ground.rollouts:
            roll_out(rollout, placing, asked)
        return _outcome(ground, session, placing, asked)


def outcomes_of(ground: ChancesGround, trials: int, seed: int) -> list[Outcome]:
    """The outcomes of so many trials, made by as many processes as are worth it. Raises KwhatifError for one that
    comes to none.
    """
    found = []
    each = [Trial(number, seed) for number in range(trials)]
    outcomes = run(Study("Trying", ground, each, throw, Outcome, ""), Here() if ground.travels else Here(1))
    for outcome in outcomes:
        if isinstance(outcome, Failed):
            raise KwhatifError(f"trial {outcome.index}: {outcome.error}")
        found.append(outcome)
    return found


def arrivals(asked: Sequence[Asked], random: Random) -> list[Asked]:
    """The pods as they arrive: in any order, but those of a StatefulSet among each other in their own."""
    found = list(asked)
    random.shuffle(found)
    for owner in {item.owner for item in asked if item.owner.startswith(STATEFUL_SET)}:
        places = [place for place, item in enumerate(found) if item.owner == owner]
        for place, item in zip(places, (item for item in asked if item.owner == owner), strict=True):
            found[place] = item
    return found


def workload_of(item: Asked) -> str:
    """The workload of a pod that is asked about; the pod itself if nobody made it."""
    return item.owner or f"Pod {item.pod.namespace}/{item.pod.name}"


def _outcome(ground: ChancesGround, session: Session, run: Run, asked: Sequence[Asked]) -> Outcome:
    workloads = {item.pod.key: workload_of(item) for item in asked}
    homes: dict[str, dict[str, str]] = {}
    evicted: dict[str, int] = {}
    for placement in run.placements:
        workload = workloads[placement.pod]
        if placement.outcome == "skipped":
            continue
        homes.setdefault(workload, {})[placement.pod] = placement.node if placement.good else ""
        if placement.victims:
            evicted[workload] = evicted.get(workload, 0) + len(placement.victims)
    skews = {name: _skew(ground, session, run, name, pods) for name, pods in homes.items()}
    return Outcome(dict(sorted((name, dict(sorted(pods.items()))) for name, pods in homes.items())), evicted, skews)


def _skew(ground: ChancesGround, session: Session, run: Run, workload: str, homes: dict[str, str]) -> int:
    """The skew of a workload's pods, those that ran before and still do included."""
    cluster = session.cluster
    uids = [run.taken[key].pod.uid for key in homes if key in run.taken]
    found = [at for uid in uids if (at := cluster.find(uid)) is not None]
    found += [at for info in ground.running.get(workload, ()) if (at := cluster.find(info.uid)) is not None]
    if not found:
        return 0
    return skew_of(pods_by_place(cluster, ground.topology_key, found[0][0].shape, (row for _, row in found)))
