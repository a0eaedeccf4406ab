"""How well the race of a search is told: what is said to happen in so many of the cases, and what happened.

    calibration.py [--fit] [--runs N] [--unknown-start | --blind] [--svg FILE] RECORDING...

A RECORDING is a day (``kwhatif snapshot record``), or a file of scenarios with ``ties: real``
(docs/contributing/conformance.md),
each with a file of the same pods tried by several workers behind an ``=``: ``ties.jsonl.gz=race.jsonl.gz``. Of a day,
each binding counts whose pod had several best nodes in the state guessed best; of the scenarios the first pod, since
that finds the same cluster in every run.

Up to 100 nodes a search looks at all of them, and where it begins is known. Above, that is unknown: the first search of
a day may begin at any node, each as likely, and the next one where those before ended that led to the recorded node.
Bindings to a node that no search leads to do not count; standard error has their number. With ``--unknown-start`` days
of up to 100 nodes are treated in the same way. With ``--blind`` nothing is followed: each search begins at any node, of
a list in any order, as in a trial of ``chances``, and only pods that came alone count: which of several that a workload
makes at once was decided first is not known for sure, and the clusters before the first and the second differ by a pod.

For each case the race is played ``--runs`` times, and every node that was ever taken is a claim: that it is taken in so
many of the cases. One JSON line a tenth of probability: the mean of what was ``said``, how many ``claims`` there are by
weight, the share that ``happened``, and between which shares it lies in 95 of 100 such recordings if what was said is
right. Of the claims about one case at most one happens, so this counts cases. With ``--fit`` the parameter is fitted to
every second case, of clusters up to 100 nodes: one line a value with the mean logarithm of what was said of what
happened, in the cases it was fitted to and in the others. ``even`` is that of a draw.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from kwhatif.api.core import Node, Pod
from kwhatif.commands.backtest import decisions as judge
from kwhatif.commands.backtest.decisions import Decision, decisions, read_pod_versions
from kwhatif.commands.backtest.recorded_cluster import RecordedCluster
from kwhatif.commands.backtest.states import Replay, SearchTracker, ask_again
from kwhatif.policy.configuration_file import load_configuration
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.node_sampling import BEGINS_AFTER, MIN_FEASIBLE_NODES_TO_FIND, ParallelSearch, Search
from kwhatif.scheduling.node_score_heap import top_of
from kwhatif.scheduling.setup import Setup
from kwhatif.simulation.session import Session
from kwhatif.snapshot.load import load_recording
from kwhatif.snapshot.recording import Recording
from kwhatif.versions import features_of

WORKERS = 16
MINOR = "1.36"
VALUES = (0.0, 40.0, 160.0, 320.0, 640.0, 960.0, 1280.0, 1600.0, 1920.0, 2560.0)
"""Values of the parameter that are tried."""


@dataclass(frozen=True)
class Claims:
    """How likely each node, by row, is ``said`` to be taken, and how often which was ``taken``."""

    said: dict[int, float]
    taken: dict[int, int]


@dataclass(frozen=True)
class Case:
    """A search of ``nodes`` from ``start``: the rows that are ``feasible``, the ``best`` of them, and how often which
    of these was taken.
    """

    nodes: int
    start: int
    feasible: tuple[int, ...]
    best: frozenset[int]
    taken: dict[int, int]

    def chances(self, late: float, runs: int) -> dict[int, float]:
        """How often each of the best comes to the top."""
        random = np.random.Generator(np.random.PCG64(len(self.feasible) * 1000 + self.nodes))
        search, ok = ParallelSearch(random, WORKERS, late), np.zeros(self.nodes, np.bool_)
        ok[list(self.feasible)] = True
        counts: dict[int, int] = {}
        for _ in range(runs):
            rows, _ = search(ok, self.start, self.nodes)
            row = int(rows[top_of(np.isin(rows, list(self.best)).astype(np.int64))])
            counts[row] = counts.get(row, 0) + 1
        return {row: count / runs for row, count in counts.items()}

    def claims(self, runs: int) -> Claims:
        return Claims(self.chances(BEGINS_AFTER, runs), self.taken)


class BlindSearches:
    """Each search begins at any node of a list in any order, whatever those before came to."""

    unreachable = 0

    def __init__(self, cluster: RecordedCluster, runs: int) -> None:
        self._cluster, self._runs, self._random = cluster, runs, Random(runs)

    def take(self, pod: Pod, node: str) -> Claims | None:
        """The claims about a pod that was bound to this node; None if its search was no choice among equals, or cannot
        have led there.
        """
        asked = [self._ask(pod) for _ in range(self._runs)]
        row = self._cluster.session.cluster.columns.row(node)
        if row is None or row not in {each.row for each in asked}:
            self.unreachable += 1
            return None
        return claims_of(asked, row)

    def pass_over(self, pod: Pod) -> None:
        """A pod was refused."""

    def _ask(self, pod: Pod) -> Attempt:
        cluster = self._cluster
        cluster.session.driver.take_chances(self._random)
        return cluster.ask(pod)


def claims_of(searches: Sequence[Attempt], row: int) -> Claims | None:
    """How often each node was taken, of which ``row`` really was; None if there was no choice among equals."""
    if len({best for each in searches for best in each.best.tolist()}) < 2:
        return None
    rows = Counter(each.row for each in searches if each.row is not None)
    return Claims({each: count / len(searches) for each, count in rows.items()}, {row: 1})


class SearchFilter:
    """Where the next search begins, as a particle filter: ``runs`` starts, evenly drawn at first; then those where
    searches end that led to what was recorded.

    ``unreachable`` counts bindings to a node that no search leads to.
    """

    def __init__(self, cluster: RecordedCluster, runs: int) -> None:
        self._cluster, self._runs = cluster, runs
        self._random = np.random.Generator(np.random.PCG64(runs))
        self._search = ParallelSearch(self._random, WORKERS)
        self._starts = self._draw_starts(runs)
        self.unreachable = 0

    def take(self, pod: Pod, node: str) -> Claims | None:
        """The claims about a pod that was bound to this node; None if its search was no choice among equals, or cannot
        have led there.
        """
        asked = self._ask(pod, self._starts)
        row = self._cluster.session.cluster.columns.row(node)
        if row is None or not all(each.is_placed for each in asked):
            self.unreachable += 1
            return None
        agreeing = [each for each in asked if each.row == row]
        if agreeing:
            self._starts = spread_ends(agreeing, self._runs)
        else:
            # The order or the state is not as it was, or something rare happened: the next bindings tell.
            elsewhere = [each for each in self._ask(pod, self._draw_starts(self._runs)) if each.row == row]
            if not elsewhere:
                self._starts = spread_ends(asked, self._runs)
                self.unreachable += 1
                return None
            half = self._runs // 2
            self._starts = spread_ends(asked, half) + spread_ends(elsewhere, self._runs - half)
        return claims_of(asked, row)

    def pass_over(self, pod: Pod) -> None:
        """A pod was refused: the next search begins where its own ended, elsewhere if it looked at some nodes only."""
        start = self._starts[0]
        (asked,) = self._ask(pod, [start])
        if asked.next_start is not None:
            size = len(self._cluster.names)
            self._starts = [(each + asked.next_start - start) % size for each in self._starts]

    def _draw_starts(self, number: int) -> list[int]:
        found: list[int] = self._random.integers(len(self._cluster.names), size=number).tolist()
        return found

    def _ask(self, pod: Pod, starts: Sequence[int]) -> list[Attempt]:
        """The decisions about a pod whose search begins at each of these rows, with racing workers."""
        shared, size = self._cluster.session.driver.shared, len(self._cluster.names)
        one_worker: Search = shared.search
        shared.search = self._search
        try:
            return [self._cluster.ask(pod, start % size) for start in starts]
        finally:
            shared.search = one_worker


def spread_ends(searches: Sequence[Attempt], count: int) -> list[int]:
    """So many rows where searches ended, each search as often as any other but for one time. (Drawn at random, one of
    two ends that are as likely would die out in time.)
    """
    ends = [each.next_start for each in searches if each.next_start is not None]
    return [ends[place * len(ends) // count] for place in range(count)]


def claims_of_day(path: str, runs: int, *, unknown_start: bool = False, blind: bool = False) -> Iterator[Claims]:
    """Those about the bindings of a recorded day whose pods had several best nodes, at whatever number of nodes."""
    recording, replay = replay_of(path)
    if not (blind or unknown_start or is_sampled(recording)):
        yield from (case.claims(runs) for case in cases_of_day(path))
        return
    searches: BlindSearches | SearchFilter = (BlindSearches if blind else SearchFilter)(replay.cluster, runs)
    bindings, decided = 0, list(decisions(recording, list(read_pod_versions(recording))))
    for place, decision in enumerate(decided):
        if blind and not is_alone(decided, place):
            continue
        bindings += bool(decision.node)
        claims = claims_of_decision(replay, searches, decision)
        if claims is not None:
            yield claims
    print(f"{path}: no search leads to the node in {searches.unreachable} of {bindings} bindings", file=sys.stderr)


def is_alone(decided: Sequence[Decision], place: int) -> bool:
    """Whether neither the decision before this one nor the next is about a pod of the same workload, by their names."""
    workloads = [decision.key.rpartition("-")[0] for decision in decided[max(place - 1, 0) : place + 2]]
    return workloads.count(decided[place].key.rpartition("-")[0]) == 1


def claims_of_decision(replay: Replay, searches: BlindSearches | SearchFilter, decision: Decision) -> Claims | None:
    """Those about one binding, in the state guessed best; none about a refusal."""
    for moment in replay.moments(decision):
        with replay.state(decision, moment) as pod:
            if pod is None:
                continue
            if not replay.cluster.decides_about(pod):
                return None
            if decision.node:
                return searches.take(pod, decision.node)
            searches.pass_over(pod)
            return None
    return None


def is_sampled(recording: Recording) -> bool:
    """Whether there may be so many nodes that a search does not look at all of them."""
    changes = (*recording.start, *recording.changes)
    return len({change.key for change in changes if change.kind.struct is Node}) > MIN_FEASIBLE_NODES_TO_FIND


def replay_of(path: str) -> tuple[Recording, Replay]:
    """A recorded day, and its replay by the scheduler with default settings."""
    recording, start = load_recording(path)
    features = features_of(MINOR)
    session = Session(start, Setup(load_configuration(None, source="", features=features), features))
    later = [each for each in recording.changes if each.kind.struct and each.version > recording.begins]
    return recording, Replay(RecordedCluster(session), later)


def cases_of_day(path: str) -> Iterator[Case]:
    """The bindings of a recorded day, up to 100 nodes, whose pods had several best nodes."""
    recording, replay = replay_of(path)
    session, searches = replay.cluster.session, SearchTracker(replay.cluster)
    for decision in decisions(recording, list(read_pod_versions(recording))):
        before = session.driver.shared.next_start
        asked = ask_again(replay, searches, decision)
        guess, names = asked.guess, session.cluster.columns.names
        if guess is None or not decision.node or asked.agreement not in (judge.FORETOLD, judge.TIE):
            continue
        best = frozenset(guess.best.tolist())
        yield Case(len(names), before, tuple(guess.sampled.tolist()), best, {names.index(decision.node): 1})


def cases_of_race(ties: str, race: str) -> Iterator[Case]:
    """The first pod of each scenario that was tried by several workers, if several nodes were the best."""
    recorded = {scenario["name"]: scenario["expected"] for path in ties.split(",") for scenario in lines_of(path)}
    for run in lines_of(race):
        expected, first = recorded[run["name"]], run["first"]
        if len(first["winners"]) < 2:
            continue
        row = {name: place for place, name in enumerate(expected["nodeOrder"])}
        (attempt,) = next(pod["attempts"] for pod in expected["pods"] if pod["pod"] == first["pod"])
        feasible, best = (row[name] for name in attempt["sampled"]), (row[name] for name in first["winners"])
        taken = {row[name]: times for name, times in run["race"][first["pod"]].items() if name}
        yield Case(len(row), attempt["start"], tuple(feasible), frozenset(best), taken)


def lines_of(path: str) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def fit(cases: Sequence[Case], runs: int) -> Iterator[dict[str, Any]]:
    """How likely what happened is said to have been, by each value of the parameter."""
    for late in VALUES:
        sums = {"fitted": [0.0, 0], "held_back": [0.0, 0], "even": [0.0, 0]}
        for number, case in enumerate(cases):
            chances = case.chances(late, runs)
            for row, times in case.taken.items():
                # What never happened in the runs may happen in one more.
                said = (chances.get(row, 0.0) * runs + 1 / len(case.best)) / (runs + 1)
                for name, value in (("held_back" if number % 2 else "fitted", said), ("even", 1 / len(case.best))):
                    sums[name][0] += times * log(value)
                    sums[name][1] += times
        yield {"late": late, **{name: round(total / count, 4) for name, (total, count) in sums.items()}}


def calibrate(cases: Iterable[Claims]) -> list[dict[str, Any]]:
    """By tenth of what was said, how much of it happened."""
    tenths: dict[int, list[tuple[float, int, int, int]]] = {}
    for case in cases:
        tries, found = sum(case.taken.values()), dict[int, list[float]]()
        for row, said in case.said.items():
            sums = found.setdefault(min(int(said * 10), 9), [0.0, 0, 0])
            sums[0], sums[1], sums[2] = sums[0] + said, sums[1] + tries, sums[2] + case.taken.get(row, 0)
        for tenth, (said, claims, happened) in found.items():
            tenths.setdefault(tenth, []).append((min(said, 1.0), tries, int(claims), int(happened)))
    return [_row_of(tenth / 10, found) for tenth, found in sorted(tenths.items())]


def _row_of(tenth: float, cases: Sequence[tuple[float, int, int, int]]) -> dict[str, Any]:
    """Of cases (what was said of all claims together, tries, claims, how many happened) of one tenth."""
    claims = sum(number for _, _, number, _ in cases)
    likely = np.ones(1)
    for said, tries, _, _ in cases:
        for _ in range(tries):
            likely = np.convolve(likely, (1 - said, said))
    up_to = np.cumsum(likely)
    return {
        "from": tenth,
        "said": round(sum(said * tries for said, tries, _, _ in cases) / claims, 4),
        "claims": claims,
        "happened": round(sum(happened for _, _, _, happened in cases) / claims, 4),
        "between": [round(int(np.searchsorted(up_to, share)) / claims, 4) for share in (0.025, 0.975)],
    }


def chart(rows: Sequence[dict[str, Any]]) -> str:
    """The calibration as SVG: said across, happened upwards, the area of a dot by the number of claims."""
    size, edge = 360, 48
    most = max(row["claims"] for row in rows)

    def x(share: float) -> float:
        return round(edge + share * size, 1)

    def y(share: float) -> float:
        return round(edge + (1 - share) * size, 1)

    whole = size + 2 * edge
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole} {whole}"',
        'font-family="sans-serif" font-size="12">',
        "<title>What is said to happen, and what happened</title>",
        f'<rect width="{whole}" height="{whole}" fill="white"/>',
        f'<path d="M{x(0)} {y(0)}L{x(1)} {y(1)}" stroke="#999" stroke-dasharray="4"/>',
        f'<path d="M{x(0)} {y(1)}V{y(0)}H{x(1)}" stroke="#333" fill="none"/>',
    ]
    for share in (0, 0.2, 0.4, 0.6, 0.8, 1):
        parts.append(f'<text x="{x(share)}" y="{y(0) + 18}" text-anchor="middle">{share:.0%}</text>')
        parts.append(f'<text x="{x(0) - 6}" y="{y(share) + 4}" text-anchor="end">{share:.0%}</text>')
    for row in rows:
        radius = round(3 + 11 * (row["claims"] / most) ** 0.5, 1)
        parts.append(
            f'<circle cx="{x(row["said"])}" cy="{y(row["happened"])}" r="{radius}" fill="#2a78b5" fill-opacity="0.6"/>'
        )
    parts.append(f'<text x="{x(0.5)}" y="{whole - 6}" text-anchor="middle">said</text>')
    parts.append(f'<text x="14" y="{y(0.5)}" text-anchor="middle" transform="rotate(-90 14 {y(0.5)})">happened</text>')
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("recordings", nargs="+")
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--unknown-start", action="store_true")
    parser.add_argument("--blind", action="store_true")
    parser.add_argument("--svg", type=Path)
    wanted = parser.parse_args()
    pairs = [path.partition("=") for path in wanted.recordings]
    if wanted.fit:
        cases: list[Case] = []
        for path, _, race in pairs:
            if not race and is_sampled(load_recording(path)[0]):
                parser.error(f"{path}: --fit takes clusters up to {MIN_FEASIBLE_NODES_TO_FIND} nodes")
            cases += cases_of_race(path, race) if race else cases_of_day(path)
        for line in fit(cases, wanted.runs):
            print(json.dumps(line), flush=True)
        return
    claims: list[Claims] = []
    for path, _, race in pairs:
        if race:
            claims += (case.claims(wanted.runs) for case in cases_of_race(path, race))
        else:
            claims += claims_of_day(path, wanted.runs, unknown_start=wanted.unknown_start, blind=wanted.blind)
    rows = calibrate(claims)
    for line in rows:
        print(json.dumps(line))
    if wanted.svg is not None:
        wanted.svg.write_text(chart(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
