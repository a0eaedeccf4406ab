"""Broken inputs, made by hand: what is wrong with each, and where its one-line error must say so.

``BROKEN`` is meant for every layer: the loader's tests run over it, and so may those of the command line.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zstandard

__all__ = ["BROKEN", "Broken"]


@dataclass(frozen=True)
class Broken:
    """One broken input. ``place`` and ``problem`` are parts of the message; a place may be empty.

    ``file`` is the one that the message names, ``files`` are all there are, ``argument`` is what to load:
    a file or directory relative to where they are written.
    """

    name: str
    file: str
    place: str
    problem: str
    files: dict[str, bytes]
    argument: str

    @property
    def mistyped(self) -> bool:
        """Whether it is sound but for a value of a wrong type: of a manifest, that is the API server's to say."""
        inside = any(part in self.place for part in ("$.spec", ".spec.", ".metadata.labels"))
        sound = not self.place.startswith("$.objects") and "too large" not in self.problem
        return sound and (inside or self.place.startswith("requests"))

    def write(self, directory: Path) -> str:
        """Write the files and return the path to load."""
        for name, content in self.files.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return str(directory / self.argument)


def pod(name: str | None = "web", **spec: Any) -> dict[str, Any]:
    metadata = {} if name is None else {"name": name}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def snapshot(objects: Any, **others: Any) -> dict[str, Any]:
    return {"apiVersion": "kwhatif.dev/v1", "kind": "ClusterSnapshot", "objects": objects, **others}


def listing(kind: str, items: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "items": items}


def requests(**amounts: Any) -> dict[str, Any]:
    return pod(containers=[{"name": "c", "resources": {"requests": amounts}}])


def _bytes(content: Any) -> bytes:
    if isinstance(content, bytes):
        return content
    return content.encode() if isinstance(content, str) else json.dumps(content).encode()


def case(name: str, file: str, content: Any, place: str, problem: str) -> Broken:
    return Broken(name, file, place, problem, {file: _bytes(content)}, file)


POD_YAML = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n"
OTHER_YAML = POD_YAML.replace("web", "db")
POD_JSON = json.dumps(pod()).encode()
OTHER_JSON = json.dumps(pod(priority=7)).encode()
LAUGHS = "a0: &a0 [ha]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 20)}]\n" for i in range(1, 8))
SECOND = "pods.yaml document 2"

_FILES = (
    Broken("a file that is not there", "nowhere.yaml", "", "no such file", {}, "nowhere.yaml"),
    Broken("a name no file can have", "a\\x00b.yaml", "", "no file can have this name", {}, "a\0b.yaml"),
    Broken("a directory without manifests", "dir", "", "no .json, .yaml or .yml", {"dir/notes.txt": b"x"}, "dir"),
    Broken("a directory whose manifests are deeper", "dir", "", "no .json", {"dir/in/pod.json": POD_JSON}, "dir"),
    case("an empty file", "pods.yaml", "", "", "holds no objects"),
    case("an empty packed file", "pods.json.gz", gzip.compress(b""), "", "holds no objects"),
    case("nothing but comments and separators", "pods.yaml", "# none\n---\n---\n", "", "holds no objects"),
    case("a truncated gzip file", "pods.json.gz", gzip.compress(POD_JSON)[:-9], "", "gzip data ends too early"),
    case("a gzip file of two bytes", "pods.json.gz", b"\x1f\x8b", "", "gzip data ends too early"),
    case(
        "a gzip file with a wrong checksum",
        "pods.json.gz",
        gzip.compress(POD_JSON)[:-8] + b"8bytes!!",
        "",
        "damaged",
    ),
    case("a gzip file of nonsense", "pods.json.gz", b"\x1f\x8bnonsense here", "", "damaged gzip data"),
    case(
        "a truncated zstd file",
        "pods.json.zst",
        zstandard.compress(POD_JSON)[:-5],
        "",
        "zstd data ends too early",
    ),
    case("a zstd file of nonsense", "pods.json.zst", b"\x28\xb5\x2f\xfdnonsense here", "", "damaged zstd data"),
    case("UTF-16 text", "pods.yaml", POD_YAML.encode("utf-16"), "", "UTF-16, expected UTF-8"),
    case(
        "Latin-1 text",
        "pods.yaml",
        (POD_YAML + "# größe\n").encode("latin-1"),
        "line 5",
        "0xf6 does not belong",
    ),
    case("text cut inside a character", "pods.json", '{"ü'.encode()[:-1], "line 1", "not UTF-8"),
)

