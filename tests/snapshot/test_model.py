"""The snapshot format: what is written reads back, complete or not at all, and as the schema says."""

from __future__ import annotations

import dataclasses
import gzip
import json
import os
import stat
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.api.core import Container, ContainerImage, Node, NodeStatus, Pod, PodSpec, ResourceRequirements
from kwhatif.api.devices import ClaimSpec, DeviceClaim, ResourceClaim
from kwhatif.api.kinds import KINDS, Objects
from kwhatif.api.meta import ObjectMeta, Resource
from kwhatif.api.quantity import Quantity
from kwhatif.errors import InputError
from kwhatif.snapshot.format.documents import cluster_snapshot_schema
from kwhatif.snapshot.format.model import SchedulerInfo, Snapshot, write_snapshot
from kwhatif.snapshot.load import load_snapshot
from tests.snapshot.broken_inputs import BROKEN, Broken

SCHEMA_FILE = Path(__file__).parents[2] / "schemas" / "cluster-snapshot.schema.json"


def snapshot_of(*objs: Resource, **fields: Any) -> Snapshot:
    objects = Objects()
    for obj in objs:
        objects.add(obj)
    return Snapshot(objects=objects, **fields)


def sample() -> Snapshot:
    requests = {
        "cpu": Quantity.parse("0.25"),
        "memory": Quantity.parse("1Gi"),
        "example.com/x": Quantity.parse("1"),
    }
    pod = Pod(
        api_version="v1",
        kind="Pod",
        metadata=ObjectMeta(name="web", namespace="shop", labels={"größe": "XL"}),
        spec=PodSpec(containers=[Container(name="c", resources=ResourceRequirements(requests=requests))]),
    )
    node = Node(
        metadata=ObjectMeta(name="n"),
        status=NodeStatus(images=[ContainerImage(names=["a"], size_bytes=5)], allocatable={}),
    )
    claim = ResourceClaim(
        metadata=ObjectMeta(name="gpu", namespace="shop"),
        spec=ClaimSpec(devices=DeviceClaim(constraints=[])),
    )
    return snapshot_of(
        node,
        pod,
        claim,
        source="prod",
        taken_at="2026-03-01T11:29:02Z",
        kubernetes_version="v1.36.1",
        unreadable={"Service": "forbidden"},
        ignored={"Secret": 3},
    )


def contents(snapshot: Snapshot) -> dict[str, list[Resource]]:
    return {kind: snapshot.objects.list_all(KINDS[kind]) for kind in sorted(snapshot.objects.known_kinds())}


