"""Which pods of a replica set go first when there are too many.

Upstream: pkg/controller/controller_utils.go (ActivePodsWithRanks), replicaset/replica_set.go (getPodsToDelete).
Times are compared by the power of two of their distance from ``now``; without a ``now``, as they are.
Pods that no rule tells apart go in an order upstream leaves to chance; here the one made last goes first.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from functools import cmp_to_key
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

    def compare(one: T, other: T) -> int:
        a, b = pod_of(one), pod_of(other)
        return _order(a, b, ready(one), ready(other), crowd, now)

    latest_first = candidates[::-1]
    return sorted(latest_first, key=cmp_to_key(compare))[:count]


def _order(a: Object, b: Object, a_ready: bool, b_ready: bool, crowd: Counter[str], now: datetime | None) -> int:
    """Below zero if ``a`` goes before ``b``."""
    answer = _sign(bool(_node(a)), bool(_node(b))) or _sign(_phase(a, a_ready), _phase(b, b_ready))
    answer = answer or _sign(a_ready, b_ready) or _sign(_cost(a), _cost(b))
    answer = answer or _sign(crowd[_node(b)], crowd[_node(a)])
    if not answer and a_ready and b_ready:
        answer = _younger(ready_since(a), ready_since(b), a, b, now)
    answer = answer or _sign(restarts_of(b), restarts_of(a))
    return answer or _younger(_created(a), _created(b), a, b, now)


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


def _created(pod: Object) -> datetime | None:
    return moment(section(pod, "metadata").get("creationTimestamp"), pod, "creationTimestamp")
