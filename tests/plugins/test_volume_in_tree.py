"""In-tree disks: CSI drivers look after them, count them and may know zones under labels of their own."""

from __future__ import annotations

import pytest

from tests.asking import refusals, refused
from tests.builders import REGION, ZONE, Json, cluster_of, node, node_term, plugin_of
from tests.storage_builders import claim, claiming, csi, csi_node, ebs, gce, mounting, storage_class, volume

NODES = [node("n")]


def azure(name: str) -> Json:
    return {"azureDisk": {"diskName": name, "diskURI": f"/disks/{name}"}}


def cinder(name: str) -> Json:
    return {"cinder": {"volumeID": name}}


@pytest.mark.parametrize(
    ("driver", "in_use", "same", "another"),
    [
        pytest.param("ebs.csi.aws.com", ebs("vol-1"), ebs("vol-1"), ebs("vol-2"), id="EBS"),
        pytest.param("ebs.csi.aws.com", ebs("aws://z/vol-1"), ebs("vol-1"), ebs("z/vol-1"), id="EBS, zone and all"),
        pytest.param("pd.csi.storage.gke.io", gce("d"), gce("d"), gce("e"), id="GCE in no known zone"),
        pytest.param("disk.csi.azure.com", azure("d"), azure("d"), azure("e"), id="Azure"),
        pytest.param("cinder.csi.openstack.org", cinder("d"), cinder("d"), cinder("e"), id="Cinder"),
    ],
)
def test_in_tree_disks_count_for_their_drivers(driver: str, in_use: Json, same: Json, another: Json) -> None:
    objects = [claim("a", bound_to="pv"), volume("pv", source=in_use), csi_node("n", {driver: 1})]
    cluster = cluster_of(NODES, [claiming("a", name="r", on="n")], objects)
    assert refused(plugin_of("NodeVolumeLimits"), mounting(same), cluster) == set()
    assert refused(plugin_of("NodeVolumeLimits"), mounting(another), cluster) == {"n"}


@pytest.mark.parametrize(
    ("labels", "handle"),
    [
        pytest.param({}, "zones/UNSPECIFIED", id="without a zone"),
        pytest.param({"topology.kubernetes.io/zone": "us-east1-b"}, "zones/us-east1-b", id="in a zone"),
        pytest.param(
            {"topology.kubernetes.io/zone": "a-b-c", "failure-domain.beta.kubernetes.io/zone": "us-east1-c"},
            "zones/us-east1-c",
            id="the older label goes first",
        ),
        pytest.param({"topology.kubernetes.io/zone": "us-east1-b__us-east1-c"}, "regions/us-east1", id="in a region"),
        pytest.param({"topology.kubernetes.io/zone": "us-east1-b__eu-west1-c"}, None, id="in two regions at once"),
        pytest.param({"topology.kubernetes.io/zone": "here__there"}, None, id="in no place that makes sense"),
    ],
)
def test_a_gce_disk_is_known_by_its_place(labels: dict[str, str], handle: str | None) -> None:
    """A CSI volume with the handle the disk should have is the same volume, so both fit where one does."""
    driver = "pd.csi.storage.gke.io"
    objects = [
        claim("old", bound_to="pv"),
        volume("pv", source=gce("d"), labels=labels),
        claim("new", bound_to="csi"),
        volume("csi", source=csi(f"projects/UNSPECIFIED/{handle}/disks/d", driver)),
    ]
    plugin = plugin_of("NodeVolumeLimits")
    none, one = (cluster_of(NODES, objects=[*objects, csi_node("n", {driver: limit})]) for limit in (0, 1))
    assert refused(plugin, claiming("old", "new"), one) == set()
    assert refused(plugin, claiming("old"), none) == ({"n"} if handle else set())


def test_an_ebs_volume_that_is_no_name_does_not_count() -> None:
    limits = csi_node("n", {"ebs.csi.aws.com": 0})
    plugin, cluster = plugin_of("NodeVolumeLimits"), cluster_of(NODES, objects=[limits])
    assert refused(plugin, mounting(ebs("vol-1")), cluster) == {"n"}
    assert refused(plugin, mounting(ebs("aws://zone/disk")), cluster) == set()


def test_a_class_of_an_in_tree_provisioner_counts_for_the_driver() -> None:
    objects = [
        claim("a"),
        storage_class(provisioner="kubernetes.io/gce-pd"),
        csi_node("n", {"pd.csi.storage.gke.io": 0}),
    ]
    assert refused(plugin_of("NodeVolumeLimits"), claiming("a"), cluster_of(NODES, objects=objects)) == {"n"}


# --- bound volumes on nodes where the driver took over

