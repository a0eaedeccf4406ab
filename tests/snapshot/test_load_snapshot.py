"""Loading clusters: own snapshots, what kubectl prints, manifests, and all of them together."""

from __future__ import annotations

import gc
import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kwhatif.api.core import Namespace, Node, Pod
from kwhatif.api.quantity import Quantity
from kwhatif.api.workloads_and_storage import PodDisruptionBudget, ReplicaSet
from kwhatif.errors import InputError
from kwhatif.snapshot.format.model import Snapshot, write_snapshot
from kwhatif.snapshot.load import decode_objects, load_snapshot

POD_E = "apiVersion: v1\nkind: Pod\nmetadata: {name: e}\n"


def obj(kind: str, name: str, namespace: str | None = None, api: str = "v1", **fields: Any) -> dict[str, Any]:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **fields}


def load(directory: Path, **contents: Any) -> Snapshot:
    """Load files given as ``name_ext=content``; content that is no text is written as JSON."""
    for key, content in contents.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (directory / key.replace("_", ".")).write_text(text)
    return load_snapshot([str(directory)])


def names(snapshot: Snapshot) -> dict[str, list[str]]:
    return {
        kind: [f"{o.namespace}/{o.name}" for o in snapshot.objects if type(o).__name__ == kind]
        for kind in sorted(snapshot.objects.known_kinds())
    }


def test_a_list_as_kubectl_prints_it_gives_its_objects_by_kind_in_order(tmp_path: Path) -> None:
    items = [obj("Pod", "b", "x"), obj("Node", "n2"), obj("Pod", "a", "x"), obj("Node", "n1")]
    snapshot = load(tmp_path, all_json={"apiVersion": "v1", "kind": "List", "items": items, "metadata": {}})
    assert names(snapshot) == {"Node": ["/n2", "/n1"], "Pod": ["x/b", "x/a"]}
    assert snapshot.source == str(tmp_path)
    assert (snapshot.taken_at, snapshot.kubernetes_version) == (None, None)


def listed(*namespaces: str, kind: str = "List", **metadata: str) -> Any:
    items = [obj("Pod", f"p{number}", namespace) for number, namespace in enumerate(namespaces)]
    return {"apiVersion": "v1", "kind": kind, "items": items, "metadata": metadata}


LISTS: dict[str, tuple[list[Any], str]] = {
    "a list of pods in one namespace is what kubectl prints of it": (
        [listed("shop", "shop", resourceVersion="")],
        "the list holds those of namespace shop alone",
    ),
    "so are several lists of one namespace each": (
        [listed("shop"), listed("web")],
        "the lists hold those of namespace shop, web alone",
    ),
    "a list of several namespaces is of all": ([listed("shop", "kube-system")], ""),
    "a new cluster has pods of its own alone": ([listed("kube-system")], ""),
    "where a list was read is told by its link, be it ever so empty": (
        [listed(kind="PodList", selfLink="/api/v1/namespaces/shop/pods")],
        "the list holds those of namespace shop alone",
    ),
    "a link to all pods counts for more than where they happen to be": (
        [listed("shop", kind="PodList", selfLink="/api/v1/pods")],
        "",
    ),
    "a list that goes on is not whole": (
        [{**listed("shop", "web", kind="PodList"), "metadata": {"continue": "abc"}}],
        "the list in FILE was cut off, more follow",
    ),
    "pods that stand for themselves were written by somebody": ([obj("Pod", "a", "shop"), obj("Pod", "b", "shop")], ""),
}


@pytest.mark.parametrize(("documents", "why"), LISTS.values(), ids=list(LISTS))
def test_lists_of_some_pods_are_known(tmp_path: Path, documents: list[Any], why: str) -> None:
    path = tmp_path / "all.json"
    path.write_text("\n".join(map(json.dumps, documents)))
    assert load_snapshot([str(path)]).unreadable.get("Pod", "") == why.replace("FILE", str(path))


