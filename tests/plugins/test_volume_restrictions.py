from __future__ import annotations

import numpy as np
import pytest

from kwhatif.api.core import Pod
from kwhatif.cluster.node_view import change_of
from kwhatif.framework.interface import ClusterEvent, EventOccurrence
from kwhatif.framework.status import SKIP, Status
from tests.asking import EVICTION_MIGHT_HELP, details, pre_filter, refusals, refused, rejections
from tests.builders import Json, cluster_of, node, plugin_of, scheduler_for
from tests.storage_builders import claim, claiming, csi, ebs, gce, iscsi, mounting, rbd, storage_class, volume

NO_DISK = "node(s) had no available disk"
ONE_POD = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)
NODES = [node("here"), node("there")]
RWOP = claim("one", modes=("ReadWriteOncePod",), bound_to="pv")
SHARED = claim("many", modes=("ReadWriteMany",), bound_to="pv")


@pytest.mark.parametrize(
    ("mine", "its", "clash"),
    [
        pytest.param(gce("d"), gce("d"), True, id="a GCE disk is for one pod"),
        pytest.param(gce("d", read_only=True), gce("d"), True, id="reading alongside a writer will not do"),
        pytest.param(gce("d", read_only=True), gce("d", read_only=True), False, id="readers share a GCE disk"),
        pytest.param(gce("d"), gce("e"), False, id="another GCE disk is nobody's business"),
        pytest.param(ebs("v"), ebs("v"), True, id="an EBS volume is for one pod"),
        pytest.param(ebs("v", read_only=True), ebs("v", read_only=True), True, id="even if all only read"),
        pytest.param(ebs("v"), ebs("w"), False, id="another EBS volume is free"),
        pytest.param(gce("d"), ebs("d"), False, id="kinds of disks are not mixed up"),
        pytest.param(iscsi("iqn.a"), iscsi("iqn.a"), True, id="an ISCSI target is for one pod"),
        pytest.param(iscsi("iqn.a", read_only=True), iscsi("iqn.a", read_only=True), False, id="readers share it"),
        pytest.param(iscsi("iqn.a"), iscsi("iqn.b"), False, id="another target is free"),
        pytest.param(rbd("i"), rbd("i"), True, id="an RBD image is for one pod"),
        pytest.param(rbd("i", read_only=True), rbd("i", read_only=True), False, id="readers share an image"),
        pytest.param(rbd("i", pool="p"), rbd("i", pool="q"), False, id="of another pool it is another image"),
        pytest.param(
            rbd("i", monitors=("a", "b")), rbd("i", monitors=("b", "c")), True, id="one common monitor is enough"
        ),
        pytest.param(rbd("i", monitors=("a",)), rbd("i", monitors=("b",)), False, id="no common monitor, no clash"),
    ],
)
def test_disks(mine: Json, its: Json, clash: bool) -> None:
    cluster = cluster_of(NODES, [mounting(its, name="holder", on="here")])
    found = refusals(plugin_of("VolumeRestrictions"), mounting(mine), cluster)
    assert found == ({"here": (EVICTION_MIGHT_HELP, (NO_DISK,))} if clash else {})


def test_any_of_a_pods_disks_may_clash_with_any_pod() -> None:
    running = [mounting(gce("a"), name="p", on="here"), mounting({"emptyDir": {}}, ebs("b"), name="q", on="there")]
    waiting = mounting(gce("z"), ebs("b"))
    assert refused(plugin_of("VolumeRestrictions"), waiting, cluster_of(NODES, running)) == {"there"}


def test_disks_know_no_namespaces() -> None:
    cluster = cluster_of(NODES, [mounting(gce("d"), name="holder", namespace="other", on="here")])
    assert refused(plugin_of("VolumeRestrictions"), mounting(gce("d")), cluster) == {"here"}


@pytest.mark.parametrize(
    ("waiting", "running", "held"),
    [
        pytest.param(claiming("one"), [], False, id="nobody uses the claim yet"),
        pytest.param(
            claiming("one"), [claiming("one", name="holder", on="here")], True, id="its one pod runs somewhere"
        ),
        pytest.param(
            claiming("many"), [claiming("many", name="holder", on="here")], False, id="other claims may be shared"
        ),
        pytest.param(
            claiming("one"),
            [claiming("one", name="holder", on="here", namespace="other")],
            False,
            id="a claim of that name elsewhere is another one",
        ),
        pytest.param(
            claiming("one"), [claiming("one", name="holder", on="gone")], False, id="a pod on no known node holds none"
        ),
    ],
)
def test_a_claim_for_one_pod_is_refused_on_all_nodes_while_in_use(waiting: Pod, running: list[Pod], held: bool) -> None:
    cluster, plugin = cluster_of(NODES, running, [RWOP, SHARED]), plugin_of("VolumeRestrictions")
    if held:
        everywhere = dict.fromkeys(("here", "there"), (EVICTION_MIGHT_HELP, (ONE_POD,)))
        assert refusals(plugin, waiting, cluster) == everywhere
    else:
        assert pre_filter(plugin, cluster.shapes.info(waiting), cluster) is SKIP


def test_where_a_disk_clashes_the_claim_is_not_spoken_of() -> None:
    running = [claiming("one", name="holder", on="here", volumes=[gce("d")])]
    found = refusals(
        plugin_of("VolumeRestrictions"), claiming("one", volumes=[gce("d")]), cluster_of(NODES, running, [RWOP])
    )
    assert found == {"here": (EVICTION_MIGHT_HELP, (NO_DISK,)), "there": (EVICTION_MIGHT_HELP, (ONE_POD,))}