GKE_ZONE = "topology.gke.io/zone"
BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
EITHER = [node("plain", labels={ZONE: "z", REGION: "r"}), node("driven", labels={GKE_ZONE: "z", REGION: "r"})]
ELSEWHERE = "node(s) didn't match PersistentVolume's node affinity"


@pytest.mark.parametrize(
    ("terms", "labels", "fits"),
    [
        pytest.param([node_term(f"{ZONE} In z")], {}, {"plain", "driven"}, id="zones go by the driver's own label"),
        pytest.param([node_term(f"{ZONE} In y")], {}, set(), id="another zone is another zone to both"),
        pytest.param([node_term(f"{ZONE} Exists")], {}, {"plain"}, id="a zone without a value stays as it is"),
        pytest.param([node_term(f"{GKE_ZONE} In z")], {}, {"driven"}, id="what goes by the driver's label stays so"),
        pytest.param([node_term(f"{BETA_ZONE} In z")], {}, {"driven"}, id="older labels are known to the driver"),
        pytest.param(
            [node_term(f"{BETA_ZONE} In z", f"{BETA_REGION} In r")], {}, {"driven"}, id="and older regions replaced"
        ),
        pytest.param([node_term("disk In ssd"), node_term(f"{ZONE} In z")], {}, {"plain", "driven"}, id="any term"),
        pytest.param(None, {ZONE: "z"}, {"plain", "driven"}, id="a label of the volume holds where a driver reads it"),
        pytest.param(None, {ZONE: "y"}, {"plain"}, id="there another zone will not do"),
        pytest.param(None, {ZONE: "y__ z"}, {"plain", "driven"}, id="one of several zones will"),
        pytest.param(None, {BETA_ZONE: "y"}, {"plain"}, id="the older label holds, too"),
        pytest.param(None, {ZONE: "__"}, {"plain", "driven"}, id="a label that names no zone holds nobody"),
        pytest.param(
            [node_term(f"{REGION} In r")], {ZONE: "y"}, {"plain"}, id="labels add to an affinity without zones"
        ),
        pytest.param(
            [node_term(f"{ZONE} In z")],
            {ZONE: "y"},
            {"plain", "driven"},
            id="an affinity with zones goes before labels",
        ),
        pytest.param(None, {}, {"plain", "driven"}, id="without zones the volume is at home everywhere"),
    ],
)
def test_zones_where_a_driver_took_over(terms: list[Json] | None, labels: dict[str, str], fits: set[str]) -> None:
    """The driver took over on one node alone; the other reads the volume as it is."""
    objects = [
        claim(bound_to="pv"),
        volume("pv", terms=terms, labels=labels, source=gce("d")),
        csi_node("driven", {}, migrated=["kubernetes.io/aws-ebs", "kubernetes.io/gce-pd"]),
    ]
    found = refusals(plugin_of("VolumeBinding"), claiming("data"), cluster_of(EITHER, objects=objects))
    assert set(found) == {"plain", "driven"} - fits
    assert all(reasons == (ELSEWHERE,) for _, reasons in found.values())


@pytest.mark.parametrize(
    ("source", "key"),
    [
        pytest.param(ebs("vol-1"), "topology.ebs.csi.aws.com/zone", id="EBS"),
        pytest.param(gce("d"), GKE_ZONE, id="GCE"),
        pytest.param(cinder("d"), "topology.cinder.csi.openstack.org/zone", id="Cinder"),
        pytest.param(azure("d"), ZONE, id="Azure keeps the common label"),
        pytest.param(csi("h"), ZONE, id="a CSI volume has nothing to translate"),
    ],
)
def test_each_driver_has_a_label_of_its_own(source: Json, key: str) -> None:
    plugins = [f"kubernetes.io/{name}" for name in ("aws-ebs", "azure-disk", "cinder", "gce-pd")]
    nodes = [node("right", labels={key: "z"}), node("wrong", labels={"zone": "z"})]
    objects = [
        claim(bound_to="pv"),
        volume("pv", terms=[node_term(f"{ZONE} In z")], source=source),
        *(csi_node(name, {}, migrated=plugins) for name in ("right", "wrong")),
    ]
    assert refused(plugin_of("VolumeBinding"), claiming("data"), cluster_of(nodes, objects=objects)) == {"wrong"}


def test_free_volumes_are_matched_as_they_are() -> None:
    objects = [
        claim(),
        storage_class(),
        volume("pv", terms=[node_term(f"{ZONE} In z")], source=gce("d")),
        csi_node("driven", {}, migrated=["kubernetes.io/gce-pd"]),
    ]
    assert refused(plugin_of("VolumeBinding"), claiming("data"), cluster_of(EITHER, objects=objects)) == {"driven"}
