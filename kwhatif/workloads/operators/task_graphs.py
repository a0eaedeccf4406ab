"""The greatest number of tasks of a graph that may run at once.

A task never runs at the same time as one that it waits for, so the tasks at the peak are the heaviest set of which none
waits for another. By Dilworth's theorem that is as many as it takes chains of waiting tasks to cover the graph, each
task as often as it has pods; the largest flow from tasks to those before them finds such a cover.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeVar

import msgspec

T = TypeVar("T")


def most_at_once(tasks: Mapping[str, Sequence[T]], before: Mapping[str, set[str]]) -> list[T]:
    """The runs at the peak. ``tasks`` maps each task to its runs, ``before`` to the tasks that it waits for."""
    peak = names_at_peak({name: len(runs) for name, runs in tasks.items()}, before)
    return [run for name in peak for run in tasks[name]]


def names_at_peak(pods: Mapping[str, int], before: Mapping[str, set[str]]) -> list[str]:
    """The tasks at the peak, in their order. ``pods`` maps each task to its number of pods."""
    flow = _Flow({name: _closure(name, before) & pods.keys() for name in pods}, dict(pods), dict(pods))
    while flow.grow():
        pass
    return [name for name in pods if name in flow.later and name not in flow.earlier]


def _closure(name: str, before: Mapping[str, set[str]]) -> set[str]:
    """All tasks that a task waits for, directly or not."""
    closure: set[str] = set()
    waiting = [name]
    while waiting:
        for other in before.get(waiting.pop(), ()):
            if other not in closure:
                closure.add(other)
                waiting.append(other)
    return closure - {name}


class _Flow(msgspec.Struct):
    """A flow from tasks to those before them; ``unsent`` and ``unmet`` are the remaining capacities of both ends."""

    before: Mapping[str, AbstractSet[str]]
    unsent: dict[str, int]
    unmet: dict[str, int]
    sent: dict[str, dict[str, int]] = {}
    """Earlier task -> later task -> flow."""
    later: dict[str, str] = {}
    """Later tasks reached by the last search -> the earlier task on the way to them, "" for a start."""
    earlier: dict[str, str] = {}
    """Earlier tasks reached by the last search -> the later task on the way to them."""

    def grow(self) -> bool:
        """Augment the flow along one path; False if there is none."""
        self.later = {name: "" for name, left in self.unsent.items() if left}
        self.earlier = {}
        waiting = deque(self.later)
        while waiting:
            name = waiting.popleft()
            for other in sorted(self.before[name] - self.earlier.keys()):
                self.earlier[other] = name
                if self.unmet[other]:
                    self._send_to(other)
                    return True
                for sender in self.sent.get(other, ()):
                    if sender not in self.later:
                        self.later[sender] = other
                        waiting.append(sender)
        return False

    def _send_to(self, last: str) -> None:
        path: list[tuple[str, str]] = []
        other = last
        while other:
            name = self.earlier[other]
            path.append((name, other))
            other = self.later[name]
        first = path[-1][0]
        rerouted = [(path[place][0], path[place + 1][1]) for place in range(len(path) - 1)]
        amount = min(self.unsent[first], self.unmet[last], *(self.sent[other][name] for name, other in rerouted))
        for name, other in path:
            of_other = self.sent.setdefault(other, {})
            of_other[name] = of_other.get(name, 0) + amount
        for name, other in rerouted:
            self.sent[other][name] -= amount
            if not self.sent[other][name]:
                del self.sent[other][name]
        self.unsent[first] -= amount
        self.unmet[last] -= amount
