"""Checks the objects of a snapshot against each other: pods, nodes, device claims, volumes and claims.

Pods: nodes, owners, classes, namespaces and budgets exist and agree. Nodes: what the kubelet would have admitted
(upstream: pkg/kubelet/lifecycle/predicate.go). Devices: what allocation leaves behind (upstream:
pkg/scheduler/framework/plugins/dynamicresources, pkg/controller/resourceclaim). Volumes: what binding leaves behind
(upstream: pkg/controller/volume/persistentvolume/pv_controller.go).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

from kwhatif.admission.plugins.priority import SYSTEM_CLASSES
from kwhatif.api.core import Node, Pod
from kwhatif.api.devices import DeviceRequest, DeviceResult, ResourceClaim, ResourceClaimTemplate, ResourceSlice
from kwhatif.api.kinds import KEPT_WHOLE, KINDS, NAMESPACED, struct_for
from kwhatif.api.selectors import SelectorError
from kwhatif.api.workloads_and_storage import (
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    PodDisruptionBudget,
    PriorityClass,
    VolumeAttachment,
)
from kwhatif.cluster.claim_store import DeviceId, claim_name
from kwhatif.cluster.shapes import PodShape
from kwhatif.cluster.storage import claim_names, storage_class_of
from kwhatif.commands.snapshot.validate.references import ObjectIndex, display_name_of, error, warning
from kwhatif.results.amounts import format_amount
from kwhatif.results.snapshot_check import Finding
from kwhatif.scheduling.selected_budgets import SelectedBudgets
from kwhatif.simulation.node_pools import allocatable_of

_SHOWN = 3


def pod_findings(index: ObjectIndex) -> Iterator[Finding]:
    """Findings about pods and what they belong to."""
    pods = index.objects.list_all(Pod)
    for pod in index.unfinished_pods:
        yield from _place(pod, index)
        yield from _claims(pod, index)
        problem = index.shapes[pod.key]
        if isinstance(problem, SelectorError):
            yield error("bad-selector", pod, f"has a selector that cannot be parsed: {problem}")
        elif isinstance(problem, ValueError):
            yield error("bad-time", pod, f"status.startTime is no time: {pod.status.start_time}")
    yield from _owners(pods, index)
    yield from _classes(pods, index)
    yield from _namespaces(index)
    yield from _budgets(pods, index.objects.list_all(PodDisruptionBudget))


def _place(pod: Pod, index: ObjectIndex) -> Iterator[Finding]:
    node, phase, nominated = pod.spec.node_name, pod.status.phase, pod.status.nominated_node_name
    if node and index.lacks("Node", node):
        yield error("unknown-node", pod, f"runs on node {node}, which is not there")
    if node and phase == "Pending":
        yield warning("bound-but-pending", pod, f"has node {node}, and its phase is still Pending")
    if not node and phase == "Running":
        yield error("running-nowhere", pod, "its phase is Running, but it has no node")
    if nominated and not node and index.lacks("Node", nominated):
        yield warning("unknown-node", pod, f"is nominated to node {nominated}, which is not there")


def _claims(pod: Pod, index: ObjectIndex) -> Iterator[Finding]:
    """Device claims; those of volumes are a matter of storage."""
    made = {s.name: s.resource_claim_name for s in pod.status.resource_claim_statuses or ()}
    for claim in pod.spec.resource_claims or ():
        name = claim.resource_claim_name or made.get(claim.name)
        if name and index.lacks("ResourceClaim", name, pod.namespace):
            finding = error if pod.spec.node_name else warning
            yield finding("missing-resource-claim", pod, f"uses ResourceClaim {name}, which is not there")


def _owners(pods: Iterable[Pod], index: ObjectIndex) -> Iterator[Finding]:
    """Controllers that are not there, each once."""
    orphans: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for pod in pods:
        for owner in pod.metadata.owner_references or ():
            kind, version, name = owner.kind or "", owner.api_version or "", owner.name or ""
            group = version.rpartition("/")[0]
            ours = (kind in KINDS and struct_for(version, kind) is not None) or KEPT_WHOLE.get(kind) == group
            namespace = "" if kind == "Node" else pod.namespace
            if owner.controller and ours and index.lacks(kind, name, namespace):
                orphans[kind, namespace, name].append(pod.name)
    for (kind, namespace, name), names in orphans.items():
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        who = f"{', '.join(names[:_SHOWN])}{more}"
        text = f"is not there, but owns {len(names)} pod{'' if len(names) == 1 else 's'}: {who}"
        yield warning("missing-owner", f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}", text)


def _classes(pods: Iterable[Pod], index: ObjectIndex) -> Iterator[Finding]:
    classes = index.objects.list_all(PriorityClass)
    values = SYSTEM_CLASSES | {priority_class.name: priority_class.value for priority_class in classes}
    for pod in pods:
        name, priority = pod.spec.priority_class_name, pod.spec.priority
        if name and name in values and values[name] != (priority or 0):
            has = "no priority" if priority is None else f"priority {priority}"
            yield warning("priority-mismatch", pod, f"has {has}, its PriorityClass {name} says {values[name]}")
        elif name and name not in values and index.lacks("PriorityClass", name):
            yield warning("missing-priority-class", pod, f"names PriorityClass {name}, which is not there")
    defaults = sorted(priority_class.name for priority_class in classes if priority_class.global_default)
    for other in defaults[1:]:
        text = f"is a global default, and so is {defaults[0]}"
        yield warning("two-default-classes", f"PriorityClass {other}", text)


def _namespaces(index: ObjectIndex) -> Iterator[Finding]:
    """Namespaces that are not there, each once."""
    inhabitants: dict[str, list[str]] = defaultdict(list)
    for obj in index.objects:
        if type(obj).__name__ in NAMESPACED and index.lacks("Namespace", obj.namespace):
            inhabitants[obj.namespace].append(display_name_of(obj))
    for namespace, names in inhabitants.items():
        who = f"{names[0]} is" if len(names) == 1 else f"{names[0]} and {len(names) - 1} more are"
        yield error("missing-namespace", f"Namespace {namespace}", f"is not there, but {who} in it")


def _budgets(pods: Iterable[Pod], budgets: Iterable[PodDisruptionBudget]) -> Iterator[Finding]:
    budgets = list(budgets)
    selected = SelectedBudgets(budgets, id)
    selecting = {number for pod in pods for number in selected.of(pod.namespace, pod.metadata.labels or {})}
    problems = {id(budget): problem for budget, problem in selected.unreadable}
    for budget in budgets:
        if (problem := problems.get(id(budget))) is not None:
            yield warning("bad-selector", budget, f"has a selector that cannot be parsed: {problem}")
        elif id(budget) not in selecting:
            yield warning("budget-selects-nothing", budget, "selects no pod")


_HOSTNAME = "kubernetes.io/hostname"
_EVERY_ADDRESS = "0.0.0.0"


def node_findings(index: ObjectIndex) -> Iterator[Finding]:
    """Findings about nodes and what is on them."""
    for node in index.objects.list_all(Node):
        pods = [(pod, shape) for pod in index.pods_on.get(node.name, ()) if (shape := index.shape(pod))]
        yield from _over_committed(node, pods, index.served_resources)
        yield from _port_conflicts(node, pods)
    yield from _hostnames(index.objects.list_all(Node))
    for csi_node in index.objects.list_all(CSINode):
        if index.lacks("Node", csi_node.name):
            yield warning("unknown-node", csi_node, "there is no Node of this name")
    for attachment in index.objects.list_all(VolumeAttachment):
        if index.lacks("Node", attachment.spec.node_name):
            yield warning(
                "unknown-node", attachment, f"attaches to node {attachment.spec.node_name}, which is not there"
            )


def _over_committed(node: Node, pods: Sequence[tuple[Pod, PodShape]], served: Collection[str]) -> Iterator[Finding]:
    """The requests exceed what the kubelet would have admitted; resources that device classes serve are not counted."""
    requested: Counter[str] = Counter()
    for _, shape in pods:
        requested.update(shape.score_requests)
    requested["pods"] = len(pods)
    allocatable = allocatable_of(node)
    for name, amount in sorted(requested.items()):
        there = allocatable.get(name, 0)
        if amount > there and (there or name not in served):
            counted = f"{len(pods)} pods" if len(pods) != 1 else "1 pod"
            spelt = [format_amount(name, number) for number in (amount, there, amount - there)]
            if name == "pods":
                text = f"{counted} run here, {there} may"
            else:
                text = f"{counted} request {spelt[0]} {name}, allocatable is {spelt[1]}: {spelt[2]} too much"
            yield error("over-committed", node, text)


def _port_conflicts(node: Node, pods: Sequence[tuple[Pod, PodShape]]) -> Iterator[Finding]:
    """Two pods that want the same port of the node."""
    users: dict[tuple[str, int], list[tuple[str, Pod]]] = defaultdict(list)
    for pod, shape in pods:
        for address, protocol, port in sorted(set(shape.ports)):
            others = users[protocol, port]
            for taken, other in others:
                if other is not pod and (taken == address or _EVERY_ADDRESS in (taken, address)):
                    text = f"{other.key} and {pod.key} both hold host port {port}/{protocol}"
                    yield error("host-port-conflict", node, text)
                    break
            others.append((address, pod))


def _hostnames(nodes: Sequence[Node]) -> Iterator[Finding]:
    """What spreads by hostname takes nodes with one hostname for one."""
    first: dict[str, Node] = {}
    for node in nodes:
        hostname = (node.metadata.labels or {}).get(_HOSTNAME)
        if hostname is not None and first.setdefault(hostname, node) is not node:
            text = f"has the same label {_HOSTNAME}={hostname} as node {first[hostname].name}"
            yield warning("duplicate-hostname", node, text)


def device_findings(index: ObjectIndex) -> Iterator[Finding]:
    """Findings about the devices of claims, and who uses these."""
    claims = index.objects.list_all(ResourceClaim)
    yield from _check_allocations(claims, index)
    yield from _check_reservations(claims, index)
    for claim in claims:
        if claim.status.allocation is None:
            for name in _device_classes(claim.spec.devices.requests):
                if index.lacks("DeviceClass", name):
                    yield warning("missing-device-class", claim, f"waits for DeviceClass {name}, which is not there")
    for template in index.objects.list_all(ResourceClaimTemplate):
        for name in _device_classes(template.spec.spec.devices.requests):
            if index.lacks("DeviceClass", name):
                yield warning("missing-device-class", template, f"asks for DeviceClass {name}, which is not there")
    for piece in index.objects.list_all(ResourceSlice):
        node = piece.spec.node_name
        if node and index.lacks("Node", node):
            yield warning("unknown-node", piece, f"is of node {node}, which is not there")


def _check_allocations(claims: Iterable[ResourceClaim], index: ObjectIndex) -> Iterator[Finding]:
    """Devices that are not there, and those that several have where one of them has them for itself."""
    there = _devices(index.objects.list_all(ResourceSlice)) if "ResourceSlice" in index.objects.known_kinds() else None
    holders: dict[DeviceId, list[tuple[ResourceClaim, bool]]] = defaultdict(list)
    for claim in claims:
        for result in _results(claim):
            if there is not None and result.id not in there:
                text = f"has device {'/'.join(result.id)}, which no ResourceSlice has"
                yield warning("unknown-device", claim, text)
            if not result.admin_access:
                holders[result.id].append((claim, result.share_id is None))
    for device, users in holders.items():
        if len(users) > 1 and any(alone for _, alone in users):
            first, *others = (claim for claim, _ in users)
            for claim in others:
                more = " twice" if claim is first else f", and so does {display_name_of(first)}"
                yield error("device-allocated-twice", claim, f"has device {'/'.join(device)}{more}")


def _devices(slices: Sequence[ResourceSlice]) -> set[DeviceId]:
    """The devices of the newest generation of each pool."""
    newest: dict[tuple[str, str], int] = {}
    for piece in slices:
        pool = piece.spec.driver, piece.spec.pool.name
        newest[pool] = max(newest.get(pool, 0), piece.spec.pool.generation)
    return {
        (piece.spec.driver, piece.spec.pool.name, device.name)
        for piece in slices
        if piece.spec.pool.generation == newest[piece.spec.driver, piece.spec.pool.name]
        for device in piece.spec.devices or ()
    }


def _results(claim: ResourceClaim) -> Sequence[DeviceResult]:
    allocation = claim.status.allocation
    return (allocation.devices.results if allocation else None) or ()


def _check_reservations(claims: Iterable[ResourceClaim], index: ObjectIndex) -> Iterator[Finding]:
    """Claims kept for pods that are not there, and pods that run with claims that are not kept for them."""
    users: dict[tuple[str, str], set[str] | None] = {}
    for claim in claims:
        consumers = claim.status.reserved_for or ()
        pods = {user.name for user in consumers if user.resource == "pods" and not user.api_group}
        others = any(user.resource != "pods" or user.api_group for user in consumers)
        users[claim.namespace, claim.name] = None if others else pods
        for name in sorted(pods):
            if index.lacks("Pod", name, claim.namespace):
                yield warning("reserved-for-missing-pod", claim, f"is reserved for pod {name}, which is not there")
    for pod in index.unfinished_pods:
        if pod.spec.node_name:
            yield from _runs_with(pod, users)


def _runs_with(pod: Pod, users: dict[tuple[str, str], set[str] | None]) -> Iterator[Finding]:
    for resource_claim in pod.spec.resource_claims or ():
        name = claim_name(pod, resource_claim)
        mine = users.get((pod.namespace, name)) if name else None
        if mine is not None and pod.name not in mine:
            text = f"has a node and uses ResourceClaim {name}, which is not reserved for it"
            yield warning("claim-not-reserved", pod, text)


def _device_classes(requests: Iterable[DeviceRequest] | None) -> list[str]:
    """The requested classes, each once."""
    wanted = [
        one
        for request in requests or ()
        for one in (request.exactly, *(request.first_available or ()))
        if one is not None
    ]
    return sorted({one.device_class_name for one in wanted if one.device_class_name})


def storage_findings(index: ObjectIndex) -> Iterator[Finding]:
    """Findings about the volumes of pods, claims and what they are bound to."""
    for pod in index.unfinished_pods:
        yield from _of_pod(pod, index)
    volumes = {volume.name: volume for volume in index.objects.list_all(PersistentVolume)}
    for claim in index.objects.list_all(PersistentVolumeClaim):
        yield from _of_claim(claim, volumes, index)
    for volume in volumes.values():
        yield from _of_volume(volume, index)
    for attachment in index.objects.list_all(VolumeAttachment):
        name = attachment.spec.source.persistent_volume_name
        if name and index.lacks("PersistentVolume", name):
            yield warning("claim-without-volume", attachment, f"attaches volume {name}, which is not there")


def _of_pod(pod: Pod, index: ObjectIndex) -> Iterator[Finding]:
    for name, _ in claim_names(pod):
        if index.lacks("PersistentVolumeClaim", name, pod.namespace):
            # A pod may wait for its claim; it cannot run without it.
            finding = error if pod.spec.node_name else warning
            yield finding("missing-claim", pod, f"uses PersistentVolumeClaim {name}, which is not there")


def _of_claim(
    claim: PersistentVolumeClaim, volumes: dict[str, PersistentVolume], index: ObjectIndex
) -> Iterator[Finding]:
    wanted, name = storage_class_of(claim), claim.spec.volume_name
    if not name:
        if claim.status.phase == "Bound":
            yield error("claim-without-volume", claim, "is Bound, but names no volume")
        if wanted and index.lacks("StorageClass", wanted):
            yield warning("missing-storage-class", claim, f"waits for StorageClass {wanted}, which is not there")
        return
    if index.lacks("PersistentVolume", name):
        yield error("claim-without-volume", claim, f"is bound to PersistentVolume {name}, which is not there")
    volume = volumes.get(name)
    ref = volume.spec.claim_ref if volume else None
    if ref is not None and (ref.namespace, ref.name) != (claim.namespace, claim.name):
        text = f"is bound to PersistentVolume {name}, which is kept for {ref.namespace}/{ref.name}"
        yield error("claim-volume-mismatch", claim, text)
    elif ref is not None and ref.uid and claim.metadata.uid and ref.uid != claim.metadata.uid:
        text = f"is bound to PersistentVolume {name}, which is kept for an earlier claim of this name"
        yield error("claim-volume-mismatch", claim, text)


def _of_volume(volume: PersistentVolume, index: ObjectIndex) -> Iterator[Finding]:
    ref = volume.spec.claim_ref
    if ref is None or volume.status.phase != "Bound":
        # One that was released keeps its reference, and one may be kept for a claim that is still to come.
        return
    if index.lacks("PersistentVolumeClaim", ref.name or "", ref.namespace or ""):
        text = f"is bound to PersistentVolumeClaim {ref.namespace}/{ref.name}, which is not there"
        yield warning("volume-without-claim", volume, text)
