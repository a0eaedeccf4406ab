"""Other tools' dumps: one made-up cluster as each of them has it, told apart by their marks alone."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kwhatif.api.core import Namespace, Node, Pod, ReplicationController
from kwhatif.api.kinds import KIND_TABLE
from kwhatif.api.quantity import plain_quantity
from kwhatif.api.workloads_and_storage import PersistentVolume, PodDisruptionBudget, PriorityClass, StorageClass
from kwhatif.errors import InputError
from kwhatif.snapshot.foreign.directory_dump import RESOURCES
from kwhatif.snapshot.foreign.layouts import tree_of
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.load import load_manifests, load_snapshot
from kwhatif.snapshot.validation import read_for_validation

DATA = Path(__file__).parents[1] / "data" / "foreign"
IMAGE = "quay-io-openshift-release-dev-ocp-v4-0-art-dev-sha256-1a2b3c"

CLUSTER_INFO = {"Node", "Pod", "ReplicaSet", "Service", "DaemonSet", "Deployment"}
STORAGE = {"PersistentVolume", "PersistentVolumeClaim", "StorageClass"}
ALL = CLUSTER_INFO | STORAGE | {"Namespace", "PodDisruptionBudget", "PriorityClass", "StatefulSet"}


def load(name: str | Path) -> Snapshot:
    return load_snapshot([str(DATA / name)])


def objects(snapshot: Snapshot) -> dict[str, dict[str, Any]]:
    """Each object by kind and name: what is decoded, or where it is kept whole its selector alone.

    Some tools leave out versions, or fill in fields that are empty.
    """
    found: dict[str, dict[str, Any]] = {}
    for obj in snapshot.objects:
        plain = msgspec.to_builtins(obj, enc_hook=plain_quantity)
        found.setdefault(type(obj).__name__, {})[f"{obj.namespace}/{obj.name}"] = plain
    for kind, listed in snapshot.whole.items():
        for plain in listed:
            name = f"{plain['metadata']['namespace']}/{plain['metadata']['name']}"
            found.setdefault(kind, {})[name] = {"selector": plain["spec"]["selector"]}
    for plain in (plain for by_name in found.values() for plain in by_name.values()):
        plain.pop("apiVersion", None)
        plain.pop("kind", None)
        (plain.get("metadata") or {}).pop("resourceVersion", None)
        (plain.get("status") or {}).pop("nodeInfo", None)  # not every format keeps it
    return found


def copied(tmp_path: Path, name: str) -> Path:
    """A copy of a sample that may be changed."""
    target = tmp_path / name
    (shutil.copytree if (DATA / name).is_dir() else shutil.copyfile)(DATA / name, target)
    return target


def problem(path: Path) -> str:
    """What is wrong with a dump, in one line, said of a file in it."""
    with pytest.raises(InputError) as caught:
        load_snapshot([str(path)])
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value).removeprefix(str(path)).removeprefix("/")


@pytest.mark.parametrize(
    ("name", "kinds", "layout"),
    [
        ("get.json", ALL, ""),
        ("get.yaml", ALL, ""),
        ("raw.json", {"Node", "Pod", "ReplicaSet"}, ""),
        ("cluster-info", CLUSTER_INFO, "kubectl cluster-info dump"),
        ("cluster-info.txt", CLUSTER_INFO, "kubectl cluster-info dump"),
        ("cluster-info-yaml.txt", CLUSTER_INFO, "kubectl cluster-info dump"),
        ("cluster-info-1.9.txt", CLUSTER_INFO, "kubectl cluster-info dump"),
        ("insights", {"Node", "Pod", "PersistentVolume", "StorageClass", "PodDisruptionBudget"}, "Insights"),
        ("kwok.yaml", ALL - {"PodDisruptionBudget", "StorageClass"}, ""),
        ("must-gather", ALL - {"PriorityClass"}, "must-gather"),
        (f"must-gather/{IMAGE}", ALL - {"PriorityClass"}, "must-gather"),
        ("simulator.json", STORAGE | {"Namespace", "Node", "Pod", "PriorityClass"}, "kube-scheduler-simulator"),
        ("simulator.yml", STORAGE | {"Namespace", "Node", "Pod", "PriorityClass"}, "kube-scheduler-simulator"),
        ("sonobuoy", ALL, "sonobuoy"),
        ("support-bundle", ALL, "troubleshoot.sh"),
        ("support-bundle/support-bundle-2026-11-20T06_03_11", ALL, "troubleshoot.sh"),
    ],
)
def test_a_dump_gives_the_objects_of_the_cluster_and_says_whose_it_is(name: str, kinds: set[str], layout: str) -> None:
    snapshot = load(name)
    found, expected = objects(snapshot), objects(load("get.json"))
    assert set(found) == kinds
    partial = {
        ("must-gather", "Namespace"): {"/default", "/kube-system", "/shop"},
        ("kube-scheduler-simulator", "Namespace"): {"/shop"},
        ("kube-scheduler-simulator", "PriorityClass"): {"/important"},
    }
    for kind in kinds:
        there = partial.get((layout, kind), set(expected[kind]))
        assert found[kind] == {name: expected[kind][name] for name in there}, kind
    assert snapshot.source == f"{DATA / name}" + (f" ({layout})" if layout else "")


def test_every_sample_is_known_here() -> None:
    here = Path(__file__).read_text()
    assert all(f'"{path.name}"' in here for path in DATA.iterdir())


# --- what the formats say besides


def test_what_is_not_read_of_a_directory_is_counted_by_what_it_is() -> None:
    assert load("cluster-info").ignored == {"events file": 5, "log file": 5}
    assert load("must-gather").ignored == {"events file": 1, "log file": 6, "other file": 7, "secrets file": 1}
    assert load("sonobuoy").ignored == {"events file": 1, "log file": 1, "other file": 2}
    assert load("support-bundle").ignored == {"events file": 1, "log file": 1, "other file": 4}
    assert load("insights").ignored == {"log file": 1, "other file": 3}


def test_what_is_not_read_of_a_file_is_counted_by_its_kind() -> None:
    assert load("cluster-info.txt").ignored == {"Event": 1, "log": 5}
    assert load("cluster-info-1.9.txt").ignored == {"log": 5}
    assert load("kwok.yaml").ignored == {"ConfigMap": 1, "Secret": 1, "ResourcePatch": 1}


def test_secrets_and_events_of_a_tree_are_not_even_opened(tmp_path: Path) -> None:
    root = copied(tmp_path, "must-gather")
    for name in ("secrets", "events", "configmaps"):
        (root / IMAGE / "namespaces" / "shop" / "core" / f"{name}.yaml").write_bytes(b"\xff: {")
    assert len(load_snapshot([str(root)]).objects.list_all(Pod)) == 5


def test_the_time_of_a_must_gather_is_when_it_began(tmp_path: Path) -> None:
    assert load("must-gather").taken_at == "2026-11-20T07:03:11+01:00"
    root = copied(tmp_path, "must-gather")
    (root / "timestamp").unlink()
    assert load_snapshot([str(root)]).taken_at == "2026-11-20T07:03:11+01:00"
    (root / IMAGE / "timestamp").write_text("yesterday\n")
    assert load_snapshot([str(root)]).taken_at is None


def test_nobody_else_says_when_a_dump_was_taken_so_its_age_stays_unknown() -> None:
    others = [path.name for path in DATA.iterdir() if path.name != "must-gather"]
    assert {load(name).taken_at for name in others} == {None}


def test_sonobuoy_says_which_version_the_cluster_runs(tmp_path: Path) -> None:
    assert load("sonobuoy").kubernetes_version == "v1.36.1"
    root = copied(tmp_path, "sonobuoy")
    for content in ("{", "[]", "{}", '{"gitVersion": 1}'):
        (root / "serverversion.json").write_text(content)
        assert load_snapshot([str(root)]).kubernetes_version is None


def test_the_simulators_configuration_is_the_schedulers() -> None:
    for name in ("simulator.json", "simulator.yml"):
        scheduler = load(name).scheduler
        assert scheduler is not None
        assert scheduler.configuration is not None
        assert scheduler.configuration["apiVersion"] == "kubescheduler.config.k8s.io/v1"
        assert scheduler.configuration["kind"] == "KubeSchedulerConfiguration"
        strategy = scheduler.configuration["profiles"][0]["pluginConfig"][0]["args"]["scoringStrategy"]
        assert strategy["type"] == "MostAllocated"
        assert scheduler.source == f"{DATA / name}: schedulerConfig"


def test_what_an_export_of_the_simulator_leaves_out_is_said() -> None:
    assert load("simulator.json").unreadable == {
        "Namespace": "the export leaves out default and kube-*",
        "PriorityClass": "the export leaves out system-*",
    }


def test_lists_that_the_simulator_could_not_read_are_missing_and_empty_ones_are_not(tmp_path: Path) -> None:
    export = json.loads((DATA / "simulator.json").read_text())
    export |= {"pvs": None, "pvcs": [], "storageClasses": [], "schedulerConfig": None, "somethingNew": [1, 2]}
    (tmp_path / "export.json").write_text(json.dumps(export))
    snapshot = load_snapshot([str(tmp_path / "export.json")])
    assert {"PersistentVolumeClaim", "StorageClass"} <= snapshot.objects.known_kinds()
    assert "PersistentVolume" not in snapshot.objects.known_kinds()
    assert snapshot.scheduler is None
    assert snapshot.ignored == {"somethingNew": 1}


# --- what is missing


def test_an_empty_list_says_that_there_is_nothing_of_its_kind() -> None:
    snapshot = load("cluster-info")
    assert snapshot.objects.list_all(ReplicationController) == []
    assert "ReplicationController" in snapshot.objects.known_kinds()
    assert snapshot.whole["ReplicationController"] == []


def test_a_cluster_info_dump_has_no_volumes_budgets_or_classes_and_does_not_claim_to() -> None:
    for name in ("cluster-info", "cluster-info.txt"):
        covered = load(name).objects.known_kinds()
        for kind in (PersistentVolume, PodDisruptionBudget, PriorityClass, StorageClass, Namespace):
            assert kind.__name__ not in covered


def test_a_dump_of_some_namespaces_says_that_other_pods_are_missing(tmp_path: Path) -> None:
    two = load("cluster-info-two-namespaces")
    assert two.unreadable == {"Pod": "the dump holds those of namespace default, kube-system alone"}
    assert [pod.key for pod in two.objects.list_all(Pod)] == ["kube-system/proxy-8xkz2"]
    gathered = "the dump holds those of namespace default, kube-system, shop alone"
    assert load("must-gather").unreadable == {"Pod": gathered}
    for name in ("cluster-info", "cluster-info.txt", "cluster-info-1.9.txt", "sonobuoy", "support-bundle"):
        assert load(name).unreadable == {}
    assert load("cluster-info-yaml.txt").unreadable == {}
    root = copied(tmp_path, "cluster-info")
    shutil.rmtree(root / "kube-node-lease")
    (said,) = load_snapshot([str(root)]).unreadable.values()
    assert said == "the dump holds those of namespace default, kube-public, kube-system, shop alone"
    for i in range(3):
        (root / f"team-{i}").mkdir()
        shutil.copy(root / "default" / "pods.json", root / f"team-{i}")
    (said,) = load_snapshot([str(root)]).unreadable.values()
    assert said == "the dump holds those of namespace default, kube-public, kube-system, shop and 3 more alone"


def test_a_dump_on_standard_output_of_two_namespaces_says_so_by_the_number_of_its_lists(tmp_path: Path) -> None:
    text = (DATA / "cluster-info.txt").read_bytes()
    lists = text.split(b"}\n{")
    (tmp_path / "dump").write_bytes(b"}\n{".join(lists[:1] + lists[22:36]))
    snapshot = load_snapshot([str(tmp_path / "dump")])
    assert snapshot.unreadable == {"Pod": "the dump holds those of 2 namespaces alone"}


def test_an_archive_of_insights_says_of_which_kinds_it_has_but_a_few() -> None:
    assert list(load("insights").unreadable) == ["Pod", "PodDisruptionBudget", "PersistentVolume"]


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        ('["nodes is forbidden"]', {"Node": "the bundle lacks some or all: nodes-errors.json says why"}),
        ("[]", {}),
        ("null", {}),
        ("{", {}),
    ],
)
def test_a_support_bundle_says_what_it_could_not_collect(tmp_path: Path, errors: str, said: dict[str, str]) -> None:
    root = copied(tmp_path, "support-bundle")
    (file,) = root.rglob("nodes-errors.json")
    file.write_text(errors)
    assert load_snapshot([str(root)]).unreadable == said


def test_a_support_bundle_of_one_namespace_says_so(tmp_path: Path) -> None:
    root = copied(tmp_path, "support-bundle")
    for file in root.rglob("cluster-resources/pods/*.json"):
        if file.name != "shop.json":
            file.unlink()
    assert load_snapshot([str(root)]).unreadable == {"Pod": "the dump holds those of namespace shop alone"}


# --- as they were written years ago


def as_arrays(root: Path, *, types: bool, name: Callable[[Path], str]) -> None:
    """Lists become arrays of their objects, with or without apiVersion and kind."""
    for file in list(root.rglob("*.json")):
        listed = json.loads(file.read_text())
        if isinstance(listed, dict) and "items" in listed:
            head = {"apiVersion": listed["apiVersion"], "kind": listed["kind"].removesuffix("List")} if types else {}
            items = [{key: item[key] for key in item if key not in ("apiVersion", "kind")} for item in listed["items"]]
            file.unlink()
            (file.parent / name(file)).write_text(json.dumps([head | item for item in items]))


def of_the_kind(file: Path) -> str:
    """``StorageClasses.json`` for ``storage.k8s.io_v1_storageclasses.json``."""
    (kind,) = (kind for kind in KIND_TABLE if kind.plural == file.stem.rpartition("_")[2] and not kind.momentary)
    return f"{kind.name}{kind.plural[len(kind.name) :]}.json"


@pytest.mark.parametrize(
    ("sample", "types", "name"),
    [
        pytest.param("sonobuoy", True, lambda file: file.name, id="Sonobuoy 0.15 to 0.53"),
        pytest.param("sonobuoy", False, of_the_kind, id="Sonobuoy up to 0.14"),
        pytest.param("support-bundle", False, lambda file: file.name, id="troubleshoot.sh before types were written"),
    ],
)
def test_files_that_are_arrays_hold_the_same_objects(
    tmp_path: Path, sample: str, types: bool, name: Callable[[Path], str]
) -> None:
    root = copied(tmp_path, sample)
    as_arrays(root, types=types, name=name)
    for found in (load_snapshot([str(root)]), read_for_validation([str(root)]).snapshot):
        found.whole = load(sample).whole
        assert objects(found) == objects(load(sample))
    assert {kind: len(listed) for kind, listed in load_snapshot([str(root)]).whole.items()} == {
        kind: len(listed) for kind, listed in load(sample).whole.items()
    }
    assert read_for_validation([str(root)]).problems == []


def test_a_mistake_in_an_array_has_its_place(tmp_path: Path) -> None:
    root = copied(tmp_path, "sonobuoy")
    (root / "resources" / "cluster" / "core_v1_nodes.json").write_text('[{"metadata": {"name": "a"}}, 7]')
    assert problem(root) == "resources/cluster/core_v1_nodes.json: $[1]: expected an object, found the number 7"


def test_a_file_of_lists_as_go_names_fields_can_be_yaml(tmp_path: Path) -> None:
    text = "selfLink: /api/v1/namespaces/shop/pods\nItems:\n- name: a\n  namespace: shop\n  Spec: {HostNetwork: false, "
    text += "NodeSelector: {Disk: ssd}, SecurityContext: {HostNetwork: true}, Containers: [{Name: main}]}\n"
    (tmp_path / "pods").write_text(text)
    (pod,) = load_snapshot([str(tmp_path / "pods")]).objects.list_all(Pod)
    assert (pod.namespace, pod.name, pod.spec.node_selector, pod.spec.host_network) == (
        "shop",
        "a",
        {"Disk": "ssd"},
        True,
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"selfLink": "/api/v1/gizmos", "Items": []}', '$.apiVersion: expected a string such as "v1", found none'),
        ('{"Items": []}', '$.apiVersion: expected a string such as "v1", found none'),
        (
            '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}',
            "holds nothing that is read here, only 1 ConfigMap",
        ),
    ],
)
def test_a_file_in_which_nothing_is_recognised_is_an_error(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "dump.json").write_text(text)
    assert problem(tmp_path / "dump.json") == f": {said}"


def test_a_dump_in_which_nothing_is_recognised_is_an_error(tmp_path: Path) -> None:
    root = copied(tmp_path, "cluster-info")
    for file in root.rglob("*.json"):
        file.write_text('{"message": "Unauthorized"}')
    assert problem(root).startswith(
        " (kubectl cluster-info dump): holds nothing that is read here, only 5 events file, "
    )


# --- one object, several files


def test_an_object_that_is_in_a_tree_twice_is_taken_once_from_the_list(tmp_path: Path) -> None:
    root = copied(tmp_path, "must-gather")
    alone = root / IMAGE / "namespaces" / "shop" / "pods" / "db-0" / "db-0.yaml"
    alone.write_text(alone.read_text().replace("nodeName: cy", "nodeName: ada"))
    (pod,) = (pod for pod in load_snapshot([str(root)]).objects.list_all(Pod) if pod.name == "db-0")
    assert pod.spec.node_name == "cy"


def test_a_pod_that_is_only_there_alone_counts_too(tmp_path: Path) -> None:
    root = copied(tmp_path, "must-gather")
    (root / IMAGE / "namespaces" / "shop" / "core" / "pods.yaml").unlink()
    assert len(load_snapshot([str(root)]).objects.list_all(Pod)) == 5


def test_a_must_gather_of_two_images_or_nodes_is_one_cluster(tmp_path: Path) -> None:
    root = copied(tmp_path, "must-gather")
    shutil.copytree(root / IMAGE, root / "another-image")
    assert objects(load_snapshot([str(root)])) == objects(load("must-gather"))
    for name in ("ada", "bob"):
        (root / name).mkdir()
    (root / IMAGE).rename(root / "ada" / IMAGE)
    (root / "another-image").rename(root / "bob" / IMAGE)
    assert objects(load_snapshot([str(root)])) == objects(load("must-gather"))


def test_the_same_object_in_a_dump_and_beside_it_is_one() -> None:
    together = load_snapshot([str(DATA / name) for name in ("sonobuoy", "get.yaml")])
    assert objects(together) == objects(load("get.json"))
    assert together.inconsistencies == []


def test_dumps_and_files_add_up(tmp_path: Path) -> None:
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b", "namespace": "shop"}}
    (tmp_path / "budget.json").write_text(json.dumps(budget))
    snapshot = load_snapshot([str(DATA / "cluster-info"), str(tmp_path / "budget.json")])
    assert (len(snapshot.objects.list_all(Node)), len(snapshot.objects.list_all(PodDisruptionBudget))) == (3, 1)
    assert snapshot.source == f"{DATA / 'cluster-info'} (kubectl cluster-info dump), {tmp_path / 'budget.json'}"


# --- files that are not as they should be


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize(
    ("name", "file", "damage", "expected"),
    [
        (
            "cluster-info",
            "shop/pods.json",
            cut,
            "shop/pods.json: line 111, column 1: not valid JSON: the text ends",
        ),
        ("cluster-info", "shop/pods.json", empty, "shop/pods.json: empty: the dump was not written to its end"),
        ("cluster-info", "nodes.json", empty, "nodes.json: empty: the dump was not written to its end"),
        ("sonobuoy", "resources/cluster/core_v1_nodes.json", empty, "resources/cluster/core_v1_nodes.json: empty: "),
        ("must-gather", f"{IMAGE}/namespaces/shop/apps/replicasets.yaml", empty, f"{IMAGE}/namespaces/shop/apps/repl"),
    ],
)
def test_a_damaged_file_of_a_tree_is_named(
    tmp_path: Path, name: str, file: str, damage: Callable[[Path], None], expected: str
) -> None:
    root = copied(tmp_path, name)
    damage(root / file)
    assert problem(root).startswith(expected)


def test_a_misfit_in_a_tree_is_named_with_its_place(tmp_path: Path) -> None:
    root = copied(tmp_path, "must-gather")
    file = root / IMAGE / "namespaces" / "shop" / "core" / "pods.yaml"
    file.write_text(file.read_text().replace("priority: 1000", "priority: high", 1))
    where = f"{IMAGE}/namespaces/shop/core/pods.yaml document 1 (line 2): $.items[2].spec.priority"
    assert problem(root) == f'{where}: expected an integer, found "high"'


def test_a_document_in_a_tree_that_is_no_object_of_kubernetes_is_skipped_and_counted(tmp_path: Path) -> None:
    root = copied(tmp_path, "cluster-info")
    (root / "shop" / "services.json").write_text('{"error": "too many requests"}')
    assert load_snapshot([str(root)]).ignored == {"events file": 5, "log file": 5, "other document": 1}


def test_logs_that_do_not_end_are_a_truncated_dump(tmp_path: Path) -> None:
    data = (DATA / "cluster-info.txt").read_bytes()
    (tmp_path / "dump").write_bytes(data[: data.index(b"==== END logs for container main of pod shop/report")])
    expected = "line 959: the logs for container main of pod shop/report do not end: the file is truncated"
    assert problem(tmp_path / "dump") == f": {expected}"


def test_logs_may_hold_anything_and_the_lines_after_them_keep_their_numbers(tmp_path: Path) -> None:
    data = (DATA / "cluster-info.txt").read_bytes()
    assert b"\xff\xfe no UTF-8" in data
    broken = data.replace(b'"name": "web"', b'"name": web', 1)
    line = broken[: broken.index(b'"name": web')].count(b"\n") + 1
    (tmp_path / "dump").write_bytes(broken)
    assert problem(tmp_path / "dump").startswith(f": line {line}, column ")


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (b"\0" * 16 + b"\xed\xda\x0c\xed" + b"\0" * 80, "a database of etcd, which cannot be read here"),
        (b"pods/web.yaml".ljust(257, b"\0") + b"ustar\x0000", "a tar archive: unpack it and name the directory"),
    ],
)
def test_what_could_be_read_in_another_form_says_so(tmp_path: Path, start: bytes, expected: str) -> None:
    (tmp_path / "cluster").write_bytes(start)
    assert expected in problem(tmp_path / "cluster")


def test_an_export_with_a_misfit_names_its_place(tmp_path: Path) -> None:
    export = json.loads((DATA / "simulator.json").read_text())
    for change, expected in (
        ({"nodes": {}}, "$.nodes: expected a list, found an object"),
        ({"pods": [{"metadata": {}}]}, "$.pods[0].metadata.name: expected a name, found none"),
        ({"pods": [1]}, "$.pods[0]: expected an object, found the number 1"),
        ({"schedulerConfig": []}, "$.schedulerConfig: expected an object, found a list"),
    ):
        (tmp_path / "export.json").write_text(json.dumps(export | change))
        assert problem(tmp_path / "export.json") == f": {expected}"


# --- what is no dump


def test_a_directory_of_manifests_is_read_as_kubectl_reads_it_whatever_lies_below(tmp_path: Path) -> None:
    (tmp_path / "nodes.yaml").write_text("{apiVersion: v1, kind: Node, metadata: {name: ada}}")
    for below in ("namespaces/shop/web.yaml", "cluster/namespaces/shop/core/pods.yaml", "shop/pods.yaml"):
        (tmp_path / below).parent.mkdir(parents=True)
        (tmp_path / below).write_text("{apiVersion: v1, kind: Node, metadata: {name: another}}")
    assert tree_of(str(tmp_path)) is None
    assert [node.name for node in load_snapshot([str(tmp_path)]).objects.list_all(Node)] == ["ada"]


def test_an_empty_must_gather_holds_no_objects(tmp_path: Path) -> None:
    (tmp_path / "cluster-scoped-resources").mkdir()
    assert problem(tmp_path) == ": holds no objects: it is empty"


def test_manifests_are_not_looked_for_in_dumps() -> None:
    with pytest.raises(InputError, match="holds no objects itself; 45 files in directories below: --recursive"):
        load_manifests([str(DATA / "must-gather")])


@pytest.mark.posix
def test_links_to_directories_are_not_followed(tmp_path: Path) -> None:
    root = copied(tmp_path, "must-gather")
    os.symlink(root, root / IMAGE / "namespaces" / "again")
    assert len(load_snapshot([str(root)]).objects.list_all(Pod)) == 5


@pytest.mark.posix
def test_a_directory_that_cannot_be_listed_is_named(tmp_path: Path) -> None:
    root = copied(tmp_path, "sonobuoy")
    (root / "resources" / "ns" / "shop").chmod(0)
    try:
        if os.access(root / "resources" / "ns" / "shop", os.R_OK):
            pytest.skip("nothing is forbidden to this user")
        assert problem(root) == "resources/ns/shop: no permission to read it"
    finally:
        (root / "resources" / "ns" / "shop").chmod(0o755)


def test_files_are_looked_for_by_the_names_of_resources() -> None:
    assert {("core", "pods"), ("apps", "replicasets"), ("storage.k8s.io", "csistoragecapacities")} <= RESOURCES
    assert ("core", "secrets") not in RESOURCES


# --- looked through for all that is wrong


@pytest.mark.parametrize("name", sorted(path.name for path in DATA.iterdir()))
def test_nothing_is_wrong_with_a_dump_that_loads(name: str) -> None:
    found = read_for_validation([str(DATA / name)])
    assert found.problems == []
    assert {(obj.name, obj.metadata.uid) for obj in found.snapshot.objects} == {
        (obj.name, obj.metadata.uid) for obj in load(name).objects
    }


def test_all_that_is_wrong_in_a_tree_is_found(tmp_path: Path) -> None:
    root = copied(tmp_path, "must-gather")
    core = root / IMAGE / "namespaces" / "shop" / "core"
    (core / "pods.yaml").write_text((core / "pods.yaml").read_text().replace("priority: 1000", "priority: high"))
    empty(core / "services.yaml")
    found = read_for_validation([str(root)])
    assert [(problem.rule, problem.object) for problem in found.problems] == [
        ("schema", "Pod shop/web-5d9c-4k2vp"),
        ("schema", "Pod shop/web-5d9c-w7ztq"),
        ("syntax", ""),
    ]
