"""What happens in a recording that no scheduler decides: the lives of its pods, and other objects that come and go.

Which volume a claim gets that waits for its pod, and which devices, follow from where the pod goes: that is the
simulated scheduler's to decide, so it is not taken from the recording.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median

from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.api.devices import ClaimStatus, ResourceClaim
from kwhatif.api.meta import Resource
from kwhatif.api.others import PersistentVolume, PersistentVolumeClaim, StorageClass, VolumeAttachment
from kwhatif.cluster.storage import class_of
from kwhatif.snapshot.foreign.recorded_moment import rfc3339
from kwhatif.snapshot.foreign.recording import Change, Recording
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.read.items import resource_of
from kwhatif.whatif.backtest.lives import LifeReader, Lives

Put = tuple[str, tuple[str, str], Resource | None]
"""Kind, namespace and name, and the object, None if it goes."""


@dataclass
class RecordedWorld:
    """What happens when, in seconds since the recording ``begins`` (in seconds since 1970), which ``lasts`` so long.

    ``changes`` are those of other objects than pods, by moment. Pods that were told to go took ``leaving`` seconds,
    the median; None if none is in the recording.
    """

    begins: float
    lasts: float = 0.0
    lives: Lives = field(default_factory=lambda: Lives([], []))
    changes: list[tuple[float, list[Put]]] = field(default_factory=list)
    leaving: float | None = None

    @property
    def start(self) -> str:
        return rfc3339(self.begins)


def recorded_world(recording: Recording, start: Snapshot) -> RecordedWorld:
    """What a recording has of it; ``start`` is the cluster that it begins with. Raises InputError with the line."""
    begins = max((change.at for change in recording.start), default=0.0)
    found, kept = RecordedWorld(begins), _Kept(start)
    lives = LifeReader(start.objects)
    for change in recording.changes:
        kind = change.kind.struct
        found.lasts = max(found.lasts, change.at - begins)
        if kind is None or change.version <= recording.begins:
            continue
        obj = resource_of(change.item, kind)
        # The order is that of the versions; a line that is late does not turn back time.
        lives.take(found.lasts, change, obj)
        put = kept.put(change, obj)
        if put is None:
            continue
        if not found.changes or found.changes[-1][0] < found.lasts:
            found.changes.append((found.lasts, []))
        found.changes[-1][1].append(put)
    found.lives = lives.lives()
    left = [life.leaving for life in found.lives.lives if life.leaving is not None and life.bound is not None]
    found.leaving = median(left) if left else None
    return found


class _Kept:
    """Tells which changes of objects other than pods are nobody's but the world's."""

    def __init__(self, start: Snapshot) -> None:
        self._classes = {each.name: each for each in start.objects.of(StorageClass)}
        claims = (*start.objects.of(PersistentVolumeClaim), *start.objects.of(ResourceClaim))
        self._known = {(type(each).__name__, each.namespace, each.name) for each in claims}

    def put(self, change: Change, obj: Resource) -> Put | None:
        """What to do about a change, None if nothing."""
        match obj:
            case Pod() | VolumeAttachment():
                return None
            case StorageClass():
                self._classes[obj.name] = obj
            case PersistentVolume() if obj.spec.claim_ref is not None and self._waits(obj) and not change.deleted:
                return None
            case PersistentVolumeClaim():
                if _is_of_a_pod(obj) or (self._is_known(change) and self._waits(obj) and not change.deleted):
                    return None
            case ResourceClaim():
                if _is_of_a_pod(obj) or (self._is_known(change) and not change.deleted):
                    return None
                obj = replace(obj, status=ClaimStatus())
        return change.kind.name, change.key, None if change.deleted else obj

    def _is_known(self, change: Change) -> bool:
        """Whether a claim was there before; from now on it is, or it is gone."""
        key = (change.kind.name, *change.key)
        known = key in self._known
        (self._known.discard if change.deleted else self._known.add)(key)
        return known

    def _waits(self, obj: PersistentVolume | PersistentVolumeClaim) -> bool:
        found = self._classes.get(class_of(obj))
        return found is not None and found.volume_binding_mode == "WaitForFirstConsumer"


def _is_of_a_pod(obj: Resource) -> bool:
    owner = obj.controller
    return owner is not None and owner.kind == "Pod"
