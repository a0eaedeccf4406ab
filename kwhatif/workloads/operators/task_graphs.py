"""The greatest number of tasks of a graph that may run at once, as an upper bound by chains.

A task never runs at the same time as one that it waits for. The graph is covered by as few chains of such tasks as
possible (Dilworth; by matching, as Fulkerson showed); of each chain one task runs at a time, so the heaviest tasks of
all chains together are an upper bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")


def most_at_once(tasks: Mapping[str, Sequence[T]], before: Mapping[str, set[str]]) -> list[T]:
    """What runs at the peak. ``tasks`` has what each one runs, ``before`` those that each one waits for."""
    earlier = {name: _closure(name, before) & tasks.keys() for name in tasks}
    follower: dict[str, str] = {}
    leader: dict[str, str] = {}
    for name in tasks:
        _extend(name, earlier, follower, leader, set())
    found: list[T] = []
    for name in tasks:
        if name in follower:
            continue
        chain = [name]
        while chain[-1] in leader:
            chain.append(leader[chain[-1]])
        found += tasks[max(chain, key=lambda each: len(tasks[each]))]
    return found


def _closure(name: str, before: Mapping[str, set[str]]) -> set[str]:
    """All tasks that a task waits for, directly or not."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for other in before.get(waiting.pop(), ()):
            if other not in found:
                found.add(other)
                waiting.append(other)
    return found - {name}


def _extend(
    name: str, earlier: Mapping[str, set[str]], follower: dict[str, str], leader: dict[str, str], seen: set[str]
) -> bool:
    """Put a task behind one that it waits for, which may have to give up another one; whether that was possible.

    ``leader`` is task -> the one before it in its chain, ``follower`` the other way round.
    """
    for other in sorted(earlier[name]):
        if other in seen:
            continue
        seen.add(other)
        if other not in follower or _extend(follower[other], earlier, follower, leader, seen):
            follower[other], leader[name] = name, other
            return True
    return False
