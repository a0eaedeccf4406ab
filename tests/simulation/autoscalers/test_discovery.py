"""``autoscale groups``: node groups that a snapshot shows, each with the word where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from kwhatif.autoscaling.cluster_autoscaler.autoscaler_flags import FLAGS
from kwhatif.simulation.autoscalers.node_flags import NODES_FORMS
from kwhatif.snapshot.format.autoscaler_info import (
    FORMER,
    GROUP_FLAGS,
    IDLE,
    NOT_MODELLED,
    READ_FLAGS,
    GroupStatus,
    flags_in,
    status_of,
)
from tests.builders import write_objects
from tests.cli.running import run

Json = dict[str, Any]

TEXT = """Cluster-autoscaler status at 2023-11-29 13:34:29.001925665 +0000 UTC:
Cluster-wide:
  Health:      Healthy (ready=1 unready=0 (resourceUnready=0) notStarted=0 longNotStarted=0 registered=1)
               LastProbeTime:      2023-11-29 13:34:28.808043334 +0000 UTC m=+1081389.237180180
  ScaleUp:     InProgress (ready=1 registered=1)
NodeGroups:
  Name:        aks-cpu-38371103-vmss
  Health:      Healthy (ready=1 unready=0 (resourceUnready=0) registered=1 cloudProviderTarget=1 (minSize=1, maxSize=7))
               LastProbeTime:      2023-11-29 13:34:28.808043334 +0000 UTC m=+1081389.237180180
  ScaleUp:     NoActivity (ready=1 cloudProviderTarget=1)
  ScaleDown:   NoCandidates (candidates=0)
  Name:        aks-gpu-38371103-vmss
  Health:      Healthy (ready=0 unready=0 (resourceUnready=0) registered=0 cloudProviderTarget=0 (minSize=0, maxSize=2))
  ScaleUp:     Backoff (ready=0 cloudProviderTarget=0)
"""
YAML = """time: 2026-01-01 00:00:00 +0000 UTC
autoscalerStatus: Running
clusterWide: {health: {status: Healthy}}
nodeGroups:
- name: aks-cpu-38371103-vmss
  health: {status: Healthy, cloudProviderTarget: 1, minSize: 1, maxSize: 7, nodeCounts: {registered: {total: 1}}}
  scaleUp: {status: NoActivity}
- name: aks-gpu-38371103-vmss
  health: {status: Healthy, cloudProviderTarget: 0, minSize: 0, maxSize: 2}
  scaleUp: {status: Backoff, backoffInfo: {errorCode: OutOfCapacity}}
