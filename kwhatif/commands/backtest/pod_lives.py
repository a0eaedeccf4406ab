"""The lives of a recording's pods, without the scheduler's decisions: creation, changes, completion and deletion.

The recorded nodes and preemptions are left out. A pod that was preempted, or that had to leave with its node, might
have stayed on another node, and then no replacement would have been made: the two are one life here, which ends as that
of the replacement did. Missing parts of a recording become notes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from kwhatif.api.core import Node, Pod, PodSpec, PodStatus
from kwhatif.api.meta import Resource
from kwhatif.scheduling.controllers import REPLACED_AFTER_DELETION, REPLACED_ON_EVICTION
from kwhatif.simulation.inputs import Notes
from kwhatif.snapshot.recording import Change, Recording, rfc3339

_PLACED = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
"""Labels that a pod is given with its node. Upstream: plugin/pkg/admission/podtopologylabels/admission.go."""
_PREEMPTED = "PreemptionByScheduler"


class PodLife(msgspec.Struct, eq=False):
    """One pod, with moments in seconds since the recording began.

    ``pod`` is as it was created, or as it was at first. It was ``bound`` to ``node``, by no decision if it was
    ``there``: before the recording, or as a static pod. It was ``deleted``, gone ``leaving`` seconds later, and had
    ``finished`` its work. ``changes`` are later versions of it. ``preempted``: the recorded scheduler deleted it.
    ``lost``: it was deleted on account of its node only. ``follower`` is its replacement.
    """

    pod: Pod
    created: float
    there: bool = False
    bound: float | None = None
    node: str = ""
    deleted: float | None = None
    leaving: float | None = None
    finished: float | None = None
    changes: list[tuple[float, Pod]] = []
    preempted: bool = False
    lost: bool = False
    follower: PodLife | None = None
    follows: bool = False

    @property
    def uid(self) -> str:
        return self.pod.identity

    @property
    def ready(self) -> float | None:
        """When it could first be tried: once it was not gated any more."""
        if not self.pod.spec.scheduling_gates:
            return self.created
        return next((at for at, pod in self.changes if not pod.spec.scheduling_gates), None)

    @property
    def last(self) -> PodLife:
        """The life whose end is this one's."""
        life = self
        while life.follower is not None:
            life = life.follower
        return life

    @property
    def unwanted_at(self) -> float | None:
        """When it, or its replacement, was deleted for good."""
        last = self.last
        return None if last.lost else last.deleted

    @property
    def works_for(self) -> float | None:
        """How long it, or its replacement, ran until it completed."""
        last = self.last
        return None if last.finished is None or last.bound is None else last.finished - last.bound


class PodLives(msgspec.Struct):
    """All lives in the order in which pods were created, and when which nodes were emptied."""

    lives: list[PodLife]
    emptied: list[tuple[float, str]]

    def __iter__(self) -> Iterator[PodLife]:
        """Those that follow no other pod."""
        return (life for life in self.lives if not life.follows)