@pytest.mark.parametrize(
    ("name", "unpack"),
    [
        ("c.json", bytes),
        ("c.json.gz", gzip.decompress),
        ("c.zst", lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data)),
    ],
)
def test_a_written_snapshot_reads_back_the_same_however_it_is_packed(tmp_path: Path, name: str, unpack: Any) -> None:
    path = str(tmp_path / name)
    write_snapshot(sample(), path)
    again = load_snapshot([path])
    assert contents(again) == contents(sample())
    assert (again.source, again.taken_at, again.kubernetes_version, again.unreadable) == (
        *("prod", "2026-03-01T11:29:02Z", "v1.36.1"),
        {"Service": "forbidden"},
    )
    envelope = json.loads(unpack(Path(path).read_bytes()))
    assert list(envelope) == ["apiVersion", "kind", "metadata", "objects"]
    assert list(envelope["objects"]) == ["Node", "Pod", "ResourceClaim"]
    assert envelope["objects"]["Pod"][0]["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "250m"


def test_what_a_dump_says_of_itself_reads_back_the_same(tmp_path: Path) -> None:
    gates, configuration = {"A": True}, {"kind": "KubeSchedulerConfiguration", "parallelism": 4}
    written = Snapshot(
        resource_versions={"Pod": "17"},
        inconsistencies=["1 pod is on nodes that are not in the list of nodes: n"],
        dropped=["args", "env"],
        redacted=True,
        scheduler=SchedulerInfo(image="s:1", feature_gates=gates, configuration=configuration, source="Pod s"),
    )
    write_snapshot(written, str(tmp_path / "c.json"))
    again = load_snapshot([str(tmp_path / "c.json")])
    again.source = ""
    assert again == dataclasses.replace(written, objects=again.objects)


def test_what_several_dumps_say_of_themselves_is_put_together(tmp_path: Path) -> None:
    own = SchedulerInfo(image="first")
    parts = [
        Snapshot(resource_versions={"Pod": "1"}, inconsistencies=["a"], dropped=["env"], scheduler=own),
        Snapshot(resource_versions={"Node": "2"}, inconsistencies=["b"], dropped=["args", "env"], redacted=True),
    ]
    for number, part in enumerate(parts):
        write_snapshot(part, str(tmp_path / f"{number}.json"))
    whole = load_snapshot([str(tmp_path / "0.json"), str(tmp_path / "1.json")])
    assert whole.resource_versions == {"Pod": "1", "Node": "2"}
    assert (whole.inconsistencies, whole.dropped) == (["a", "b"], ["args", "env"])
    assert (whole.redacted, whole.scheduler) == (True, own)


@pytest.mark.parametrize("name", ["c.json", "c.json.gz", "c.json.zst"])
def test_the_same_snapshot_gives_the_same_bytes(tmp_path: Path, name: str) -> None:
    for directory in ("one", "two"):
        (tmp_path / directory).mkdir()
        write_snapshot(sample(), str(tmp_path / directory / name))
    assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_an_empty_snapshot_can_be_written_and_read(tmp_path: Path) -> None:
    path = str(tmp_path / "c.json")
    write_snapshot(Snapshot(), path)
    again = load_snapshot([path])
    assert len(again.objects) == 0
    assert (again.source, again.taken_at, again.kubernetes_version) == (path, None, None)


def test_quantities_keep_their_amount_and_their_look(tmp_path: Path) -> None:
    texts = ["1500m", "1.500", "8Ei", "100E", "1e3", "73.019Gi", "100000000000000000000"]
    allocatable = {f"r{i}": Quantity.parse(text) for i, text in enumerate(texts)}
    path = str(tmp_path / "c.json")
    write_snapshot(snapshot_of(Node(metadata=ObjectMeta(name="n"), status=NodeStatus(allocatable=allocatable))), path)
    (node,) = load_snapshot([path]).objects.list_all(Node)
    assert node.status.allocatable is not None
    for name, quantity in allocatable.items():
        assert node.status.allocatable[name] == quantity
        assert str(node.status.allocatable[name]) == str(quantity)


# --- writing is all or nothing


@pytest.mark.posix
def test_writing_replaces_a_file_at_once_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text("old")
    write_snapshot(Snapshot(), str(path))
    assert os.listdir(tmp_path) == ["c.json"]
    assert json.loads(path.read_text())["kind"] == "ClusterSnapshot"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600, "whatever it was and the umask says"


@pytest.mark.posix
def test_what_is_no_regular_file_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_snapshot(Snapshot(), str(pipe))
        assert b"ClusterSnapshot" in os.read(reader, 4096)
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_dash_is_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    write_snapshot(Snapshot(source="a"), "-")
    assert json.loads(capfdbinary.readouterr().out)["metadata"] == {"source": "a"}


@pytest.mark.posix
def test_a_link_is_replaced_not_followed(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    write_snapshot(Snapshot(), str(tmp_path / "link.json"))
    assert not (tmp_path / "link.json").is_symlink()
    assert "ClusterSnapshot" in (tmp_path / "link.json").read_text()
    assert (tmp_path / "real.json").read_text() == "old"


def test_a_failure_on_the_way_keeps_the_old_file_and_leaves_no_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "c.json"
    path.write_text("old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"c\.json: cannot be written: No space left on device"):
        write_snapshot(Snapshot(), str(path))
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["c.json"]


def test_a_place_that_cannot_be_written_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"c\.json: cannot be written: No such file or directory"):
        write_snapshot(Snapshot(), str(tmp_path / "missing" / "c.json"))


def test_what_has_no_place_in_json_is_not_written(tmp_path: Path) -> None:
    snapshot = Snapshot(whole={"Job": [{"metadata": {"name": "j"}, "spec": object()}]})
    with pytest.raises(NotImplementedError, match="no place for a object"):
        write_snapshot(snapshot, str(tmp_path / "c"))
    assert os.listdir(tmp_path) == []


# --- times


@pytest.mark.parametrize("time", ["2026-03-01T11:29:02Z", "2026-03-01T11:29:02.5+05:30", "1999-12-31T23:59:59-00:00"])
def test_times_are_those_of_rfc_3339(tmp_path: Path, time: str) -> None:
    write_snapshot(Snapshot(taken_at=time), str(tmp_path / "c.json"))
    assert load_snapshot([str(tmp_path)]).taken_at == time


@pytest.mark.parametrize("time", ["", "2026-03-01", "2026-03-01T11:29:02", "2026-13-01T00:00:00Z", "20260301T000000Z"])
def test_other_times_are_refused(tmp_path: Path, time: str) -> None:
    write_snapshot(Snapshot(taken_at=time), str(tmp_path / "c.json"))
    with pytest.raises(InputError, match=r"\$\.metadata\.takenAt: expected a time such as"):
        load_snapshot([str(tmp_path)])


# --- the schema


def validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text()))


@pytest.mark.long
def test_the_schema_is_a_schema_and_knows_every_kind() -> None:
    schema = cluster_snapshot_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert sorted(schema["properties"]["objects"]["properties"]) == sorted(KINDS)


def test_what_is_written_is_valid(tmp_path: Path) -> None:
    write_snapshot(sample(), str(tmp_path / "c.json"))
    validator().validate(json.loads((tmp_path / "c.json").read_text()))


# What the schema does not say: a time that exists, a name that appears once, a quantity that parses, a kind
# that fits its list.
BEYOND_A_SCHEMA = (
    *("a snapshot from", "a snapshot pod twice", "a misfit in a snapshot", "a snapshot cut short"),
    "a node among the pods",
)


@pytest.mark.parametrize(
    "broken",
    [b for b in BROKEN if b.file.startswith("c.") and not b.name.startswith(BEYOND_A_SCHEMA)],
    ids=lambda broken: broken.name,
)
def test_broken_snapshots_are_invalid(broken: Broken) -> None:
    assert not validator().is_valid(json.loads(broken.files[broken.file]))


@pytest.mark.long
@given(st.sampled_from(sorted(KINDS)), st.text(min_size=1))
def test_a_named_object_of_any_kind_is_valid_and_loads(
    tmp_path_factory: pytest.TempPathFactory, kind: str, name: str
) -> None:
    value = {
        "apiVersion": "kwhatif.dev/v1",
        "kind": "ClusterSnapshot",
        "objects": {kind: [{"metadata": {"name": name}, "more": [1]}]},
    }
    validator().validate(value)
    path = tmp_path_factory.getbasetemp() / "kind.json"
    path.write_bytes(msgspec.json.encode(value))
    assert [obj.name for obj in load_snapshot([str(path)]).objects] == [name]
