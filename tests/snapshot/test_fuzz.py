"""Whatever becomes of a good file on its way, loading it gives objects or one InputError."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from kwhatif.errors import InputError
from kwhatif.snapshot.load import load_manifests, load_snapshot

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "labels": {"app.kubernetes.io/name": "web"}, "creationTimestamp": None},
    "spec": {
        "priority": -5,
        "hostNetwork": False,
        "overhead": {"cpu": "250m", "memory": "1.5Gi"},
        "containers": [{"name": "c", "ports": [{"hostPort": 80}], "resources": {"limits": {"cpu": 2}}}],
        "tolerations": [{"operator": "Exists", "tolerationSeconds": 300}],
    },
}
NODE: dict[str, Any] = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "größe"}, "status": {}}
LIST: dict[str, Any] = {"apiVersion": "v1", "kind": "List", "items": [POD, NODE]}
OWN: dict[str, Any] = {
    "apiVersion": "kwhatif.dev/v1",
    "kind": "ClusterSnapshot",
    "metadata": {"source": "s", "takenAt": "2026-03-01T11:29:02Z", "unreadable": {"Secret": "no"}},
    "objects": {"Node": [NODE], "Pod": [POD]},
}
YAML = yaml.safe_dump_all([NODE, POD], allow_unicode=True).encode() + b"---\na: &x {<<: {b: 1}}\nc: *x\n"
GOOD = {
    "list.json": json.dumps(LIST, ensure_ascii=False).encode(),
    "stream.json": json.dumps(NODE, indent=1).encode() + json.dumps(POD).encode(),
    "own.json": json.dumps(OWN).encode(),
    "all.yaml": YAML,
    "list.json.gz": gzip.compress(json.dumps(LIST).encode(), mtime=0),
    "own.json.zst": zstandard.compress(json.dumps(OWN).encode()),
}
PIECES = [
    *(
        b"",
        b"\x00",
        b"\xff",
        b"\xc3",
        b"\n",
        b"\t",
        b" ",
        b'"',
        b"'",
        b"\\",
        b"\\ud800",
        b"{",
        b"}",
        b"[",
        b"]",
        b":",
    ),
    *(
        b",",
        b"-",
        b"&x ",
        b"*x",
        b"<<: ",
        b"!!int ",
        b"? ",
        b"|",
        b"%",
        b"@",
        b"#",
        b"---\n",
        b"...",
        b"null",
        b"true",
    ),
    *(
        b"0",
        b"9" * 30,
        b"1e999",
        b"-1",
        b".inf",
        b"[" * 300,
        b'{"a":' * 300,
        b"- " * 300,
        b"\xef\xbb\xbf",
        b"\x1f\x8b",
    ),
]


def outcome(path: Path) -> list[str]:
    """The messages of what went wrong; anything but an InputError is raised on."""
    messages = []
    for load in (load_snapshot, load_manifests):
        try:
            load([str(path)])
        except InputError as error:
            messages.append(str(error))
    return messages


@st.composite
def mutations(draw: st.DrawFn) -> tuple[str, bytes]:
    """A good file with some of its bytes replaced, dropped, doubled or moved."""
    name = draw(st.sampled_from(sorted(GOOD)))
    data = GOOD[name]
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 12)))
        piece = draw(st.sampled_from(PIECES) | st.binary(max_size=4) | st.just(data[start:end] * 2))
        data = data[:start] + piece + data[end:]
    return name, data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data


@pytest.mark.long
@settings(max_examples=400)
@given(mutations())
def test_a_mutated_file_loads_or_raises_one_input_error_of_one_line(
    tmp_path_factory: pytest.TempPathFactory, mutation: tuple[str, bytes]
) -> None:
    name, data = mutation
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(data)
    for message in outcome(path):
        assert message.startswith(str(path))
        assert len(message.splitlines()) == 1


VALUES = st.sampled_from(
    [None, True, 0, -1, 1.5, 2**31, 2**63, 2**64 - 1, 1e300, "", "x", "1", "500m", [], [None], {}, {"": 1}]
)


@st.composite
def misfits(draw: st.DrawFn) -> Any:
    """A good value with one of its parts replaced by something else."""
    root = json.loads(json.dumps(draw(st.sampled_from([POD, NODE, LIST, OWN]))))
    here = root
    while True:
        keys = list(here) if isinstance(here, dict) else list(range(len(here)))
        if not keys:
            return root
        key = draw(st.sampled_from(keys))
        if not isinstance(here[key], dict | list) or draw(st.integers(0, 3)) == 0:
            here[key] = draw(VALUES)
            return root
        here = here[key]


@pytest.mark.long
@settings(max_examples=400)
@given(misfits())
def test_a_value_out_of_place_loads_or_is_named_with_its_place_alike_in_json_and_yaml(
    tmp_path_factory: pytest.TempPathFactory, value: Any
) -> None:
    as_json, as_yaml = (tmp_path_factory.getbasetemp() / f"value.{suffix}" for suffix in ("json", "yaml"))
    as_json.write_text(json.dumps(value))
    as_yaml.write_text(yaml.dump(value, Dumper=yaml.CSafeDumper))
    from_json, from_yaml = outcome(as_json), outcome(as_yaml)
    assert [message.replace(".json", ".yaml", 1) for message in from_json] == from_yaml
    assert all(": $" in message or "holds nothing that is read here" in message for message in from_json)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(GOOD))
def test_every_cut_of_a_good_file_loads_or_raises_an_input_error(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    failed = 0
    for length in range(0, len(GOOD[name]), 3):
        path.write_bytes(GOOD[name][:length])
        failed += bool(outcome(path))
    assert failed > 0
