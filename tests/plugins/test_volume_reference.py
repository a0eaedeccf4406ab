"""What VolumeBinding works out for all nodes at once, against a walk from node to node and volume to volume."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.api.core import Node, Pod
from kwhatif.api.selectors import NodeTerm, Selector
from kwhatif.api.workloads_and_storage import PersistentVolume, PersistentVolumeClaim
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.storage import Storage
from tests.builders import ZONE, plugin_of
from tests.storage_builders import choices
from tests.storage_strategies import Store, stores

pytestmark = pytest.mark.long

GIB = 2**30


def size(thing: PersistentVolume | PersistentVolumeClaim) -> int:
    if isinstance(thing, PersistentVolume):
        amounts = thing.spec.capacity
    else:
        amounts = thing.spec.resources.requests if thing.spec.resources else None
    return (amounts or {})["storage"].value()


def reaches(node: Node, volume: PersistentVolume) -> bool:
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return True
    terms = (NodeTerm.from_term(term) for term in affinity.required.node_selector_terms or ())
    return any(term is not None and term.matches(node.metadata.labels or {}, node.name) for term in terms)


def best(claim: PersistentVolumeClaim, node: Node, storage: Storage, taken: set[str]) -> PersistentVolume | None:
    """The volume kept for the claim, or else the smallest free one, if the node reaches it."""
    smallest: PersistentVolume | None = None
    for name, volume in sorted(storage.volumes.items()):
        held = storage.holder(volume)
        fits = size(volume) >= size(claim) and volume.spec.storage_class_name == claim.spec.storage_class_name
        if name in taken or not fits or (held is not None and held[0] != (claim.namespace, claim.name)):
            continue
        if held is not None:
            return volume if reaches(node, volume) else None
        if (
            volume.status.phase == "Available"
            and (
                claim.spec.selector is None
                or Selector.from_label_selector(claim.spec.selector).matches(volume.metadata.labels or {})
            )
            and set(claim.spec.access_modes or ()) <= set(volume.spec.access_modes or ())
            and reaches(node, volume)
            and (smallest is None or size(volume) < size(smallest))
        ):
            smallest = volume
    return smallest


def found_on(node: Node, names: list[str], storage: Storage) -> dict[str, str] | None:
    """The volumes that claims get on the node; None if one can get none and none can be made."""
    found: dict[str, str] = {}
    wanted = [storage.claims["default", name] for name in names]
    for claim in sorted(wanted, key=size):
        selected = storage.selected_node(claim)
        if selected is not None and selected != node.name:
            return None
        volume = None if selected is not None else best(claim, node, storage, set(found.values()))
        if volume is not None:
            found[claim.name] = volume.name
            continue
        in_zone = (node.metadata.labels or {}).get(ZONE) == "z0"
        if not (claim.spec.storage_class_name == "made" and in_zone and size(claim) <= 2 * GIB):
            return None
    return found


@given(store=stores())
def test_the_choice_on_every_node_is_that_of_a_plain_walk(store: Store) -> None:
    cluster, plugin = store.cluster(), plugin_of("VolumeBinding")
    for waiting in store.pending:
        walked = {node.name: found_on(node, claims_of(waiting), cluster.storage) for node in store.nodes}
        assert choices(plugin, waiting, cluster) == {name: got for name, got in walked.items() if got is not None}


def claims_of(pod: Pod) -> list[str]:
    sources = (volume.persistent_volume_claim for volume in pod.spec.volumes or ())
    return [source.claim_name for source in sources if source is not None]


@given(store=stores(), data=st.data())
def test_the_same_holds_while_volumes_are_reserved_and_given_back(store: Store, data: st.DataObject) -> None:
    cluster, plugin = store.cluster(), plugin_of("VolumeBinding")
    reserved = cluster.storage.reserved
    placed: list[tuple[PodInfo, str, object]] = []
    for waiting in store.pending:
        walked = {node.name: found_on(node, claims_of(waiting), cluster.storage) for node in store.nodes}
        new = {
            name: {claim: volume for claim, volume in got.items() if volume not in reserved}
            for name, got in walked.items()
            if got is not None
        }
        assert choices(plugin, waiting, cluster) == new
        if new:
            info = cluster.shapes.info(waiting)
            placed.append((info, data.draw(st.sampled_from(sorted(new))), plugin.pre_filter(info, cluster)))
            plugin.reserve(*placed[-1])
        if data.draw(st.booleans()) and placed:
            plugin.unreserve(*placed.pop())