@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_items_of_a_typed_list_need_no_kind_of_their_own(tmp_path: Path, suffix: str) -> None:
    lists = [
        {"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {"name": "p"}}, obj("Node", "n")]},
        {"apiVersion": "apps/v1", "kind": "ReplicaSetList", "items": [{"metadata": {"name": "r"}}]},
        {"apiVersion": "v1", "kind": "NodeList", "items": None},
        {"apiVersion": "v1", "kind": "ServiceList"},
    ]
    text = ("\n" if suffix == "json" else "\n---\n").join(map(json.dumps, lists))
    (tmp_path / f"lists.{suffix}").write_text(text)
    snapshot = load_snapshot([str(tmp_path / f"lists.{suffix}")])
    assert names(snapshot) == {"Node": ["/n"], "Pod": ["default/p"], "ReplicaSet": ["default/r"], "Service": []}
    (pod,) = snapshot.objects.list_all(Pod)
    (replica_set,) = snapshot.objects.list_all(ReplicaSet)
    assert (pod.api_version, pod.kind) == ("v1", "Pod")
    assert (replica_set.api_version, replica_set.kind) == ("apps/v1", "ReplicaSet")


def test_lists_may_hold_lists(tmp_path: Path) -> None:
    inner = {"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {"name": "p"}}]}
    outer = {"apiVersion": "v1", "kind": "List", "items": [inner, {"apiVersion": "v1", "kind": "List"}]}
    assert names(load(tmp_path, all_json=outer)) == {"Pod": ["default/p"]}


def test_json_and_yaml_documents_follow_each_other_in_one_file(tmp_path: Path) -> None:
    pods = [json.dumps(obj("Pod", name), indent=1) for name in "abcd"]
    snapshot = load(
        tmp_path,
        stream_json=f"\n {pods[0]}{pods[1]}\n",
        mixed_yaml=f"{pods[2]}\n---\n# none\n---\n{pods[3]}\n---\n{POD_E}",
        flow_yml="{apiVersion: v1, kind: Pod, metadata: {name: f}}",
    )
    assert sorted(names(snapshot)["Pod"]) == [f"default/{name}" for name in "abcdef"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("pods.json", "line 1, column 2: not valid JSON"),
        ("pods", "line 1, column 2: not valid JSON"),
        ("pods.yaml", "document 1: line 2, column 1: not valid YAML"),
    ],
)
def test_what_begins_with_a_brace_is_blamed_by_the_rules_its_name_promises(
    tmp_path: Path, name: str, message: str
) -> None:
    (tmp_path / name).write_text("{kind: Pod\n")
    with pytest.raises(InputError, match=message):
        load_snapshot([str(tmp_path / name)])


def test_a_group_is_told_by_apiversion_whatever_the_version(tmp_path: Path) -> None:
    snapshot = load(
        tmp_path,
        a_json=obj("PodDisruptionBudget", "old", api="policy/v1beta1"),
        b_json=obj("PodDisruptionBudget", "new", api="policy/v1"),
        c_json=obj("PodDisruptionBudget", "other", api="example.com/v1"),
        d_json=obj("Pod", "pod", api="example.com/v1"),
    )
    assert [budget.name for budget in snapshot.objects.list_all(PodDisruptionBudget)] == ["old", "new"]
    assert snapshot.ignored == {"PodDisruptionBudget": 1, "Pod": 1}


def test_kinds_that_scheduling_does_not_read_are_counted(tmp_path: Path) -> None:
    items = [obj("ConfigMap", "a"), obj("Pod", "p"), obj("ConfigMap", "a"), obj("Event", "e")]
    snapshot = load(tmp_path, all_json={"apiVersion": "v1", "kind": "List", "items": items})
    assert snapshot.ignored == {"ConfigMap": 2, "Event": 1}
    assert len(snapshot.objects) == 1


def test_namespaced_objects_without_namespace_get_the_one_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(obj("Pod", "a")) + json.dumps(obj("Pod", "b", "own")))
    (tmp_path / "n.json").write_text(json.dumps(obj("Node", "n")) + json.dumps(obj("Namespace", "s")))
    snapshot = load_snapshot([str(tmp_path)], namespace="team")
    assert names(snapshot) == {"Namespace": ["/s"], "Node": ["/n"], "Pod": ["team/a", "own/b"]}


def test_objects_of_one_name_differ_by_kind_or_namespace(tmp_path: Path) -> None:
    same = [
        obj("Pod", "x"),
        obj("Pod", "x", "other"),
        obj("Service", "x"),
        obj("Node", "x"),
        obj("Namespace", "x"),
    ]
    assert len(load(tmp_path, all_json={"apiVersion": "v1", "kind": "List", "items": same}).objects) == 5


