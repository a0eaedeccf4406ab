"""``autoscale`` with a catalogue: the scheduler first, then Karpenter; and the documents that it reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders import write_objects
from tests.cli.running import TESTS, refused, run

SAMPLE = TESTS.parent / "samples" / "karpenter"
CLUSTER, CATALOGUE = str(SAMPLE / "cluster.yaml"), str(SAMPLE / "catalogue.yaml")
HEAD = "apiVersion: kwhatif.dev/v1\nkind: InstanceTypes\n"
TYPE = "{name: one, capacity: {cpu: 1, memory: 1Gi, pods: 5}, offerings: [{zone: a, capacityType: spot, price: 1}]}"


def asked(*words: str, code: int = 0) -> dict[str, Any]:
    ran = run("autoscale", "--snapshot", CLUSTER, "--catalogue", CATALOGUE, "-o", "json", *words)
    assert ran.code == code, ran.err
    found: dict[str, Any] = json.loads(ran.out)
    return found


@pytest.mark.long
def test_the_scheduler_goes_first_and_a_pod_that_fits_nowhere_is_a_no() -> None:
    found = asked(str(SAMPLE / "web.yaml"), code=1)
    outcomes = [each["outcome"] for each in found["pods"]]
    assert [outcomes.count(one) for one in ("placed", "existing", "new", "helpless")] == [4, 1, 7, 1]
    assert {"c.8", "m.8"} <= set(found["machines"][1]["types"])
    assert found["price"] == round(sum(each["price"] for each in found["machines"]), 6)


@pytest.mark.long
def test_what_alone_stands_in_the_way_is_told_by_pool() -> None:
    (helpless,) = (each for each in asked(str(SAMPLE / "web.yaml"), code=1)["pods"] if each["outcome"] == "helpless")
    refusals = {each["nodePool"]: each for each in helpless["refusals"]}
    assert list(refusals) == ["spot", "steady", "arm"], "by weight, then the later in the alphabet"
    assert refusals["steady"]["nearest"] == "memory: requests 500Gi, the largest type offers 381.1Gi"


def test_node_pools_of_a_file_stand_in_for_those_of_the_snapshot(tmp_path: Path) -> None:
    pools = tmp_path / "pools.yaml"
    pools.write_text("apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: any}\n")
    found = asked(str(SAMPLE / "web.yaml"), "--node-pools", str(pools), code=1)
    assert {each["nodePool"] for each in found["machines"]} == {"any"}


def test_of_all_methods_the_first_command_counts_and_others_stay_for_a_reason() -> None:
    found = asked("--consolidate")
    assert [each["decision"] for each in found["consolidations"]] == ["delete", "replace", "delete"]
    nodes = {each["node"]: each for each in found["nodes"]}
    assert [name for name, each in nodes.items() if each["goes"]] == ["n5"]
    assert nodes["n4"]["reasons"] == ['Pod has "karpenter.sh/do-not-disrupt" annotation (Pod=shop/batch-1)']


@pytest.mark.long
def test_both_autoscalers_are_asked_at_once(tmp_path: Path) -> None:
    groups = tmp_path / "groups.yaml"
    groups.write_text(
        "apiVersion: kwhatif.dev/v1\nkind: NodeGroups\ngroups:\n"
        "- {name: huge, max: 1, template: {capacity: {cpu: 64, memory: 1Ti, pods: 10}}}\n"
    )
    found = asked(str(SAMPLE / "web.yaml"), "--groups", str(groups))
    assert found["clusterAutoscaler"]["plan"]
    assert found["karpenter"]["machines"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("types: [{name: one, capacity: {cpu: 1}}]", "$.types[0].capacity: expected an amount of memory, found none"),
        (f"types: [{TYPE}, {TYPE}]", "$.types[1].name: type one is listed twice"),
        (f"types: [{TYPE}]\nnodePools: {{web: [uno]}}", "$.nodePools.web[0]: there is no type uno"),
        (f"types: [{TYPE.replace('spot', 'cheap')}]", "$.types[0].offerings[0].capacityType: "),
        (f"types: [{TYPE.replace('spot', 'reserved')}]", "$.types[0].offerings[0]: expected a reservationId"),
        (f"types: [{TYPE.replace('price: 1', 'price: -1')}]", "$.types[0].offerings[0].price: "),
        ("type: []", "types"),
    ],
)
def test_a_wrong_catalogue_is_refused_with_the_place(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "types.yaml"
    path.write_text(HEAD + text + "\n")
    found = refused("autoscale", "--snapshot", CLUSTER, "--catalogue", str(path))
    assert str(path) in found
    assert message in found


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "expected --groups FILE"),
        (("--groups", "x", "--consolidate"), "--catalogue FILE"),
        (("--catalogue", CATALOGUE, "--scale-down"), "--groups FILE"),
    ],
)
def test_options_of_an_autoscaler_that_is_not_asked_are_refused(words: tuple[str, ...], message: str) -> None:
    assert message in refused("autoscale", "--snapshot", CLUSTER, *words)


def test_a_cluster_without_node_pools_has_no_karpenter() -> None:
    cluster = str(TESTS.parent / "samples" / "autoscaled" / "cluster.yaml")
    assert "expected NodePools, found none" in refused("autoscale", "--snapshot", cluster, "--catalogue", CATALOGUE)


# --- two sets of NodePools


LEAVE = str(SAMPLE / "leave-spot.yaml")


def compared(*words: str, code: int = 1) -> dict[str, Any]:
    ran = run("diff", "--snapshot", CLUSTER, "--catalogue", CATALOGUE, "-o", "json", *words)
    assert ran.code == code, ran.err
    found: dict[str, Any] = json.loads(ran.out)
    return found


def test_what_it_would_cost_to_leave_spot_is_told_with_the_machines_and_the_pods() -> None:
    found = compared(str(SAMPLE / "web.yaml"), "--node-pools", LEAVE)
    assert found["difference"] == round(found["b"]["cost"] - found["a"]["cost"], 2) > 0
    kinds = {(each["capacityType"], each["a"] > 0, each["b"] > 0) for each in found["machines"]}
    assert ("spot", True, False) in kinds
    assert ("spot", False, True) not in kinds
    assert sum(each["a"] for each in found["machines"]) == len(found["a"]["machines"])
    assert all("spot" in each["a"] and "on-demand" in each["b"] for each in found["moves"])


@pytest.mark.long
def test_the_same_node_pools_twice_are_no_difference() -> None:
    found = compared(str(SAMPLE / "web.yaml"), "--node-pools", LEAVE, "--node-pools", LEAVE, code=0)
    assert (found["difference"], found["moves"]) == (0, [])


def test_a_rebuilt_cluster_buys_machines_for_the_pods_of_karpenters_nodes() -> None:
    found = compared("--node-pools", LEAVE, "--rebuild")
    for side in ("a", "b"):
        bought = {pod for each in found[side]["machines"] for pod in each["pods"]}
        assert {"shop/web-1", "shop/batch-1"} <= bought
        assert not any("agent" in pod for pod in bought), "what a daemon set runs goes with its node"


@pytest.mark.long
def test_another_catalogue_is_another_bill(tmp_path: Path) -> None:
    dearer = tmp_path / "dearer.yaml"
    dearer.write_text(Path(CATALOGUE).read_text().replace("price: 0.", "price: 1."))
    found = compared(str(SAMPLE / "web.yaml"), "--catalogue", str(dearer))
    assert found["difference"] > 0
    assert found["labelB"] == f"catalogue {dearer}"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--node-pools", LEAVE), "they need --catalogue FILE"),
        (("--catalogue", CATALOGUE), "nothing to compare"),
        (("--catalogue", CATALOGUE, *("--node-pools", LEAVE) * 3), "nothing to compare"),
        (("--catalogue", CATALOGUE, "--node-pools", LEAVE, "--replay", "all"), "go with manifests for both sides"),
    ],
)
def test_what_makes_no_two_sides_is_refused(words: tuple[str, ...], problem: str) -> None:
    assert problem in refused("diff", "--snapshot", CLUSTER, *words)


# --- one node


def explained(*words: str, code: int = 1) -> list[dict[str, Any]]:
    ran = run("explain", "--consolidation", "--snapshot", CLUSTER, "--catalogue", CATALOGUE, "-o", "json", *words)
    assert ran.code == code, ran.err
    nodes: list[dict[str, Any]] = json.loads(ran.out)["nodes"]
    return nodes


def test_a_node_that_could_go_says_where_its_pods_would_and_what_comes_first() -> None:
    (node,) = explained("n1")
    assert (node["decision"], node["now"], node["monthly"]) == ("delete", False, 292.0)
    assert node["moves"].keys() == {"shop/api-1", "shop/web-1"}
    assert node["reasons"] == ["it could be removed, but another command comes first"]


def test_nodes_that_go_are_a_yes_and_nodes_that_stay_say_why() -> None:
    (goes,) = explained("n5", code=0)
    assert (goes["decision"], goes["now"], goes["reasons"]) == ("delete", True, [])
    _, stays = explained("n5", "n4")
    assert stays["decision"] == "keep"
    assert stays["reasons"] == ['Pod has "karpenter.sh/do-not-disrupt" annotation (Pod=shop/batch-1)']


def test_a_node_whose_budget_is_used_up_says_so(tmp_path: Path) -> None:
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text(Path(CLUSTER).read_text().replace("budgets: [{nodes: 100%}]", "budgets: [{nodes: 0}]"))
    ran = run("explain", "n1", "--consolidation", "--snapshot", str(cluster), "--catalogue", CATALOGUE)
    assert ran.code == 1
    assert "the disruption budget of NodePool steady allows no more nodes" in ran.out
    assert "let 0 nodes go now" in ran.out


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("nx", "--catalogue", CATALOGUE, "--consolidation"), "the cluster has no node nx"),
        (("n1", "--consolidation"), "--catalogue FILE"),
        (("n1", "--catalogue", CATALOGUE), "--consolidation takes names of nodes"),
        (("n1", "--catalogue", CATALOGUE, "--consolidation", "--node", "n2"), "explains nodes"),
    ],
)
def test_a_question_about_nodes_that_makes_no_sense_is_refused(words: tuple[str, ...], problem: str) -> None:
    assert problem in refused("explain", "--snapshot", CLUSTER, *words)


ANY_TYPE = (
    "{name: any, capacity: {cpu: 4, memory: 8Gi, pods: 20}, offerings: [{zone: a, capacityType: on-demand, price: 1}]}"
)


def _two_pools(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Two NodePools, of which each pod wants one, and a DaemonSet with a pod on every node."""

    def pool(name: str) -> Any:
        requirement = {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]}
        node_class = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
        template = {
            "metadata": {"labels": {"team": name}},
            "spec": {"requirements": [requirement], "nodeClassRef": node_class},
        }
        head = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": name}}
        return head | {"spec": {"template": template}}

    def pod(name: str, **spec: Any) -> Any:
        container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": "3"}}}
        metadata = {"name": name, "namespace": "default"}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]} | spec}

    agent = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent", "namespace": "kube-system", "uid": "agent"},
        "spec": {
            "selector": {"matchLabels": {"app": "agent"}},
            "template": {
                "metadata": {"labels": {"app": "agent"}},
                "spec": {"containers": [{"name": "agent", "image": "agent"}]},
            },
        },
    }
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "small"}}
    node["status"] = {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "10"}}
    cluster, manifest, catalogue = tmp_path / "cluster.json", tmp_path / "pods.json", tmp_path / "catalogue.yaml"
    write_objects(cluster, node, agent, pool("red"), pool("blue"))
    pods = [pod(f"{team}-{number}", nodeSelector={"team": team}) for team in ("red", "blue") for number in (1, 2)]
    manifest.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": pods}))
    catalogue.write_text(f"{HEAD}types: [{ANY_TYPE}]\n")
    return cluster, manifest, catalogue


