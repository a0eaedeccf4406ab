"""Pods by shape: what scheduling can see of a pod, stored once for all pods that look alike.

Two pods have the same shape when no plugin can tell them apart: same namespace, labels, controller, spec and
resize status. Shapes that differ in nothing but labels are of one template. Both are numbered, so questions about many
pods are answered by indexing with their shapes' numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

import msgspec
import numpy as np

from kwhatif.api.core import Pod, PodSpec, Volume
from kwhatif.api.meta import OwnerReference
from kwhatif.api.mismatch import described
from kwhatif.api.selectors import RequiredNodeAffinity, Selector
from kwhatif.cluster.terms import AffinityTerm

NEVER_STARTED = np.iinfo(np.int64).max
"""Start time of a pod that has none: upstream takes the present moment, later than any recorded one."""

HostPort = tuple[str, str, int]
"""(host IP, protocol, port), with 0.0.0.0 and TCP filled in."""


class PodShape(msgspec.Struct, eq=False):
    """What scheduling can see of a pod.

    All but ``index`` and ``labels`` are the same for all shapes of one ``template``. Requests are by resource name,
    millicores for cpu, units for all else: ``requests`` are what must fit, ``score_requests`` what the pod adds to its
    node (resizes counted). ``fit_score_requests`` are what NodeResourcesFit scores with: defaults for containers that
    ask for nothing, and neither resizes nor pod-level requests, since upstream leaves those switches of its scorer
    off. ``drift`` is what ``requests`` grow by with every further sum (see ``pod_requests.overhead_drift``).
    """

    index: int
    template: int
    labels: Mapping[str, str]
    namespace: str
    controller: OwnerReference | None
    terminating: bool
    spec: PodSpec
    priority: int
    requests: dict[str, int]
    score_requests: dict[str, int]
    fit_score_requests: dict[str, int]
    drift: dict[str, int]
    ports: tuple[HostPort, ...]
    node_affinity: RequiredNodeAffinity
    affinity: tuple[AffinityTerm, ...]
    anti_affinity: tuple[AffinityTerm, ...]
    preferred_affinity: tuple[AffinityTerm, ...]
    preferred_anti_affinity: tuple[AffinityTerm, ...]

    @property
    def terms(self) -> tuple[AffinityTerm, ...]:
        """All its affinity terms."""
        return (*self.affinity, *self.anti_affinity, *self.preferred_affinity, *self.preferred_anti_affinity)

    @property
    def has_volumes(self) -> bool:
        """Whether it has volumes of which more than the name is known; no plugin reads others."""
        return any(map(is_read, self.spec.volumes or ()))


@dataclass(slots=True, eq=False)
class PodInfo:
    """A pod and its shape. ``start`` is its start time in nanoseconds since 1970, or ``NEVER_STARTED``."""

    pod: Pod
    shape: PodShape
    key: str
    uid: str
    start: int
    nominated: str = ""

    @property
    def priority(self) -> int:
        return self.shape.priority


@dataclass(frozen=True, slots=True)
class Selection:
    """Pods by labels and namespace, None for any; ``staying``: without those on their way out."""

    selector: Selector
    namespaces: frozenset[str] | None
    staying: bool = False
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.selector, self.namespaces, self.staying)))

    def __hash__(self) -> int:
        return self._hash  # asked for each of thousands of terms, and of all of them together

    def admits(self, shape: PodShape) -> bool:
        """Whether pods of this shape are among them."""
        if (self.namespaces is not None and shape.namespace not in self.namespaces) or (
            self.staying and shape.terminating
        ):
            return False
        return self.selector.matches(shape.labels)


def is_read(volume: Volume) -> bool:
    """Whether more than the volume's name is known."""
    return volume != Volume(name=volume.name)


def start_time(text: str | None) -> int:
    """Nanoseconds since 1970 of an RFC 3339 time, or ``NEVER_STARTED``. Raises ValueError."""
    if not text:
        return int(NEVER_STARTED)
    whole, dot, rest = text.partition(".")
    digits = 0
    while dot and digits < len(rest) and rest[digits].isdigit():
        digits += 1
    try:
        moment = datetime.fromisoformat(whole + rest[digits:])
    except ValueError:
        raise ValueError(f'expected a start time such as "2026-03-01T11:29:02Z", found {described(text)}') from None
    return int(moment.timestamp()) * 1_000_000_000 + int(rest[:digits].ljust(9, "0")[:9] or 0)