def node(pods: int, **more: Any) -> Any:
    return obj("Node", "one") | {"status": {"allocatable": {"pods": pods}}} | more


@pytest.mark.parametrize(
    ("files", "said"),
    [
        pytest.param({"a_json": node(2), "b_json": node(2)}, "", id="alike in two files"),
        pytest.param(
            {"a_json": node(1), "b_json": node(2)}, "{}/b.json $ counts, not {}/a.json $", id="not alike in two files"
        ),
        pytest.param(
            {"a_json": {"apiVersion": "v1", "kind": "List", "items": [node(1), node(2)]}},
            "{}/a.json $.items[1] counts, not {}/a.json $.items[0]",
            id="not alike in a list",
        ),
        pytest.param(
            {"a_json": {"apiVersion": "kwhatif.dev/v1", "kind": "ClusterSnapshot", "objects": {"Node": [node(1)] * 2}}},
            "",
            id="alike in a snapshot",
        ),
        pytest.param(
            {
                "a_json": {"apiVersion": "kwhatif.dev/v1", "kind": "ClusterSnapshot", "objects": {"Node": [node(1)]}},
                "b_json": node(2),
            },
            "{}/b.json $ counts, not {}/a.json $.objects.Node[0]",
            id="not alike in a snapshot and beside it",
        ),
    ],
)
def test_an_object_that_is_there_twice_is_one_and_the_last_counts(
    files: dict[str, Any], said: str, tmp_path: Path
) -> None:
    snapshot = load(tmp_path, **files)
    (found,) = snapshot.objects.list_all(Node)
    assert found.status.allocatable is not None
    assert str(found.status.allocatable["pods"]) == ("2" if "b_json" in files or "items" in files["a_json"] else "1")
    place = said.format(tmp_path, tmp_path)
    assert snapshot.inconsistencies == ([f'Node "one" is there twice, and not alike: {place}'] if said else [])


def test_own_snapshots_and_manifests_are_merged(tmp_path: Path) -> None:
    own = {"apiVersion": "kwhatif.dev/v1", "kind": "ClusterSnapshot"}
    first = {
        **own,
        "metadata": {
            "source": "prod",
            "takenAt": "2026-03-01T11:29:02.123456789Z",
            "kubernetesVersion": "v1.36.0",
            "unreadable": {"Secret": "forbidden"},
        },
        "objects": {"Node": [obj("Node", "n")], "Gadget": [{}, {}], "Pod": None},
    }
    second = {
        **own,
        "metadata": {"source": "test", "kubernetesVersion": "v1.29.1", "unreadable": {"Event": "gone"}},
        "objects": {"Pod": [{"metadata": {"name": "p"}}], "Gadget": [{}]},
    }
    snapshot = load(tmp_path, a_json=first, b_yaml=json.dumps(second), c_json=obj("Deployment", "d", api="apps/v1"))
    assert names(snapshot) == {"Node": ["/n"], "Pod": ["default/p"]}
    assert (snapshot.source, snapshot.kubernetes_version) == ("prod, test", "v1.36.0")
    assert snapshot.taken_at == "2026-03-01T11:29:02.123456789Z"
    assert snapshot.unreadable == {"Secret": "forbidden", "Event": "gone"}
    assert snapshot.ignored == {"Gadget": 3}
    assert {kind: len(objects) for kind, objects in snapshot.whole.items()} == {"Deployment": 1}


def test_what_controllers_and_quotas_are_about_is_kept_as_it_is(tmp_path: Path) -> None:
    replicas = obj("ReplicaSet", "r", api="apps/v1") | {"spec": {"template": {"metadata": {"annotations": {"a": "b"}}}}}
    listed = [replicas, obj("Deployment", "d", api="apps/v1"), obj("RuntimeClass", "kata", api="node.k8s.io/v1")]
    first = load(tmp_path, a_json={"apiVersion": "v1", "kind": "List", "items": listed})
    assert first.whole["ReplicaSet"][0]["spec"] == replicas["spec"]
    assert first.whole["Deployment"][0]["metadata"]["namespace"] == "default"
    assert "namespace" not in first.whole["RuntimeClass"][0]["metadata"]
    assert names(first)["ReplicaSet"] == ["default/r"]
    written = str(tmp_path / "own.json")
    write_snapshot(first, written)
    assert load_snapshot([written]).whole == first.whole


