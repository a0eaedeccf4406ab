"""Outcomes of trials added up, in their order, to probabilities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from kwhatif.results.chances import PendingChances, PlaceChances, PodChances, Probability, WorkloadChances
from kwhatif.whatif.chances.trials import Outcome


@dataclass
class _Places:
    """In how many trials a pod came to each place, and how many pods did in all of them."""

    trials: Counter[str] = field(default_factory=Counter)
    pods: Counter[str] = field(default_factory=Counter)

    def add(self, names: Iterable[str]) -> None:
        counts = Counter(name for name in names if name)
        self.pods += counts
        self.trials.update(counts.keys())

    def told(self, trials: int) -> tuple[PlaceChances, ...]:
        """The likeliest first."""
        ranked = sorted(self.trials, key=lambda name: (-self.trials[name], -self.pods[name], name))
        return tuple(
            PlaceChances(
                name=name,
                probability=Probability.of(self.trials[name], trials),
                pods=round(self.pods[name] / trials, 6),
            )
            for name in ranked
        )


@dataclass
class _Workload:
    pods: int = 0
    pending: Counter[int] = field(default_factory=Counter)
    evicting: int = 0
    skewed: int = 0
    nodes: _Places = field(default_factory=_Places)
    zones: _Places = field(default_factory=_Places)
    each: dict[str, Counter[str]] = field(default_factory=dict)


class Counts:
    """What trials came to so far. ``zones`` says which zone each node is in; more than ``max_skew`` is skewed."""

    def __init__(self, zones: Mapping[str, str], max_skew: int) -> None:
        self._zones, self._max_skew = zones, max_skew
        self._workloads: dict[str, _Workload] = {}
        self.trials = 0

    def add(self, outcome: Outcome) -> None:
        """One more trial."""
        self.trials += 1
        for name, homes in outcome.homes.items():
            found = self._workloads.setdefault(name, _Workload())
            found.pods = max(found.pods, len(homes))
            found.pending[sum(not home for home in homes.values())] += 1
            found.evicting += bool(outcome.evicted.get(name))
            found.skewed += outcome.skews[name] > self._max_skew
            found.nodes.add(homes.values())
            found.zones.add(self._zones.get(home, "") for home in homes.values())
            for pod, home in homes.items():
                found.each.setdefault(pod, Counter())[home] += 1

    def precise(self, precision: float) -> bool:
        """Whether all intervals are so narrow: no more than this to either side."""
        return all(each.precision <= precision for each in self.workloads())

    def workloads(self) -> Iterator[WorkloadChances]:
        """The workloads by name."""
        for name, found in sorted(self._workloads.items()):
            without = sum(times for pods, times in found.pending.items() if pods)
            yield WorkloadChances(
                workload=name,
                pods=found.pods,
                pending=Probability.of(without, self.trials),
                pending_pods=tuple(
                    PendingChances(pods=pods, probability=Probability.of(times, self.trials))
                    for pods, times in sorted(found.pending.items())
                    if pods
                ),
                evicting=Probability.of(found.evicting, self.trials),
                skewed=Probability.of(found.skewed, self.trials),
                zones=found.zones.told(self.trials),
                nodes=found.nodes.told(self.trials),
            )

    def pods(self) -> Iterator[PodChances]:
        """The pods by workload and name."""
        for name, found in sorted(self._workloads.items()):
            for pod, homes in sorted(found.each.items()):
                places = _Places(Counter({home: times for home, times in homes.items() if home}))
                places.pods = places.trials
                yield PodChances(
                    pod=pod,
                    workload=name,
                    pending=Probability.of(homes[""], self.trials),
                    nodes=places.told(self.trials),
                )
