"""A pod's attachable volumes by driver and unique name; in-tree disks under the name of their CSI driver, and with the
driver's zone label on nodes where CSI migration is on.

Upstream: plugins/nodevolumelimits/csi.go, plugins/volumebinding/binder.go (tryTranslatePVToCSI) and
csi-translation-lib/plugins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from itertools import chain
from typing import Any, Protocol, TypeVar

import numpy as np
from msgspec.structs import replace

from kwhatif.api.core import DiskSource, NodeSelectorRequirement, NodeSelectorTerm, Pod, Volume
from kwhatif.api.workloads_and_storage import PersistentVolume, PersistentVolumeClaim
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.cluster_cache import cached_per_cluster
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.storage import Storage, claim_names, storage_class_of
from kwhatif.cluster.types import BoolArray
from kwhatif.framework.interface import Dependency, EventOccurrence, Plugin
from kwhatif.framework.status import Rejection, Skip

TOO_MANY = "node(s) exceed max volume count"

PORTWORX = "kubernetes.io/portworx-volume"

MIGRATED = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
    PORTWORX: "pxd.portworx.com",
}
"""In-tree provisioners -> the CSI drivers that took their place."""

_ZONE_LABELS = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")
Named = tuple[str, str]
"""(driver, unique name) of a volume."""

Found = tuple[str, str, str]
"""The same with the in-tree plugin that the driver took the volume over from, or an empty string."""


class OwnVolumes(Protocol):
    """The pod's own volumes, as a plugin's PreFilter finds them, and the error if they cannot be resolved."""

    @property
    def problem(self) -> str: ...


P = TypeVar("P", bound=Plugin[Any, Any])
V = TypeVar("V", bound=OwnVolumes)


def of_known_volumes(
    check: Callable[[P, PodInfo, NodeView, V], Iterator[Rejection]],
) -> Callable[[P, PodInfo, NodeView, V | None], Iterator[Rejection]]:
    """A Filter that rejects all nodes for a pod whose volumes cannot be resolved, and otherwise calls ``check``.

    A profile may leave the plugin's PreFilter out: upstream's Filter does not depend on it.
    """

    @wraps(check)
    def filter_(plugin: P, pod: PodInfo, nodes: NodeView, state: V | None) -> Iterator[Rejection]:
        limits: Any = plugin.pre_filter(pod, nodes.cluster) if state is None else state
        if isinstance(limits, Skip):
            return
        if limits.problem:
            yield Rejection(np.ones(nodes.size, np.bool_), limits.problem, unresolvable=True)
        else:
            yield from check(plugin, pod, nodes, limits)

    return filter_


def is_attachable(volume: Volume) -> bool:
    return (
        volume.persistent_volume_claim is not None or volume.ephemeral is not None or _disk(volume, zone="") is not None
    )


def volumes_of(pod: Pod, storage: Storage, *, new: bool) -> tuple[frozenset[Found], str]:
    """The pod's attachable volumes, and for a ``new`` pod the error if they cannot be resolved."""
    named_volumes = {named for volume in pod.spec.volumes or () if (named := _disk(volume, zone="")) is not None}
    namespace = pod.metadata.namespace or "default"
    for name, _ in claim_names(pod):
        claim = storage.claims.get((namespace, name))
        if claim is None:
            if new:
                problem = f'looking up PVC {namespace}/{name}: persistentvolumeclaim "{name}" not found'
                return frozenset(named_volumes), problem
            continue
        named = _behind(claim, storage)
        if named is not None:
            named_volumes.add(named)
    return frozenset(named_volumes), ""


def with_claims_alone(pod: Pod) -> Pod:
    """The pod without the volumes that are not claims by name."""
    claims = [volume for volume in pod.spec.volumes or () if volume.persistent_volume_claim is not None]
    return replace(pod, spec=replace(pod.spec, volumes=claims))


def _behind(claim: PersistentVolumeClaim, storage: Storage) -> Found | None:
    """The volume behind a claim; one that is not provisioned yet is named after its claim."""
    volume = storage.volumes.get(claim.spec.volume_name or "")
    if volume is not None:
        return _of_volume(volume)
    storage_class = storage.classes.get(storage_class_of(claim))
    if storage_class is None or not storage_class.provisioner:
        return None
    driver, origin = storage_class.provisioner, ""
    if driver in MIGRATED:
        driver, origin = MIGRATED[driver], driver
    return driver, f"<to be provisioned>-{claim.namespace}/{claim.name}", origin


def _of_volume(volume: PersistentVolume) -> Found | None:
    if volume.spec.csi is not None:
        handle = volume.spec.csi.volume_handle or ""
        return (volume.spec.csi.driver, handle, "") if volume.spec.csi.driver and handle else None
    labels = volume.metadata.labels or {}
    zone = next((labels[key] for key in _ZONE_LABELS if labels.get(key)), "")
    return _disk(volume.spec, zone=zone)


def _disk(source: object, *, zone: str) -> Found | None:
    """An in-tree disk of a pod's volume or of a PersistentVolume, as its CSI driver would name it."""
    gce: DiskSource | None = getattr(source, "gce_persistent_disk", None)
    ebs: DiskSource | None = getattr(source, "aws_elastic_block_store", None)
    azure: DiskSource | None = getattr(source, "azure_disk", None)
    cinder: DiskSource | None = getattr(source, "cinder", None)
    if gce is not None:
        place = _gce_place(zone)
        name = f"projects/UNSPECIFIED/{place}/disks/{gce.pd_name}" if place else None
        return _build_migrated("kubernetes.io/gce-pd", name)
    if ebs is not None:
        name = _ebs_name(ebs.volume_id or "")
        return _build_migrated("kubernetes.io/aws-ebs", name)
    if azure is not None:
        return _build_migrated("kubernetes.io/azure-disk", azure.disk_uri or "")
    if cinder is not None:
        return _build_migrated("kubernetes.io/cinder", cinder.volume_id or "")
    return None


