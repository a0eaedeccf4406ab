"""The cluster once pods are placed: a question on it answers as if one had gone on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kwhatif
from kwhatif.api.core import Pod
from kwhatif.api.workloads_and_storage import PersistentVolume
from kwhatif.commands.schema_files import SCHEMAS
from kwhatif.errors import FidelityError, InputError, UsageError
from kwhatif.results.place import Placement, PlaceResult
from kwhatif.simulation.expansion.expanded_manifests import ExpandedManifests
from kwhatif.simulation.placement.afterwards import snapshot_after_run
from kwhatif.simulation.placement.placements import cause
from kwhatif.simulation.placement.placing import PlacementRun
from kwhatif.simulation.placement.runs import place_pods
from kwhatif.simulation.session import Session
from kwhatif.snapshot.format.model import Snapshot, write_snapshot
from kwhatif.snapshot.load import load_snapshot
from tests.builders import node, pod
from tests.commands.diff.test_diff_pairs import empty, running, web, worker
from tests.device_builders import device_class, devices_of, request, template
from tests.simulation.sessions import asking, session_of
from tests.storage_builders import claim, storage_class, volume


def written(folder: Path, session: Session, *pods: Pod) -> Snapshot:
    """The cluster after these pods, from its file."""
    covered = session.snapshot.objects.known_kinds()
    run = place_pods(session, asking(*pods))
    path = str(folder / "after.json")
    write_snapshot(snapshot_after_run(session.snapshot, covered, ExpandedManifests(), run), path)
    return load_snapshot([path])


def where(placements: list[Placement]) -> list[tuple[str, str, str]]:
    return [(each.pod, each.node, each.message) for each in placements]


# --- the law

SIZES = st.lists(st.sampled_from(["1", "2", "4"]), min_size=1, max_size=4)
ASKED = st.lists(
    st.tuples(st.sampled_from(["300m", "1", "1500m"]), st.booleans(), st.sampled_from([None, "one", "two", "made"])),
    max_size=5,
)


def wanting(name: str, asked: tuple[str, bool, str | None]) -> Pod:
    """A pod with a size, perhaps apart from its like, perhaps with a claim."""
    cpu, apart, claimed = asked
    affinity: Any = None
    if apart:
        term = {"labelSelector": {"matchLabels": {"apart": "yes"}}, "topologyKey": "kubernetes.io/hostname"}
        affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    spec = {"affinity": affinity} if apart else {}
    if claimed:
        spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": claimed}}]
    return pod(name, cpu=cpu, labels={"apart": "yes"} if apart else {}, spec=spec)


@pytest.mark.long
@settings(max_examples=30)
@given(sizes=SIZES, first=ASKED, then=ASKED)
def test_a_question_on_the_written_cluster_answers_as_if_one_had_gone_on(
    sizes: list[str],
    first: list[tuple[str, bool, str | None]],
    then: list[tuple[str, bool, str | None]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    nodes = [node(f"n{number}", cpu=cpu) for number, cpu in enumerate(sizes)]
    objects = [
        storage_class(),
        storage_class("made", provisioner="disk.example"),
        volume("near", on="n0"),
        volume("far", on="n1", size="2Gi"),
        claim("one"),
        claim("two"),
        claim("made", storage_class="made"),
    ]
    before = [wanting(f"a{number}", each) for number, each in enumerate(first)]
    after = [wanting(f"b{number}", each) for number, each in enumerate(then)]
    going_on = session_of(nodes, objects=objects)
    PlacementRun(going_on).schedule_all(asking(*before))
    run = PlacementRun(going_on)
    run.schedule_all(asking(*after))
    anew = written(tmp_path_factory.getbasetemp(), session_of(nodes, objects=objects), *before)
    session = Session(anew, going_on.setup)
    result = place_pods(session, asking(*after))
    # A volume that was free when it was chosen is bound by now, which has a message of its own.
    claiming = {one.key for one in after if one.spec.volumes}
    told, expected = (
        [each for each in where(list(some)) if each[0] not in claiming] for some in (result.placements, run.placements)
    )
    assert told == expected
    assert [each.node for each in result.placements] == [each.node for each in run.placements]
    assert [info.key for info, _ in session.cluster.pods()] == [info.key for info, _ in going_on.cluster.pods()]


def test_devices_that_were_given_are_not_given_again(tmp_path: Path) -> None:
    names = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}]}
    objects = [device_class(), devices_of("a", ["g0", "g1"]), template("t", request())]
    session = session_of([node("a")], objects=objects)
    anew = written(tmp_path, session, pod("p", spec=names))
    again = Session(anew, session.setup)
    result = place_pods(again, asking(pod("q", spec=names), pod("r", spec=names)))
    assert [[use.device for each in one.devices for use in each.devices] for one in result.placements] == [["g1"], []]
    assert result.placements[1].node == ""


# --- stories


def ask(cluster: str | Path, *manifests: dict[str, Any], to: Path, **how: Any) -> PlaceResult:
    return kwhatif.place(list(manifests), snapshot=cluster, write_snapshot=to, **how)


def nodes_of(result: PlaceResult) -> list[str]:
    return [placement.node for placement in result.placements]


def test_workloads_are_there_afterwards_so_that_applying_them_again_changes_nothing(tmp_path: Path) -> None:
    cluster, after = empty(tmp_path, worker("a"), worker("b")), tmp_path / "after.json.gz"
    assert len(ask(cluster, web(), to=after).placements) == 2
    again = kwhatif.place([web()], snapshot=after)
    assert (again.placements, again.rollouts[0].keeps, again.exit_code) == ((), 2, 0)
    more = kwhatif.place([web(replicas=3)], snapshot=after)
    assert (len(more.placements), more.rollouts[0].keeps) == (1, 2)


@pytest.mark.parametrize("replace_all", [False, True], ids=["a new size", "a new template"])
def test_after_an_update_the_old_pods_are_gone(tmp_path: Path, replace_all: bool) -> None:
    cluster, after = running(tmp_path, worker("a"), worker("b")), tmp_path / "after.json"
    update = web("1500m") if replace_all else web(replicas=3)
    first = ask(cluster, update, to=after)
    assert first.rollouts[0].unfinished == ""
    again = kwhatif.place([update], snapshot=after)
    assert (again.placements, again.rollouts[0].unfinished) == ((), "")
    names = [one.name for one in load_snapshot([str(after)]).objects.list_all(Pod)]
    assert len(names) == (2 if replace_all else 3)
    assert any(name.startswith("web-old-") for name in names) is not replace_all
    back = kwhatif.place([web()], snapshot=after)
    assert (back.rollouts[0].creates, back.rollouts[0].removes) == ((2, 2) if replace_all else (0, 1))


def test_pods_without_a_node_wait_on(tmp_path: Path) -> None:
    cluster, after = empty(tmp_path, worker("a", cpu="2")), tmp_path / "after.json"
    first = ask(cluster, web(replicas=3), to=after)
    on = kwhatif.place(snapshot=after, with_pending=True)
    assert where(list(on.placements)) == where([each for each in first.placements if not each.good])
    # They were tried: nobody comes before those that come now.
    small = kwhatif.place([web("10m", replicas=1, name="small")], snapshot=after)
    assert not any("had not been tried" in gap.what for gap in small.fidelity.gaps)
    elsewhere = kwhatif.place(snapshot=after, with_pending=True, edits=[{"addNodes": {"count": 1, "like": "a"}}])
    assert nodes_of(elsewhere) == ["a-new-1"]


@pytest.mark.parametrize("timeline", [False, True], ids=["at once", "over time"])
def test_victims_are_gone_and_run_where_they_landed(tmp_path: Path, timeline: bool) -> None:
    cluster, after = running(tmp_path, worker("a", cpu="2"), worker("b", cpu="1")), tmp_path / "after.json"
    vip = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "vip"},
        "spec": {**web("2")["spec"]["template"]["spec"], "priority": 1000},
    }
    first = ask(cluster, vip, to=after, timeline=timeline)
    assert nodes_of(first) == ["a"]
    pods = {one.name: one.spec.node_name for one in load_snapshot([str(after)]).objects.list_all(Pod)}
    assert pods == {"vip": "a", "web-old-r1": "b", "web-old-r2": None}
    assert nodes_of(kwhatif.place(snapshot=after, with_pending=True)) == [""]


def test_a_kind_that_only_manifests_brought_stays_a_gap(tmp_path: Path) -> None:
    cluster, after = tmp_path / "nodes.json", tmp_path / "after.json"
    cluster.write_text(json.dumps(worker("a")))
    ask(cluster, web(), to=after, assume_empty=True)
    gaps = {gap.what for gap in kwhatif.place([web(name="other")], snapshot=after).fidelity.gaps}
    assert "Pod could not be read: the snapshot before had no list of this kind" in gaps
    assert "the snapshot holds no Service" in gaps


def test_what_was_placed_is_told_with_the_edits(tmp_path: Path) -> None:
    cluster, after = empty(tmp_path, worker("a")), tmp_path / "after.json"
    file = tmp_path / "web.json"
    file.write_text(json.dumps(web()))
    result = kwhatif.place([file], snapshot=cluster, write_snapshot=after, edits=[{"cordon": "a"}, {"uncordon": "a"}])
    assert any(note == f"note: {after}: the cluster afterwards, with 2 pods" for note in result.notes)
    edits = kwhatif.place(snapshot=after, with_pending=True).fidelity.edits
    assert edits[-1] == f"place 2 pods of {file}"
    assert len(edits) == 3


def test_nothing_is_written_where_there_is_no_answer(tmp_path: Path) -> None:
    cluster, after = empty(tmp_path, worker("a")), tmp_path / "after.json"
    with pytest.raises(FidelityError, match="strict"):
        ask(cluster, web(), to=after, strict=True)
    assert not after.exists()
    with pytest.raises(UsageError, match="standard output is for the answer"):
        ask(cluster, web(), to=Path("-"))
    with pytest.raises(InputError, match="cannot be written"):
        ask(cluster, web(), to=tmp_path / "nowhere" / "after.json")


# --- totals


def test_the_answer_is_counted_and_fits_its_schema(tmp_path: Path) -> None:
    pools = [worker("a", cpu="2"), worker("b", cpu="1")]
    pools[0]["metadata"]["labels"] = {"agentpool": "large"}
    result = kwhatif.place([web(replicas=5)], snapshot=empty(tmp_path, *pools))
    totals = result.totals
    assert (totals.pods, totals.placed, totals.skipped, totals.unplaced) == (5, 3, 0, 2)
    assert [(each.reason, each.pods) for each in totals.causes] == [("Insufficient cpu", 2)]
    assert [(pool.pool, pool.nodes, pool.pods) for pool in totals.pools] == [("", 1, 1), ("large", 1, 2)]
    cpu = [each for pool in totals.pools for each in pool.resources if each.resource == "cpu"]
    assert [(each.requested, each.allocatable) for each in cpu] == [(1000, 1000), (2000, 2000)]
    jsonschema.Draft202012Validator(SCHEMAS["place-result"]()).validate(json.loads(json.dumps(result.to_dict())))


CAUSES = {
    "0/6 nodes are available: 2 Insufficient cpu, 4 node(s) were unschedulable.": (
        "Insufficient cpu, node(s) were unschedulable"
    ),
    "0/6 nodes are available: 4 node(s) were unschedulable, 10 Insufficient cpu. preemption: 0/6 nodes are available: "
    "6 Preemption is not helpful for scheduling.": "Insufficient cpu, node(s) were unschedulable",
    "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found": (
        "pod has unbound immediate PersistentVolumeClaims"
    ),
    "gated: waiting for scheduling gates: [a]": "gated: waiting for scheduling gates: [a]",
}


@pytest.mark.parametrize("message", CAUSES)
def test_causes_are_the_same_whatever_their_numbers(message: str) -> None:
    assert cause(message) == CAUSES[message]


def set_with_disks(replicas: int) -> dict[str, Any]:
    """A StatefulSet whose claims go with the pods that it has no place for."""
    container = {"name": "c", "image": "db", "resources": {"requests": {"cpu": "1"}}}
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "local"}
    claims = {"metadata": {"name": "data"}, "spec": {**spec, "resources": {"requests": {"storage": "1Gi"}}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "serviceName": "db",
            "selector": {"matchLabels": {"app": "db"}},
            "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [container]}},
            "volumeClaimTemplates": [claims],
            "persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete"},
        },
    }


@pytest.mark.parametrize("by_edit", [False, True], ids=["by a manifest", "by an edit"])
def test_a_volume_whose_claim_was_deleted_is_released_and_goes_to_nobody(by_edit: bool, tmp_path: Path) -> None:
    local = {"metadata": {"name": "local"}, "provisioner": "kubernetes.io/no-provisioner"}
    volumes = [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name},
            "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "local"},
            "status": {"phase": "Available"},
        }
        for name in ("one", "two")
    ]
    waiting = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "volumeBindingMode": "WaitForFirstConsumer"}
    cluster = tmp_path / "cluster"
    cluster.mkdir()
    kinds = {"Node": [worker("a")], "StorageClass": [{**waiting, **local}], "PersistentVolume": volumes}
    for kind in ("Node", "StorageClass", "PersistentVolume", "PersistentVolumeClaim", "StatefulSet", "Pod"):
        listed = {"apiVersion": "v1", "kind": f"{kind}List", "items": kinds.get(kind, [])}
        (cluster / f"{kind}.json").write_text(json.dumps(listed))
    two, one, again = (tmp_path / f"{name}.json" for name in ("two", "one", "again"))
    ask(cluster, set_with_disks(2), to=two)
    fewer: Any = {"edits": [{"scale": {"kind": "StatefulSet", "name": "db", "replicas": 1}}], "with_pending": True}
    ask(two, *([] if by_edit else [set_with_disks(1)]), to=one, **(fewer if by_edit else {}))
    phases = [one.status.phase for one in load_snapshot([str(one)]).objects.list_all(PersistentVolume)]
    assert phases == ["Bound", "Released"]
    more = ask(one, set_with_disks(2), to=again)
    assert nodes_of(more) == [""]
    assert "didn't find available persistent volumes to bind" in more.placements[0].message
