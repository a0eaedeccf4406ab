"""Whatever stands in a file or in one file of a dump, loading gives objects or one InputError, soon and in little room.

``tests/fuzz/fuzz_load.py`` looks further than this.
"""

from __future__ import annotations

import json
import shutil
import time
import tracemalloc
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kwhatif.errors import InputError
from kwhatif.snapshot.format.model import write_list, write_snapshot
from kwhatif.snapshot.load import load_manifests, load_snapshot
from kwhatif.snapshot.read.files import without_logs
from kwhatif.snapshot.validation import read_for_validation

DATA = Path(__file__).parents[1] / "data" / "foreign"
IMAGE = "quay-io-openshift-release-dev-ocp-v4-0-art-dev-sha256-1a2b3c"
FILES = (
    "get.yaml",
    "raw.json",
    "cluster-info.txt",
    "cluster-info-1.9.txt",
    "cluster-info-yaml.txt",
    "kwok.yaml",
    "simulator.json",
)
IN_TREES = (
    ("cluster-info", "nodes.json"),
    ("cluster-info-two-namespaces", "kube-system/pods.yaml"),
    ("must-gather", f"{IMAGE}/namespaces/shop/core/pods.yaml"),
    ("must-gather", f"{IMAGE}/timestamp"),
    ("sonobuoy", "resources/ns/shop/core_v1_pods.json"),
    ("sonobuoy", "serverversion.json"),
    ("support-bundle", "support-bundle-2026-11-20T06_03_11/cluster-resources/pods/shop.json"),
    ("insights", "config/node/ada.json"),
)
PIECES = st.sampled_from(
    [
        *(b"", b"\x00", b"\xff", b"\n", b" ", b'"', b"'", b"{", b"}", b"[", b"]", b":", b",", b"-", b"&a ", b"*a"),
        *(b"<<: ", b"? ", b"!!int ", b"!!binary ", b"%TAG ! a\n", b"---\n", b"...\n", b"null", b"true", b"1e999"),
        *(b"9" * 30, b"0x", b"[" * 300, b'{"a":' * 300, b"- " * 300, b"items:\n", b'"items":', b"kind: List\n"),
        *(b"==== START logs for container main of pod shop/db-0 ====\n", b"==== END logs for container main of pod "),
        b"shop/db-0 ====\n",
    ]
)


@st.composite
def mutated(draw: st.DrawFn, data: bytes) -> bytes:
    """A text with some of its bytes replaced, dropped, doubled or moved, and perhaps cut off."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 40)))
        piece = draw(PIECES | st.binary(max_size=4) | st.just(data[start:end] * 2))
        data = data[:start] + piece + data[end:]
    return data[: draw(st.integers(0, len(data)))] if draw(st.integers(0, 3)) == 0 else data


READS = (load_manifests, read_for_validation)


def sound(path: Path, named: Path, *, reads: Sequence[Callable[[list[str]], object]] = READS) -> None:
    """A path loads, and then what is made of it loads again; or the error is one line that begins with ``named``."""
    said = []
    snapshot = None
    for read in reads:
        try:
            read([str(path)])
        except InputError as error:
            said.append(str(error))
    try:
        snapshot = load_snapshot([str(path)])
    except InputError as error:
        said.append(str(error))
    assert all(text.startswith(str(named)) and len(text.splitlines()) == 1 for text in said)
    assert all(len(text) < 1000 for text in said)
    if snapshot is None:
        return
    again = path.parent / "again.json"
    for write in (write_snapshot, write_list):
        write(snapshot, str(again))
        assert len(load_snapshot([str(again)]).objects) == len(snapshot.objects)


@pytest.mark.long
@settings(max_examples=80)
@given(st.data())
def test_a_mutated_dump_in_one_file(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(FILES))
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(data.draw(mutated((DATA / name).read_bytes())))
    sound(path, path)


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copies of the dumps that are directories."""
    root = tmp_path_factory.mktemp("trees")
    for name in {name for name, _ in IN_TREES}:
        shutil.copytree(DATA / name, root / name)
    return root