def _build_migrated(plugin: str, name: str | None) -> Found | None:
    return None if name is None else (MIGRATED[plugin], name, plugin)


def _gce_place(zones: str) -> str | None:
    """Where a disk is, by its zone label; None if several zones make no region."""
    if "__" not in zones:
        return f"zones/{zones or 'UNSPECIFIED'}"
    parts = [zone.split("-") for zone in zones.split("__")]
    regions = {"-".join(part[:2]) for part in parts}
    return f"regions/{regions.pop()}" if len(regions) == 1 and all(len(part) == 3 for part in parts) else None


def _ebs_name(volume_id: str) -> str | None:
    """The disk's name, which may follow its zone as in aws://zone/vol-1; None if what follows is no name."""
    if not volume_id.startswith("aws://"):
        return volume_id
    name = volume_id.removeprefix("aws://").partition("/")[2].strip("/")
    return name if name.startswith("vol-") and "/" not in name else None


def attached_by_api(storage: Storage, names: Sequence[str]) -> list[set[Named]]:
    """For each node, the volumes that VolumeAttachments say are attached."""
    rows = {name: row for row, name in enumerate(names)}
    by_node: list[set[Named]] = [set() for _ in names]
    for attachment in storage.attachments:
        spec = attachment.spec
        row = rows.get(spec.node_name)
        volume = storage.volumes.get(spec.source.persistent_volume_name or "")
        if row is not None and spec.attacher and volume is not None and volume.spec.csi is not None:
            by_node[row].add((spec.attacher, volume.spec.csi.volume_handle or ""))
    return by_node


MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"
"""Annotation of a CSINode: the in-tree plugins, separated by commas, that drivers took over on the node."""

CINDER = "kubernetes.io/cinder"
_ZONE_KEYS = {
    "kubernetes.io/aws-ebs": "topology.ebs.csi.aws.com/zone",
    CINDER: "topology.cinder.csi.openstack.org/zone",
    "kubernetes.io/gce-pd": "topology.gke.io/zone",
}
"""In-tree plugins whose volumes' zones are translated -> the driver's label. Azure's disks keep theirs."""

_STABLE = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
_BETA = ("failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region")


def migrated_plugin(volume: PersistentVolume) -> str | None:
    """The in-tree plugin of a volume, if the driver has a zone label of its own."""
    spec = volume.spec
    if spec.gce_persistent_disk is not None:
        return "kubernetes.io/gce-pd"
    if spec.aws_elastic_block_store is not None:
        return "kubernetes.io/aws-ebs"
    return CINDER if spec.cinder is not None else None


@cached_per_cluster
def migrates(cluster: Cluster, plugin: str) -> BoolArray:
    """bool[N]: nodes on which CSI migration of the plugin is on."""
    if cluster.shapes.features.volume_limits_of_old and plugin != CINDER:
        return np.zeros(len(cluster), np.bool_)
    nodes = (cluster.storage.csi_nodes.get(name) for name in cluster.columns.names)
    listed = ((node.metadata.annotations or {}).get(MIGRATED_PLUGINS, "") if node else "" for node in nodes)
    return np.fromiter((plugin in names.split(",") for names in listed), np.bool_, len(cluster))


def migrated_terms(volume: PersistentVolume, plugin: str) -> list[NodeSelectorTerm] | None:
    """The terms of the volume's node affinity as the driver has them; None for a volume without a zone.

    Zones of the affinity take precedence over those of the volume's labels.
    """
    affinity, labels = volume.spec.node_affinity, volume.metadata.labels or {}
    required = affinity.required if affinity else None
    terms = list((required.node_selector_terms if required else None) or ())
    values: dict[str, set[str]] = {}
    for expression in chain.from_iterable(term.match_expressions or () for term in terms):
        values.setdefault(expression.key, set()).update(expression.values or ())
    zone, region = next((pair for pair in (_STABLE, _BETA) if pair[0] in values), _STABLE)
    if zone not in values and zone not in labels and _BETA[0] in labels:
        zone, region = _BETA
    if values.get(zone):
        terms = [_rename_key(term, zone, _ZONE_KEYS[plugin]) for term in terms]
    else:
        zones = sorted({part.strip() for part in labels.get(zone, "").split("__")} - {""})
        if zones:
            wanted = NodeSelectorRequirement(key=_ZONE_KEYS[plugin], operator="In", values=zones)
            terms = [
                replace(term, match_expressions=[*(term.match_expressions or ()), wanted])
                for term in terms or [NodeSelectorTerm()]
            ]
    if region == _BETA[1] and values.get(region):
        terms = [_rename_key(term, region, _STABLE[1]) for term in terms]
    return terms if terms or required is not None else None


def _rename_key(term: NodeSelectorTerm, old: str, new: str) -> NodeSelectorTerm:
    expressions = [replace(e, key=new) if e.key == old else e for e in term.match_expressions or ()]
    return replace(term, match_expressions=expressions)


def has_claims(pod: PodInfo, cluster: Cluster) -> bool:
    return any(True for _ in claim_names(pod.pod))


VOLUMES = Dependency("volumes are chosen and checked with it", has_claims)


def is_own_claim(waiting: PodInfo, happening: EventOccurrence) -> bool:
    """Whether a claim that changed is one of the waiting pod's."""
    if happening.claim is None or happening.claim[0] != waiting.shape.namespace:
        return False
    return any(name == happening.claim[1] for name, _ in claim_names(waiting.pod))
