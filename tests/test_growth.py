"""Nothing takes more than twice the work for a list that is twice as long, whichever list of a pod or node it is.

The API server bounds none of these lists. Counted are the lines that run, function by function, which no busy machine
changes: what twice as many items add may be twice as much again, not four times.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest
from msgspec import inspect

import kwhatif
from kwhatif.api import core, quantity
from tests.cli.running import run

FEW, MANY = 5, 45
"""Explaining why a pod does not fit tries a bounded number of changes: only above that its work grows evenly."""
HERE = str(Path(kwhatif.__file__).parent)
Json = dict[str, Any]
Makes = Callable[[int], Json]
REQUIRED, PREFERRED = (f"{word}DuringSchedulingIgnoredDuringExecution" for word in ("required", "preferred"))


def of(number: int, make: Callable[[int], Any]) -> list[Any]:
    return [make(i) for i in range(number)]


def names(number: int, value: str = "v") -> dict[str, str]:
    return {f"example.com/k{i}": value for i in range(number)}


def pod(name: str, spec: Json, **metadata: Any) -> Json:
    whole = {"name": name, "namespace": "shop", "labels": {"app": name}, **metadata}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": whole, "spec": spec}


def container(**fields: Any) -> Json:
    return {"name": "main", "image": "registry.example/main:1", **fields}


def node(name: str, n: int = 0) -> Json:
    """A node of which every list has ``n`` items."""
    amounts = {"cpu": "64", "memory": "64Gi", "pods": "110", **names(n, "1")}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "zone": "a", **names(n)}},
        "spec": {"taints": of(n, lambda i: {"key": f"k{i}", "effect": "PreferNoSchedule"})},
        "status": {
            "allocatable": amounts,
            "capacity": amounts,
            "conditions": of(n, lambda i: {"type": f"Odd{i}", "status": "False"}),
            "images": of(n, lambda i: {"names": of(1 if i else max(n, 1), lambda j: f"registry.example/i{i}-{j}:1")}),
            "declaredFeatures": of(n, lambda i: f"Feature{i}"),
            "volumesAttached": of(n, lambda i: {"name": f"kubernetes.io/csi/d^{i}", "devicePath": ""}),
        },
    }


def everything(n: int) -> Json:
    """A pod that fits, of which every list has ``n`` items."""

    def term(i: int) -> Json:
        return {"labelSelector": {"matchLabels": {f"other{i}": "b"}}, "topologyKey": f"zone{i}"}

    def requirement(i: int) -> Json:
        return {"key": f"k{i}", "operator": "NotIn", "values": ["v"]}

    def soft(i: int) -> Json:
        return {"maxSkew": 1, "topologyKey": f"zone{i}", "whenUnsatisfiable": "ScheduleAnyway"}

    spec = {
        "containers": [
            container(
                env=of(n, lambda i: {"name": f"E{i}", "value": "x"}),
                ports=of(n, lambda i: {"containerPort": i + 1, "hostPort": i + 1}),
                volumeMounts=of(n, lambda i: {"name": f"v{i}", "mountPath": f"/m{i}"}),
            ),
            *of(n, lambda i: {"name": f"c{i}", "image": f"registry.example/c{i}:1"}),
        ],
        "initContainers": of(n, lambda i: {"name": f"i{i}", "image": f"registry.example/i{i}:1"}),
        "volumes": of(n, lambda i: {"name": f"v{i}", "emptyDir": {}}),
        "tolerations": of(n, lambda i: {"key": f"k{i}", "operator": "Exists"}),
        "topologySpreadConstraints": of(n, soft),
        "affinity": {
            "nodeAffinity": {
                REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": of(n, requirement)}]},
                PREFERRED: of(n, lambda i: {"weight": 1, "preference": {"matchExpressions": [requirement(i)]}}),
            },
            "podAffinity": {PREFERRED: of(n, lambda i: {"weight": 1, "podAffinityTerm": term(i)})},
            "podAntiAffinity": {
                REQUIRED: of(n, term),
                PREFERRED: of(n, lambda i: {"weight": 1, "podAffinityTerm": term(i)}),
            },
        },
    }
    owners = of(n, lambda i: {"apiVersion": "v1", "kind": "X", "name": f"o{i}", "uid": f"u{i}"})
    finalizers = of(n, lambda i: f"example.com/f{i}")
    return pod("all", spec, labels=names(n), annotations=names(n), ownerReferences=owners, finalizers=finalizers)


def refused(n: int) -> Json:
    """A pod that every plugin refuses ``n`` times."""

    def hard(i: int) -> Json:
        return {"maxSkew": 1, "topologyKey": f"zone{i}", "whenUnsatisfiable": "DoNotSchedule"}

    def term(i: int) -> Json:
        return {"labelSelector": {"matchLabels": {f"other{i}": "b"}}, "topologyKey": f"zone{i}"}

    spec = {
        "containers": [container(resources={"requests": names(n, "1"), "limits": names(n, "1")})],
        "nodeSelector": names(n),
        "topologySpreadConstraints": of(n, hard),
        "affinity": {"podAffinity": {REQUIRED: of(n, term)}},
        "volumes": of(n, lambda i: {"name": f"v{i}", "persistentVolumeClaim": {"claimName": f"c{i}"}}),
        "resourceClaims": of(n, lambda i: {"name": f"v{i}", "resourceClaimName": f"c{i}"}),
    }
    return pod("none", spec)


def nested(n: int) -> Json:
    """A pod whose lists within lists have ``n`` items: selectors, terms, claims, and what its status says."""
    expressions = of(
        n, lambda i: {"key": f"k{i}", "operator": "NotIn", "values": of(n, lambda j: f"v{j}") if not i else ["v"]}
    )
    amounts = names(n, "1")
    hard = {"requests": amounts, "limits": amounts}
    labels = {"matchLabels": names(n), "matchExpressions": expressions}
    namespaces = {"namespaceSelector": labels, "namespaces": of(n, lambda i: f"other{i}")}
    keys = {"matchLabelKeys": of(n, lambda i: f"m{i}"), "mismatchLabelKeys": of(n, lambda i: f"x{i}")}
    term = {"labelSelector": labels, **namespaces, **keys, "topologyKey": "zone"}
    sides = {PREFERRED: [{"weight": 1, "podAffinityTerm": term}]}
    fields = of(n, lambda i: {"key": "metadata.name", "operator": "NotIn", "values": [f"other{i}"]})
    terms = [{"matchExpressions": expressions, "matchFields": fields}, *of(n, lambda i: {"matchFields": [fields[i]]})]
    preferred = [{"weight": 1, "preference": {"matchExpressions": expressions, "matchFields": fields}}]
    claim = {
        "metadata": {"labels": names(n), "annotations": names(n)},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "selector": labels,
            "storageClassName": "none",
            "resources": {"requests": {"storage": "1Gi", **amounts}},
        },
    }
    told = {"allocatedResources": amounts, "resources": hard}
    states = of(n, lambda i: {"name": f"c{i}", **({} if i else told)})
    spec = {
        "containers": [container(resources={**hard, "claims": of(n, lambda i: {"name": "c", "request": f"r{i}"})})],
        "initContainers": [{**container(resources=hard), "name": "first"}],
        "overhead": amounts,
        "resources": hard,
        "schedulingGates": of(n, lambda i: {"name": f"example.com/g{i}"}),
        "resourceClaims": [{"name": "c", "resourceClaimName": "c"}],
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": labels}
            | {"matchLabelKeys": keys["matchLabelKeys"]}
        ],
        "volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": claim}}],
        "affinity": {
            "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}, PREFERRED: preferred},
            "podAffinity": {REQUIRED: [term], **sides},
            "podAntiAffinity": {REQUIRED: [term], **sides},
        },
    }
    status = {
        "conditions": of(n, lambda i: {"type": f"example.com/c{i}", "status": "True"}),
        "containerStatuses": states,
        "initContainerStatuses": states,
        "ephemeralContainerStatuses": states,
        "resourceClaimStatuses": of(n, lambda i: {"name": f"c{i}", "resourceClaimName": f"c{i}"}),
        "allocatedResources": amounts,
        "resources": hard,
        "extendedResourceClaimStatus": {
            "resourceClaimName": "c",
            "requestMappings": of(
                n, lambda i: {"containerName": "main", "resourceName": f"k{i}", "requestName": f"r{i}"}
            ),
        },
    }
    return {**pod("nested", spec), "status": status}


SMALL = pod("small", {"containers": [container()]})
POD_COMMANDS = (
    "explain {pod} --snapshot {cluster} --assume-empty",
    "gate {pod} --snapshot {cluster} --assume-empty",
    "capacity {pod} --snapshot {cluster} --limit 2 --assume-empty",
    "snapshot redact {pod} -o {out}.yaml --translation {out}.translation",
)
CLUSTER_COMMANDS = (
    "place {pod} --snapshot {cluster} --with-pending --assume-empty",
    "drain n1 --snapshot {cluster} --force --assume-empty",
    "snapshot info {cluster} --nodes",
    "snapshot validate {cluster}",
    "snapshot redact {cluster} -o {out}.json --translation {out}.translation",
)


@contextmanager
def counted_lines() -> Iterator[Counter[str]]:
    """How many lines of the package run, by function."""
    found: Counter[str] = Counter()
    counters: dict[CodeType, tuple[list[int], Any]] = {}

    def call(frame: FrameType, event: str, _: object) -> Any:
        code = frame.f_code
        if code not in counters:
            counters[code] = counter() if code.co_filename.startswith(HERE) else ([0], None)
        lines, line = counters[code]
        lines[0] += 1
        return line

    # What tests before have read is read again.
    for cached in (each for each in vars(quantity).values() if hasattr(each, "cache_clear")):
        cached.cache_clear()
    before = sys.gettrace()
    sys.settrace(call)
    try:
        yield found
    finally:
        sys.settrace(before)
        for code, (lines, line) in counters.items():
            if line is not None:
                found[f"{Path(code.co_filename).name}: {code.co_qualname}"] += lines[0]


def counter() -> tuple[list[int], Any]:
    """A number, and what counts lines there."""
    lines = [0]

    def line(frame: FrameType, event: str, _: object) -> Any:
        lines[0] += 1
        return line

    return lines, line


def growing(folder: Path, command: str, least: int, made: Callable[[int], tuple[Json, Sequence[Json]]]) -> list[str]:
    """The functions that do more than twice as much for twice as many items."""
    counts = []
    for size in (least, least, 2 * least, 4 * least):  # the first time imports and fills what is kept
        new, cluster = made(size)
        (folder / "pod.json").write_text(json.dumps(new))
        (folder / "cluster.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": cluster}))
        for left in folder.glob("out.*"):
            left.unlink()
        words = command.format(pod=folder / "pod.json", cluster=folder / "cluster.json", out=folder / "out").split()
        with counted_lines() as found:
            ran = run(*words)
        assert ran.code in (0, 1), ran.err
        counts.append(found)
    _, one, two, four = counts
    return [
        f"{name}: {one[name]}, {two[name]}, {four[name]} lines"
        for name in four
        if four[name] - two[name] > 3 * max(two[name] - one[name], least)
    ]


@pytest.mark.long
@pytest.mark.parametrize("command", POD_COMMANDS)
@pytest.mark.parametrize("make", [everything, refused])
def test_work_grows_as_the_lists_of_a_pod_do(tmp_path: Path, command: str, make: Makes) -> None:
    least = MANY if make is refused and command.startswith("explain") else FEW
    assert growing(tmp_path, command, least, lambda n: (make(n), [node("n1"), node("n2")])) == []


@pytest.mark.long
@pytest.mark.parametrize("command", CLUSTER_COMMANDS)
@pytest.mark.parametrize("make", [everything, refused, lambda n: node("n3", n)], ids=["fits", "refused", "node"])
def test_work_grows_as_the_lists_of_a_cluster_do(tmp_path: Path, command: str, make: Makes) -> None:
    assert growing(tmp_path, command, FEW, lambda n: (SMALL, [node("n1"), node("n2"), make(n)])) == []


@pytest.mark.long
@pytest.mark.parametrize(
    "command", [f"{name} {{pod}} --snapshot {{cluster}} --assume-empty" for name in ("explain", "place")]
)
def test_work_grows_as_the_lists_within_lists_of_a_pod_do(tmp_path: Path, command: str) -> None:
    assert growing(tmp_path, command, FEW, lambda n: (nested(n), [node("n1"), node("n2")])) == []


# Lists that the API bounds, or of which nothing is read but how they are identified.
BOUNDED = {
    "restartPolicyRules": "20 by the API's validation",
    "initContainers.ports": "as those of containers",
    "initContainers.resources.claims": "as those of containers",
    "spec.resources.claims": "none may be there",
    "matchFields.values": "one by the API's validation",
    "accessModes": "four that there are",
    "metadata.ownerReferences": "as those of pods",
    "rbd.monitors": "one disk at a time",
    "metadata.annotations": "as those of pods",
}


def list_paths(type_: inspect.Type, path: str, around: frozenset[type], found: set[str]) -> None:
    """The paths to all lists and maps of a Struct."""
    match type_:
        case inspect.Metadata():
            list_paths(type_.type, path, around, found)
        case inspect.UnionType():
            for each in type_.types:
                list_paths(each, path, around, found)
        case inspect.StructType() if type_.cls not in around:
            for field in type_.fields:
                list_paths(field.type, f"{path}.{field.encode_name}", around | {type_.cls}, found)
        case inspect.ListType():
            found.add(path)
            list_paths(type_.item_type, path, around, found)
        case inspect.DictType():
            found.add(path)


def long_lists(value: Any, path: str, found: set[str]) -> None:
    """The paths to what has as many items as it was asked to have."""
    if isinstance(value, list | dict) and len(value) >= MANY:
        found.add(path)
    for key, item in value.items() if isinstance(value, dict) else ((None, item) for item in value):
        if isinstance(item, list | dict):
            long_lists(item, path if key is None else f"{path}.{key}", found)


@pytest.mark.parametrize(
    ("struct", "made"), [(core.Pod, [everything, refused, nested]), (core.Node, [lambda n: node("n", n)])]
)
def test_every_list_of_a_pod_and_a_node_is_made_longer(struct: type, made: Sequence[Makes]) -> None:
    known: set[str] = set()
    grown: set[str] = set()
    list_paths(inspect.type_info(struct), "", frozenset(), known)
    for make in made:
        long_lists(make(MANY), "", grown)
    assert {path for path in known - grown if not path.endswith(tuple(BOUNDED))} == set()
