from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kwhatif.api.core import Pod
from kwhatif.api.meta import Resource
from kwhatif.cluster.node_view import change_of
from kwhatif.framework.interface import ClusterEvent, EventOccurrence
from kwhatif.framework.status import SKIP
from tests.asking import EVICTION_MIGHT_HELP, HOPELESS, details, pre_filter, refusals, refused, rejections
from tests.builders import cluster_of, node, plugin_of, pod
from tests.storage_builders import (
    DRIVER,
    attachment,
    claim,
    claiming,
    csi,
    csi_node,
    ephemeral,
    gce,
    mounting,
    storage_class,
    volume,
)

TOO_MANY = "node(s) exceed max volume count"
OTHER = "other.csi.example"
NODES = [node("n")]


def bound(*names: str, driver: str = DRIVER, **common: Any) -> list[Resource]:
    """Claims of these names, each bound to a CSI volume of its own."""
    found: list[Resource] = []
    for name in names:
        found += [claim(name, bound_to=f"pv-{name}"), volume(f"pv-{name}", source=csi(f"h-{name}", driver), **common)]
    return found


def full(waiting: Pod, running: list[Pod], objects: list[Resource], limit: int | None = 2) -> bool:
    """Whether the only node, whose driver attaches so many volumes, refuses the pod."""
    cluster = cluster_of(NODES, running, [csi_node("n", {DRIVER: limit}), *objects])
    found = refusals(plugin_of("NodeVolumeLimits"), waiting, cluster)
    assert found in ({}, {"n": (EVICTION_MIGHT_HELP, (TOO_MANY,))})
    return bool(found)


# --- limits


@pytest.mark.parametrize(
    ("limit", "refuses"),
    [
        pytest.param(3, False, id="room for one more"),
        pytest.param(2, True, id="no room"),
        pytest.param(0, True, id="a driver that attaches nothing"),
        pytest.param(None, False, id="a driver that does not say has no limit"),
    ],
)
def test_volumes_in_use_and_new_ones_may_not_exceed_the_limit(limit: int | None, refuses: bool) -> None:
    running = [claiming("a", "b", name="r", on="n")]
    assert full(claiming("c"), running, bound("a", "b", "c"), limit) is refuses


def test_a_driver_the_node_does_not_have_has_no_limit() -> None:
    objects = [*bound("a"), csi_node("n", {OTHER: 0})]
    assert refused(plugin_of("NodeVolumeLimits"), claiming("a"), cluster_of(NODES, objects=objects)) == set()


def test_a_node_that_tells_nothing_of_drivers_has_no_limits() -> None:
    assert refused(plugin_of("NodeVolumeLimits"), claiming("a"), cluster_of(NODES, objects=bound("a"))) == set()


def test_drivers_are_counted_apart() -> None:
    objects = [*bound("a", "b"), *bound("c", "d", driver=OTHER)]
    limits = csi_node("n", {DRIVER: 2, OTHER: 1})
    running = [claiming("a", name="r", on="n"), claiming("c", name="s", on="n")]
    cluster, plugin = cluster_of(NODES, running, [*objects, limits]), plugin_of("NodeVolumeLimits")
    assert refused(plugin, claiming("b"), cluster) == set()
    assert refused(plugin, claiming("d"), cluster) == {"n"}
    assert refused(plugin, claiming("b", "d"), cluster) == {"n"}
    assert details(plugin, claiming("d"), cluster, "n") == [f"{OTHER}: 1 volumes attached of 1, 1 more asked for"]


# --- what counts


@pytest.mark.parametrize(
    ("waiting", "running", "refuses"),
    [
        pytest.param(claiming("a", "a", "b"), [], False, id="a claim named twice is one volume"),
        pytest.param(claiming("a", "same", "b"), [], False, id="two claims of one volume are one"),
        pytest.param(claiming("a", "b", "c"), [], True, id="three volumes are too many"),
        pytest.param(
            claiming("b"),
            [claiming("a", name="r", on="n"), claiming("a", name="s", on="n")],
            False,
            id="pods that share a volume count it once",
        ),
        pytest.param(
            claiming("a"), [claiming("a", "b", name="r", on="n")], False, id="what the node has already is not new"
        ),
        pytest.param(
            claiming("a", "c"), [claiming("a", "b", name="r", on="n")], True, id="but what comes beside it is"
        ),
        pytest.param(
            claiming("c"), [claiming("lost", "gone", name="r", on="n")], False, id="claims nobody knows do not count"
        ),
        pytest.param(claiming("plain", "a", "b"), [], False, id="a volume of another kind does not count"),
        pytest.param(claiming("unnamed", "a", "b"), [], False, id="nor does one without a handle"),
        pytest.param(
            claiming("c", namespace="other"), [claiming("a", "b", name="r", on="n")], True, id="whosever claim it is"
        ),
    ],
)
def test_volumes_are_counted_once(waiting: Pod, running: list[Pod], refuses: bool) -> None:
    objects = [
        *bound("a", "b", "c"),
        claim("same", bound_to="pv-a"),
        claim("plain", bound_to="pv-plain"),
        volume("pv-plain", source={"nfs": {"server": "s", "path": "/"}}),
        claim("unnamed", bound_to="pv-unnamed"),
        volume("pv-unnamed", source=csi("")),
        claim("c", bound_to="pv-c", namespace="other"),
    ]
    assert full(waiting, running, objects) is refuses


