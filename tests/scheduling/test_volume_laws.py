"""What holds whenever pods with claims are scheduled one after the other.

Claims that pods share and that can be provisioned may go two ways at once, as the tests of provisioning show; laws
that this would break are about others.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.api.quantity import Quantity
from kwhatif.api.selectors import NodeTerm
from kwhatif.cluster.cluster import Cluster
from tests.builders import cluster_of, scheduler_for
from tests.storage_builders import claiming
from tests.storage_strategies import FIXED, Store, stores

pytestmark = pytest.mark.usefixtures("cluster_size")

NOTHING = Quantity.from_units(0)


def claims_of(pod: Pod) -> list[str]:
    sources = (volume.persistent_volume_claim for volume in pod.spec.volumes or ())
    return [source.claim_name for source in sources if source is not None]


def schedule(cluster: Cluster, pods: list[Pod]) -> dict[str, str]:
    """Pod -> node, of those that were placed."""
    scheduler, names = scheduler_for(cluster), cluster.columns.names
    attempts = [scheduler.attempt(cluster.shapes.info(pod)) for pod in pods]
    return {a.pod.pod.metadata.name or "": names[a.row] for a in attempts if a.row is not None}


def state_of(cluster: Cluster) -> dict[str, Any]:
    """All there is to know of a cluster's pods and storage."""
    storage = cluster.storage
    return {
        "requested": cluster.requested.tolist(),
        "non zero": cluster.non_zero.tolist(),
        "count": cluster.pod_count.tolist(),
        "ports": cluster.ports.tolist(),
        "pods": [[info.uid for info in pods] for pods in cluster.pods_on],
        "nominated": {node: [info.uid for info in pods] for node, pods in cluster.nominated.items()},
        "claims": dict(storage.claims),
        "reserved": dict(storage.reserved),
        "selected": dict(storage.selected),
        "holders": {name: storage.holder(volume) for name, volume in storage.volumes.items()},
        "kept": {key: [v.name for v in storage.prebound_volumes_of(claim)] for key, claim in storage.claims.items()},
    }


@pytest.mark.long
@given(store=stores(shared=False))
def test_claims_and_volumes_are_bound_one_to_one(store: Store) -> None:
    cluster = store.cluster()
    schedule(cluster, store.pending)
    storage = cluster.storage
    assert not [key for key, count in Counter(storage.reserved.values()).items() if count > 1]
    assert not set(storage.reserved.values()) & set(storage.selected), "bound and to be provisioned at once"
    for name, key in storage.reserved.items():
        ref = storage.volumes[name].spec.claim_ref
        assert ref is None or (ref.namespace, ref.name) == key


def volumes_meet_claims(store: Store) -> None:
    cluster = store.cluster()
    places = schedule(cluster, store.pending)
    storage, nodes = cluster.storage, {node.name: node for node in store.nodes}
    volume_of = {key: storage.volumes[name] for name, key in storage.reserved.items()}
    for pod in store.pending:
        place = places.get(pod.metadata.name or "")
        for key in [("default", name) for name in claims_of(pod)] if place else []:
            claim, volume = storage.claims[key], volume_of.get(key)
            if volume is None:
                assert storage.selected_node(claim) == place
                continue
            asked = claim.spec.resources.requests if claim.spec.resources else None
            assert (volume.spec.capacity or {}).get("storage", NOTHING) >= (asked or {}).get("storage", NOTHING)
            assert volume.spec.storage_class_name == claim.spec.storage_class_name
            if volume.spec.claim_ref is None:
                assert set(claim.spec.access_modes or ()) <= set(volume.spec.access_modes or ())
                assert volume.status.phase == "Available"
            affinity = volume.spec.node_affinity
            terms = affinity.required.node_selector_terms if affinity and affinity.required else None
            labels = nodes[place or ""].metadata.labels or {}
            assert not terms or any((t := NodeTerm.from_term(term)) and t.matches(labels, "") for term in terms)


@pytest.mark.long
@given(store=stores(shared=False))
def test_every_volume_meets_its_claim_and_reaches_the_node_of_its_pod(store: Store) -> None:
    volumes_meet_claims(store)


