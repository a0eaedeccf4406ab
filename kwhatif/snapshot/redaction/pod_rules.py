"""Pods and their templates."""

from __future__ import annotations

from typing import Any

from kwhatif.snapshot.redaction.pseudonyms import Names
from kwhatif.snapshot.redaction.shared_rules import (
    ACCESS_MODES,
    AMOUNTS,
    CONDITIONS,
    LABEL_KEY,
    LABEL_SELECTOR,
    LABELS,
    METADATA,
    NAME,
    NODE,
    NODE_SELECTOR,
    NODE_SELECTOR_TERM,
    TOLERATIONS,
    object_of,
)
from kwhatif.snapshot.redaction.treatments import GONE, amount, each, fields, flag, named, number, one_of, time

__all__ = ["CLAIM_SPEC", "CLAIM_TEMPLATE", "DISKS", "POD", "POD_SPEC", "POD_TEMPLATE", "TOPOLOGY_SPREAD"]

IMAGE = named(Names.image)
DISK = named(Names.disk)
DRIVER = named(Names.driver)
RESOURCE = named(Names.resource)

# --- affinity

NODE_AFFINITY = fields(
    requiredDuringSchedulingIgnoredDuringExecution=NODE_SELECTOR,
    preferredDuringSchedulingIgnoredDuringExecution=each(fields(weight=number, preference=NODE_SELECTOR_TERM)),
)
_POD_TERM = fields(
    labelSelector=LABEL_SELECTOR,
    namespaces=each(NAME),
    topologyKey=LABEL_KEY,
    namespaceSelector=LABEL_SELECTOR,
    matchLabelKeys=each(LABEL_KEY),
    mismatchLabelKeys=each(LABEL_KEY),
)
_POD_AFFINITY = fields(
    requiredDuringSchedulingIgnoredDuringExecution=each(_POD_TERM),
    preferredDuringSchedulingIgnoredDuringExecution=each(fields(weight=number, podAffinityTerm=_POD_TERM)),
)
_POLICY = one_of("Honor", "Ignore")
TOPOLOGY_SPREAD = fields(
    maxSkew=number,
    topologyKey=LABEL_KEY,
    whenUnsatisfiable=one_of("DoNotSchedule", "ScheduleAnyway"),
    labelSelector=LABEL_SELECTOR,
    minDomains=number,
    nodeAffinityPolicy=_POLICY,
    nodeTaintsPolicy=_POLICY,
    matchLabelKeys=each(LABEL_KEY),
)

# --- volumes

_ATTRIBUTES_CLASS = {"volumeAttributesClassName": NAME}
CLAIM_SPEC = fields(
    _ATTRIBUTES_CLASS,
    accessModes=ACCESS_MODES,
    selector=LABEL_SELECTOR,
    resources=fields(requests=AMOUNTS, limits=AMOUNTS),
    volumeName=NAME,
    storageClassName=NAME,
    volumeMode=one_of("Filesystem", "Block"),
)
CLAIM_TEMPLATE = object_of({"spec": CLAIM_SPEC})
_DISK_SOURCE = fields(pdName=DISK, volumeID=DISK, diskName=DISK, diskURI=DISK, partition=number, readOnly=flag)
DISKS = {
    "csi": fields(driver=DRIVER, volumeHandle=DISK, readOnly=flag),
    "gcePersistentDisk": _DISK_SOURCE,
    "awsElasticBlockStore": _DISK_SOURCE,
    "azureDisk": _DISK_SOURCE,
    "cinder": _DISK_SOURCE,
}
_VOLUME = fields(
    DISKS,
    name=NAME,
    persistentVolumeClaim=fields(claimName=NAME, readOnly=flag),
    ephemeral=fields(volumeClaimTemplate=CLAIM_TEMPLATE),
    image=fields(reference=IMAGE),
    iscsi=fields(targetPortal=DISK, iqn=DISK, lun=number, readOnly=flag),
    rbd=fields(monitors=each(DISK), image=DISK, pool=DISK, readOnly=flag),
    emptyDir=fields(sizeLimit=amount, medium=one_of("Memory", "HugePages")),
)