@pytest.mark.parametrize(
    ("attached", "waiting", "refuses"),
    [
        pytest.param([attachment("pv-x", "n")], claiming("c"), True, id="attached though no pod uses it: counts"),
        pytest.param([attachment("pv-a", "n")], claiming("c"), False, id="attached for a pod that is here: once"),
        pytest.param([attachment("pv-x", "m")], claiming("c"), False, id="attached elsewhere"),
        pytest.param([attachment("none", "n")], claiming("c"), False, id="an unknown volume"),
        pytest.param([attachment(None, "n")], claiming("c"), False, id="no volume"),
        pytest.param([attachment("pv-x", "n", attacher="")], claiming("c"), False, id="nobody attaches it"),
        pytest.param([attachment("pv-x", "n", attacher=OTHER)], claiming("c"), False, id="another driver does"),
        pytest.param(
            [attachment("pv-c", "n")], claiming("c"), True, id="a new volume that is attached already counts twice"
        ),
    ],
)
def test_volume_attachments_count_beside_pods(attached: list[Resource], waiting: Pod, refuses: bool) -> None:
    running = [claiming("a", name="r", on="n")]
    assert full(waiting, running, [*bound("a", "c", "x"), *attached]) is refuses


@pytest.mark.parametrize(
    ("provisioner", "limited"),
    [
        pytest.param(DRIVER, True, id="a CSI driver's"),
        pytest.param("kubernetes.io/aws-ebs", False, id="another driver's"),
        pytest.param("", False, id="nobody's"),
    ],
)
def test_a_volume_still_to_be_made_counts_for_the_driver_that_will_make_it(provisioner: str, limited: bool) -> None:
    objects = [claim("a"), claim("b"), storage_class(provisioner=provisioner)]
    running = [claiming("a", name="r", on="n")]
    assert full(claiming("b"), running, objects, 1) is limited
    assert not full(claiming("a"), running, objects, 1)


def test_a_claim_whose_volume_is_unknown_goes_by_its_class() -> None:
    objects = [claim("a", bound_to="unknown"), storage_class(provisioner=DRIVER)]
    assert full(claiming("a"), [], objects, 0)


def test_a_claim_without_a_class_does_not_count() -> None:
    assert not full(claiming("a"), [], [claim("a", storage_class=None)], 0)
    assert not full(claiming("a"), [], [claim("a", storage_class="unknown")], 0)


def test_ephemeral_volumes_count_under_their_claims() -> None:
    objects = [claim("pod-scratch", owner="uid-default-pod"), storage_class(provisioner=DRIVER)]
    assert full(mounting(ephemeral()), [], objects, 0)
    assert not full(mounting(ephemeral()), [], objects, 1)


# --- pods without an answer


def test_a_claim_that_is_not_there_refuses_every_node_for_good() -> None:
    found = refusals(plugin_of("NodeVolumeLimits"), claiming("none"), cluster_of(NODES))
    text = 'looking up PVC default/none: persistentvolumeclaim "none" not found'
    assert found == {"n": (HOPELESS, (text,))}


@pytest.mark.parametrize("waiting", [pod(), mounting({"emptyDir": {}}), mounting({"nfs": {"server": "s"}})])
def test_a_pod_without_attachable_volumes_skips_the_filter(waiting: Pod) -> None:
    cluster = cluster_of(NODES)
    assert pre_filter(plugin_of("NodeVolumeLimits"), cluster.shapes.info(waiting), cluster) is SKIP


# --- as pods come and go


def test_counts_follow_the_pods() -> None:
    objects = [*bound("a", "b"), csi_node("n", {DRIVER: 1})]
    cluster, plugin = cluster_of(NODES, objects=objects), plugin_of("NodeVolumeLimits")
    assert refused(plugin, claiming("b"), cluster) == set()
    cluster.assume(cluster.shapes.info(claiming("a", name="r")), 0)
    assert refused(plugin, claiming("b"), cluster) == {"n"}
    cluster.forget("uid-default-r")
    assert refused(plugin, claiming("b"), cluster) == set()


def test_a_pod_imagined_away_takes_only_what_no_other_uses() -> None:
    running = [claiming("a", name="r", on="n"), claiming("a", "b", name="s", on="n")]
    cluster = cluster_of(NODES, running, [*bound("a", "b", "c"), csi_node("n", {DRIVER: 2})])
    plugin, waiting, row = plugin_of("NodeVolumeLimits"), cluster.shapes.info(claiming("c")), np.zeros(1, np.intp)
    for gone, fits in (("r", False), ("s", True)):
        away = change_of(cluster, row, [[i for i in cluster.pods_on[0] if i.pod.metadata.name == gone]], -1)
        (found,) = rejections(plugin, waiting, cluster, row, away)
        assert found.where.tolist() == [not fits]


@pytest.mark.parametrize(
    ("gone", "wakes"),
    [
        pytest.param(claiming("a", name="gone"), True, id="one with a claim"),
        pytest.param(mounting(gce("d"), name="gone"), True, id="one with an in-tree disk"),
        pytest.param(mounting({"emptyDir": {}}, name="gone"), False, id="one with nothing attached"),
    ],
)
def test_a_pod_with_attachable_volumes_that_leaves_wakes_others(gone: Pod, wakes: bool) -> None:
    cluster = cluster_of(NODES)
    hint = plugin_of("NodeVolumeLimits").queueing_hints[ClusterEvent.POD_DELETED]
    happening = EventOccurrence(ClusterEvent.POD_DELETED, cluster, cluster.shapes.info(gone))
    assert hint(cluster.shapes.info(claiming("x")), happening) is wakes
