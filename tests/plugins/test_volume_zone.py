from __future__ import annotations

import pytest

from kwhatif.api.core import Node
from kwhatif.api.meta import Resource
from kwhatif.cluster.node_view import NodeView
from kwhatif.framework.interface import ClusterEvent, EventOccurrence
from kwhatif.framework.status import SKIP, Status
from tests.asking import HOPELESS, details, pre_filter, refusals, refused
from tests.builders import REGION, ZONE, cluster_of, node, plugin_of
from tests.storage_builders import IMMEDIATE, claim, claiming, ephemeral, mounting, storage_class, volume

NO_ZONE = "node(s) had no available volume zone"
BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"

NODES = [
    node("east", labels={ZONE: "e1", REGION: "e"}),
    node("west", labels={ZONE: "w1", REGION: "w"}),
    node("old", labels={BETA_ZONE: "e1", BETA_REGION: "e"}),
    node("half", labels={REGION: "e"}),
    node("bare"),
]
EVERYWHERE = {"east", "west", "old", "half", "bare"}


@pytest.mark.parametrize(
    ("labels", "fits"),
    [
        pytest.param({}, EVERYWHERE, id="a volume without labels is at home everywhere"),
        pytest.param({ZONE: "e1"}, {"east", "bare"}, id="a zone admits its nodes, and those without any label"),
        pytest.param({ZONE: "e1__w1"}, {"east", "west", "bare"}, id="of a list of zones one is enough"),
        pytest.param({ZONE: "e1__ w1 "}, {"east", "west", "bare"}, id="blanks around zones do not matter"),
        pytest.param({ZONE: "e1__"}, EVERYWHERE, id="a list with an empty zone is left out of account"),
        pytest.param({ZONE: ""}, EVERYWHERE, id="an empty one, too"),
        pytest.param({REGION: "e"}, {"east", "half", "bare"}, id="a region goes by the label for regions"),
        pytest.param({ZONE: "e1", REGION: "w"}, {"bare"}, id="zone and region have to agree"),
        pytest.param(
            {BETA_ZONE: "e1"},
            {"east", "old", "bare"},
            id="an older label is looked for under its name and its successor's",
        ),
        pytest.param({BETA_REGION: "w"}, {"west", "bare"}, id="older regions, too"),
        pytest.param({ZONE: "e1", BETA_ZONE: "w1"}, {"bare"}, id="all labels of a volume count"),
    ],
)
def test_labels_of_bound_volumes(labels: dict[str, str], fits: set[str]) -> None:
    cluster = cluster_of(NODES, objects=[claim(bound_to="pv"), volume("pv", labels=labels)])
    found = refusals(plugin_of("VolumeZone"), claiming("data"), cluster)
    assert found == dict.fromkeys(EVERYWHERE - fits, (HOPELESS, (NO_ZONE,)))


def test_a_node_with_both_labels_is_judged_by_the_older_one_for_older_volumes() -> None:
    nodes: list[Node] = [node("moved", labels={BETA_ZONE: "w1", ZONE: "e1"})]
    objects = [claim(bound_to="pv"), volume("pv", labels={BETA_ZONE: "e1"})]
    assert refused(plugin_of("VolumeZone"), claiming("data"), cluster_of(nodes, objects=objects)) == {"moved"}


def test_all_volumes_of_a_pod_have_to_be_near() -> None:
    objects = [
        claim("a", bound_to="pv-a"),
        volume("pv-a", labels={ZONE: "e1__w1"}),
        claim("b", bound_to="pv-b"),
        volume("pv-b", labels={ZONE: "w1"}),
    ]
    cluster, plugin = cluster_of(NODES, objects=objects), plugin_of("VolumeZone")
    assert refused(plugin, claiming("a", "b"), cluster) == {"east", "old", "half"}
    assert details(plugin, claiming("a", "b"), cluster, "east") == [
        f"claim b: volume pv-b is in {ZONE} w1, node has {ZONE}=e1"
    ]


