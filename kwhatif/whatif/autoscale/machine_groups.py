"""Node groups of Cluster API: MachineDeployments, MachinePools, and MachineSets that nobody owns.

Sizes, options and what a machine has that is not there yet are annotations. OpenShift's MachineSets say the same in
annotations of their own, and older words for capacity.
Upstream: cluster-autoscaler/cloudprovider/clusterapi (clusterapi_unstructured.go, clusterapi_utils.go,
clusterapi_nodegroup.go); for OpenShift cloudprovider/openshift of its fork.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from kwhatif.api import machines
from kwhatif.api.core import Node, ResourceList, Taint
from kwhatif.api.machines import Machine, MachineDeployment, MachinePool, MachineSet, Scalable
from kwhatif.api.meta import Resource
from kwhatif.api.quantity import Quantity
from kwhatif.golang.integers import int64
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.whatif.autoscale.node_groups_document import Group, Members, Template

_PODS = 110
"""So many pods a machine holds, unless it is said."""

_MANAGED = ("node-role.kubernetes.io", "node-restriction.kubernetes.io", "node.cluster.x-k8s.io")
"""Domains of labels that Cluster API carries over from a machine to its node."""


def machine_groups(snapshot: Snapshot) -> Iterator[Group]:
    """Those that may have machines at all, by the annotation of their largest size."""
    there, nodes = {node.name for node in snapshot.objects.of(Node)}, _nodes_of(snapshot)
    for kind in (MachineDeployment, MachinePool, MachineSet):
        for each in snapshot.objects.of(kind):
            if kind is MachineSet and _owner(each, "MachineDeployment"):
                continue
            found = _group(each, kind.__name__, nodes, there)
            if found is not None:
                yield found


def _group(
    each: Scalable, kind: str, nodes: Mapping[tuple[str, str, str], list[str]], known: AbstractSet[str]
) -> Group | None:
    notes = each.metadata.annotations or {}
    sizes = {
        end: _number(notes, *(key for key in machines.SIZES if key.endswith(f"{end}-size"))) for end in ("min", "max")
    }
    least, most = sizes["min"] or 0, sizes["max"] or 0
    if most == 0 or not 0 <= least <= most:
        return None
    name = f"{kind}/{each.namespace}/{each.name}"
    pooled = [ref.name for ref in each.status.node_refs or () if ref.name]
    there = sorted(known & {*(pooled or nodes.get((kind, each.namespace, each.name), []))})
    template = _template(each, notes)
    if template is None and not each.spec.replicas and not there:
        return None
    return Group(
        name=name,
        min=least,
        max=most,
        target=each.spec.replicas,
        nodes=Members(names=there) if there else None,
        template=template,
        options={machines.OPTIONS[key]: text.lower() for key, text in notes.items() if key in machines.OPTIONS} or None,
        source=f"annotations of {kind} {each.namespace}/{each.name}",
    )


def _nodes_of(snapshot: Snapshot) -> dict[tuple[str, str, str], list[str]]:
    """The nodes of each MachineSet and MachineDeployment, by the Machines that became them."""
    above = {
        (each.namespace, each.name): ("MachineDeployment", deployment)
        for each in snapshot.objects.of(MachineSet)
        if (deployment := _owner(each, "MachineDeployment"))
    }
    found: dict[tuple[str, str, str], list[str]] = {}
    for machine in snapshot.objects.of(Machine):
        ref, owner = machine.status.node_ref, _owner(machine, "MachineSet")
        if ref is None or not ref.name or not owner:
            continue
        kind, name = above.get((machine.namespace, owner), ("MachineSet", owner))
        found.setdefault((kind, machine.namespace, name), []).append(ref.name)
    return found


def _owner(obj: Resource, kind: str) -> str:
    owners = obj.metadata.owner_references or ()
    return next((owner.name for owner in owners if owner.kind == kind and owner.name), "")


# --- a machine that is not there yet


def _template(each: Scalable, notes: Mapping[str, str]) -> Template | None:
    """What is known of the next machine; None unless its cpu and memory are."""
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
    return Template(capacity=capacity, labels=_labels(each, notes), taints=_taints(each, notes) or None)


def _labels(each: Scalable, notes: Mapping[str, str]) -> dict[str, str]:
    labels = {"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux"}
    for key, value in (each.spec.template.spec.metadata.labels or {}).items():
        domain = key.partition("/")[0]
        if any(domain == one or domain.endswith(f".{one}") for one in _MANAGED):
            labels[key] = value
    for part in filter(None, notes.get(machines.LABELS, "").split(",")):
        key, equals, value = part.partition("=")
        if equals:
            labels[key] = value
    return labels


def _taints(each: Scalable, notes: Mapping[str, str]) -> list[Taint]:
    """Those of the template; one of the annotation takes the place of one with its key and effect."""
    taints = {(taint.key, taint.effect): taint for taint in each.spec.template.spec.taints or ()}
    for part in filter(None, notes.get(machines.TAINTS, "").split(",")):
        label, _, effect = part.rpartition(":")
        key, _, value = label.partition("=")
        if key and effect in ("NoSchedule", "PreferNoSchedule", "NoExecute"):
            taints[key, effect] = Taint(key=key, value=value or None, effect=effect)
    return list(taints.values())


def _amount(notes: Mapping[str, str], *keys: str) -> Quantity | None:
    for key in keys:
        try:
            found = Quantity.parse(notes[key])
        except (KeyError, ValueError):
            continue
        if found > Quantity.from_units(0):
            return found
    return None


def _number(notes: Mapping[str, Any], *keys: str) -> int | None:
    """The first of these annotations that is a number."""
    return next((number for key in keys if (number := int64(str(notes.get(key, "")))) is not None), None)