_JSON = (
    case("JSON with a trailing comma", "pods.json", '{"kind": "Pod",}', "line 1, column 16", "trailing comma"),
    case("JSON that ends too early", "pods.json", POD_JSON[:-1], "line 1, column", "ends too early"),
    case("JSON with single quotes", "pods.json", "{'kind': 'Pod'}", "line 1, column 2", "not valid JSON"),
    case(
        "JSON with a comment",
        "pods.json",
        '{\n// a pod\n"kind": "Pod"}',
        "line 2, column 1",
        "not valid JSON",
    ),
    case("JSON with NaN", "pods.json", '{"kind": NaN}', "line 1, column 10", "not valid JSON"),
    case(
        "JSON with a bare newline in a string",
        "pods.json",
        '{"kind": "P\nod"}',
        "line 1, column 12",
        "not valid",
    ),
    case("half a surrogate pair", "pods.json", '{"kind": "\\ud83d"}', "line 1", "not valid JSON"),
    case(
        "an unfinished second JSON document",
        "pods.json",
        POD_JSON + b"\n{",
        "line 2, column 2",
        "ends too early",
    ),
    case("text after a JSON document", "pods.json", POD_JSON + b"\n!", "line 2, column 1", "not valid JSON"),
    case("JSON nested beyond reason", "pods.json", '{"a":' * 500 + "1" + "}" * 500, "$", "more than 200 levels"),
    case("brackets without end", "pods.json", "[" * 100_000, "$", "more than 200 levels"),
    case("a JSON array", "pods.json", [pod()], "$", "expected an object, found a list"),
    case("a JSON string", "pods.json", '"pod"', "$", "expected an object, found text"),
)

_YAML = (
    case(
        "YAML indented by a tab",
        "pods.yaml",
        "kind: Pod\nmetadata:\n\tname: web\n",
        "line 3, column 1",
        "a tab",
    ),
    case("an unclosed bracket", "pods.yaml", "kind: [Pod\n", "line 2, column 1", "not valid YAML"),
    case("an unclosed quote", "pods.yaml", 'kind: "Pod\n', "line 2, column 1", "not valid YAML"),
    case("an unknown escape", "pods.yaml", 'kind: "\\q"\n', "line 1, column 8", "not valid YAML"),
    case(
        "a control character",
        "pods.yaml",
        "kind: Pod\nx: \x07\n",
        "line 2, column 4",
        "U+0007 is not allowed",
    ),
    case("a NUL character", "pods.yaml", "kind: Pod\x00\n", "line 1, column 10", "U+0000 is not allowed"),
    case(
        "what kubectl describe prints",
        "pods.yaml",
        "Name:         web-1\nNamespace:    shop\nPriority:     0\nLabels:       app=web\n",
        "pods.yaml",
        "found what kubectl describe prints: kubectl get KIND NAME -o yaml prints one",
    ),
    case("two colons in a line", "pods.yaml", "kind: Pod: web\n", "line 1, column 10", "not valid YAML"),
    case("a list beside a mapping", "pods.yaml", "kind: Pod\n- web\n", "line 2, column 1", "not valid YAML"),
    case(
        "a key twice",
        "pods.yaml",
        POD_YAML + "kind: Node\n",
        "line 5, column 1",
        '"kind" appears twice (first in line 2)',
    ),
    case(
        "a deep key twice",
        "pods.yaml",
        "a:\n- b: 1\n  c: 2\n  b: 3\n",
        "line 4, column 3",
        '"b" appears twice',
    ),
    case(
        "a key twice after conversion",
        "pods.yaml",
        "a: {yes: 1, 'true': 2}\n",
        "line 1, column 13",
        "appears twice",
    ),
    case("an alias without anchor", "pods.yaml", "kind: *pod\n", "line 1, column 7", "*pod has no anchor"),
    case("an anchor that contains itself", "pods.yaml", "a: &a [*a]\n", "line 1, column 8", "contains itself"),
    case("a billion laughs", "pods.yaml", LAUGHS, "line 6", "more than 1,000,000 values"),
    case(
        "YAML nested beyond reason",
        "pods.yaml",
        "a: " + "[" * 400,
        "line 1, column 203",
        "more than 200 levels",
    ),
    case(
        "a tag that runs code",
        "pods.yaml",
        "a: !!python/name:os.system\n",
        "line 1, column 4",
        "cannot be read as",
    ),
    case(
        "a tag of someone's own",
        "pods.yaml",
        "a: !mine {b: c}\n",
        "line 1, column 4",
        '"!mine" is not supported',
    ),
    case("binary data", "pods.yaml", "a: !!binary aGk=\n", "line 1, column 4", 'cannot be read as "!!binary"'),
    case(
        "a tag that does not fit",
        "pods.yaml",
        "a: !!int ten\n",
        "line 1, column 4",
        'cannot be read as "!!int"',
    ),
    case("a null key", "pods.yaml", "~: a\n", "line 1, column 1", "a key must be a string, found null"),
    case("a fraction as key", "pods.yaml", "a:\n  1.5: b\n", "line 2, column 3", "found the number 1.5"),
    case("a list as key", "pods.yaml", "? [a]\n: b\n", "line 1, column 3", "a key must be a string"),
    case("a number that JSON lacks", "pods.yaml", "a: .nan\n", "line 1, column 4", "not a number in JSON"),
    case("a number without end", "pods.yaml", f"a: 0x{'f' * 5000}\n", "line 1, column 4", "number is too large"),
    case("a merge with a string", "pods.yaml", "a:\n  <<: b\n", "line 2, column 7", "<< takes a mapping"),
    case("a broken second document", "pods.yaml", POD_YAML + "---\nkind: [\n", "line 7", SECOND),
    case("a YAML list", "pods.yaml", "- kind: Pod\n", "$", "expected an object, found a list"),
    case("a YAML word", "pods.yaml", "Pod\n", "$", "expected an object, found text"),
    case("a bare web page", "pods.yaml", "<html>\n", "$", "expected an object, found text"),
)