@pytest.mark.parametrize(
    ("objects", "text"),
    [
        pytest.param([], 'persistentvolumeclaim "data" not found', id="no such claim"),
        pytest.param([claim(bound_to="pv")], 'persistentvolume "pv" not found', id="no such volume"),
        pytest.param(
            [claim(storage_class=None)], "PersistentVolumeClaim had no pv name and storageClass name", id="no class"
        ),
        pytest.param([claim()], 'storageclass.storage.k8s.io "std" not found', id="no such class"),
        pytest.param(
            [claim(), storage_class(binding=None)],
            'VolumeBindingMode not set for StorageClass "std"',
            id="a class that does not say when it binds",
        ),
        pytest.param(
            [claim(), storage_class(binding=IMMEDIATE)],
            "PersistentVolume had no name",
            id="a claim that should be bound by now",
        ),
    ],
)
def test_prefilter_refuses_claims_without_a_volume(objects: list[Resource], text: str) -> None:
    cluster = cluster_of(NODES, objects=objects)
    answer = pre_filter(plugin_of("VolumeZone"), cluster.shapes.info(claiming("data")), cluster)
    assert answer == Status.unresolvable(text)


def test_a_claim_without_a_name_refuses_the_pod() -> None:
    cluster = cluster_of(NODES)
    answer = pre_filter(plugin_of("VolumeZone"), cluster.shapes.info(claiming("")), cluster)
    assert answer == Status.unresolvable("PersistentVolumeClaim had no name")


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([claim(), storage_class()], id="its volume is chosen with the node"),
        pytest.param(
            [
                claim(storage_class="other", annotations={"volume.beta.kubernetes.io/storage-class": "std"}),
                storage_class(),
            ],
            id="the class is in the older annotation",
        ),
        pytest.param([claim(bound_to="pv"), volume("pv")], id="its volume has no labels"),
    ],
)
def test_claims_that_hold_to_no_zone_skip_the_filter(objects: list[Resource]) -> None:
    cluster = cluster_of(NODES, objects=objects)
    assert pre_filter(plugin_of("VolumeZone"), cluster.shapes.info(claiming("data")), cluster) is SKIP


@pytest.mark.parametrize(
    ("objects", "text", "where"),
    [
        pytest.param([], 'persistentvolumeclaim "data" not found', EVERYWHERE, id="no claim"),
        pytest.param(
            [claim(bound_to="pv"), volume("pv", labels={ZONE: "e1"})], NO_ZONE, {"west", "old", "half"}, id="a zone"
        ),
        pytest.param([claim(bound_to="pv"), volume("pv")], "", set(), id="a volume that is at home everywhere"),
    ],
)
def test_in_a_profile_without_prefilter_the_filter_looks_for_itself(
    objects: list[Resource], text: str, where: set[str]
) -> None:
    cluster, plugin = cluster_of(NODES, objects=objects), plugin_of("VolumeZone")
    found = list(plugin.filter(cluster.shapes.info(claiming("data")), NodeView(cluster), None))
    names = {cluster.columns.names[row] for each in found for row in each.where.nonzero()[0]}
    assert ({each.reason for each in found}, names) == ({text} if text else set(), where)
    assert all(each.unresolvable for each in found)


def test_ephemeral_volumes_are_not_looked_at() -> None:
    objects = [claim("pod-scratch", bound_to="pv"), volume("pv", labels={ZONE: "nowhere"})]
    cluster = cluster_of(NODES, objects=objects)
    assert pre_filter(plugin_of("VolumeZone"), cluster.shapes.info(mounting(ephemeral())), cluster) is SKIP


def test_any_volume_and_its_own_claims_wake_a_waiting_pod() -> None:
    cluster, hints = cluster_of(NODES), plugin_of("VolumeZone").queueing_hints
    waiting = cluster.shapes.info(claiming("data"))
    assert hints[ClusterEvent.VOLUME_CHANGED](waiting, EventOccurrence(ClusterEvent.VOLUME_CHANGED, cluster))
    for key, wakes in ((("default", "data"), True), (("default", "x"), False), (("other", "data"), False)):
        changed = EventOccurrence(ClusterEvent.CLAIM_CHANGED, cluster, claim=key)
        assert hints[ClusterEvent.CLAIM_CHANGED](waiting, changed) is wakes