class LifeReader:
    """Derives lives from the changes of pods and nodes, in their order."""

    def __init__(self, start: Iterable[Resource]) -> None:
        self._lives: dict[str, PodLife] = {}
        self._by_key: dict[tuple[str, str], PodLife] = {}
        self._cordoned: dict[str, bool] = {}
        self._drained: set[str] = set()
        self.emptied: list[tuple[float, str]] = []
        for obj in start:
            if isinstance(obj, Node):
                self._node(obj)
            elif isinstance(obj, Pod) and not obj.is_finished:
                self._first(obj)

    def take(self, at: float, change: Change, obj: Resource) -> None:
        """Handle one change; other kinds are ignored."""
        if isinstance(obj, Node):
            if change.deleted:
                self._cordoned.pop(obj.name, None)
            else:
                self._node(obj)
        elif isinstance(obj, Pod):
            life = self._lives.get(obj.identity)
            if life is None and not change.deleted:
                life = self._first(obj, at)
            if life is not None:
                self._goes_on(life, at, obj, is_gone=change.deleted)

    def lives(self) -> PodLives:
        lives = list(self._lives.values())
        _join(lives)
        return PodLives(lives, self.emptied)

    def _node(self, node: Node) -> None:
        cordoned = bool(node.spec.unschedulable) or any(t.effect == "NoExecute" for t in node.spec.taints or ())
        self._cordoned[node.name] = cordoned
        if not cordoned:
            self._drained.discard(node.name)

    def _first(self, pod: Pod, at: float | None = None) -> PodLife:
        """A pod that came at a moment, or was there at first."""
        there = bool(pod.spec.node_name) and (at is None or pod.is_mirror)
        bare = replace(pod, spec=_unbound(pod.spec), status=pod.status if at is None else PodStatus(phase="Pending"))
        life = self._lives[pod.identity] = PodLife(bare, at or 0.0, there)
        if there:
            life.bound, life.node = at or 0.0, pod.spec.node_name or ""
        return life

    def _goes_on(self, life: PodLife, at: float, pod: Pod, *, is_gone: bool) -> None:
        if life.bound is None and pod.spec.node_name:
            life.bound, life.node = at, pod.spec.node_name
        if pod.is_finished and life.finished is None and life.deleted is None:
            life.finished = at
        before = life.changes[-1][1] if life.changes else life.pod
        if _desired_state_of(pod) != _desired_state_of(before) and not is_gone:
            life.changes.append((at, replace(life.pod, metadata=pod.metadata, spec=_unbound(pod.spec))))
        going = is_gone or pod.metadata.deletion_timestamp is not None
        if going and life.deleted is None:
            life.deleted = at
            self._start_deletion(life, at, pod)
        if is_gone and life.deleted is not None:
            life.leaving = at - life.deleted

    def _start_deletion(self, life: PodLife, at: float, pod: Pod) -> None:
        """Record a deletion: by the scheduler, by its node, or by a user."""
        if life.finished is not None:
            return
        why = next((one.reason or "" for one in pod.status.conditions or () if one.type == "DisruptionTarget"), "")
        owner = pod.controller
        if why == _PREEMPTED:
            life.preempted = life.lost = True
        elif life.node and not (owner is not None and owner.kind in ("DaemonSet", "Node")):
            cordoned = self._cordoned.get(life.node)
            if cordoned is None:
                life.lost = True
            elif cordoned and why:
                life.lost = True
                if life.node not in self._drained:
                    self._drained.add(life.node)
                    self.emptied.append((at, life.node))


def _unbound(spec: PodSpec) -> PodSpec:
    return replace(spec, node_name=None) if spec.node_name else spec


def _desired_state_of(pod: Pod) -> tuple[dict[str, str], PodSpec]:
    """The parts of a pod that a user may change: labels, and the spec without a node."""
    labels = {name: value for name, value in (pod.metadata.labels or {}).items() if name not in _PLACED}
    return labels, _unbound(pod.spec)


def _join(lives: Sequence[PodLife]) -> None:
    """Find the replacements of lost pods: the next pod that the same controller made and that follows no other one.

    A pod that its controller did not make again ended as recorded; one without a controller goes on.
    """
    made: dict[tuple[str, ...], list[PodLife]] = defaultdict(list)
    for life in lives:
        made[_line_of(life.pod)].append(life)
    for line in made.values():
        starts = [life.created for life in line]
        for life in sorted((pod_life for pod_life in line if pod_life.lost), key=lambda end: end.deleted or 0.0):
            owner = life.pod.controller
            if owner is None:
                continue
            after = bisect_left(starts, life.deleted or 0.0)
            life.follower = next(
                (pod_life for pod_life in line[after:] if not pod_life.follows and pod_life is not life), None
            )
            if life.follower is None:
                life.lost = False
            else:
                life.follower.follows = True


def _line_of(pod: Pod) -> tuple[str, ...]:
    """Pods among which one may come in the place of another."""
    owner = pod.controller
    if owner is not None and owner.kind in REPLACED_ON_EVICTION:
        return (pod.namespace, owner.kind or "", owner.name or "", owner.uid or "")
    if owner is not None and owner.kind in REPLACED_AFTER_DELETION:
        return (pod.namespace, pod.name)
    return (pod.identity,)


def note_missing(recording: Recording, notes: Notes) -> None:
    """Warn of a last line that is cut, and of changes that were not seen."""
    if recording.cut:
        notes.warn(f"{recording.source}: the last line is not whole, and left out")
    for path, gap in [*recording.about.missing, *recording.about.open.items()]:
        until = f"to {rfc3339(gap.until)}" if gap.until is not None else "on"
        notes.warn(f"{recording.source}: changes of {path} are missing from {rfc3339(gap.since)} {until}: {gap.why}")
