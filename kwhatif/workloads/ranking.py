"""Which pods of a replica set go first when there are too many.

Upstream: pkg/controller/controller_utils.go (ActivePodsWithRanks), replicaset/replica_set.go (getPodsToDelete).
Times are compared by the power of two of their distance from ``now``; without a ``now``, as they are.
Pods that no rule tells apart go in an order upstream leaves to chance; here the one made last goes first.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import InitVar, dataclass
from datetime import datetime, timedelta
from functools import cached_property, cmp_to_key
from typing import Any, TypeVar

from kwhatif.admission.answer import Object
from kwhatif.workloads.objects import annotations_of, section, uid_of
from kwhatif.workloads.pod_status import is_over, moment, phase_of, ready_since, restarts_of

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_PHASES = ("Pending", "Unknown", "Running")

T = TypeVar("T")


def first_to_go(
    candidates: Sequence[T],
    count: int,
    *,
    pod_of: Callable[[T], Object],
    ready: Callable[[T], bool],
    related: Iterable[Object] = (),
    now: datetime | None = None,
) -> list[T]:
    """The ``count`` candidates that are deleted. ``related`` are the pods of all replica sets of the same owner."""
    crowd = Counter(_node(pod) for pod in related if not is_over(pod))

    def compare(one: tuple[T, _Rank], other: tuple[T, _Rank]) -> int:
        return _order(one[1], other[1], now)

    latest_first = [(one, _Rank(pod_of(one), ready(one), crowd)) for one in reversed(candidates)]
    return [one for one, _ in sorted(latest_first, key=cmp_to_key(compare))[:count]]


@dataclass
class _Rank:
    """What decides about one pod; times and restarts are read only of pods that nothing else tells apart."""

    pod: Object
    ready: bool
    crowd: InitVar[Counter[str]]

    def __post_init__(self, crowd: Counter[str]) -> None:
        node = _node(self.pod)
        self.first = (bool(node), _phase(self.pod, self.ready), self.ready, _cost(self.pod), -crowd[node])

    @cached_property
    def ready_since(self) -> datetime | None:
        return ready_since(self.pod)

    @cached_property
    def restarts(self) -> tuple[int, int]:
        return restarts_of(self.pod)

    @cached_property
    def created(self) -> datetime | None:
        return moment(section(self.pod, "metadata").get("creationTimestamp"), self.pod, "creationTimestamp")


def _order(a: _Rank, b: _Rank, now: datetime | None) -> int:
    """Below zero if ``a`` goes before ``b``."""
    answer = _sign(a.first, b.first)
    if not answer and a.ready and b.ready:
        answer = _younger(a.ready_since, b.ready_since, a.pod, b.pod, now)
    answer = answer or _sign(b.restarts, a.restarts)
    return answer or _younger(a.created, b.created, a.pod, b.pod, now)


def _younger(one: datetime | None, other: datetime | None, a: Object, b: Object, now: datetime | None) -> int:
    """What is more recent goes first, and what has no time yet before all; within one power of two, by uid."""
    if one == other:
        return 0
    if one is None or other is None:
        return -1 if one is None else 1
    if now is None:
        return -1 if one > other else 1
    return _sign(_power(now - one), _power(now - other)) or _sign(uid_of(a), uid_of(b))


def _power(age: timedelta) -> int:
    nanoseconds = (age // timedelta(microseconds=1)) * 1000
    return int(math.log2(nanoseconds)) if nanoseconds > 0 else -1


def _sign(a: Any, b: Any) -> int:
    return int(a > b) - int(a < b)


def _node(pod: Object) -> str:
    return str(section(pod, "spec").get("nodeName") or "")


def _phase(pod: Object, ready: bool) -> int:
    """Pending, unknown, running; who is ready runs."""
    phase = "Running" if ready else phase_of(pod)
    return _PHASES.index(phase) if phase in _PHASES else 0


def _cost(pod: Object) -> int:
    """The annotated cost; what is no plain number counts as none."""
    text = annotations_of(pod).get(DELETION_COST) or "0"
    digits = text.removeprefix("-")
    plain = digits.isascii() and digits.isdigit() and (digits == "0" or digits[0] != "0") and text != "-0"
    return int(text) if plain and -(2**31) <= int(text) < 2**31 else 0