@pytest.mark.long
@settings(max_examples=60)
@given(st.data())
def test_a_mutated_file_in_a_tree(trees: Path, data: st.DataObject) -> None:
    name, file = data.draw(st.sampled_from(IN_TREES))
    target = trees / name / file
    good = target.read_bytes()
    target.write_bytes(data.draw(mutated(good)))
    try:
        sound(trees / name, trees / name)
    finally:
        target.write_bytes(good)


@pytest.mark.long
@settings(max_examples=120)
@given(st.binary(max_size=300))
def test_any_bytes_at_all(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "anything"
    path.write_bytes(data)
    sound(path, path)


VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [
        None,
        True,
        0,
        -1,
        1.5,
        2**63,
        2**64 - 1,
        1e300,
        "",
        "x",
        "500m",
        "1e9999",
        [],
        [None],
        [[]],
        {},
        {"": 1},
        {"a": {}},
    ]
)


@st.composite
def misfits(draw: st.DrawFn) -> Any:
    """An export of the simulator with one of its parts replaced by something else."""
    whole = json.loads((DATA / "simulator.json").read_text())
    root = {name: part[:1] if isinstance(part, list) else part for name, part in whole.items()}
    here: Any = root
    while True:
        key = draw(st.sampled_from(list(here) if isinstance(here, dict) else list(range(len(here)))))
        if not isinstance(here[key], dict | list) or not here[key] or draw(st.integers(0, 4)) == 0:
            here[key] = draw(VALUES)
            return root
        here = here[key]


@pytest.mark.long
@settings(max_examples=60)
@given(misfits())
def test_a_value_out_of_place_in_an_export_is_named_alike_in_json_and_yaml(
    tmp_path_factory: pytest.TempPathFactory, value: Any
) -> None:
    said = []
    for name, text in (("export.json", json.dumps(value)), ("export.yaml", yaml.dump(value, Dumper=yaml.CSafeDumper))):
        path = tmp_path_factory.getbasetemp() / name
        path.write_text(text)
        sound(path, path)
        try:
            load_snapshot([str(path)])
            said.append("")
        except InputError as error:
            said.append(str(error).replace(str(path), ""))
    assert said[0] == said[1]


SCALARS = st.sampled_from(
    ["x", "~", "1", "0x1F", "1_0", "-.inf", "2026-03-01", "'q'", '"\\u0041"', "!!str 1", "&b y", "*a", "*b"]
)
NODES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(lambda parts: f"[{', '.join(parts)}]"),
        st.lists(inner, max_size=4).map(lambda parts: f"&a [{', '.join(parts)}]"),
        st.lists(st.tuples(st.sampled_from(["a", "b", "<<", "kind", "items", "? x", "1"]), inner), max_size=4).map(
            lambda pairs: "{" + ", ".join(f"{key}: {value}" for key, value in pairs) + "}"
        ),
    ),
    max_leaves=12,
)


@pytest.mark.long
@settings(max_examples=100)
@given(st.lists(NODES, min_size=1, max_size=3))
def test_odd_yaml_with_anchors_merges_and_tags(tmp_path_factory: pytest.TempPathFactory, nodes: list[str]) -> None:
    path = tmp_path_factory.getbasetemp() / "odd.yaml"
    path.write_text("".join(f"--- {node}\n" for node in nodes))
    sound(path, path)
    path.write_text("".join(f"---\napiVersion: v1\nkind: Node\nmetadata: {node}\n" for node in nodes))
    sound(path, path)


# --- little texts that could be made to cost a lot

SIZE = 30_000


