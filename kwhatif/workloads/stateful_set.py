"""StatefulSet: pods with ordinals, stable names and claims, created in order or in parallel; and its rolling update,
from the highest ordinal down to the partition.

Upstream: pkg/controller/statefulset/stateful_set_control.go (also updateStatefulSet), stateful_set_utils.go,
stateful_pod_control.go.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial

from kwhatif.admission.response import Object
from kwhatif.api.objects import part_of, section
from kwhatif.bounds import make_room
from kwhatif.golang.parsing import parse_int
from kwhatif.workloads.object_creation import ObjectCreator, pod_from_template, template_hash
from kwhatif.workloads.objects import (
    claim_template,
    deep_copy_json,
    get_scaled_value,
    integer,
    is_over,
    labels_of,
    name_of,
    namespace_of,
    same_template,
)
from kwhatif.workloads.replica_set import owned_by
from kwhatif.workloads.rollout_members import RolloutPod
from kwhatif.workloads.rollout_state import Admit, Rollout, member_of

REVISION = "controller-revision-hash"
POD_NAME = "statefulset.kubernetes.io/pod-name"
POD_INDEX = "apps.kubernetes.io/pod-index"


def make_stateful_set(stateful_set: Object, making: ObjectCreator, *, ready: bool) -> None:
    """All pods, each as soon as the one before is ready; if none ever is, those made without waiting."""
    first, replicas = start_of(stateful_set), integer(section(stateful_set, "spec").get("replicas"), 1)
    _make_pods(stateful_set, making, range(first, first + replicas), ready=ready)


def _make_pods(stateful_set: Object, making: ObjectCreator, ordinals: Sequence[int], *, ready: bool) -> None:
    make_room(len(ordinals), f"StatefulSet {name_of(stateful_set)}")
    patient = is_ordered(stateful_set)
    template, revision = section(stateful_set, "spec", "template"), revision_of(stateful_set)
    for batch in _batches(ordinals, 1 if patient else len(ordinals)):
        failures: list[tuple[int, str]] = []
        for ordinal in batch:
            pod = stateful_pod(stateful_set, template, revision, ordinal)
            problem = _claims_problem(stateful_set, pod, ordinal, making)
            if not problem and (refused := making.pod(pod)):
                problem = refused.message
            if problem:
                text = f"Create Pod {name_of(pod)} in StatefulSet {name_of(stateful_set)} failed error: {problem}"
                failures.append((ordinal, text))
        for ordinal, text in failures:
            never_tried = ordinals[ordinals.index(batch[-1]) + 1 :] if ordinal == failures[-1][0] else ()
            again = partial(_make_pods, stateful_set, ordinals=[ordinal, *never_tried], ready=ready)
            making.record_failure(stateful_set, text, 1 + len(never_tried), again)
        if failures or (patient and not ready):
            return


def stateful_pod(stateful_set: Object, template: Object, revision: str, ordinal: int) -> Object:
    """The pod of an ordinal at a revision; volumes of the template yield to the claims of the same name."""
    pod = pod_from_template(template, stateful_set)
    name = f"{name_of(stateful_set)}-{ordinal}"
    metadata, spec = part_of(pod, "metadata"), part_of(pod, "spec")
    metadata["name"] = name
    metadata["labels"] = {
        **metadata.get("labels", {}),
        POD_NAME: name,
        POD_INDEX: str(ordinal),
        REVISION: revision,
    }
    spec["hostname"] = name
    if service := section(stateful_set, "spec").get("serviceName"):
        spec["subdomain"] = service
    names = [name_of(claim) for claim in _claim_templates(stateful_set)]
    volumes = [{"name": own, "persistentVolumeClaim": {"claimName": f"{own}-{name}"}} for own in names]
    volumes += [volume for volume in spec.get("volumes") or () if volume.get("name") not in names]
    if volumes:
        spec["volumes"] = volumes
    return pod


def claims_of(stateful_set: Object, ordinal: int) -> Iterator[Object]:
    """The claims of an ordinal's pod; they carry the labels of the selector."""
    labels = section(stateful_set, "spec", "selector", "matchLabels")
    for template in _claim_templates(stateful_set):
        name = f"{name_of(template)}-{name_of(stateful_set)}-{ordinal}"
        claim = claim_template(name, namespace_of(stateful_set), template)
        if labels:
            part_of(claim, "metadata")["labels"] = section(claim, "metadata", "labels") | deep_copy_json(labels)
        yield claim


def start_of(stateful_set: Object) -> int:
    """The first ordinal."""
    return integer(section(stateful_set, "spec", "ordinals").get("start"), 0)


def is_ordered(stateful_set: Object) -> bool:
    """Whether each pod waits for those before it."""
    return section(stateful_set, "spec").get("podManagementPolicy") != "Parallel"


def revision_of(stateful_set: Object) -> str:
    """The name of the revision that the set's template is."""
    return f"{name_of(stateful_set)}-{template_hash(section(stateful_set, 'spec', 'template'))}"


