from __future__ import annotations

import pytest

from kwhatif.api.core import Pod
from kwhatif.api.meta import Resource
from kwhatif.framework.interface import ClusterEvent, EventOccurrence
from kwhatif.framework.status import SKIP, Status
from tests.asking import HOPELESS, details, pre_filter, refusals, refused
from tests.builders import Json, cluster_of, node, node_term, plugin_of, pod
from tests.storage_builders import (
    DRIVER,
    IMMEDIATE,
    capacity,
    claim,
    claiming,
    csi,
    driver,
    ephemeral,
    mounting,
    storage_class,
    volume,
)

BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind"
NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
NO_SPACE = "node(s) did not have enough free storage"
NO_VOLUME = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
UNBOUND = "pod has unbound immediate PersistentVolumeClaims"

NODES = [node("a", labels={"disk": "ssd"}), node("b", labels={"disk": "hdd"})]


# --- PreFilter


@pytest.mark.parametrize(
    ("objects", "text"),
    [
        pytest.param([], 'persistentvolumeclaim "data" not found', id="no such claim"),
        pytest.param([claim(namespace="other")], 'persistentvolumeclaim "data" not found', id="one elsewhere"),
        pytest.param(
            [claim(bound_to="pv", phase="Lost")],
            'persistentvolumeclaim "data" bound to non-existent persistentvolume "pv"',
            id="a claim that lost its volume",
        ),
        pytest.param(
            [claim(deleting=True)], 'persistentvolumeclaim "data" is being deleted', id="a claim on its way out"
        ),
        pytest.param(
            [claim(bound_to="pv", phase="Lost", deleting=True)],
            'persistentvolumeclaim "data" bound to non-existent persistentvolume "pv"',
            id="of both the loss is named",
        ),
        pytest.param([claim(), storage_class(binding=IMMEDIATE)], UNBOUND, id="a class that binds at once"),
        pytest.param([claim()], UNBOUND, id="an unknown class binds at once"),
        pytest.param([claim(storage_class=None), storage_class("")], UNBOUND, id="no class, too"),
        pytest.param(
            [claim(bound_to="pv", completed=False), storage_class()], UNBOUND, id="a volume named but not bound yet"
        ),
    ],
)
def test_claims_that_keep_a_pod_waiting(objects: list[Resource], text: str) -> None:
    cluster = cluster_of(NODES, objects=objects)
    answer = pre_filter(plugin_of("VolumeBinding"), cluster.shapes.info(claiming("data")), cluster)
    assert answer == Status.unresolvable(text)


@pytest.mark.parametrize(
    ("objects", "why"),
    [
        ([claim()], "claim data: no volume that fits is free, and class std does not exist"),
        (
            [claim(), storage_class(binding=IMMEDIATE)],
            "claim data: no volume that fits is free, and class std makes none",
        ),
        (
            [claim(size="2Gi", storage_class=None), volume(storage_class=None)],
            "claim data: no volume that fits is free, and it has no class that would make one",
        ),
        (
            [claim(), storage_class(binding=IMMEDIATE, provisioner=DRIVER)],
            f"claim data: {DRIVER} of class std has not made its volume yet",
        ),
        ([claim(), volume()], "claim data: volume pv fits, and is not bound to it yet"),
        ([claim(bound_to="pv", completed=False)], "claim data names volume pv, which does not exist"),
        ([claim(bound_to="pv", completed=False), volume()], "claim data names volume pv, which is not bound to it yet"),
    ],
)
def test_why_a_claim_has_no_volume_yet(objects: list[Resource], why: str) -> None:
    cluster = cluster_of(NODES, objects=objects)
    answer = pre_filter(plugin_of("VolumeBinding"), cluster.shapes.info(claiming("data")), cluster)
    assert isinstance(answer, Status)
    assert answer.detail == why


def test_a_class_that_does_not_say_when_it_binds_is_an_error() -> None:
    objects = [claim("now", storage_class=None), claim(), storage_class(binding=None)]
    cluster = cluster_of(NODES, objects=objects)
    text = 'VolumeBindingMode not set for StorageClass "std"'
    for names in (("data",), ("now", "data")):
        answer = pre_filter(plugin_of("VolumeBinding"), cluster.shapes.info(claiming(*names)), cluster)
        assert answer == Status.error(text)


@pytest.mark.parametrize(
    ("objects", "text"),
    [
        pytest.param(
            [],
            'waiting for ephemeral volume controller to create the persistentvolumeclaim "pod-scratch"',
            id="the claim is not made yet",
        ),
        pytest.param(
            [claim("pod-scratch")],
            "PVC default/pod-scratch was not created for pod default/pod (pod is not owner)",
            id="nobody owns it",
        ),
        pytest.param(
            [claim("pod-scratch", owner="somebody")],
            "PVC default/pod-scratch was not created for pod default/pod (pod is not owner)",
            id="another pod owns it",
        ),
    ],
)
def test_ephemeral_volumes_need_a_claim_of_the_pods_own(objects: list[Resource], text: str) -> None:
    cluster = cluster_of(NODES, objects=[*objects, storage_class()])
    answer = pre_filter(plugin_of("VolumeBinding"), cluster.shapes.info(mounting(ephemeral())), cluster)
    assert answer == Status.unresolvable(text)