"""
GROUPS = [
    GroupStatus(name="aks-cpu-38371103-vmss", min=1, max=7, target=1),
    GroupStatus(name="aks-gpu-38371103-vmss", min=0, max=2, target=0, backoff=True),
]


def node(name: str, labels: Json | None = None, provider: str = "") -> Json:
    status = {"allocatable": {"cpu": "2", "memory": "4Gi", "pods": "20"}}
    metadata = {"name": name, "labels": labels or {}}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "spec": {"providerID": provider},
        "status": status,
    }


def config_map(name: str, key: str, text: str) -> Json:
    metadata = {"name": name, "namespace": "kube-system"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {key: text}}


def status(text: str) -> Json:
    return config_map("cluster-autoscaler-status", "status", text)


def deployment(**container: Any) -> Json:
    metadata = {"name": "autoscaler", "namespace": "kube-system"}
    spec = {"template": {"spec": {"containers": [{"name": "c", **container}]}}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def status_with(*groups: str) -> Json:
    told = [{"name": name, "health": {"minSize": 1, "maxSize": 9, "cloudProviderTarget": 1}} for name in groups]
    return status(yaml.safe_dump({"nodeGroups": told}))


def found(tmp_path: Path, *objects: Json) -> Json:
    """The document that is printed, which is good for the snapshot that it was made of."""
    snapshot, groups = tmp_path / "cluster.json", tmp_path / "groups.yaml"
    write_objects(snapshot, *objects)
    ran = run("autoscale", "groups", "--snapshot", str(snapshot))
    document: Json = yaml.safe_load(ran.out)
    groups.write_text(ran.out)
    assert run("autoscale", "--snapshot", str(snapshot), "--groups", str(groups)).code == 0
    return document


# --- the autoscaler's status


@pytest.mark.parametrize("text", [TEXT, YAML], ids=["as text, up to 1.29", "as YAML"])
def test_a_status_tells_sizes_targets_and_who_backs_off(text: str) -> None:
    assert status_of(text) == GROUPS


@pytest.mark.parametrize("text", ["", "Initializing", "nodeGroups: many", "a: [", "nodeGroups: [{health: {}}]"])
def test_a_status_that_says_nothing_of_groups_has_none(text: str) -> None:
    assert status_of(text) == []


def test_groups_of_the_status_have_the_nodes_that_the_cloud_names_after_them(tmp_path: Path) -> None:
    provider = "azure:///subscriptions/x/virtualMachineScaleSets/aks-cpu-38371103-vmss/virtualMachines/0"
    document = found(tmp_path, node("n1", {"kubernetes.azure.com/agentpool": "cpu"}, provider), status(TEXT))
    cpu, gpu = document["groups"]
    assert cpu == {
        "name": "aks-cpu-38371103-vmss",
        "min": 1,
        "max": 7,
        "target": 1,
        "nodes": {"providerID": "/virtualMachineScaleSets/aks-cpu-38371103-vmss/"},
        "source": "ConfigMap kube-system/cluster-autoscaler-status; providerID of nodes",
    }
    assert (gpu["max"], gpu["failedScaleUpAgo"], "nodes" in gpu) == (2, "0s", False)
    assert document["incomplete"] == "what a node of aks-gpu-38371103-vmss would be is unknown"


NAMES = [
    ("eks-web-1a2b3c4d-0000-1111-2222-333344445555", {"eks.amazonaws.com/nodegroup": "web"}, ""),
    ("eksctl-prod-nodegroup-web-NodeGroup-1ABC", {"alpha.eksctl.io/nodegroup-name": "web"}, ""),
    ("aks-web-1234-vmss", {"agentpool": "web"}, ""),
    ("web.prod.example.com", {"kops.k8s.io/instancegroup": "web"}, ""),
    ("MachineDeployment/clusters/web", {"hypershift.openshift.io/nodePool": "web"}, ""),
    ("https://g/projects/p/zones/z/instanceGroups/gke-c-web-1a2b-grp", {}, "gce://p/z/gke-c-web-1a2b-x9z8"),
    ("web", {"k8s.scaleway.com/pool-name": "web"}, ""),
]


@pytest.mark.parametrize(("name", "labels", "provider"), NAMES, ids=[name for name, *_ in NAMES])
def test_a_group_has_the_nodes_that_its_cloud_labels(name: str, labels: Json, provider: str, tmp_path: Path) -> None:
    document = found(tmp_path, node("n1", labels, provider), node("other"), status_with(name))
    (group,) = document["groups"]
    assert (group["name"], group["max"], len(group["nodes"])) == (name, 9, 1)
    assert "incomplete" not in document


def test_nodes_of_a_group_that_no_size_is_known_of_are_found_and_that_is_said(tmp_path: Path) -> None:
    document = found(tmp_path, node("n1", {"eks.amazonaws.com/nodegroup": "web"}), status_with("eks-other"))
    assert [group["name"] for group in document["groups"]] == ["eks-other", "web"]
    assert "the maximum of web is unknown; which nodes are of eks-other is unknown" in document["incomplete"]


def test_priorities_are_those_of_the_expanders_config_map(tmp_path: Path) -> None:
    text = "10: ['.*']\n50: ['spot-.*', 'cheap']\n"
    document = found(
        tmp_path, node("n1"), status_with("a"), config_map("cluster-autoscaler-priority-expander", "priorities", text)
    )
    assert document["priorities"] == {"10": [".*"], "50": ["spot-.*", "cheap"]}
    assert document["source"] == "ConfigMap kube-system/cluster-autoscaler-priority-expander"


# --- the autoscaler's command


COMMANDS = [
    ({"command": ["./cluster-autoscaler", "--expander=random", "--nodes=1:9:web"]}, True),
    ({"command": ["cluster-autoscaler"], "args": ["--expander", "random", "--nodes", "1:9:web"]}, True),
    ({"command": ["/bin/sh", "-c", "exec ./cluster-autoscaler --expander=random --nodes=1:9:web 2>&1 # x"]}, True),
    (
        {
            "image": "registry.k8s.io/autoscaling/cluster-autoscaler:v1.36.0",
            "args": ["--expander=random", "--nodes=1:9:web"],
        },
        True,
    ),
    ({"image": "example.com/cluster-autoscaler", "command": ["sleep", "--expander=random"]}, False),
    ({"image": "nginx", "args": ["--expander=random"]}, False),
]


@pytest.mark.parametrize(("container", "is_one"), COMMANDS)
def test_the_autoscaler_is_known_by_its_command_or_its_image(container: Json, *, is_one: bool) -> None:
    flags = [(name, value) for name, value in flags_in(container) or () if name in READ_FLAGS]
    assert flags == ([("expander", "random"), ("nodes", "1:9:web")] if is_one else [])


def test_a_dump_keeps_the_flags_that_decide_and_those_that_name_groups() -> None:
    assert set(READ_FLAGS) == {*FLAGS, *GROUP_FLAGS}


WORDS = [
    ("--nodes=many:9:web", "--nodes=many:9:web cannot be read: expected min:max:name"),
    ("--gpu-total=a100:0:4", "flags that decide what is not modelled here: gpu-total"),
    (
        "--scale-down-delay-after-failure=1m",
        "flags that decide what is not modelled here: scale-down-delay-after-failure",
    ),
    ("--scan-interval=20s", "flags that decide nothing here: scan-interval"),
    ("--cordon-node-before-terminating", "flags that decide nothing here: cordon-node-before-terminating"),
    ("--nodez=1", "flags that cluster-autoscaler 1.36 does not have: nodez"),
]


@pytest.mark.parametrize(("word", "told"), WORDS, ids=[row[0] for row in WORDS])
def test_what_is_not_heard_of_the_command_is_told(word: str, told: str, tmp_path: Path) -> None:
    words = ["cluster-autoscaler", "--nodes=1:3:web", word]
    assert told in found(tmp_path, node("n1"), deployment(command=words))["incomplete"].split("; ")


FORMS = [
    ("", "1:10:https://example.com/groups/web", ("https://example.com/groups/web", 1, 10)),
    ("aws", "0:3:web", ("web", 0, 3)),
    ("hetzner", "1:10:CPX11:FSN1:pool1", ("pool1", 1, 10)),
    ("hetzner", "1:10:pool1", "--nodes=1:10:pool1 cannot be read: expected min:max:type:region:name"),
    ("linode", "1:10:pool1", "--nodes=1:10:pool1 decides nothing: linode has its groups from elsewhere"),
]


@pytest.mark.parametrize(("provider", "value", "group"), FORMS)
def test_the_nodes_of_a_flag_are_read_in_the_form_of_the_cloud_provider(
    provider: str, value: str, group: tuple[str, int, int] | str, tmp_path: Path
) -> None:
    words = ["cluster-autoscaler", *([f"--cloud-provider={provider}"] if provider else []), f"--nodes={value}"]
    result = found(tmp_path, node("n1"), deployment(command=words))
    if isinstance(group, str):
        assert (result.get("groups", []), result["incomplete"]) == ([], group)
    else:
        (one,) = result["groups"]
        assert (one["name"], one.get("min", 0), one["max"]) == group


def test_every_provider_says_which_file_reads_its_flag_and_the_parts_it_needs() -> None:
    for provider, form in NODES_FORMS.items():
        assert form.source.endswith(".go"), provider
        assert not form.parts or {"min", "max", "name"} <= set(form.parts.split(":")), provider


def test_every_flag_is_of_one_sort() -> None:
    sorts = (READ_FLAGS, NOT_MODELLED, IDLE, FORMER)
    assert sum(map(len, sorts)) == len({name for sort in sorts for name in sort})


FLAGS_OF_1_36 = Path(__file__).with_name("cluster_autoscaler_flags.txt")
"""The flags that cluster-autoscaler 1.36 registers itself, a name a line."""


def test_every_flag_of_the_program_is_read_or_named() -> None:
    theirs = FLAGS_OF_1_36.read_text().split()
    assert len(theirs) == len(set(theirs)) == 133
    assert set(theirs) <= READ_FLAGS | NOT_MODELLED | IDLE
    # Beside them are those of its libraries (logs, leader election, gates), and what groups may say for themselves.
    assert READ_FLAGS - set(theirs) == {"zero-or-max-node-scaling"}
    assert set(theirs) >= NOT_MODELLED


def test_every_flag_that_counts_as_read_is_a_setting() -> None:
    assert READ_FLAGS - set(GROUP_FLAGS) == set(FLAGS)


def test_a_former_flag_counts_unless_the_new_one_is_told(tmp_path: Path) -> None:
    words = ["cluster-autoscaler", "--max-empty-bulk-delete=7"]
    assert found(tmp_path, node("n1"), deployment(command=words))["flags"] == {"max-scale-down-parallelism": "7"}
    both = deployment(command=["cluster-autoscaler", "--max-scale-down-parallelism=3", "--max-empty-bulk-delete=7"])
    assert found(tmp_path, node("n1"), both)["flags"] == {"max-scale-down-parallelism": "3"}


_MAP = "ConfigMap kube-system/cluster-autoscaler-priority-expander"
PRIORITIES = [
    ("10: null", f"priority 10 of {_MAP} has no patterns"),
    ("10: [null]", f"priority 10 of {_MAP} has a pattern that is null, which fits every group"),
    ("10: {}", f"the priorities of {_MAP} cannot be read"),
    ("[a]", f"{_MAP} has no priorities: expected patterns by priority"),
]


@pytest.mark.parametrize(("text", "told"), PRIORITIES, ids=[row[0] for row in PRIORITIES])
def test_priorities_without_patterns_are_told(text: str, told: str, tmp_path: Path) -> None:
    priorities = config_map("cluster-autoscaler-priority-expander", "priorities", text)
    assert told in found(tmp_path, node("n1"), status_with("a"), priorities)["incomplete"]


def test_a_status_without_text_is_told(tmp_path: Path) -> None:
    document = found(tmp_path, node("n1", {"eks.amazonaws.com/nodegroup": "web"}), status(""))
    assert "ConfigMap kube-system/cluster-autoscaler-status has no text" in document["incomplete"]


def test_groups_that_the_autoscaler_looks_for_in_the_cloud_are_said_to_be_there(tmp_path: Path) -> None:
    words = ["cluster-autoscaler", "--node-group-auto-discovery=asg:tag=k8s.io/x", "--balance-similar-node-groups"]
    document = found(tmp_path, node("n1", {"eks.amazonaws.com/nodegroup": "web"}), deployment(command=words))
    assert document["flags"] == {"balance-similar-node-groups": "true"}
    assert document["source"] == "Deployment kube-system/autoscaler"
    assert document["incomplete"].startswith(
        "the autoscaler finds groups in the cloud (--node-group-auto-discovery=asg:tag=k8s.io/x): there may be others"
    )


# --- Cluster API


def machines(group: str = "cluster.x-k8s.io", **more: str) -> Json:
    sizes = {f"{group}/cluster-api-autoscaler-node-group-{end}-size": n for end, n in (("min", "0"), ("max", "3"))}
    kind = "MachineDeployment" if group == "cluster.x-k8s.io" else "MachineSet"
    metadata = {"name": "web", "namespace": "infra", "annotations": {**sizes, **more}}
    return {"apiVersion": f"{group}/v1beta1", "kind": kind, "metadata": metadata, "spec": {"replicas": 0}}


CAPACITY = {
    f"capacity.cluster-autoscaler.kubernetes.io/{what}": text
    for what, text in {
        "cpu": "8",
        "memory": "32G",
        "gpu-count": "2",
        "gpu-type": "nvidia.com/gpu",
        "maxPods": "58",
        "labels": "pool=web,empty=",
        "taints": "gpu=yes:NoSchedule,odd",
        "ephemeral-disk": "100Gi",
    }.items()
}


def test_machines_that_are_not_there_yet_are_as_the_annotations_say(tmp_path: Path) -> None:
    option = {"cluster.x-k8s.io/autoscaling-options-scaledownunneededtime": "5m"}
    document = found(tmp_path, node("n1"), machines(**CAPACITY, **option))
    assert document["groups"] == [
        {
            "name": "MachineDeployment/infra/web",
            "max": 3,
            "target": 0,
            "template": {
                "capacity": {
                    "cpu": "8",
                    "memory": "32G",
                    "pods": "58",
                    "ephemeral-storage": "100Gi",
                    "nvidia.com/gpu": "2",
                },
                "labels": {"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "pool": "web", "empty": ""},
                "taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}],
            },
            "options": {"scale-down-unneeded-time": "5m"},
            "source": "annotations of MachineDeployment infra/web",
        }
    ]


def test_openshifts_machine_sets_say_it_in_their_own_words(tmp_path: Path) -> None:
    old = {f"machine.openshift.io/{what}": text for what, text in (("vCPU", "4"), ("memoryMb", "16384"), ("GPU", "0"))}
    (group,) = found(tmp_path, node("n1"), machines("machine.openshift.io", **old))["groups"]
    assert group["name"] == "MachineSet/infra/web"
    assert group["template"]["capacity"] == {"cpu": "4", "memory": "17179869184", "pods": "110"}


def test_a_group_without_machines_and_without_capacity_is_none(tmp_path: Path) -> None:
    assert found(tmp_path, node("n1"), machines())["groups"] == []


def owned(kind: str, name: str, owner: str, **more: Any) -> Json:
    above, _, its_name = owner.partition("/")
    metadata = {"name": name, "namespace": "infra", "ownerReferences": [{"kind": above, "name": its_name}]}
    return {"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": kind, "metadata": metadata, **more}


def test_nodes_are_of_the_deployment_of_the_machine_set_of_their_machines(tmp_path: Path) -> None:
    document = found(
        tmp_path,
        node("n1"),
        node("n2"),
        machines() | {"spec": {"replicas": 2}},
        owned("MachineSet", "web-1", "MachineDeployment/web"),
        *(owned("Machine", f"m{n}", "MachineSet/web-1", status={"nodeRef": {"name": f"n{n}"}}) for n in (1, 2, 3)),
    )
    (group,) = document["groups"]
    assert (group["target"], group["nodes"]) == (2, {"names": ["n1", "n2"]})


def test_what_the_status_says_of_sizes_counts_more_and_the_rest_stays(tmp_path: Path) -> None:
    (group,) = found(tmp_path, node("n1"), machines(**CAPACITY), status_with("MachineDeployment/infra/web"))["groups"]
    assert (group["min"], group["max"], group["template"]["capacity"]["cpu"]) == (1, 9, "8")
    assert group["source"] == (
        "ConfigMap kube-system/cluster-autoscaler-status; annotations of MachineDeployment infra/web"
    )
