"""Discovers the node groups of a snapshot, each with its evidence, and the autoscaler's flags.

The size of a group is in the autoscaler's status, in its flags (``--nodes``) and in the annotations of Cluster API, in
this order; its nodes are found by labels, provider IDs and Machines. The autoscaler's name of a group is the cloud's,
which is seldom the value of a label: each cloud derives one from the other by a rule of its own. Groups of Cluster API
are MachineDeployments, MachinePools, and MachineSets without an owner, with sizes, options and the capacity of machines
to come in annotations; OpenShift's MachineSets have annotations of their own. Upstream:
cluster-autoscaler/cloudprovider/clusterapi (clusterapi_unstructured.go, clusterapi_utils.go, clusterapi_nodegroup.go);
for OpenShift cloudprovider/openshift of its fork.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import msgspec
from msgspec.structs import replace

from kwhatif.api import node_provisioning as machines
from kwhatif.api.core import Node, ResourceList, Taint
from kwhatif.api.meta import Resource
from kwhatif.api.node_provisioning import Machine, MachineDeployment, MachinePool, MachineSet, Scalable
from kwhatif.api.quantity import Quantity
from kwhatif.autoscaling.cluster_autoscaler.autoscaler_flags import FLAGS, LISTS
from kwhatif.golang.parsing import parse_int
from kwhatif.simulation.autoscaler_notes import own_deployment
from kwhatif.simulation.autoscalers.node_flags import parse_node_flags, unread_node_flags
from kwhatif.simulation.autoscalers.node_groups_document import (
    KIND,
    Group,
    Members,
    NodeGroupsFile,
    NodesByLabel,
    Template,
    members_of,
)
from kwhatif.snapshot.format.autoscaler_info import FORMER, GROUP_FLAGS, IDLE, NOT_MODELLED, AutoscalerInfo
from kwhatif.snapshot.format.model import API_VERSION, Snapshot

_ZONE = "topology.kubernetes.io/zone"
_UUID = r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"


class _GroupLabel(msgspec.Struct, frozen=True):
    """A label that identifies a node's group, with others that are needed to distinguish groups.

    ``called`` matches the autoscaler's name of the group whose label has the value ``{}``.
    """

    key: str
    beside: tuple[str, ...] = ()
    called: str = r"{}"


_SIGNS = (
    _GroupLabel("eks.amazonaws.com/nodegroup", called=r"(?:eks-)?{}(?:" + _UUID + ")?"),
    _GroupLabel("alpha.eksctl.io/nodegroup-name", called=r"eksctl-.*-nodegroup-{}-NodeGroup-.*|{}"),
    _GroupLabel("cloud.google.com/gke-nodepool", beside=(_ZONE,)),
    _GroupLabel("kubernetes.azure.com/agentpool", called=r"aks-{}-[0-9]+-vmss|{}"),
    _GroupLabel("agentpool", called=r"aks-{}-[0-9]+-vmss|{}"),
    _GroupLabel("kops.k8s.io/instancegroup", called=r"{}(?:\..*)?"),
    _GroupLabel("hypershift.openshift.io/nodePool", called=r"(?:MachineDeployment/[^/]*/)?{}"),
    _GroupLabel("doks.digitalocean.com/node-pool"),
    _GroupLabel("doks.digitalocean.com/node-pool-id"),
    _GroupLabel("lke.linode.com/pool-id"),
    _GroupLabel("k8s.scaleway.com/pool-name"),
    _GroupLabel("hcloud/node-group"),
    _GroupLabel("nodepool.ovhcloud.com/name"),
    _GroupLabel("oci.oraclecloud.com/node-pool"),
    _GroupLabel("magnum.openstack.org/nodegroup"),
    _GroupLabel("worker.gardener.cloud/pool"),
    _GroupLabel("rke.cattle.io/machine-pool-name"),
)
"""What names a node's group: the first of these that it has. GKE's groups are of one zone each."""


class LabelledGroup(msgspec.Struct, frozen=True):
    """A group found by labels: its name, made of their values, and where they were found."""

    name: str
    members: Members
    source: str
    sign: _GroupLabel
    value: str


def labelled_groups(nodes: Iterable[Node]) -> Iterator[LabelledGroup]:
    """The groups in the order of their first nodes."""
    seen = set()
    for node in nodes:
        labels = node.metadata.labels or {}
        sign = next((sign for sign in _SIGNS if labels.get(sign.key)), None)
        if sign is None:
            continue
        labels_of_group = {key: labels[key] for key in (sign.key, *sign.beside) if key in labels}
        name = "-".join(labels_of_group.values())
        if name not in seen:
            seen.add(name)
            where = f"label {sign.key} of nodes"
            yield LabelledGroup(name, Members(labels=labels_of_group), where, sign, labels[sign.key])


def members_named(name: str, nodes: Sequence[Node], labelled: Sequence[LabelledGroup]) -> tuple[Members, str] | None:
    """The nodes of a group of this name, and the evidence; None where there is none.

    A scale set of Azure is in the provider IDs of its nodes; an instance group of GCE names its instances after itself.
    """
    for pattern in _of_provider_ids(name):
        if any(re.search(pattern, node.spec.provider_id or "") for node in nodes):
            return Members(provider_id=pattern), "providerID of nodes"
    for labelled_group in labelled:
        if name == labelled_group.name or re.fullmatch(
            labelled_group.sign.called.replace("{}", re.escape(labelled_group.value)), name
        ):
            return labelled_group.members, labelled_group.source
    return None


def _of_provider_ids(name: str) -> Iterator[str]:
    last = name.rpartition("/")[2]
    yield f"/virtualMachineScaleSets/{_literal(last)}/"
    if last.endswith("-grp"):
        yield f"/{_literal(last.removesuffix('-grp'))}-[a-z0-9]+$"


def _literal(text: str) -> str:
    return text.replace(".", r"\.")


_PODS = 110
"""The default number of pods of a machine."""

_MANAGED = ("node-role.kubernetes.io", "node-restriction.kubernetes.io", "node.cluster.x-k8s.io")
"""Domains of labels that Cluster API carries over from a machine to its node."""


def machine_groups(snapshot: Snapshot) -> Iterator[Group]:
    """Those that may have machines at all, by the annotation of their largest size."""
    there, nodes = {node.name for node in snapshot.objects.list_all(Node)}, _nodes_of(snapshot)
    for kind in (MachineDeployment, MachinePool, MachineSet):
        for scalable in snapshot.objects.list_all(kind):
            if kind is MachineSet and _owner(scalable, "MachineDeployment"):
                continue
            group = _group(scalable, kind.__name__, nodes, there)
            if group is not None:
                yield group


def _group(
    scalable: Scalable, kind: str, nodes: Mapping[tuple[str, str, str], list[str]], names: AbstractSet[str]
) -> Group | None:
    notes = scalable.metadata.annotations or {}
    sizes = {
        end: _number(notes, *(key for key in machines.SIZES if key.endswith(f"{end}-size"))) for end in ("min", "max")
    }
    least, most = sizes["min"] or 0, sizes["max"] or 0
    if most == 0 or not 0 <= least <= most:
        return None
    name = f"{kind}/{scalable.namespace}/{scalable.name}"
    pooled = [ref.name for ref in scalable.status.node_refs or () if ref.name]
    there = sorted(names & {*(pooled or nodes.get((kind, scalable.namespace, scalable.name), []))})
    template = _template(scalable, notes)
    if template is None and not scalable.spec.replicas and not there:
        return None
    return Group(
        name=name,
        min=least,
        max=most,
        target=scalable.spec.replicas,
        nodes=Members(names=there) if there else None,
        template=template,
        options={machines.OPTIONS[key]: text.lower() for key, text in notes.items() if key in machines.OPTIONS} or None,
        source=f"annotations of {kind} {scalable.namespace}/{scalable.name}",
    )


def _nodes_of(snapshot: Snapshot) -> dict[tuple[str, str, str], list[str]]:
    """The nodes of each MachineSet and MachineDeployment, by the Machines that became them."""
    above = {
        (machine_set.namespace, machine_set.name): ("MachineDeployment", deployment)
        for machine_set in snapshot.objects.list_all(MachineSet)
        if (deployment := _owner(machine_set, "MachineDeployment"))
    }
    nodes: dict[tuple[str, str, str], list[str]] = {}
    for machine in snapshot.objects.list_all(Machine):
        ref, owner = machine.status.node_ref, _owner(machine, "MachineSet")
        if ref is None or not ref.name or not owner:
            continue
        kind, name = above.get((machine.namespace, owner), ("MachineSet", owner))
        nodes.setdefault((kind, machine.namespace, name), []).append(ref.name)
    return nodes


def _owner(obj: Resource, kind: str) -> str:
    owners = obj.metadata.owner_references or ()
    return next((owner.name for owner in owners if owner.kind == kind and owner.name), "")


# --- a machine that is not there yet


def _template(scalable: Scalable, notes: Mapping[str, str]) -> Template | None:
    """The template of the next machine; None unless its cpu and memory are known."""
    cpu = _amount(notes, machines.CPU, machines.OLD_CPU)
    memory = _amount(notes, machines.MEMORY)
    if memory is None and (mebibytes := _number(notes, machines.OLD_MEMORY)):
        memory = Quantity.from_units(mebibytes * 2**20)
    if cpu is None or memory is None:
        return None
    pods = _number(notes, machines.MAX_PODS, machines.OLD_MAX_PODS) or _PODS
    capacity: ResourceList = {"cpu": cpu, "memory": memory, "pods": Quantity.from_units(pods)}
    disk, gpus = _amount(notes, machines.DISK), _number(notes, machines.GPUS, machines.OLD_GPUS)
    if disk is not None:
        capacity["ephemeral-storage"] = disk
    if gpus and notes.get(machines.GPU_TYPE):
        capacity[notes[machines.GPU_TYPE]] = Quantity.from_units(gpus)
    return Template(capacity=capacity, labels=_labels(scalable, notes), taints=_taints(scalable, notes) or None)


def _labels(scalable: Scalable, notes: Mapping[str, str]) -> dict[str, str]:
    labels = {"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux"}
    for key, value in (scalable.spec.template.spec.metadata.labels or {}).items():
        domain = key.partition("/")[0]
        if any(domain == one or domain.endswith(f".{one}") for one in _MANAGED):
            labels[key] = value
    for part in filter(None, notes.get(machines.LABELS, "").split(",")):
        key, equals, value = part.partition("=")
        if equals:
            labels[key] = value
    return labels


def _taints(scalable: Scalable, notes: Mapping[str, str]) -> list[Taint]:
    """Those of the template; one of the annotation takes the place of one with its key and effect."""
    taints = {(taint.key, taint.effect): taint for taint in scalable.spec.template.spec.taints or ()}
    for part in filter(None, notes.get(machines.TAINTS, "").split(",")):
        label, _, effect = part.rpartition(":")
        key, _, value = label.partition("=")
        if key and effect in ("NoSchedule", "PreferNoSchedule", "NoExecute"):
            taints[key, effect] = Taint(key=key, value=value or None, effect=effect)
    return list(taints.values())


def _amount(notes: Mapping[str, str], *keys: str) -> Quantity | None:
    for key in keys:
        try:
            amount = Quantity.parse(notes[key])
        except (KeyError, ValueError):
            continue
        if amount > Quantity.from_units(0):
            return amount
    return None


def _number(notes: Mapping[str, Any], *keys: str) -> int | None:
    """The first of these annotations that is a number."""
    return next((number for key in keys if (number := parse_int(str(notes.get(key, "")))) is not None), None)


_GPU_LABELS = ("cloud.google.com/gke-accelerator", "k8s.amazonaws.com/accelerator", "accelerator")


def discover_groups(snapshot: Snapshot) -> NodeGroupsFile:
    """All groups found, each with its evidence, and what remains unknown."""
    nodes = snapshot.objects.list_all(Node)
    called, words = own_deployment(snapshot)
    info = snapshot.autoscaler or AutoscalerInfo()
    flags = _flags(words)
    groups = _groups(snapshot, nodes, called, words, info)
    label = next((label for label in _GPU_LABELS if any(label in (n.metadata.labels or {}) for n in nodes)), None)
    unknown = list(_unknown(groups, words, info))
    return NodeGroupsFile(
        api_version=API_VERSION,
        kind=KIND,
        source=", ".join(filter(None, (called, info.priorities_source))) or None,
        incomplete="; ".join(unknown) or None,
        flags=flags or None,
        gpu_label=label,
        priorities=info.priorities,
        groups=groups,
    )


def _groups(
    snapshot: Snapshot, nodes: Sequence[Node], called: str, words: Sequence[tuple[str, str]], info: AutoscalerInfo
) -> list[Group]:
    sized: dict[str, Group] = {}
    for group in machine_groups(snapshot):
        sized[group.name] = group
    for flag in parse_node_flags(words):
        _add(sized, Group(name=flag.name, min=flag.least, max=flag.most, source=f"--nodes of {called}"))
    for status in info.groups or ():
        known = Group(name=status.name, min=status.min, max=status.max, target=status.target, source=info.groups_source)
        _add(sized, replace(known, failed_scale_up_ago="0s") if status.backoff else known)
    named = {node.name: node for node in nodes}
    by_label = NodesByLabel(named)
    labelled, taken, groups = list(labelled_groups(nodes)), set[str](), []
    for group in sized.values():
        members = None if group.nodes else members_named(group.name, nodes, labelled)
        if members is not None:
            group = replace(group, nodes=members[0], source=f"{group.source}; {members[1]}")
        if _takes(group, named, taken, by_label):
            groups.append(group)
        else:
            groups.append(sized[group.name])
    for labelled_group in labelled:
        group = Group(name=labelled_group.name, nodes=labelled_group.members, source=labelled_group.source)
        if _takes(group, named, taken, by_label):
            groups.append(group)
    return groups


def _takes(group: Group, named: Mapping[str, Node], nodes: set[str], labelled: NodesByLabel) -> bool:
    """Assign nodes to a group, unless some of them belong to another one already."""
    mine = set(members_of(group, named, labelled=labelled))
    if mine & nodes:
        return False
    nodes |= mine
    return True


def _add(sized: dict[str, Group], group: Group) -> None:
    """The sizes of a group are replaced; what else was known of it stays."""
    there = sized.get(group.name)
    if there is not None:
        fields = {name: getattr(group, name) for name in ("min", "max", "failed_scale_up_ago")}
        target = there.target if group.target is None else group.target
        group = replace(there, **fields, target=target, source=f"{group.source}; {there.source}")
    sized[group.name] = group


def _flags(words: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The flags that affect decisions, by name; former names only where the new one is not set."""
    flags: dict[str, Any] = {FORMER[name]: value for name, value in words if name in FORMER}
    for name, value in words:
        if name in LISTS:
            flags.setdefault(name, []).extend(value.split(","))
        elif name in FLAGS:
            flags[name] = value
    return flags


