"""``kwhatif snapshot convert``, and other tools' dumps wherever a command takes a snapshot."""

from __future__ import annotations

import gzip
import json
import os
import stat
from pathlib import Path

import pytest
import zstandard

from kwhatif.api.core import Node
from kwhatif.api.kinds import KEPT_WHOLE, KINDS, READ_KINDS
from kwhatif.snapshot.load import load_snapshot
from tests.cli.running import TESTS, refused, run

DUMPS = sorted(f"data/foreign/{path.name}" for path in (TESTS / "data" / "foreign").iterdir())


def written(tmp_path: Path, *words: str, name: str = "out.json") -> Path:
    """What ``convert`` makes of some files."""
    target = tmp_path / name
    ran = run("snapshot", "convert", *words, "-o", str(target))
    assert (ran.code, ran.out) == (0, "")
    return target


@pytest.mark.parametrize("dump", DUMPS)
def test_every_dump_becomes_a_snapshot_that_says_the_same(tmp_path: Path, dump: str) -> None:
    before, after = load_snapshot([str(TESTS / dump)]), load_snapshot([str(written(tmp_path, dump))])
    assert list(after.objects) == sorted(before.objects, key=lambda obj: str(obj.kind or type(obj).__name__))
    assert after.objects.known_kinds() == before.objects.known_kinds()
    assert after.whole == before.whole
    assert (after.taken_at, after.unreadable) == (before.taken_at, before.unreadable)
    assert [info and info.configuration for info in (before.scheduler, after.scheduler)] == (
        [before.scheduler.configuration] * 2 if before.scheduler else [None, None]
    )


@pytest.mark.parametrize("dump", DUMPS)
def test_every_dump_becomes_a_list_with_the_same_objects(tmp_path: Path, dump: str) -> None:
    target = written(tmp_path, dump, "--format", "list")
    before, after = load_snapshot([str(TESTS / dump)]), load_snapshot([str(target)])
    assert {(obj.namespace, obj.name) for obj in before.objects} == {(obj.namespace, obj.name) for obj in after.objects}
    assert after.objects.list_all(Node) == before.objects.list_all(Node) or dump.endswith(("cluster-info", "raw.json"))
    whole = json.loads(target.read_text())
    assert (whole["apiVersion"], whole["kind"]) == ("v1", "List")
    assert all(item["apiVersion"] and item["kind"] and item["metadata"]["name"] for item in whole["items"])


def test_a_list_has_what_others_name_before_them(tmp_path: Path) -> None:
    whole = json.loads(written(tmp_path, "data/foreign/get.json", "--format", "list").read_text())
    kinds = list(dict.fromkeys(item["kind"] for item in whole["items"]))
    assert kinds[:5] == ["Namespace", "PriorityClass", "StorageClass", "PersistentVolume", "Node"]
    assert kinds[-1] == "Pod"


def test_every_kind_that_is_read_has_an_api_version_for_lists() -> None:
    assert {*KINDS, *KEPT_WHOLE} <= {kind.name for kind in READ_KINDS}


def test_the_same_input_gives_the_same_bytes_packed_or_not(tmp_path: Path) -> None:
    words = ("data/foreign/must-gather",)
    plain, again = (written(tmp_path, *words, name=name).read_bytes() for name in ("a.json", "b.json"))
    assert plain == again
    assert gzip.decompress(written(tmp_path, *words, name="a.json.gz").read_bytes()) == plain
    packed = written(tmp_path, *words, name="a.json.zst").read_bytes()
    assert zstandard.ZstdDecompressor().decompressobj().decompress(packed) == plain
    assert run("snapshot", "convert", *words, "-o", "-").out.encode() == plain


def test_only_its_owner_can_read_what_is_written(tmp_path: Path) -> None:
    for to in ("kwhatif", "list"):
        target = written(tmp_path, "data/foreign/get.json", "--format", to, name=f"{to}.json")
        assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_a_summary_says_what_was_found_and_what_not(tmp_path: Path) -> None:
    words = ("snapshot", "convert", "data/foreign/must-gather", "-o", str(tmp_path / "out.json"))
    assert run(*words).err.splitlines() == [
        "note: data/foreign/must-gather (must-gather): 1 DaemonSet, 1 Deployment, 3 Namespace, 3 Node, "
        "1 PersistentVolume, 1 PersistentVolumeClaim, 5 Pod, 1 PodDisruptionBudget, 1 ReplicaSet, 2 Service, "
        "1 StatefulSet, 1 StorageClass",
        "note: left out: 1 events file, 6 log file, 7 other file, 1 secrets file",
        "warning: Pod is not there in full: the dump holds those of namespace default, kube-system, shop alone",
    ]
    assert run(*words, "--format", "list").err.splitlines()[0] == (
        "note: a List has no place for takenAt, unreadable, that there is no ReplicationController"
    )