_OBJECTS = (
    case("no apiVersion", "pods.json", {"kind": "Pod", "metadata": {"name": "a"}}, "$.apiVersion", "found none"),
    case("no kind", "pods.json", {"apiVersion": "v1", "metadata": {"name": "a"}}, "$.kind", 'such as "Pod"'),
    case("a null kind", "pods.yaml", "apiVersion: v1\nkind:\n", "$.kind", "found none"),
    case(
        "a number as kind",
        "pods.yaml",
        "apiVersion: v1\nkind: 5\n",
        "$.kind",
        "expected a string, found the number 5",
    ),
    case(
        "no metadata",
        "pods.yaml",
        "apiVersion: v1\nkind: Pod\n",
        "$.metadata.name",
        "expected a name, found none",
    ),
    case("no name", "pods.json", pod(None), "$.metadata.name", "expected a name, found none"),
    case("an empty name", "pods.json", pod(""), "$.metadata.name", "expected a name, found none"),
    case(
        "an unknown kind without name",
        "x.yaml",
        "apiVersion: a/v1\nkind: X\n",
        "$.metadata.name",
        "found none",
    ),
    case(
        "a number as name",
        "pods.yaml",
        POD_YAML.replace("web", "007"),
        "$.metadata.name",
        "found the number 7",
    ),
    case(
        "a number as label",
        "pods.yaml",
        POD_YAML + "  labels: {a/b: 1}\n",
        '$.metadata.labels["a/b"]',
        "a string",
    ),
    case(
        "a yes as label",
        "pods.yaml",
        POD_YAML + "  labels: {on: yes}\n",
        "$.metadata.labels.true",
        "found true",
    ),
    case("metadata as a list", "pods.json", {**pod(), "metadata": []}, "$.metadata", "found a list"),
    case("a spec that is text", "pods.json", {**pod(), "spec": "x"}, "$.spec", 'expected an object, found "x"'),
    case(
        "cpu that is no quantity",
        "pods.json",
        requests(cpu="abc"),
        "$.spec.containers[0].resources.requests.cpu",
        '"abc"',
    ),
    case(
        "memory in bytes spelt out",
        "pods.json",
        requests(memory="1GB"),
        "requests.memory",
        'quantity such as "500m"',
    ),
    case("an empty quantity", "pods.json", requests(cpu=""), "requests.cpu", 'found ""'),
    case("a truth value as quantity", "pods.json", requests(**{"a/b": True}), 'requests["a/b"]', "found true"),
    case("a quantity in a list", "pods.json", requests(cpu=[1]), "requests.cpu", "found a list"),
    case("a quantity without end", "pods.json", requests(cpu="9" * 5000), "requests.cpu", "expected a quantity"),
    case("requests as a list", "pods.json", pod(overhead=["cpu"]), "$.spec.overhead", "expected an object"),
    case("a priority in quotes", "pods.json", pod(priority="1"), "$.spec.priority", "expected an integer"),
    case("a priority beyond 32 bits", "pods.json", pod(priority=2**31), "$.spec.priority", "to 2147483647"),
    case("a priority beyond 64 bits", "pods.json", pod(priority=10**30), "$.spec.priority", "an integer from"),
    case(
        "a fractional priority",
        "pods.yaml",
        POD_YAML + "spec: {priority: 1.5}\n",
        "$.spec.priority",
        "number 1.5",
    ),
    case(
        "a number beyond all ranges",
        "pods.json",
        json.dumps(pod(priority=7)).replace("7", "9" * 5000),
        "$.spec.priority",
        "this number is too large",
    ),
    case("containers in an object", "pods.json", pod(containers={}), "$.spec.containers", "expected a list"),
    case("a container that is text", "pods.json", pod(containers=["c"]), "$.spec.containers[0]", 'found "c"'),
    case("a truth value in quotes", "pods.json", pod(hostNetwork="yes"), "$.spec.hostNetwork", "true or false"),
    case("a node selector as a list", "pods.json", pod(nodeSelector=["a"]), "$.spec.nodeSelector", "an object"),
    case("a number as node name", "pods.json", pod(nodeName=4), "$.spec.nodeName", "expected a string"),
    case("a second document misfit", "pods.yaml", POD_YAML + "---\n" + OTHER_YAML + "spec: 1\n", "$.spec", SECOND),
    case(
        "values outside a list",
        "pods.json",
        pod(tolerations=[{"key": ["a"]}]),
        "$.spec.tolerations[0].key",
        "string",
    ),
)