@pytest.mark.parametrize(
    ("command", "option"), [("place", "autoscale"), ("gate", "autoscale"), ("autoscale", "catalogue")]
)
def test_machines_of_two_node_pools_get_a_daemon_pod_each_with_a_name_of_its_own(
    tmp_path: Path, command: str, option: str
) -> None:
    cluster, manifest, catalogue = _two_pools(tmp_path)
    where = ("--snapshot", str(cluster), f"--{option}", str(catalogue))
    after = tmp_path / "after.json"
    keep = ("--write-snapshot", str(after)) if command == "place" else ()
    ran = run(command, str(manifest), *where, *keep)
    assert ran.code == 0, ran.err + ran.out
    if keep:
        pods = json.loads(after.read_text())["objects"]["Pod"]
        daemons = [pod["metadata"]["name"] for pod in pods if pod["metadata"]["namespace"] == "kube-system"]
        assert len(daemons) == len(set(daemons)) == 4


EBS, ZONE = "topology.ebs.csi.aws.com/zone", "topology.kubernetes.io/zone"
TWO_ZONES = (
    "{name: any, capacity: {cpu: 4, memory: 8Gi, pods: 20}, offerings: ["
    "{zone: a, capacityType: on-demand, price: 1}, {zone: b, capacityType: on-demand, price: 2}]}"
)


