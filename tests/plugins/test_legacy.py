"""Plugins that only legacy policies name, one table after the other."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kwhatif.api.core import Node, Pod
from kwhatif.api.decode import convert
from kwhatif.cluster.cluster import Cluster
from kwhatif.framework.status import SKIP, Code
from kwhatif.versions import LEGACY_MINOR, features_of
from tests.asking import details, raw_scores, refusals, refused, scores
from tests.builders import (
    GPU,
    HOSTNAME,
    MIB,
    cluster_of,
    container,
    node,
    node_term,
    plugin_of,
    pod,
    pods_like,
    pods_on,
    select,
    service,
    spread,
)
from tests.storage_builders import DRIVER, claim, claiming, csi_node, ebs, ephemeral, gce, mounting, volume

OF_1_22 = features_of(LEGACY_MINOR)
ZONE = "topology.kubernetes.io/zone"
WEB = {"app": "web"}


def cluster(nodes: list[Node], pods: Any = (), objects: Any = ()) -> Cluster:
    return cluster_of(nodes, pods, objects, features=OF_1_22)


# --- NodeLabel


def test_labels_that_must_be_there_and_labels_that_must_not() -> None:
    plugin = plugin_of("NodeLabel", {"presentLabels": ["ssd"], "absentLabels": ["old"]})
    nodes = [
        node("good", labels={"ssd": "false"}),
        node("old", labels={"ssd": "", "old": ""}),
        node("bare"),
    ]
    found = refusals(plugin, pod(), cluster(nodes))
    assert found == dict.fromkeys(("old", "bare"), (Code.UNRESOLVABLE, ("node(s) didn't have the requested labels",)))
    assert details(plugin, pod(), cluster(nodes), "old") == ["node has label old"]


def test_labels_that_are_better_there_or_not_share_the_score() -> None:
    plugin = plugin_of("NodeLabel", {"presentLabelsPreference": ["a", "b"], "absentLabelsPreference": ["c"]})
    nodes = [node("all", labels={"a": "", "b": ""}), node("two", labels={"a": ""}), node("none", labels={"c": ""})]
    assert scores(plugin, pod(), cluster(nodes)) == {"all": 100, "two": 66, "none": 0}


# --- NodePreferAvoidPods


def avoiding(name: str, annotation: str) -> Node:
    raw = {"metadata": {"name": name, "annotations": {"scheduler.alpha.kubernetes.io/preferAvoidPods": annotation}}}
    return convert({"apiVersion": "v1", "kind": "Node", **raw}, Node)


def controller(kind: str, uid: str) -> str:
    return json.dumps({"preferAvoidPods": [{"podSignature": {"podController": {"kind": kind, "uid": uid}}}]})


@pytest.mark.parametrize(
    ("annotation", "score"),
    [
        (controller("ReplicaSet", "uid-1"), 0),
        (controller("ReplicaSet", "uid-2"), 100),
        (controller("ReplicationController", "uid-1"), 100),
        ("{not json", 100),
        ('{"preferAvoidPods": [{"podSignature": {}}, 3]}', 100),
        ("", 100),
    ],
)
def test_a_node_that_would_rather_not_have_a_controllers_pods(annotation: str, score: int) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "uid-1", "controller": True}
    owned = convert(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "ownerReferences": [owner]}, "spec": {}}, Pod
    )
    assert scores(plugin_of("NodePreferAvoidPods"), owned, cluster([avoiding("a", annotation)])) == {"a": score}
    assert scores(plugin_of("NodePreferAvoidPods"), pod(), cluster([avoiding("a", annotation)])) == {"a": 100}


# --- ServiceAffinity

RACKS = [node("a1", labels={"rack": "a"}), node("a2", labels={"rack": "a"}), node("b1", labels={"rack": "b"})]


@pytest.mark.parametrize(
    ("waiting", "running", "out"),
    [
        (pod(labels=WEB), {}, set()),
        (pod(labels=WEB), {"b1": 1}, {"a1", "a2"}),
        (pod(labels=WEB, node_selector={"rack": "a"}), {"b1": 1}, {"b1"}),
        (pod(labels={"app": "other"}), {"b1": 1}, set()),
    ],
    ids=[
        "the first pod goes anywhere",
        "the next ones follow",
        "a node selector goes first",
        "no service, no followers",
    ],
)
def test_pods_of_a_service_share_the_rack_of_the_first(waiting: Pod, running: dict[str, int], out: set[str]) -> None:
    plugin = plugin_of("ServiceAffinity", {"affinityLabels": ["rack"]})
    at = cluster(RACKS, pods_on(running, labels=WEB), [service("web", WEB)])
    assert refused(plugin, waiting, at) == out


def test_pods_of_a_service_are_spread_over_racks() -> None:
    plugin = plugin_of("ServiceAffinity", {"antiAffinityLabelsPreference": ["rack"]})
    at = cluster([*RACKS, node("none")], pods_on({"a1": 2, "b1": 1, "none": 1}, labels=WEB), [service("web", WEB)])
    assert raw_scores(plugin, pod(labels=WEB), at) == {"a1": 2, "a2": 0, "b1": 1, "none": 1}
    assert scores(plugin, pod(labels=WEB), at) == {"a1": 50, "a2": 50, "b1": 75, "none": 0}


# --- SelectorSpread


def test_siblings_in_the_zone_count_twice_as_much_as_those_on_the_node() -> None:
    nodes = [node("a1", zone="a"), node("a2", zone="a"), node("b1", zone="b")]
    at = cluster(nodes, pods_on({"a1": 3, "b1": 1}, labels=WEB), [service("web", WEB)])
    plugin = plugin_of("SelectorSpread")
    assert raw_scores(plugin, pod(labels=WEB), at) == {"a1": 3, "a2": 0, "b1": 1}
    assert scores(plugin, pod(labels=WEB), at) == {"a1": 0, "a2": 33, "b1": 66}


@pytest.mark.long
def test_without_zones_and_without_siblings_there_is_nothing_to_choose() -> None:
    plugin = plugin_of("SelectorSpread")
    assert scores(plugin, pod(labels=WEB), cluster([node("a"), node("b")])) == {"a": 100, "b": 100}
    spreading = pod(labels=WEB, constraints=[spread(select(app="web"), HOSTNAME)])
    assert scores(plugin, spreading, cluster([node("a")])) is SKIP


# --- resources

HALF = pod(cpu="2", memory="2Gi")


def test_least_most_and_a_curve_of_ones_own() -> None:
    at = cluster([node("empty"), node("busy")], [pod("there", on="busy", cpu="1", memory="4Gi")])
    of_both = {"resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]}
    assert scores(plugin_of("NodeResourcesLeastAllocated", of_both), HALF, at) == {"empty": 62, "busy": 25}
    assert scores(plugin_of("NodeResourcesMostAllocated", of_both), HALF, at) == {"empty": 37, "busy": 75}
    shape = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
    curve = plugin_of("RequestedToCapacityRatio", {"shape": shape, "resources": [{"name": GPU}, {"name": "cpu"}]})
    assert scores(curve, HALF, at) == {"empty": 50, "busy": 75}


def test_overhead_counts_in_whole_units() -> None:
    at = cluster([node("a", cpu="100m")])
    plugin = plugin_of("NodeResourcesMostAllocated", {"resources": [{"name": "cpu", "weight": 1}]})
    assert scores(plugin, pod(cpu="10m", overhead={"cpu": "50m"}), at) == {"a": 11}


@pytest.mark.parametrize(
    ("limits", "score"), [({"cpu": "1"}, 1), ({"cpu": "9"}, 0), ({"cpu": "9", "memory": "1Gi"}, 1), ({}, 0)]
)
def test_a_node_that_could_hold_the_pods_limits_has_a_point(limits: dict[str, str], score: int) -> None:
    limited = pod(containers=[container() | {"resources": {"limits": limits}}])
    assert scores(plugin_of("NodeResourceLimits"), limited, cluster([node("a")])) == {"a": score}


# --- what other plugins did in 1.22


def test_a_pod_that_asks_for_anything_does_not_fit_where_something_else_is_overcommitted() -> None:
    at = cluster([node("a", cpu="1")], [pod("there", on="a", cpu="2")])
    plugin = plugin_of("NodeResourcesFit", features=OF_1_22)
    assert refusals(plugin, pod(memory="1Gi"), at) == {"a": (Code.UNSCHEDULABLE, ("Insufficient cpu",))}
    assert refused(plugin, pod(), at) == set()


def test_the_taint_is_named_as_it_was_then() -> None:
    found = refusals(
        plugin_of("TaintToleration", features=OF_1_22), pod(), cluster([node("a", taints=["x=1:NoSchedule"])])
    )
    assert found == {"a": (Code.UNRESOLVABLE, ("node(s) had taint {x: 1}, that the pod didn't tolerate",))}


def test_an_image_is_on_as_many_nodes_as_joined_before() -> None:
    nodes = [node(name, images={"app:v1": 900 * MIB}) for name in ("a", "b")]
    plugin = plugin_of("ImageLocality", features=OF_1_22)
    found = scores(plugin, pod(image="app:v1"), cluster(nodes))
    assert found == {"a": 43, "b": 89}


def test_pods_on_nodes_that_affinity_leaves_out_count_in_domains_it_lets_in() -> None:
    nodes = [
        node("a1", zone="a", labels={"disk": "ssd"}),
        node("a2", zone="a"),
        node("b1", zone="b", labels={"disk": "ssd"}),
    ]
    running = pods_on({"a2": 1}, labels=WEB)
    waiting = pod(labels=WEB, nodes=[node_term("disk In ssd")], constraints=[spread(select(app="web"))])
    assert refused(plugin_of("PodTopologySpread", features=OF_1_22), waiting, cluster(nodes, running)) == {"a1", "a2"}
    later = features_of("1.29")
    now = cluster_of(nodes, running, features=later)
    assert refused(plugin_of("PodTopologySpread", features=later), waiting, now) == set()


def test_anti_affinity_of_others_is_met_in_every_minor() -> None:
    at = cluster([node("a")], [pod("shy", on="a", far=[pods_like(select(app="web"), HOSTNAME)])])
    reason = "node(s) didn't satisfy existing pods anti-affinity rules"
    found = refusals(plugin_of("InterPodAffinity", features=OF_1_22), pod(labels=WEB), at)
    assert found == {"a": (Code.UNSCHEDULABLE, (reason,))}


# --- volumes in 1.22


def names_refused(plugin: str, waiting: Pod, at: Cluster) -> set[str]:
    return refused(plugin_of(plugin, features=OF_1_22), waiting, at)


def test_disks_count_in_tree_although_a_csi_driver_runs() -> None:
    nodes = [node("a", allocatable={"attachable-volumes-aws-ebs": "1"})]
    running, driver = [mounting(ebs("vol-1"), name="there", on="a")], [csi_node("a", {DRIVER: 5})]
    at = cluster(nodes, running, driver)
    assert names_refused("EBSLimits", mounting(ebs("vol-2")), at) == {"a"}
    later = features_of("1.29")
    now = cluster_of(nodes, running, driver, features=later)
    assert refused(plugin_of("EBSLimits", features=later), mounting(ebs("vol-2")), now) == set()


@pytest.mark.parametrize(
    ("waiting", "of_old", "since"),
    [
        pytest.param(claiming("data", namespace="shop"), {"a"}, {"a"}, id="a claim counts by its volume"),
        pytest.param(claiming("data"), set(), set(), id="that of its own namespace"),
        pytest.param(
            mounting(ephemeral("data"), name="db", namespace="shop"), set(), {"a"}, id="an ephemeral volume, by now"
        ),
    ],
)
def test_disks_behind_claims(waiting: Pod, of_old: set[str], since: set[str]) -> None:
    nodes = [node("a", allocatable={"attachable-volumes-aws-ebs": "1"})]
    running = [mounting(ebs("vol-1"), name="there", on="a")]
    objects = [
        *(claim(name, bound_to=f"pv-{name}", namespace="shop") for name in ("data", "db-data")),
        *(volume(f"pv-{name}", source=ebs(f"vol-{name}")) for name in ("data", "db-data")),
        claim("data", bound_to="pv-gce"),
        volume("pv-gce", source=gce("disk")),
    ]
    assert names_refused("EBSLimits", waiting, cluster(nodes, running, objects)) == of_old
    later = features_of("1.29")
    now = cluster_of(nodes, running, objects, features=later)
    assert refused(plugin_of("EBSLimits", features=later), waiting, now) == since


def test_volume_limits_pass_over_claims_that_do_not_exist() -> None:
    at = cluster([node("a")], objects=[csi_node("a", {DRIVER: 0})])
    assert names_refused("NodeVolumeLimits", claiming("nowhere"), at) == set()


def test_a_volumes_zone_is_looked_for_under_its_own_label() -> None:
    old_label = "failure-domain.beta.kubernetes.io/zone"
    bound = volume("pv", labels={old_label: "z"}, kept_for="data")
    at = cluster([node("new", zone="z"), node("bare")], objects=[claim(bound_to="pv"), bound])
    assert names_refused("VolumeZone", claiming("data"), at) == {"new"}


def test_disks_are_told_apart_without_prefilter() -> None:
    at = cluster([node("a")], [mounting(ebs("vol-1"), name="there", on="a")])
    assert names_refused("VolumeRestrictions", mounting(ebs("vol-1")), at) == {"a"}
    plugin = plugin_of("VolumeRestrictions", features=OF_1_22)
    assert not plugin.needs_pre_filter
