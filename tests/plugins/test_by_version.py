"""What plugins did before and after the minor in which they changed, one change after the other."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kwhatif.cluster.cluster import Cluster
from kwhatif.framework.status import SKIP, Code, PreFilterResult, Status
from kwhatif.versions import Features, features_of
from tests.asking import pre_filter, raw_scores, refusals, refused, scores
from tests.builders import MIB, Json, cluster_of, container, node, plugin_of, pod, scheduler_for
from tests.storage_builders import (
    DRIVER,
    claim,
    claiming,
    csi,
    csi_node,
    driver,
    ebs,
    gce,
    mounting,
    storage_class,
    volume,
)

HOPELESS, EVICTION_MIGHT_HELP = Code.UNRESOLVABLE, Code.UNSCHEDULABLE


def since(minor: str, old: Any, new: Any) -> pytest.MarkDecorator:
    """The minor before the change with what held then, and the minor of the change."""
    before = f"1.{int(minor.split('.')[1]) - 1}"
    return pytest.mark.parametrize(("minor", "expected"), [(before, old), (minor, new)], ids=["before", "since"])


def cluster_in(minor: str, *things: Any, **gates: bool) -> tuple[Features, Cluster]:
    features = features_of(minor, gates)
    nodes = [thing for thing in things if thing.kind == "Node"]
    return features, cluster_of(nodes, [], [thing for thing in things if thing.kind != "Node"], features=features)


# --- messages and codes


@since("1.34", "node(s) had untolerated taint {dedicated: a}", "node(s) had untolerated taint(s)")
def test_the_first_taint_is_named(minor: str, expected: str) -> None:
    features, cluster = cluster_in(
        minor, node("a", taints=["soft=x:PreferNoSchedule", "dedicated=a:NoSchedule", "b=:NoExecute"])
    )
    found = refusals(plugin_of("TaintToleration", features=features), pod(), cluster)
    assert found == {"a": (HOPELESS, (expected,))}


def test_nodes_with_different_taints_have_different_messages() -> None:
    features, cluster = cluster_in("1.33", node("a", taints=["x=1:NoSchedule"]), node("b", taints=["y:NoSchedule"]))
    found = refusals(plugin_of("TaintToleration", features=features), pod(), cluster)
    assert {name: reasons for name, (_, reasons) in found.items()} == {
        "a": ("node(s) had untolerated taint {x: 1}",),
        "b": ("node(s) had untolerated taint {y: }",),
    }


@since("1.34", EVICTION_MIGHT_HELP, HOPELESS)
def test_a_node_that_is_too_small_is_no_candidate_for_preemption(minor: str, expected: Code) -> None:
    features, cluster = cluster_in(minor, node("a", cpu="1"))
    found = refusals(plugin_of("NodeResourcesFit", features=features), pod(cpu="2"), cluster)
    assert found == {"a": (expected, ("Insufficient cpu",))}


@since("1.33", "node(s) had volume node affinity conflict", "node(s) didn't match PersistentVolume's node affinity")
def test_a_volume_out_of_reach(minor: str, expected: str) -> None:
    bound = claim(bound_to="pv")
    features, cluster = cluster_in(
        minor, node("a"), node("b"), bound, storage_class(), volume("pv", on="a", kept_for="data")
    )
    found = refusals(plugin_of("VolumeBinding", features=features), claiming("data"), cluster)
    assert found == {"b": (HOPELESS, (expected,))}


@since(
    "1.34",
    "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode",
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
)
def test_a_claim_for_one_pod_that_is_in_use(minor: str, expected: str) -> None:
    features = features_of(minor)
    single = claim(modes=["ReadWriteOncePod"])
    cluster = cluster_of([node("a")], [claiming("data", name="holder", on="a")], [single], features=features)
    found = refusals(plugin_of("VolumeRestrictions", features=features), claiming("data"), cluster)
    assert found == {"a": (EVICTION_MIGHT_HELP, (expected,))}


RESTARTS_ALL = [
    container(name="main")
    | {"restartPolicyRules": [{"action": "RestartAllContainers", "exitCodes": {"operator": "In"}}]}
]


@since(
    "1.36",
    "node declared features check failed - unsatisfied requirements: RestartAllContainersOnContainerExits",
    "node(s) didn't match Pod's required features",
)
def test_features_that_a_node_lacks(minor: str, expected: str) -> None:
    gates = {} if minor == "1.36" else {"NodeDeclaredFeatures": True}
    features, cluster = cluster_in(minor, node("a"), **gates)
    found = refusals(plugin_of("NodeDeclaredFeatures", features=features), pod(containers=RESTARTS_ALL), cluster)
    assert found == {"a": (HOPELESS, (expected,))}


@since("1.36", set(), {"a"})
def test_user_namespaces_on_the_host_network_have_to_be_declared(minor: str, expected: set[str]) -> None:
    gates = {} if minor == "1.36" else {"NodeDeclaredFeatures": True}
    features, cluster = cluster_in(minor, node("a"), **gates)
    waiting = pod(spec={"hostNetwork": True, "hostUsers": False})
    assert refused(plugin_of("NodeDeclaredFeatures", features=features), waiting, cluster) == expected


# --- what counts


@since("1.33", set(), {"a"})
def test_host_ports_of_sidecars(minor: str, expected: set[str]) -> None:
    features = features_of(minor)
    sidecar = container(name="proxy", ports=["80"]) | {"restartPolicy": "Always"}
    cluster = cluster_of([node("a")], [pod("other", on="a", init=[sidecar])], features=features)
    assert refused(plugin_of("NodePorts", features=features), pod(ports=["80"]), cluster) == expected


@pytest.mark.parametrize(("on", "expected"), [(False, set()), (True, {"a"})])
def test_min_domains_can_be_turned_off_while_it_is_beta(on: bool, expected: set[str]) -> None:
    """With three domains asked for and one there, the least count is taken for 0."""
    features = features_of("1.29", {"MinDomainsInPodTopologySpread": on})
    spreading = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "minDomains": 3}
    spreading |= {"labelSelector": {"matchLabels": {"app": "web"}}}
    running = [pod("r", on="a", labels={"app": "web"})]
    cluster = cluster_of([node("a", labels={"zone": "z"})], running, features=features)
    waiting = pod(labels={"app": "web"}, constraints=[spreading])
    assert refused(plugin_of("PodTopologySpread", features=features), waiting, cluster) == expected


BIG = 600 * MIB


@since("1.30", {"a": 0, "b": 59}, {"a": 14, "b": 29})
def test_images_of_init_containers(minor: str, expected: dict[str, int]) -> None:
    features, cluster = cluster_in(minor, node("a", images={"setup:1": BIG}), node("b", images={"app:1": 2 * BIG}))
    waiting = pod(image="app:1", init=[container(name="setup", image="setup:1")])
    assert raw_scores(plugin_of("ImageLocality", features=features), waiting, cluster) == expected


@since("1.36", {"a": 0}, {"a": 59})
def test_images_mounted_as_volumes(minor: str, expected: dict[str, int]) -> None:
    features, cluster = cluster_in(minor, node("a", images={"data:1": BIG}))
    waiting = pod(image="app:1", spec={"volumes": [{"name": "v", "image": {"reference": "data:1"}}]})
    assert raw_scores(plugin_of("ImageLocality", features=features), waiting, cluster) == expected


@since("1.30", {"a": 0}, SKIP)
def test_node_affinity_without_preferences_is_not_scored(minor: str, expected: Any) -> None:
    features, cluster = cluster_in(minor, node("a"))
    assert scores(plugin_of("NodeAffinity", features=features), pod(), cluster) == expected


@since("1.30", {"a": 0}, SKIP)
def test_volume_binding_is_not_scored_without_its_gate(minor: str, expected: Any) -> None:
    features, cluster = cluster_in(minor, node("a"))
    assert scores(plugin_of("VolumeBinding", features=features), pod(), cluster) == expected


@since("1.33", {"a": 50, "b": 100}, SKIP)
def test_balanced_allocation_of_a_pod_that_asks_for_nothing(minor: str, expected: Any) -> None:
    features = features_of(minor)
    running = pod("r", on="a", cpu="4")
    cluster = cluster_of([node("a", cpu="4"), node("b")], [running], features=features)
    assert scores(plugin_of("NodeResourcesBalancedAllocation", features=features), pod(), cluster) == expected


@since("1.36", {"a": 75}, {"a": 62})
def test_balanced_allocation_looks_at_the_change(minor: str, expected: dict[str, int]) -> None:
    """Half of the cpu and no memory: a deviation of 0.25, where there was none."""
    features, cluster = cluster_in(minor, node("a", cpu="4"))
    assert scores(plugin_of("NodeResourcesBalancedAllocation", features=features), pod(cpu="2"), cluster) == expected


# --- sidecars turned off


@pytest.mark.parametrize("minor", ["1.29", "1.30"])
def test_pods_with_sidecars_are_refused_where_their_gate_is_off(minor: str) -> None:
    features, cluster = cluster_in(minor, node("a"), SidecarContainers=False)
    waiting = pod(init=[container(name="proxy") | {"restartPolicy": "Always"}])
    plugin = plugin_of("NodeResourcesFit", features=features)
    outcome = pre_filter(plugin, cluster.shapes.info(waiting), cluster)
    problem = "Pod has a restartable init container and the SidecarContainers feature is disabled"
    if minor == "1.29":
        assert refusals(plugin, waiting, cluster) == {"a": (HOPELESS, (problem,))}
    else:
        assert isinstance(outcome, Status)
        assert (outcome.code, outcome.reasons) == (HOPELESS, (problem,))


# --- volume limits


@since("1.32", {"a"}, set())
def test_a_limit_among_allocatable_resources(minor: str, expected: set[str]) -> None:
    features = features_of(minor)
    small = node("a", allocatable={f"attachable-volumes-csi-{DRIVER}": "1"})
    used = [
        claim("x", bound_to="px"),
        claim("y", bound_to="py"),
        volume("px", source=csi("h1")),
        volume("py", source=csi("h2")),
    ]
    cluster = cluster_of([small, node("b")], [claiming("x", name="r", on="a")], used, features=features)
    assert refused(plugin_of("NodeVolumeLimits", features=features), claiming("y"), cluster) == expected


@pytest.mark.parametrize(
    ("told", "by_node", "refuses"),
    [
        pytest.param(0, "5", True, id="a driver that attaches nothing"),
        pytest.param(1, "0", False, id="a driver with room"),
        pytest.param(None, "0", True, id="a driver that does not say"),
    ],
)
def test_the_driver_s_own_limit_comes_before_that_of_the_node(told: int | None, by_node: str, refuses: bool) -> None:
    features = features_of("1.31")
    limited = node("a", allocatable={f"attachable-volumes-csi-{DRIVER}": by_node})
    objects = [csi_node("a", {DRIVER: told}), claim("x", bound_to="px"), volume("px", source=csi("h1"))]
    cluster = cluster_of([limited], objects=objects, features=features)
    found = refused(plugin_of("NodeVolumeLimits", features=features), claiming("x"), cluster)
    assert found == ({"a"} if refuses else set())


def test_the_resource_of_a_driver_with_a_long_name_is_shortened() -> None:
    from kwhatif.plugins.node_volume_limits import attach_limit_key

    assert attach_limit_key(DRIVER) == f"attachable-volumes-csi-{DRIVER}"
    long = attach_limit_key("com.amazon.aws.eks.block.storage.driver.example")
    assert long == "attachable-volumes-csi-com.amazon.aws.eks.bloc" + long[-16:]
    assert len(long) == 62


@pytest.mark.parametrize(
    ("minor", "gates", "migrated", "expected"),
    [
        pytest.param("1.35", {}, ["kubernetes.io/portworx-volume"], {"a"}, id="migrated on the node"),
        pytest.param("1.35", {}, [], set(), id="not migrated on the node"),
        pytest.param("1.36", {}, [], {"a"}, id="migrated everywhere since 1.36"),
        pytest.param(
            "1.32",
            {"CSIMigrationPortworx": False},
            ["kubernetes.io/portworx-volume"],
            set(),
            id="a gate could leave it be",
        ),
    ],
)
def test_portworx_volumes_count_for_the_driver_that_took_over(
    minor: str, gates: dict[str, bool], migrated: list[str], expected: set[str]
) -> None:
    features = features_of(minor, gates)
    made = storage_class("px", provisioner="kubernetes.io/portworx-volume", binding="Immediate")
    objects = [claim("x", storage_class="px"), made, csi_node("a", {"pxd.portworx.com": 0}, migrated=migrated)]
    cluster = cluster_of([node("a")], [], objects, features=features)
    assert refused(plugin_of("NodeVolumeLimits", features=features), claiming("x"), cluster) == expected


@pytest.mark.parametrize(
    ("minor", "opts_in", "expected"),
    [("1.35", None, {"b"}), ("1.36", None, set()), ("1.36", True, {"b"})],
)
def test_with_volume_limit_scaling_a_node_needs_the_driver(
    minor: str, opts_in: bool | None, expected: set[str]
) -> None:
    features = features_of(minor, {"VolumeLimitScaling": True})
    plain = driver()
    mine = replace(plain, spec=replace(plain.spec, prevent_pod_scheduling_if_missing=opts_in))
    objects = [
        claim("x", bound_to="px"),
        volume("px", source=csi("h1")),
        mine,
        csi_node("a", {DRIVER: None}),
        csi_node("b"),
    ]
    cluster = cluster_of([node("a"), node("b")], [], objects, features=features)
    found = refusals(plugin_of("NodeVolumeLimits", features=features), claiming("x"), cluster)
    assert found == dict.fromkeys(
        expected, (EVICTION_MIGHT_HELP, (f"{DRIVER} CSI driver is not installed on the node",))
    )


FULL = "node(s) exceed max volume count"


@pytest.mark.parametrize(
    ("plugin", "source", "limit"),
    [
        pytest.param("EBSLimits", ebs, 39, id="EBS"),
        pytest.param("GCEPDLimits", gce, 16, id="GCE persistent disks"),
        pytest.param(
            "AzureDiskLimits", lambda disk: {"azureDisk": {"diskName": disk, "diskURI": disk}}, 16, id="Azure"
        ),
        pytest.param("CinderLimits", lambda disk: {"cinder": {"volumeID": disk}}, 256, id="Cinder"),
    ],
)
def test_in_tree_disks_of_a_node_are_limited_unless_a_driver_took_over(plugin: str, source: Any, limit: int) -> None:
    features = features_of("1.30")
    running = mounting(*(source(f"d{i}") for i in range(limit)), name="r", on="full")
    migrated = mounting(*(source(f"d{i}") for i in range(limit)), name="m", on="migrated")
    cluster = cluster_of(
        [node("full"), node("migrated"), node("said", allocatable=_said(plugin, "0")), node("free")],
        [running, migrated],
        [csi_node("migrated")],
        features=features,
    )
    one_more = refusals(plugin_of(plugin, features=features), mounting(source("new")), cluster)
    assert one_more == dict.fromkeys(("full", "said"), (EVICTION_MIGHT_HELP, (FULL,)))
    assert refused(plugin_of(plugin, features=features), mounting(source("d1")), cluster) == {"said"}
    assert refused(plugin_of(plugin, features=features), pod(), cluster) == set()


def _said(plugin: str, count: str) -> Json:
    names = {"EBSLimits": "aws-ebs", "GCEPDLimits": "gce-pd", "AzureDiskLimits": "azure-disk", "CinderLimits": "cinder"}
    return {f"attachable-volumes-{names[plugin]}": count}


@pytest.mark.parametrize(("kind", "limit"), [("m5.large", 25), ("t3.small", 25), ("m4.large", 39)])
def test_nitro_instances_attach_fewer_disks(kind: str, limit: int) -> None:
    features = features_of("1.29")
    running = mounting(*(ebs(f"d{i}") for i in range(limit)), name="r", on="a")
    here = node("a", labels={"node.kubernetes.io/instance-type": kind})
    cluster = cluster_of([here], [running], features=features)
    assert refused(plugin_of("EBSLimits", features=features), mounting(ebs("new")), cluster) == {"a"}
    fewer = cluster_of(
        [here], [mounting(*(ebs(f"d{i}") for i in range(limit - 1)), name="r", on="a")], features=features
    )
    assert refused(plugin_of("EBSLimits", features=features), mounting(ebs("new")), fewer) == set()


def test_disks_behind_claims_count_and_those_to_be_made_by_their_claim() -> None:
    features = features_of("1.30")
    objects = [
        claim("bound", bound_to="pv"),
        volume("pv", source=ebs("d0")),
        claim("new", storage_class="ebs"),
        storage_class("ebs", provisioner="kubernetes.io/aws-ebs"),
        claim("other", storage_class="std"),
        storage_class("std", provisioner=DRIVER),
    ]
    small = node("a", allocatable=_said("EBSLimits", "1"))
    cluster = cluster_of([small], [claiming("bound", name="r", on="a")], objects, features=features)
    plugin = plugin_of("EBSLimits", features=features)
    assert refused(plugin, claiming("new"), cluster) == {"a"}
    assert refused(plugin, claiming("bound"), cluster) == set()
    assert refused(plugin, claiming("other"), cluster) == set()
    missing = refusals(plugin, claiming("gone"), cluster)
    assert missing == {"a": (HOPELESS, ('looking up PVC default/gone: persistentvolumeclaim "gone" not found',))}


# --- the profile


@pytest.mark.parametrize(
    ("minor", "there", "absent"),
    [
        ("1.29", {"EBSLimits", "GCEPDLimits", "AzureDiskLimits"}, {"DynamicResources", "CinderLimits"}),
        ("1.31", {"NodeVolumeLimits"}, {"EBSLimits", "DynamicResources"}),
        ("1.34", {"DynamicResources"}, {"NodeDeclaredFeatures"}),
        ("1.36", {"DynamicResources", "NodeDeclaredFeatures"}, {"EBSLimits"}),
    ],
)
def test_the_default_plugins_of_a_minor(minor: str, there: set[str], absent: set[str]) -> None:
    scheduler = scheduler_for(cluster_of([node("a")], features=features_of(minor)))
    names = {plugin.name for plugin in scheduler.framework.all_plugins}
    assert there <= names
    assert not absent & names


def test_only_since_1_35_dynamic_resources_scores() -> None:
    weights = {}
    for minor in ("1.34", "1.35"):
        scheduler = scheduler_for(cluster_of([node("a")], features=features_of(minor)))
        weights[minor] = {plugin.name: weight for plugin, weight in scheduler.framework.scorers}
    assert "DynamicResources" not in weights["1.34"]
    assert weights["1.35"]["DynamicResources"] == 2


@pytest.mark.parametrize(
    ("minor", "gates", "words"),
    [
        ("1.33", {}, ""),
        ("1.33", {"DynamicResourceAllocation": True}, ""),
        ("1.32", {"DynamicResourceAllocation": True}, " no new claims to deallocate,"),
        ("1.34", {}, " no new claims to deallocate,"),
    ],
)
def test_what_dynamic_resources_says_of_pods_without_claims(minor: str, gates: dict[str, bool], words: str) -> None:
    cluster = cluster_of([node("a", cpu="1")], features=features_of(minor, gates))
    message = scheduler_for(cluster).attempt(cluster.shapes.info(pod(cpu="2"))).message
    helpless = (
        "No preemption victims found for incoming pod" if minor < "1.34" else "Preemption is not helpful for scheduling"
    )
    preemption = f"preemption: 0/1 nodes are available: 1 {helpless}."
    assert message == f"0/1 nodes are available: 1 Insufficient cpu.{words} {preemption}"


@since(
    "1.32",
    "0/2 nodes are available: 1 Insufficient cpu.",
    "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't satisfy plugin(s) [NodeAffinity].",
)
def test_nodes_left_out_by_prefilter_are_counted(minor: str, expected: str) -> None:
    cluster = cluster_of([node("a", cpu="1"), node("b")], features=features_of(minor))
    only = pod(cpu="2", nodes=[{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}])
    assert isinstance(pre_filter(plugin_of("NodeAffinity"), cluster.shapes.info(only), cluster), PreFilterResult)
    message = scheduler_for(cluster).attempt(cluster.shapes.info(only)).message
    assert message.partition(" preemption")[0] == expected