# --- containers

_RESOURCES = fields(requests=AMOUNTS, limits=AMOUNTS, claims=each(fields(name=NAME, request=NAME)))
_CONTAINERS = each(
    fields(
        name=NAME,
        image=IMAGE,
        imagePullPolicy=one_of("Always", "IfNotPresent", "Never"),
        resources=_RESOURCES,
        ports=each(
            fields(
                name=NAME,
                containerPort=number,
                hostPort=number,
                hostIP=named(Names.address),
                protocol=one_of("TCP", "UDP", "SCTP"),
            )
        ),
        restartPolicy=one_of("Always", "OnFailure", "Never"),
        restartPolicyRules=each(fields(action=one_of("Restart", "RestartAllContainers"))),
    )
)

POD_SPEC = fields(
    nodeName=NODE,
    schedulerName=named(Names.scheduler),
    priority=number,
    priorityClassName=named(Names.priority_class),
    preemptionPolicy=one_of("PreemptLowerPriority", "Never"),
    nodeSelector=LABELS,
    affinity=fields(nodeAffinity=NODE_AFFINITY, podAffinity=_POD_AFFINITY, podAntiAffinity=_POD_AFFINITY),
    tolerations=TOLERATIONS,
    topologySpreadConstraints=each(TOPOLOGY_SPREAD),
    containers=_CONTAINERS,
    initContainers=_CONTAINERS,
    resources=_RESOURCES,
    overhead=AMOUNTS,
    runtimeClassName=NAME,
    schedulingGates=each(fields(name=named(Names.qualified))),
    resourceClaims=each(fields(name=NAME, resourceClaimName=NAME, resourceClaimTemplateName=NAME)),
    schedulingGroup=fields(podGroupName=NAME),
    volumes=each(_VOLUME),
    hostNetwork=flag,
    hostUsers=flag,
    terminationGracePeriodSeconds=number,
    restartPolicy=one_of("Always", "OnFailure", "Never"),
    activeDeadlineSeconds=number,
    hostname=NAME,
    subdomain=NAME,
)
POD_TEMPLATE = object_of({"spec": POD_SPEC})

_RESIZED = fields(requests=AMOUNTS, limits=AMOUNTS)
_STATUSES = each(fields(name=NAME, resources=_RESIZED, allocatedResources=AMOUNTS, restartCount=number))
_PHASE = one_of("Pending", "Running", "Succeeded", "Failed", "Unknown")
_POD = object_of(
    {
        "spec": POD_SPEC,
        "status": fields(
            phase=_PHASE,
            startTime=time,
            nominatedNodeName=NODE,
            conditions=CONDITIONS,
            containerStatuses=_STATUSES,
            initContainerStatuses=_STATUSES,
            resize=one_of("Proposed", "InProgress", "Deferred", "Infeasible"),
            resources=_RESIZED,
            allocatedResources=AMOUNTS,
            resourceClaimStatuses=each(fields(name=NAME, resourceClaimName=NAME)),
            extendedResourceClaimStatus=fields(
                requestMappings=each(fields(containerName=NAME, resourceName=RESOURCE, requestName=NAME)),
                resourceClaimName=NAME,
            ),
        ),
    },
    metadata=METADATA,
)


def _pod(value: Any, names: Names) -> Any:
    """The kubelet names a pod that it reads from a file on its node after the node, too."""
    kept = _POD(value, names)
    if kept is GONE:
        return GONE
    name, node = value["metadata"].get("name") or "", value.get("spec", {}).get("nodeName")
    if node and name.endswith(f"-{node}") and _is_mirror(value["metadata"]):
        kept["metadata"]["name"] = f"{names.name(name.removesuffix(f'-{node}'))}-{names.node(node)}"
    return kept


def _is_mirror(metadata: dict[str, Any]) -> bool:
    owners = metadata.get("ownerReferences") or ()
    return "kubernetes.io/config.mirror" in (metadata.get("annotations") or {}) or any(
        owner.get("kind") == "Node" for owner in owners
    )


POD = _pod