def _two_zones(tmp_path: Path, *objects: Any) -> tuple[str, ...]:
    """The options of a cluster with a small node in zone b and a NodePool; zone a is the cheaper one."""
    pool = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "red"}}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "small", "labels": {ZONE: "b", EBS: "b"}}}
    node["status"] = {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "10"}}
    node["spec"] = {"taints": [{"key": "small", "effect": "NoSchedule"}]}
    cluster, catalogue = tmp_path / "cluster.json", tmp_path / "catalogue.yaml"
    write_objects(cluster, node, pool, *objects)
    catalogue.write_text(f"{HEAD}types: [{TWO_ZONES}]\n")
    return ("--snapshot", str(cluster), "--assume-empty", "--autoscale", str(catalogue), "-o", "json")


def test_a_machine_is_bought_where_the_volume_is_by_whatever_name_its_driver_calls_the_zone(tmp_path: Path) -> None:
    term = {"matchExpressions": [{"key": EBS, "operator": "In", "values": ["b"]}]}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "v"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "claimRef": {"namespace": "default", "name": "data"},
            "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "v"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
        },
    }
    bound = {"pv.kubernetes.io/bind-completed": "yes"}
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "default", "annotations": bound},
        "spec": {"volumeName": "v", "storageClassName": "", "resources": {"requests": {"storage": "1Gi"}}},
        "status": {"phase": "Bound"},
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "db", "namespace": "default"},
        "spec": {
            "containers": [{"name": "main", "image": "db", "resources": {"requests": {"cpu": "2"}}}],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
        },
    }
    write_objects(manifest := tmp_path / "pod.json", pod)
    placed = json.loads(run("place", str(manifest), *_two_zones(tmp_path, volume, claim)).out)
    assert [each["node"] for each in placed["placements"]] == ["red-new-1"]
    assert [each["price"] for each in placed["scaleUp"]["nodes"]] == [2.0]