def test_details() -> None:
    running = [claiming("one", name="holder", on="here", volumes=[gce("d")])]
    cluster, waiting = cluster_of(NODES, running, [RWOP]), claiming("one", volumes=[gce("d")])
    plugin = plugin_of("VolumeRestrictions")
    assert details(plugin, waiting, cluster, "here") == ["pod default/holder uses the disk of volume v1"]
    assert details(plugin, waiting, cluster, "there") == [
        "claim one is ReadWriteOncePod and in use by another pod",
    ]


def test_a_claim_that_is_not_there_refuses_the_pod_outright() -> None:
    cluster = cluster_of(NODES)
    answer = pre_filter(plugin_of("VolumeRestrictions"), cluster.shapes.info(claiming("none")), cluster)
    assert answer == Status.unresolvable('persistentvolumeclaim "none" not found')


@pytest.mark.parametrize("waiting", [mounting(), mounting({"emptyDir": {}}), claiming("many")])
def test_a_pod_with_nothing_to_restrict_skips_the_filter(waiting: Pod) -> None:
    cluster = cluster_of(NODES, objects=[SHARED])
    assert pre_filter(plugin_of("VolumeRestrictions"), cluster.shapes.info(waiting), cluster) is SKIP


def test_a_claim_is_free_again_when_its_pod_leaves() -> None:
    holder = claiming("one", name="holder", on="here")
    cluster, plugin = cluster_of(NODES, [holder], [RWOP]), plugin_of("VolumeRestrictions")
    waiting = claiming("one")
    assert refused(plugin, waiting, cluster) == {"here", "there"}
    cluster.forget(holder.metadata.uid or "")
    assert refused(plugin, waiting, cluster) == set()
    cluster.assume(cluster.shapes.info(holder), 1)
    assert refused(plugin, waiting, cluster) == {"here", "there"}


# --- pods imagined away, which is how preemption asks


def test_a_node_fits_once_the_pod_that_holds_the_claim_is_gone() -> None:
    cluster = cluster_of(NODES, [claiming("one", name="holder", on="here")], [RWOP])
    rows = np.arange(2)
    holder = cluster.pods_on[cluster.columns.row("here") or 0]
    away = change_of(cluster, rows, [holder if name == "here" else [] for name in cluster.columns.names], -1)
    waiting = cluster.shapes.info(claiming("one"))
    (found,) = rejections(plugin_of("VolumeRestrictions"), waiting, cluster, rows, away)
    assert dict(zip(cluster.columns.names, found.where.tolist(), strict=True)) == {"here": False, "there": True}


def test_pods_imagined_away_count_by_their_claims_names_whatever_their_namespace() -> None:
    running = [
        claiming("one", name="holder", on="here"),
        claiming("one", name="namesake", namespace="other", on="there"),
    ]
    cluster = cluster_of(NODES, running, [RWOP])
    rows = np.arange(2)
    away = change_of(cluster, rows, cluster.pods_on, -1)
    waiting = cluster.shapes.info(claiming("one"))
    (found,) = rejections(plugin_of("VolumeRestrictions"), waiting, cluster, rows, away)
    assert not found.where.any()


def test_preemption_takes_the_claim_from_a_lesser_pod() -> None:
    objects = [storage_class(), volume("pv", kept_for="one", phase="Bound", source=csi("h")), RWOP]
    cluster = cluster_of(NODES, [claiming("one", name="holder", on="there", priority=0)], objects)
    attempt = scheduler_for(cluster).attempt(cluster.shapes.info(claiming("one", priority=10)))
    assert (attempt.nominated, [victim.key for victim in attempt.victims]) == ("there", ["default/holder"])
    assert attempt.message.startswith(f"0/2 nodes are available: 2 {ONE_POD}.")


def test_preemption_takes_a_disk_from_a_lesser_pod_but_not_from_an_equal() -> None:
    running = [mounting(ebs("v"), name="low", on="here", priority=0), mounting(ebs("v"), name="peer", on="there")]
    cluster = cluster_of(NODES, running)
    cluster.forget("uid-default-low")
    cluster.assume(cluster.shapes.info(mounting(ebs("v"), name="low", priority=-1)), cluster.columns.row("here") or 0)
    attempt = scheduler_for(cluster).attempt(cluster.shapes.info(mounting(ebs("v"), priority=0)))
    assert (attempt.nominated, [victim.key for victim in attempt.victims]) == ("here", ["default/low"])


# --- what wakes a waiting pod


@pytest.mark.parametrize(
    ("gone", "wakes"),
    [
        pytest.param(mounting(gce("d"), name="gone"), True, id="its disk is free"),
        pytest.param(mounting(gce("e"), name="gone"), False, id="another disk is free"),
        pytest.param(mounting(gce("d"), name="gone", namespace="other"), False, id="a pod of another namespace went"),
        pytest.param(claiming("one", name="gone"), True, id="its claim is free"),
        pytest.param(claiming("many", name="gone"), False, id="another claim is free"),
    ],
)
def test_a_pod_that_leaves_wakes_those_that_share_its_volumes(gone: Pod, wakes: bool) -> None:
    cluster = cluster_of(NODES)
    waiting = cluster.shapes.info(claiming("one", volumes=[gce("d")]))
    hint = plugin_of("VolumeRestrictions").queueing_hints[ClusterEvent.POD_DELETED]
    happening = EventOccurrence(ClusterEvent.POD_DELETED, cluster, cluster.shapes.info(gone))
    assert hint(waiting, happening) is wakes