_LISTS = (
    case("items in an object", "pods.json", listing("List", {}), "$.items", "expected a list, found an object"),
    case(
        "an item that is text",
        "pods.json",
        listing("List", ["x"]),
        "$.items[0]",
        'expected an object, found "x"',
    ),
    case("an item that is null", "pods.json", listing("PodList", [None]), "$.items[0]", "found null"),
    case(
        "an item without kind",
        "pods.json",
        listing("List", [{"apiVersion": "v1"}]),
        "$.items[0].kind",
        "found none",
    ),
    case(
        "an item without name",
        "pods.yaml",
        f"{listing('List', [pod(), pod(None)])}\n",
        "$.items[1].metadata.name",
        "name",
    ),
    case(
        "a misfit in a typed item",
        "nodes.json",
        listing("NodeList", [{"metadata": {"name": 1}}]),
        "$.items[0].metadata.name",
        "string",
    ),
    case(
        "a misfit in a nested list",
        "pods.json",
        listing("List", [listing("List", [pod(priority="x")])]),
        "$.items[0].items[0].spec.priority",
        "integer",
    ),
    Broken(
        "one good and one broken file",
        "dir/b.yml",
        "line 1, column 10",
        "not valid YAML",
        {"dir/a.yaml": POD_YAML.encode(), "dir/b.yml": b"kind: Pod: web\n", "dir/c.json": b"{}"},
        "dir",
    ),
)

_SNAPSHOTS = (
    case(
        "a snapshot of a later version",
        "c.json",
        {**snapshot({}), "apiVersion": "kwhatif.dev/v9"},
        "$.apiVersion",
        "v9",
    ),
    case("snapshot objects as a list", "c.json", snapshot([]), "$.objects", "expected an object, found a list"),
    case("snapshot pods in an object", "c.json", snapshot({"Pod": {}}), "$.objects.Pod", "expected a list"),
    case(
        "a snapshot pod without name",
        "c.json",
        snapshot({"Pod": [{}]}),
        "$.objects.Pod[0].metadata.name",
        "a name",
    ),
    case(
        "a node among the pods",
        "c.json",
        snapshot({"Pod": [{**pod(), "kind": "Node"}]}),
        "$.objects.Pod[0].kind",
        'expected "Pod"',
    ),
    case(
        "a misfit in a snapshot",
        "c.json",
        snapshot({"Pod": [pod(), requests(cpu="x")]}),
        "$.objects.Pod[1].spec.containers[0]",
        '"x"',
    ),
    case("an unknown kind as text", "c.json", snapshot({"Gadget": "x"}), "$.objects.Gadget", "expected a list"),
    case(
        "a snapshot from no time",
        "c.json",
        snapshot({}, metadata={"takenAt": "now"}),
        "$.metadata.takenAt",
        '"now"',
    ),
    case(
        "a snapshot from the 32nd",
        "c.json",
        snapshot({}, metadata={"takenAt": "2026-01-32T00:00:00Z"}),
        "takenAt",
        "time",
    ),
    case(
        "a number as reason",
        "c.yaml",
        json.dumps(snapshot({}, metadata={"unreadable": {"Pod": 403}})),
        "$.metadata.unreadable.Pod",
        "a string",
    ),
    case(
        "a snapshot cut short",
        "c.json.gz",
        gzip.compress(json.dumps(snapshot({"Pod": [pod()]})).encode()[:-3]),
        "line 1",
        "early",
    ),
)

BROKEN: tuple[Broken, ...] = (*_FILES, *_JSON, *_YAML, *_OBJECTS, *_LISTS, *_SNAPSHOTS)
"""More than a hundred; names are unique."""