@pytest.mark.long
@given(store=stores(provisioned=False))
def test_every_volume_meets_its_claim_and_reaches_the_nodes_of_all_pods_that_share_it(store: Store) -> None:
    volumes_meet_claims(store)


@pytest.mark.long
@given(store=stores())
def test_unreserve_undoes_reserve(store: Store) -> None:
    """A pod that is assumed, reserved and refused afterwards leaves no trace, whoever was there before."""
    cluster = store.cluster()
    schedule(cluster, store.pending[:-1])
    twin, last = cluster.fork(), store.pending[-1]
    scheduler = scheduler_for(twin)
    before = state_of(twin)
    attempt = scheduler.attempt(twin.shapes.info(last))
    if attempt.row is not None:
        scheduler.framework.unreserve(attempt.pod, twin.columns.names[attempt.row], attempt.states)
        twin.forget(attempt.pod.uid)
    assert state_of(twin) == before
    assert state_of(cluster) == before, "a fork leaves its original alone"


@pytest.mark.long
@given(store=stores())
def test_a_refused_pod_can_be_tried_again_with_the_same_outcome(store: Store) -> None:
    cluster = store.cluster()
    twin = cluster.fork()
    first = schedule(twin, store.pending)
    scheduler = scheduler_for(cluster)
    for pod in store.pending:
        start = scheduler.shared.next_start
        attempt = scheduler.attempt(cluster.shapes.info(pod))
        if attempt.row is not None:
            scheduler.framework.unreserve(attempt.pod, cluster.columns.names[attempt.row], attempt.states)
            cluster.forget(attempt.pod.uid)
            scheduler.shared.next_start = start
            attempt = scheduler.attempt(cluster.shapes.info(pod))
        assert (attempt.row is None) == (pod.metadata.name not in first)
    assert state_of(cluster) == state_of(twin)


@pytest.mark.long
@given(store=stores(provisioned=False))
def test_what_was_assumed_holds_for_the_next_pod(store: Store) -> None:
    """A pod with the claims of one that was placed finds them as they were left: nothing new is reserved."""
    cluster = store.cluster()
    for pod in store.pending:
        places = schedule(cluster, [pod])
        if not places:
            continue
        before = (dict(cluster.storage.reserved), dict(cluster.storage.selected))
        twin = cluster.fork()
        assert schedule(twin, [claiming(*claims_of(pod), name="again")]), "its node still fits"
        assert (twin.storage.reserved, twin.storage.selected) == before


@pytest.mark.long
@given(store=stores(distinct_sizes=True), data=st.data())
def test_neither_order_nor_names_of_volumes_matter_where_sizes_differ(store: Store, data: st.DataObject) -> None:
    names = data.draw(st.permutations([volume.name for volume in store.volumes]))
    renamed = [
        replace(volume, metadata=replace(volume.metadata, name=name))
        for volume, name in zip(store.volumes, names, strict=True)
    ]
    one, other = store.cluster(), store.cluster(data.draw(st.permutations(renamed)))
    assert schedule(one, store.pending) == schedule(other, store.pending)
    sizes = [
        {key: cluster.storage.volumes[name].spec.capacity for name, key in cluster.storage.reserved.items()}
        for cluster in (one, other)
    ]
    assert sizes[0] == sizes[1]


@pytest.mark.long
@given(store=stores())
def test_storage_objects_that_nobody_asks_for_change_nothing(store: Store) -> None:
    used = {name for pod in store.pending for name in claims_of(pod)}
    needed = [claim for claim in store.claims if claim.name in used]
    classes = {claim.spec.storage_class_name for claim in needed}
    volumes = [volume for volume in store.volumes if volume.spec.storage_class_name in classes]
    fewer = cluster_of(store.nodes, (), (*FIXED, *volumes, *needed))
    all_of_it = store.cluster()
    assert schedule(fewer, store.pending) == schedule(all_of_it, store.pending)
    assert fewer.storage.reserved == all_of_it.storage.reserved
