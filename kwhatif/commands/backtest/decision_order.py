"""The order in which bindings were decided, which is not the one in which they were written.

Pods are decided one after the other, and bound side by side, so one binding may overtake another. What tells is the
queue: it gives the pod of the higher priority first, and of two that are equal the one that came first. Upstream:
bindingCycle in pkg/scheduler/schedule_one.go, Less of pkg/scheduler/framework/plugins/queuesort/priority_sort.go.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar


class Binding(Protocol):
    """One that was written with the version ``before``; what it was decided by is filled in."""

    uid: str
    before: int
    around: int
    known: frozenset[str]


class Arrival(NamedTuple):
    """When a pod entered the queue, as a version, and its priority."""

    version: int
    priority: int


AnyBinding = TypeVar("AnyBinding", bound=Binding)


def order_bindings(written: Sequence[AnyBinding], arrivals: Mapping[str, Arrival]) -> list[AnyBinding]:
    """The bindings, given as they were ``written``, as they were decided, each with what the scheduler knew by then.

    ``arrivals`` (by uid) are of the pods that were queued once, and so popped in the queue's order: an earlier one goes
    first unless its priority is lower. Others count as decided when they were written.
    """
    ordered = list(_in_queue_order(written, arrivals))
    first = 0
    for place in range(len(ordered) - 1, -1, -1):
        each = ordered[place]
        first = min(first, each.before) if first else each.before
        each.around = first - 1
    late: list[AnyBinding] = []
    for each in ordered:
        late = [other for other in late if other.before > each.around]
        each.known = frozenset(other.uid for other in late)
        late.append(each)
    return ordered


def _in_queue_order(written: Sequence[AnyBinding], arrivals: Mapping[str, Arrival]) -> Iterator[AnyBinding]:
    queues: dict[int, deque[AnyBinding]] = {}
    for each in sorted((each for each in written if each.uid in arrivals), key=lambda each: arrivals[each.uid].version):
        queues.setdefault(arrivals[each.uid].priority, deque()).append(each)
    done: set[str] = set()
    for each in written:
        if each.uid in done:
            continue
        if (arrival := arrivals.get(each.uid)) is not None:
            for priority in sorted((one for one in queues if one >= arrival.priority), reverse=True):
                queue = queues[priority]
                while queue and arrivals[queue[0].uid].version < arrival.version:
                    other = queue.popleft()
                    if other.uid not in done:
                        done.add(other.uid)
                        yield other
        done.add(each.uid)
        yield each
