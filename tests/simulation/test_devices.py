"""Answers about pods with device claims: which devices, why not, what would help, what is missing."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kwhatif.api.core import Node
from kwhatif.api.decode import convert
from kwhatif.api.meta import OwnerReference, Resource
from kwhatif.commands.snapshot.info.info import device_uses
from kwhatif.commands.snapshot.info.result import DeviceUse
from kwhatif.results.explain import Fix, PodReport
from kwhatif.simulation.expansion.expand import expand
from kwhatif.simulation.placement.runs import simulate_timeline
from kwhatif.snapshot.load import Manifest, Origin
from tests.builders import FEATURES, Json, node, pod
from tests.commands.answers import capacity, explain, place
from tests.device_builders import (
    claim,
    device,
    device_class,
    devices_of,
    pod_with,
    request,
    template,
)
from tests.simulation.sessions import asking, session_of
from tests.simulation.snapshots import snapshot_of

MODEL = "device.attributes['gpu.example.com'].model == 'h100'"
NODES = [node("a"), node("b")]


def cards(*models: str, on: str = "a", tainted: str = "") -> Resource:
    taints = [f"{tainted}:NoSchedule"] if tainted else ()
    return devices_of(on, [device(f"g{i}", attributes={"model": m}, taints=taints) for i, m in enumerate(models)])


def report(*objects: Resource, nodes: list[Node] | None = None) -> PodReport:
    """The explanation of a pod with the claim ``c``."""
    session = session_of(NODES if nodes is None else nodes, objects=[device_class(), *objects])
    return explain(session, asking(pod_with("c"))).pods[0]


def test_explain_tells_the_devices_of_the_chosen_node_and_leaves_the_cluster_as_it_is() -> None:
    session = session_of(NODES, objects=[device_class(), cards("h100", "t4"), claim("c", request(count=2))])
    (pod_report,) = explain(session, asking(pod_with("c"))).pods
    (found,) = pod_report.placement.devices
    assert (found.claim, [each.name for each in found.devices]) == (
        "default/c",
        ["gpu.example.com/a/g0", "gpu.example.com/a/g1"],
    )
    assert session.cluster.devices.taken == {}


@pytest.mark.parametrize(
    ("objects", "fixes"),
    [
        pytest.param(
            [claim("c", request(count=3)), cards("h100", "h100")],
            [("lower the count from 3 to 2 in request r of claim c", "a")],
            id="fewer",
        ),
        pytest.param(
            [claim("c", request("r", MODEL)), cards("t4")],
            [("drop selector #0 (model == 'h100') in request r of claim c", "a")],
            id="a selector",
        ),
        pytest.param(
            [claim("c"), cards("t4", tainted="sick")],
            [("tolerate device taint sick:NoSchedule in request r of claim c", "a")],
            id="a taint",
        ),
        pytest.param(
            [claim("c", request(count=2), constraints=[{"matchAttribute": "gpu.example.com/model"}]), cards("x", "y")],
            [
                ("drop constraint #0 (matchAttribute gpu.example.com/model) of claim c", "a"),
            ],
            id="a constraint",
        ),
        pytest.param(
            [claim("c"), cards("t4"), claim("other", has=["g0"], node="a", used_by=["it"])],
            [("free claim default/other, used by it", "a")],
            id="a claim of others",
        ),
    ],
)
def test_the_smallest_fixes(objects: list[Resource], fixes: list[tuple[str, str]]) -> None:
    found = report(*objects)
    assert found.fixes == tuple(Fix(change=change, node=where) for change, where in fixes)
    assert found.tried >= len(fixes)


def test_kinds_that_are_missing_touch_pods_with_claims_only() -> None:
    session = session_of(NODES, objects=[device_class(), claim()])
    gaps = place(session, asking(pod_with("c"), pod("plain"))).fidelity.gaps
    touching = {gap.what: gap.pods for gap in gaps if gap.pods}
    assert touching["the snapshot holds no ResourceSlice"] == ("default/p",)
    assert not any("DeviceClass" in what or what[-13:] == "ResourceClaim" for what in touching)


def test_pods_made_from_a_template_get_claims_of_their_own() -> None:
    session = session_of(NODES, objects=[device_class(), cards("t4", "t4"), template("t", request())])
    asked = [
        pod(name, spec={"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}]}) for name in ("p", "q")
    ]
    placements = place(session, asking(*asked)).placements
    assert [[c.claim for c in each.devices] for each in placements] == [["default/p-gpu"], ["default/q-gpu"]]
    assert [use.name for each in placements for c in each.devices for use in c.devices] == [
        "gpu.example.com/a/g0",
        "gpu.example.com/a/g1",
    ]


def test_a_pod_that_is_explained_where_it_runs_gives_its_devices_back_first() -> None:
    running = pod_with("c", on="a")
    objects = [device_class(), cards("t4"), claim(has=["g0"], node="a", used_by=["p"])]
    session = session_of(NODES, [running], objects)
    (found,) = explain(session, asking(running)).pods
    assert (found.placement.node, [c.claim for c in found.placement.devices]) == ("a", ["default/c"])


def test_devices_are_counted_by_driver_and_class() -> None:
    objects = [
        device_class("h100s", MODEL),
        device_class("all"),
        cards("h100", "t4"),
        cards("h100", on="b"),
        claim(has=["g1"], node="a", used_by=["it"]),
    ]
    assert device_uses(snapshot_of(*NODES, *objects), FEATURES) == (
        DeviceUse(driver="gpu.example.com", device_class="all", nodes=2, devices=3, allocated=1),
        DeviceUse(driver="gpu.example.com", device_class="h100s", nodes=2, devices=2, allocated=0),
    )
    assert device_uses(snapshot_of(*NODES), FEATURES) == ()


def test_devices_of_no_class_and_of_old_generations() -> None:
    objects = [devices_of("a", ["g0"]), devices_of("a", ["g1", "g2"], generation=2)]
    assert device_uses(snapshot_of(*NODES, *objects), FEATURES) == (
        DeviceUse(driver="gpu.example.com", device_class="", nodes=1, devices=2, allocated=0),
    )


def test_capacity_counts_devices() -> None:
    raw = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}],
            "containers": [{"name": "main", "image": "app", "resources": {"claims": [{"name": "gpu"}]}}],
        },
    }
    objects = [device_class(), cards("t4", "t4", "t4"), cards("t4", "t4", on="b"), template("t", request(count=2))]
    session = session_of(NODES, objects=objects)
    expanded = expand([Manifest(convert(raw, Resource), Origin("p.yaml"), raw)], session.snapshot)
    result = capacity(session, expanded)
    assert (result.fits, result.ended) == (2, "nodes")


def test_over_time_a_pod_gets_the_device_of_one_that_was_evicted() -> None:
    names: Json = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}]}
    status: Json = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "c"}]}
    low = pod("low", on="a", cpu="3", spec=names, status=status)
    held = claim("c", has=["g0"], node="a", used_by=["low"])
    owner = OwnerReference(api_version="v1", kind="Pod", name="low", uid="uid-default-low", controller=True)
    held = replace(held, metadata=replace(held.metadata, owner_references=[owner]))
    session = session_of([node("a")], [low], [device_class(), cards("t4"), template("t", request()), held])
    result = simulate_timeline(session, asking(pod("vip", cpu="3", priority=9), pod("waits", cpu="100m", spec=names)))
    bound = [(entry.time, entry.pod) for entry in result.timeline if entry.what == "bound"]
    assert bound == [(30.0, "default/vip"), (30.0, "default/waits")]
    assert [each.claim for each in result.placements[1].devices] == ["default/waits-gpu"]
    assert [key for key in session.cluster.devices.claims if key[1] == "c"] == []