def _unread(words: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Settings of the autoscaler that are not taken into account here, in words."""
    yield from unread_node_flags(words)
    names = list(dict.fromkeys(flag for flag, _ in words))
    if others := [name for name in names if name in NOT_MODELLED]:
        yield f"flags that decide what is not modelled here: {', '.join(others)}"
    if others := [name for name in names if name in IDLE]:
        yield f"flags that decide nothing here: {', '.join(others)}"
    known = {*FLAGS, *GROUP_FLAGS, *NOT_MODELLED, *IDLE, *FORMER}
    if others := [name for name in names if name not in known]:
        yield f"flags that cluster-autoscaler 1.36 does not have: {', '.join(others)}"


def _unknown(groups: Sequence[Group], words: Sequence[tuple[str, str]], info: AutoscalerInfo) -> Iterator[str]:
    yield from _unread(words)
    yield from info.unreadable or ()
    discovery = [value for flag, value in words if flag == "node-group-auto-discovery"]
    if discovery and not info.groups:
        text = " ".join(f"--node-group-auto-discovery={value}" for value in discovery)
        yield f"the autoscaler finds groups in the cloud ({text}): there may be others, and their sizes are there"
    if lacking := [group.name for group in groups if group.max is None]:
        yield f"the maximum of {', '.join(lacking)} is unknown"
    if lacking := [group.name for group in groups if group.nodes is None and group.target]:
        yield f"which nodes are of {', '.join(lacking)} is unknown"
    if lacking := [group.name for group in groups if group.nodes is None and not group.target and not group.template]:
        yield f"what a node of {', '.join(lacking)} would be is unknown"