def _claim_templates(stateful_set: Object) -> list[Object]:
    return list(section(stateful_set, "spec").get("volumeClaimTemplates") or ())


def _claims_problem(stateful_set: Object, pod: Object, ordinal: int, making: ObjectCreator) -> str:
    """Why the claims of a pod cannot be created; empty if they can."""
    problems = []
    for claim in claims_of(stateful_set, ordinal):
        refused = making.claim(claim)
        if refused:
            what = f"Create Claim {name_of(claim)} for Pod {name_of(pod)} in StatefulSet {name_of(stateful_set)}"
            making.record_failure(stateful_set, f"{what} failed error: {refused.message}", 0)
            problems.append(f"failed to create PVC {name_of(claim)}: {refused.message}")
    return problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]" if problems else ""


def _batches(ordinals: Sequence[int], largest: int) -> Iterator[Sequence[int]]:
    """Twice as many at a time as before, up to a largest number."""
    size = 1
    while ordinals:
        yield ordinals[:size]
        ordinals = ordinals[size:]
        size = min(2 * size, largest)


@dataclass
class StatefulSetRollout(Rollout):
    """``current`` and ``update`` are the revisions that the pods below and above the partition should have."""

    old: Object
    new: Object
    current: str
    update: str
    most_unavailable: int | None
    _at: dict[int, RolloutPod] = field(init=False)
    _lacking: list[int] = field(init=False)
    """A heap of the ordinals without an available pod; some may have one by now."""
    _condemned: list[RolloutPod] = field(init=False)
    """The pods that a smaller set has no place for, by ordinal; some may be gone by now."""
    _unavailable: deque[RolloutPod] = field(init=False)
    """Those of them that are not available."""
    _next: int = field(init=False)
    """Pods of this place and above are of the revision that they should have, or will be."""

    def __post_init__(self, pods: Iterable[RolloutPod]) -> None:
        super().__post_init__(pods)
        self._at = {_ordinal(member): member for member in self.members}
        self._lacking = [ordinal for ordinal in self.ordinals if not self._is_sound(ordinal)]
        self._condemned = [member for member in self.members if 0 <= _ordinal(member) not in self.ordinals]
        self._unavailable = deque(member for member in self._condemned if not member.available)
        self._next = len(self.ordinals)

    @classmethod
    def from_objects(
        cls, old: Object, new: Object, pods: Sequence[Object], admit: Admit, *, gate: bool = False
    ) -> StatefulSetRollout:
        """With the ``gate``, as many pods as ``maxUnavailable`` says are replaced at a time."""
        members = [member_of(pod, labels_of(pod).get(REVISION, "")) for pod in owned_by(new, pods)]
        members.sort(key=_ordinal)
        status = section(old, "status")
        current = str(status.get("currentRevision") or (members[0].revision if members else revision_of(old)))
        update = revision_of(new)
        if same_template(section(old, "spec", "template"), section(new, "spec", "template")):
            update = str(status.get("updateRevision") or (members[-1].revision if members else update))
        most = None
        if gate:
            replicas = integer(section(new, "spec").get("replicas"), 1)
            rolling = section(new, "spec", "updateStrategy", "rollingUpdate")
            most = max(1, get_scaled_value(rolling.get("maxUnavailable", 1), replicas, up=False))
        return cls(members, admit, old, new, current, update, most)

    @cached_property
    def ordinals(self) -> range:
        start = start_of(self.new)
        return range(start, start + integer(section(self.new, "spec").get("replicas"), 1))

    @property
    def partition(self) -> int:
        return _partition_of(self.new)

    @property
    def on_delete(self) -> bool:
        return section(self.new, "spec", "updateStrategy").get("type") == "OnDelete"

    # --- one pass of the controller

    def sync(self) -> bool:
        patient = is_ordered(self.new)
        changed, failed_batch = False, 0
        for ordinal in self._ordinals_to_fill(1 if patient else len(self.ordinals)):
            # Batches double in size, whether their pods are there or not; after one with a failure none follows.
            batch = (ordinal - self.ordinals.start + 1).bit_length()
            if failed_batch and batch > failed_batch:
                break
            member = self._pod_at(ordinal)
            if member is None:
                made = self._make(ordinal)
                changed, failed_batch = changed or made, failed_batch if made else batch
            elif is_over(member.pod) and not member.terminating:
                self.remove(member)
                changed = True
            if patient:
                return changed
        if failed_batch:
            return changed
        self._forget_condemned()
        if self._condemned and patient:
            return changed or self._condemn_last()
        self._condemned = [member for member in self._condemned if member in self.members]
        for member in reversed(self._condemned):
            if not member.terminating:
                self._condemn(member)
                changed = True
        return changed or (not self.on_delete and self._replace())

    def _ordinals_to_fill(self, most: int) -> list[int]:
        """The first ordinals without an available pod."""
        if most == 1:
            while self._lacking and self._is_sound(self._lacking[0]):
                heapq.heappop(self._lacking)
        else:
            self._lacking = sorted({ordinal for ordinal in self._lacking if not self._is_sound(ordinal)})
        return self._lacking[:most]

    def _forget_condemned(self) -> None:
        while self._condemned and self._condemned[-1] not in self.members:
            self._condemned.pop()
        while self._unavailable and self._unavailable[0] not in self.members:
            self._unavailable.popleft()

    def _condemn_last(self) -> bool:
        """Of pods that are not available only the first goes before it is; all that come before another wait for it."""
        last = self._condemned[-1]
        if last.terminating or not (last.available or last is self._unavailable[0]):
            return False
        self._condemn(last)
        return True

    def _condemn(self, member: RolloutPod) -> None:
        self.remove(member)
        # The claims of a pod that a smaller set has no place for belong to the pod, and are collected with it.
        if section(self.new, "spec", "persistentVolumeClaimRetentionPolicy").get("whenScaled") == "Delete":
            self._deleted_claims += map(name_of, claims_of(self.new, _ordinal(member)))

    def remove(self, member: RolloutPod) -> None:
        super().remove(member)
        if _ordinal(member) in self.ordinals:
            heapq.heappush(self._lacking, _ordinal(member))

    def _replace(self) -> bool:
        """Delete pods of another revision, highest ordinal first; the next pass recreates them. All are there."""
        if self.most_unavailable is None:
            return self._replace_one()
        room, changed = self.most_unavailable - len(self._lacking), False
        for target in self._targets() if room > 0 else ():
            self._next -= 1
            if target.revision != self.update and not target.terminating:
                self.remove(target)
                room, changed = room - 1, True
            if not room:
                break
        return changed

    def _replace_one(self) -> bool:
        for target in self._targets():
            if target.revision != self.update and not target.terminating:
                self.remove(target)
                return True
            if not target.available:
                return False
            self._next -= 1
        return False

    def _targets(self) -> Iterator[RolloutPod]:
        """The pods above the partition that may be of another revision, the last first."""
        for place in range(self._next - 1, max(0, self.partition) - 1, -1):
            yield self._at[self.ordinals[place]]

    def _make(self, ordinal: int) -> bool:
        behind = is_behind(self.new, ordinal)
        revision = self.current if behind else self.update
        source = self.old if behind else self.new
        pod = stateful_pod(self.new, section(source, "spec", "template"), revision, ordinal)
        made = self.create(pod, revision, tuple(claims_of(self.new, ordinal)))
        if made is not None:
            self._at[ordinal] = made
        return made is not None

    def _pod_at(self, ordinal: int) -> RolloutPod | None:
        member = self._at.get(ordinal)
        return member if member in self.members else None

    def _is_sound(self, ordinal: int) -> bool:
        member = self._pod_at(ordinal)
        return member is not None and member.available

    def is_new(self, revision: str) -> bool:
        return revision == self.update != self.current

    def with_revisions(self) -> Object:
        """The set, whose status says where its update is. Upstream: completeRollingUpdate of stateful_set_utils.go."""
        pods = [self._pod_at(ordinal) for ordinal in self.ordinals]
        is_over = all(pod is not None and pod.available and pod.revision == self.update for pod in pods)
        current = self.update if is_over and not self.on_delete else self.current
        revisions = {"currentRevision": current, "updateRevision": self.update}
        return {**self.new, "status": {**section(self.new, "status"), **revisions}}

    def remaining_work(self) -> str:
        late = []
        for ordinal in self.ordinals:
            member = self._pod_at(ordinal)
            outdated = ordinal - start_of(self.new) >= self.partition and not self.on_delete
            if member is None or not member.available or (outdated and member.revision != self.update):
                late.append(f"{name_of(self.new)}-{ordinal}")
        leaving = [member.name for member in self._condemned if member in self.members]
        parts = [f"not updated and available: {', '.join(late)}"] if late else []
        parts += [f"not removed: {', '.join(leaving)}"] if leaving else []
        return "; ".join(parts)


def is_behind(stateful_set: Object, ordinal: int) -> bool:
    """Whether a partition keeps the pod of an ordinal at the revision before the update."""
    on_delete = section(stateful_set, "spec", "updateStrategy").get("type") == "OnDelete"
    return not on_delete and ordinal < start_of(stateful_set) + _partition_of(stateful_set)


def _partition_of(stateful_set: Object) -> int:
    return integer(section(stateful_set, "spec", "updateStrategy", "rollingUpdate").get("partition"), 0)


def _ordinal(member: RolloutPod) -> int:
    return ordinal_of(member.name)


@lru_cache(maxsize=1 << 16)
def ordinal_of(name: str) -> int:
    """The ordinal of a pod by its name; -1 if it has none."""
    ordinal = parse_int(name.rpartition("-")[2])
    return -1 if ordinal is None else ordinal