def repeated(piece: str, size: int = SIZE) -> str:
    return piece * (size // len(piece))


WIDE = "a: &a {" + ", ".join(f"k{i}: 1" for i in range(1000)) + "}\n"
START = "==== START logs for container a of pod b/c ====\n"
COSTLY = {
    "brackets.json": repeated("["),
    "objects.json": repeated('{"a":'),
    "many-documents.json": repeated("{}", SIZE // 4),
    "nested-lists.json": repeated('{"apiVersion":"v1","kind":"List","items":['),
    "digits.json": "[" + "9" * SIZE,
    "quotes.json": repeated('\\"'),
    "misfits.json": '{"apiVersion":"v1","kind":"PodList","items":[' + repeated('{"metadata":{"name":1}},') + "1]}",
    "quantity.json": '{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},"status":{"allocatable":{"cpu":"'
    + "9" * SIZE
    + '"}}}',
    "exponent.json": '{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},"status":{"allocatable":{"cpu":"1e'
    + "9" * SIZE
    + '"}}}',
    "simulator.json": '{"nodes":[],"pvs":[],"pvcs":[],"pods":[' + repeated("{},") + "{}]}",
    "sequences.yaml": repeated("- "),
    "documents.yaml": repeated("--- a\n"),
    "keys.yaml": repeated("? "),
    "flow.yaml": "a: " + repeated("{a: "),
    "pairs.yaml": "[" + repeated("a: b, ") + "]",
    "digits.yaml": "a: " + "9" * SIZE,
    "hexadecimal.yaml": "a: 0x" + "f" * SIZE,
    "exponent.yaml": "a: 1e" + "9" * SIZE,
    "laughs.yaml": "a: &a [x,x,x,x,x,x,x,x,x]\n"
    + "".join(f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n" for old, new in pairwise("abcdefghi")),
    "merges.yaml": WIDE + "".join(f"b{i}: {{<<: *a}}\n" for i in range(5000)),
    "merge-lists.yaml": WIDE + "b: {<<: [" + repeated("*a, ") + "]}",
    "long-aliases.yaml": f"x: &a {'x' * SIZE}\napiVersion: v1\nkind: List\nitems:\n"
    + "".join(f"- {{apiVersion: apps/v1, kind: Deployment, metadata: {{name: d{i}}}, spec: *a}}\n" for i in range(400)),
    "aliases.yaml": "a: &a [1]\nb: [" + repeated("*a, ") + "]",
    "indented.yaml": "".join(" " * i + "a:\n" for i in range(400)),
    "directives.yaml": repeated("%YAML 1.1\n"),
    "tags.yaml": repeated("!!a "),
    "logs": repeated(START + START.replace("START", "END")),
    "endless-logs": repeated(START),
    "many-logs": "".join(f"==== START logs for container a{i} of pod b/c ====\n" for i in range(2000)),
}


@pytest.mark.parametrize("name", COSTLY)
def test_a_text_made_to_be_costly_is_not(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(COSTLY[name])
    tracemalloc.start()
    begun = time.process_time()
    try:
        sound(path, path, reads=(load_manifests,))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Generous, as tracing alone makes it many times slower: what grows with the square takes minutes.
    assert time.process_time() - begun < 60
    assert most < 2000 * len(COSTLY[name])


@given(st.lists(st.sampled_from(["A", "B", "\n", "kind: Pod\n", "x"]), max_size=12), st.sampled_from(["\n", ""]))
def test_logs_leave_as_many_lines_as_they_had(parts: list[str], end: str) -> None:
    head, foot = (f"==== {word} logs for container c of pod n/p ====\n" for word in ("START", "END"))
    text = "{}\n" + head + "".join(parts) + end + foot + "{}\n"
    data, number = without_logs(text.encode())
    assert number == 1
    assert data == b"{}\n" + b"\n" * (text.count("\n") - 2) + b"{}\n"


@pytest.mark.long
def test_the_list_of_problems_ends_where_nobody_would_read_on(tmp_path: Path) -> None:
    path = tmp_path / "empty.json"
    path.write_text("{}" * 12_000)
    problems = read_for_validation([str(path)]).problems
    assert (len(problems), problems[-1].message) == (10_001, "not looked at: too much is wrong before it")


def test_numbers_beyond_all_ranges_are_problems_like_others(tmp_path: Path) -> None:
    path = tmp_path / "node.json"
    path.write_text(
        '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {"unschedulable": 1}, '
        f'"status": {{"allocatable": {{"cpu": {"9" * 5000}}}}}}}'
    )
    (problem,) = read_for_validation([str(path)]).problems
    assert (problem.place, problem.message) == ("$.status.allocatable.cpu", "this number is too large")
