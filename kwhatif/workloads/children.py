"""The objects that an operator makes, and the pods that Kubernetes' controllers make of those."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from kwhatif.admission.object_store import ObjectStore
from kwhatif.admission.response import ApiResponse, Doubt, Object, StoredObject
from kwhatif.api.objects import part_of, section
from kwhatif.bounds import make_room, pods_left, pods_to_make
from kwhatif.errors import InputError
from kwhatif.versions import features_of
from kwhatif.workloads.object_creation import CreatedObjects, ObjectCreator
from kwhatif.workloads.objects import deep_copy_json, name_of, stated_pods
from kwhatif.workloads.workload_kind import Companions, WorkloadKind

Native = Callable[[Object, ObjectCreator], None]
"""What the controller of a kind of Kubernetes' own makes of an object."""


def kind_for(obj: Object, kinds: Iterable[WorkloadKind]) -> WorkloadKind | None:
    """The first of these kinds that matches an object."""
    return next((kind for kind in kinds if kind.fits(obj)), None)


def children_of(obj: Object, kind: WorkloadKind, companions: Companions) -> list[Object]:
    """The objects that an operator makes of an object. Raises InputError for fields of types that no
    definition allows.
    """
    made: list[Object] = []
    try:
        # Refused before any of their pods is made; they are counted when they are.
        with pods_to_make(pods_left()):
            for child in kind.children_of(obj, companions):
                if part_of(child, "kind") != "PersistentVolumeClaim":
                    make_room(stated_pods(child), f"{obj.get('kind')} {name_of(obj)}")
                made.append(child)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _misshapen(obj, error) from None
    return made


def doubts_of(obj: Object, kind: WorkloadKind, companions: Companions, *, updated: bool) -> list[Doubt]:
    """What is unknown about an object's pods, or about their update. Raises InputError, as ``children_of`` does."""
    try:
        return list(kind.doubts_of(obj, companions, updated=updated))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _misshapen(obj, error) from None


def _misshapen(obj: Object, error: Exception) -> InputError:
    return InputError(f"{obj.get('kind')} {name_of(obj)} has a field of a type that it cannot have: {error}")


def make_children(
    obj: Object, kind: WorkloadKind, companions: Companions, making: ObjectCreator, native: Native
) -> None:
    """Create the children of an object, and run their controllers. Raises InputError for an invalid object."""
    for is_pod, some in groupby(children_of(obj, kind, companions), key=lambda child: part_of(child, "kind") == "Pod"):
        if is_pod:
            _make_pods(obj, list(some), making)
            continue
        for child in some:
            if part_of(child, "kind") == "PersistentVolumeClaim":
                if refused := making.claim(child):
                    making.record_failure(obj, f"create PVC {name_of(child)}: {refused.message}", 0)
                continue
            complaint = f"Failed to create {part_of(child, 'kind')} {name_of(child)}"
            stored = making.controller(child, obj, complaint, pods=_count_pods(child, native))
            if stored is not None:
                native(stored, making)


def _make_pods(obj: Object, pods: Sequence[Object], making: ObjectCreator) -> None:
    making.pods_of(obj, len(pods), lambda place: pods[place])


class _Drafts:
    """A server that accepts everything unchanged, to draft pods."""

    def __init__(self) -> None:
        self.world, self.features = ObjectStore(), features_of()

    def create(self, obj: Object) -> ApiResponse:
        return StoredObject(obj)


def _draft_pods(children: Iterable[Object], native: Native) -> Iterator[tuple[Object, tuple[Object, ...]]]:
    making = ObjectCreator(_Drafts())
    for child in children:
        if part_of(child, "kind") == "Pod":
            making.pods.append(deep_copy_json(child))
        elif part_of(child, "kind") == "PersistentVolumeClaim":
            making.claims.append(deep_copy_json(child))
        else:
            native(deep_copy_json(child), making)
    made: CreatedObjects = making.build_result()
    for pod in made.pods:
        yield pod, tuple(claim for claim in made.claims if _is_used(claim, pod))


def draft_pods(
    obj: Object, kind: WorkloadKind, companions: Companions, native: Native
) -> list[tuple[Object, tuple[Object, ...]]]:
    """The pods that an object should have, as its operator would send them, each with the claims of its volumes."""
    children = children_of(obj, kind, companions)
    try:
        with pods_to_make(pods_left()):
            return list(_draft_pods(children, native))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _misshapen(obj, error) from None


def _count_pods(child: Object, native: Native) -> int:
    """How many pods a child has; they are not made yet."""
    with pods_to_make(pods_left()):
        return sum(1 for _ in _draft_pods([child], native))


def _is_used(claim: Object, pod: Object) -> bool:
    volumes = part_of(pod, "spec").get("volumes") or ()
    return any(section(volume, "persistentVolumeClaim").get("claimName") == name_of(claim) for volume in volumes)