def _web(tmp_path: Path, replicas: int) -> str:
    template = {"containers": [{"name": "main", "image": "web", "resources": {"requests": {"cpu": "3"}}}]}
    labels = {"app": "web"}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}}
    web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"}}
    web["spec"] = spec | {"template": {"metadata": {"labels": labels}, "spec": template}}
    return write_objects(tmp_path / "web.json", web)


def test_machines_bought_for_a_written_cluster_get_names_that_are_free(tmp_path: Path) -> None:
    where, after = _two_zones(tmp_path), tmp_path / "after.json"
    assert run("place", _web(tmp_path, 2), *where, "--write-snapshot", str(after)).code == 0
    grown = run("place", _web(tmp_path, 5), "--snapshot", str(after), *where[2:])
    nodes = {each["node"] for each in json.loads(grown.out)["placements"]}
    assert nodes == {"red-new-3", "red-new-4", "red-new-5"}, grown.err


def test_when_the_zone_of_all_machines_is_lost_machines_of_another_are_bought(tmp_path: Path) -> None:
    lost = run("outage", "--filename", _web(tmp_path, 2), "--zone", "a", *_two_zones(tmp_path))
    verdict = json.loads(lost.out)["outcome"]["verdict"]
    assert verdict == "Survives the loss of zone a: 1 workload down, 2 new nodes", lost.err