def test_an_ephemeral_volume_of_the_pods_own_is_bound_like_any_other() -> None:
    objects = [claim("pod-scratch", owner="uid-default-pod"), storage_class(), volume("pv", on="b")]
    found = refused(plugin_of("VolumeBinding"), mounting(ephemeral()), cluster_of(NODES, objects=objects))
    assert found == {"a"}


@pytest.mark.parametrize("waiting", [pod(), mounting({"emptyDir": {}})])
def test_a_pod_without_claims_skips_the_filter(waiting: Pod) -> None:
    cluster = cluster_of(NODES)
    assert pre_filter(plugin_of("VolumeBinding"), cluster.shapes.info(waiting), cluster) is SKIP


# --- bound claims


@pytest.mark.parametrize(
    ("terms", "fits"),
    [
        pytest.param(None, {"a", "b"}, id="a volume without affinity is at home everywhere"),
        pytest.param([node_term("disk In ssd")], {"a"}, id="one with affinity where its labels are"),
        pytest.param([node_term("disk In ssd hdd ssd")], {"a", "b"}, id="any of the values will do"),
        pytest.param([node_term("disk In ssd", "disk NotIn hdd")], {"a"}, id="all requirements of a term count"),
        pytest.param([node_term("disk In ssd", "disk In hdd")], set(), id="even if they cannot all be met"),
        pytest.param([node_term("disk NotIn ssd")], {"b"}, id="operators other than In work, too"),
        pytest.param([node_term("disk In ssd"), node_term("disk Exists")], {"a", "b"}, id="of terms one is enough"),
        pytest.param([], set(), id="no terms admit nobody"),
        pytest.param([node_term()], set(), id="an empty term admits nobody"),
        pytest.param([node_term("disk Gt many")], set(), id="a term that makes no sense admits nobody"),
        pytest.param(
            [node_term("disk In ssd", fields=["metadata.name In b"])], {"a"}, id="nodes have no names here, just labels"
        ),
    ],
)
def test_bound_volumes_hold_to_their_nodes(terms: list[Json] | None, fits: set[str]) -> None:
    objects = [claim(bound_to="pv"), volume("pv", terms=terms, source=csi("h"))]
    found = refusals(plugin_of("VolumeBinding"), claiming("data"), cluster_of(NODES, objects=objects))
    assert found == dict.fromkeys({"a", "b"} - fits, (HOPELESS, (NODE_CONFLICT,)))


def test_a_bound_claim_whose_volume_is_gone() -> None:
    """A volume that cannot be reached and comes first is all that is said."""
    objects = [claim("near", bound_to="pv"), volume("pv", on="a"), claim("gone", bound_to="none")]
    cluster, plugin = cluster_of(NODES, objects=objects), plugin_of("VolumeBinding")
    missing, far = (HOPELESS, (NO_VOLUME,)), (HOPELESS, (NODE_CONFLICT,))
    assert refusals(plugin, claiming("near", "gone"), cluster) == {"a": missing, "b": far}
    assert refusals(plugin, claiming("gone", "near"), cluster) == {"a": missing, "b": missing}


# --- reasons together


def test_each_kind_of_claim_gives_its_own_reason() -> None:
    objects = [
        claim("bound", bound_to="pv"),
        volume("pv", on="b", kept_for="bound", phase="Bound"),
        claim("free"),
        storage_class(),
        claim("made", storage_class="made"),
        storage_class("made", provisioner=DRIVER),
        driver(),
        capacity("1Ki", storage_class="made", at={}),
    ]
    cluster, plugin = cluster_of(NODES, objects=objects), plugin_of("VolumeBinding")
    assert refusals(plugin, claiming("bound", "free"), cluster) == {
        "a": (HOPELESS, tuple(sorted((NODE_CONFLICT, BIND_CONFLICT)))),
        "b": (HOPELESS, (BIND_CONFLICT,)),
    }
    assert refusals(plugin, claiming("bound", "made"), cluster) == {
        "a": (HOPELESS, tuple(sorted((NODE_CONFLICT, NO_SPACE)))),
        "b": (HOPELESS, (NO_SPACE,)),
    }
    assert details(plugin, claiming("bound", "made"), cluster, "a") == [
        "claim bound is bound to volume pv, which wants kubernetes.io/hostname=b, node has kubernetes.io/hostname=a",
        f"claim made asks for 1Gi, driver {DRIVER} reports room for 1Ki there",
    ]
    assert details(plugin, claiming("free"), cluster, "a") == [
        "claim free: no volume that fits is free, and class std makes none"
    ]


def test_any_volume_and_its_own_claims_wake_a_waiting_pod() -> None:
    cluster, hints = cluster_of(NODES), plugin_of("VolumeBinding").queueing_hints
    waiting = cluster.shapes.info(mounting(ephemeral()))
    assert hints[ClusterEvent.VOLUME_CHANGED](waiting, EventOccurrence(ClusterEvent.VOLUME_CHANGED, cluster))
    for key, wakes in ((("default", "pod-scratch"), True), (("default", "scratch"), False), (None, False)):
        changed = EventOccurrence(ClusterEvent.CLAIM_CHANGED, cluster, claim=key)
        assert hints[ClusterEvent.CLAIM_CHANGED](waiting, changed) is wakes