def test_what_is_kept_whole_is_one_as_well(tmp_path: Path) -> None:
    replicas = obj("ReplicaSet", "r", api="apps/v1")
    again = replicas | {"spec": {"replicas": 2}}
    snapshot = load(tmp_path, a_json=replicas, b_json=replicas, c_json=again)
    assert [whole["spec"] for whole in snapshot.whole["ReplicaSet"]] == [{"replicas": 2}]
    assert names(snapshot) == {"ReplicaSet": ["default/r"]}
    (said,) = snapshot.inconsistencies
    assert said.startswith('ReplicaSet "default/r" is there twice, and not alike: ')


def test_no_paths_give_an_empty_snapshot_and_an_empty_list_is_a_cluster(tmp_path: Path) -> None:
    assert len(load_snapshot([]).objects) == 0
    assert len(load(tmp_path, all_json={"apiVersion": "v1", "kind": "List", "items": []}).objects) == 0


def test_an_empty_file_beside_others_is_passed_over(tmp_path: Path) -> None:
    assert names(load(tmp_path, a_yaml="# nothing yet", b_json=obj("Pod", "p"))) == {"Pod": ["default/p"]}


def test_null_fields_do_not_keep_an_object_from_loading(tmp_path: Path) -> None:
    fields: Any = {"spec": {"containers": [{"name": "c", "resources": None, "ports": None}], "volumes": None}}
    (pod,) = load(tmp_path, a_json=obj("Pod", "p", status=None, **fields)).objects.list_all(Pod)
    assert pod.spec.containers is not None
    assert pod.spec.containers[0].resources is None


def test_quantities_in_yaml_may_be_numbers(tmp_path: Path) -> None:
    amounts = "{cpu: 1.5, pods: 110, memory: 1e9}"
    text = f"apiVersion: v1\nkind: Node\nmetadata: {{name: one}}\nstatus: {{allocatable: {amounts}}}\n"
    (node,) = load(tmp_path, a_yaml=text).objects.list_all(Node)
    assert node.status.allocatable == {
        "cpu": Quantity.parse("1500m"),
        "pods": Quantity.parse("110"),
        "memory": Quantity.parse("1G"),
    }


def test_loading_leaves_garbage_collection_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{")
    for enabled in (True, False):
        (gc.enable if enabled else gc.disable)()
        try:
            with pytest.raises(InputError):
                load_snapshot([str(tmp_path)])
            assert gc.isenabled() is enabled
        finally:
            gc.enable()


# --- objects in memory


def test_recorded_objects_decode_from_raw_json_and_from_dicts_alike() -> None:
    values = [obj("Node", "n"), obj("Pod", "p"), obj("Deployment", "d", api="apps/v1"), obj("Namespace", "s")]
    raws = [msgspec.Raw(json.dumps(value).encode()) for value in values]
    for objects in (decode_objects(values), decode_objects(raws)):
        assert sorted(objects.known_kinds()) == ["Namespace", "Node", "Pod"]
        assert [o.name for kind in (Node, Pod, Namespace) for o in objects.list_all(kind)] == ["n", "p", "s"]
        assert objects.list_all(Pod)[0].namespace == ""


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"kind": "Pod"}, '$[1].apiVersion: expected a string such as "v1", found none'),
        ("x", '$[1]: expected an object, found "x"'),
        (obj("Pod", "p", spec={"priority": "x"}), '$[1].spec.priority: expected an integer, found "x"'),
        (obj("Pod", ""), "$[1].metadata.name: expected a name, found none"),
    ],
)
def test_a_recorded_object_that_is_broken_is_named_by_its_index(value: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        decode_objects([obj("Node", "n"), value])
    assert str(caught.value) == message


def test_a_packed_list_loads_like_a_plain_one(tmp_path: Path) -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "PodList", "items": [obj("Pod", "p")]})
    (tmp_path / "pods.json.gz").write_bytes(gzip.compress(text.encode()))
    assert names(load_snapshot([str(tmp_path / "pods.json.gz")])) == {"Pod": ["default/p"]}