def test_nothing_is_left_behind_when_something_goes_wrong(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    target.write_text("as it was")
    (tmp_path / "broken.json").write_text("{")
    assert "not valid JSON" in refused("snapshot", "convert", str(tmp_path / "broken.json"), "-o", str(target))
    assert target.read_text() == "as it was"
    assert sorted(os.listdir(tmp_path)) == ["broken.json", "out.json"]
    words = ("snapshot", "convert", "data/foreign/get.json", "-o", str(tmp_path / "no" / "out.json"))
    assert refused(*words) == f"{tmp_path}/no/out.json: cannot be written: No such file or directory"


def test_standard_input_is_read_too_and_only_once() -> None:
    export = (TESTS / "data" / "foreign" / "simulator.yml").read_bytes()
    ran = run("snapshot", "convert", "-", "-o", "-", stdin=export)
    assert json.loads(ran.out)["metadata"]["scheduler"]["source"] == "standard input: schedulerConfig"
    assert "more than once" in refused("snapshot", "convert", "-", "-", "-o", "-")


# --- wherever a snapshot is taken


@pytest.mark.parametrize("dump", [name for name in DUMPS if "two-namespaces" not in name])
def test_a_pod_is_placed_on_every_dump_alike(dump: str) -> None:
    ran = run("place", "--snapshot", dump, "data/small.yaml", "-n", "shop", "-o", "json")
    assert ran.code == 0
    (placement,) = json.loads(ran.out)["placements"]
    assert placement["outcome"] == "placed"


def test_what_a_dump_can_never_hold_is_in_the_fidelity_report() -> None:
    ran = run("place", "--snapshot", "data/foreign/cluster-info", "data/claim.yaml", "-n", "shop", "-o", "json")
    gaps = {gap["what"] for gap in json.loads(ran.out)["fidelity"]["gaps"] if gap["pods"]}
    assert {f"the snapshot holds no {kind}" for kind in ("PersistentVolume", "PersistentVolumeClaim")} <= gaps


def test_pods_of_other_namespaces_that_a_dump_lacks_touch_every_pod() -> None:
    words = ("place", "--snapshot", "data/foreign/cluster-info-two-namespaces", "data/small.yaml", "-o", "json")
    (gap,) = (gap for gap in json.loads(run(*words).out)["fidelity"]["gaps"] if "Pod could" in gap["what"])
    assert gap["what"] == "Pod could not be read: the dump holds those of namespace default, kube-system alone"
    assert gap["pods"] == ["default/small"]
    assert refused(*words, "--strict").startswith("--strict: Pod could not be read: ")


def test_a_whole_dump_leaves_no_such_gap() -> None:
    ran = run("place", "--snapshot", "data/foreign/cluster-info", "data/small.yaml", "-o", "json")
    assert not any("Pod" in gap["what"].split() for gap in json.loads(ran.out)["fidelity"]["gaps"])


@pytest.mark.long
@pytest.mark.parametrize("form", ["kwhatif", "list"])
def test_an_edited_cluster_can_be_written_and_gives_the_same_answers(tmp_path: Path, form: str) -> None:
    edits = (
        "--add-nodes",
        "2,like=general-a-1",
        "--scale",
        "sts/shop/sessions=4",
        "--set",
        "gpu-b-1.allocatable.cpu=1",
    )
    cluster = "../samples/cluster"
    target = tmp_path / "edited.json"
    assert run("snapshot", "convert", cluster, "-o", str(target), "--format", form, *edits).code == 0
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    words = ("place", "--with-pending", "-o", "json", "--snapshot")
    there, written_down = (
        {p["pod"]: (p["node"], p["score"], p["message"]) for p in json.loads(run(*words, *more).out)["placements"]}
        for more in ((cluster, *edits), (str(target),))
    )
    assert written_down == there
    assert "shop/sessions-3" in there
