"""Drops from objects of a live cluster what nothing here reads, much of which is private.

Decoding drops fields without a place in a Struct. The rest is here: annotations, conditions that change without effect,
the pod templates of objects that are kept as plain values, and Events that are not about scheduling.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import fields, force_setattr, replace

from kwhatif.api import node_provisioning as machines
from kwhatif.api.core import Condition, Container, ContainerStatus, Node, NodeStatus, Pod, PodSpec, Volume
from kwhatif.api.decode import decode_json
from kwhatif.api.devices import AllocatedDeviceStatus, ResourceClaim, ResourceClaimTemplate
from kwhatif.api.events import Event
from kwhatif.api.kinds import TEMPLATES
from kwhatif.api.meta import ObjectMeta, Resource
from kwhatif.api.node_provisioning import NodeClaim, NodeClaimStatus, NodePool, NodePoolStatus
from kwhatif.api.objects import part_of, section
from kwhatif.snapshot.format.autoscaler_info import shorten_command

Plain = dict[str, Any]

NOWHERE = "https://left-out.invalid"
"""Stands for the address of a webhook."""

KEPT_ANNOTATIONS = frozenset(
    {
        *(*machines.SIZES, *machines.OPTIONS, machines.CPU, machines.MEMORY, machines.DISK, machines.GPUS),
        *(machines.GPU_TYPE, machines.MAX_PODS, machines.LABELS, machines.TAINTS),
        *(machines.OLD_CPU, machines.OLD_MEMORY, machines.OLD_GPUS, machines.OLD_MAX_PODS),
        *("autoscaling.keda.sh/paused", "autoscaling.keda.sh/paused-replicas"),
        *("controller.kubernetes.io/pod-deletion-cost", "kubernetes.io/config.mirror", "kubernetes.io/config.source"),
        *("deployment.kubernetes.io/desired-replicas", "deployment.kubernetes.io/max-replicas"),
        *("deployment.kubernetes.io/revision", "deprecated.daemonset.template.generation"),
        *("descheduler.alpha.kubernetes.io/evict", "descheduler.alpha.kubernetes.io/prefer-no-eviction"),
        "karpenter.sh/do-not-disrupt",
        *("kueue.x-k8s.io/admission-gated-by", "kueue.x-k8s.io/job-min-parallelism"),
        *(
            f"kueue.x-k8s.io/podset-{name}"
            for name in (
                *("group-name", "preferred-topology", "required-topology", "slice-required-topology"),
                *("slice-size", "unconstrained-topology"),
            )
        ),
        *(
            "preemption-toleration.scheduling.x-k8s.io/minimum-preemptable-priority",
            "preemption-toleration.scheduling.x-k8s.io/toleration-seconds",
            "pv.kubernetes.io/bind-completed",
            "pv.kubernetes.io/bound-by-controller",
        ),
        "pv.kubernetes.io/provisioned-by",
        *("resource.kubernetes.io/extended-resource-claim", "resource.kubernetes.io/pod-claim-name"),
        *("scheduler.alpha.kubernetes.io/defaultTolerations", "scheduler.alpha.kubernetes.io/node-selector"),
        "scheduler.alpha.kubernetes.io/tolerationsWhitelist",
        "storage.alpha.kubernetes.io/migrated-plugins",
        *("storageclass.beta.kubernetes.io/is-default-class", "storageclass.kubernetes.io/is-default-class"),
        *("volume.beta.kubernetes.io/storage-class", "volume.kubernetes.io/selected-node"),
    }
)
"""The annotations that scheduling, admission, the controllers or an autoscaler read."""

_KEPT_METADATA = (*(f.encode_name for f in fields(ObjectMeta) if f.name != "resource_version"), "generation")
"""Of objects that are kept as they are, of which none is a pod: versions matter for pods alone."""

_KEPT_STATUS = {"StatefulSet": ("currentRevision", "updateRevision"), "ResourceQuota": ("hard", "used")}
_KEPT_CONDITIONS = frozenset({"DisruptionTarget", "PodResizePending", "PodScheduled", "Ready"})
_KEPT_OF_SPEC = frozenset({*(f.encode_name for f in fields(PodSpec)), "activeDeadlineSeconds", "restartPolicy"})
_KEPT_OF_CONTAINER = frozenset({*(f.encode_name for f in fields(Container)), "imagePullPolicy"})
_CONTAINERS = ("containers", "initContainers")
_VOLUME_SOURCES = {f.encode_name: f.type for f in fields(Volume) if f.name != "name"}
_EMPTY_DIR = "emptyDir"
_CONTEXT = "securityContext"
# Every stored template has these; to leave them out is to leave out nothing.
_DEFAULTS: Plain = {
    "dnsPolicy": "ClusterFirst",
    "enableServiceLinks": True,
    "securityContext": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}


# --- objects that are decoded


def prune_object(obj: Resource) -> None:
    """Remove from a decoded object what its Struct holds but nothing reads."""
    _prune_annotations(obj.metadata)
    if isinstance(obj, Pod):
        _prune_pod(obj)
        return
    # Pods wait by their versions; those of other objects decide nothing.
    force_setattr(obj.metadata, "resource_version", None)
    if isinstance(obj, Node | NodeClaim | NodePool) and obj.status.conditions:
        _prune_conditions(obj.status)
    elif isinstance(obj, ResourceClaimTemplate) and obj.spec.metadata is not None:
        _prune_annotations(obj.spec.metadata)
    elif isinstance(obj, ResourceClaim):
        for device in obj.status.devices or ():
            if device.conditions:
                _prune_conditions(device)


def _prune_conditions(status: NodeStatus | NodeClaimStatus | NodePoolStatus | AllocatedDeviceStatus) -> None:
    force_setattr(status, "conditions", [_without_message(one) for one in status.conditions or ()])


def _prune_annotations(meta: ObjectMeta) -> None:
    if meta.annotations:
        kept = {key: value for key, value in meta.annotations.items() if key in KEPT_ANNOTATIONS}
        force_setattr(meta, "annotations", kept or None)


def _prune_pod(pod: Pod) -> None:
    for volume in pod.spec.volumes or ():
        if volume.ephemeral is not None and volume.ephemeral.volume_claim_template is not None:
            _prune_annotations(volume.ephemeral.volume_claim_template.metadata)
    if pod.spec.volumes:
        # What is left of most volumes is a name, and that is made up anew for each pod.
        volumes = [volume for volume in pod.spec.volumes if volume != Volume(name=volume.name)]
        force_setattr(pod.spec, "volumes", volumes)
    status = pod.status
    if status.conditions:
        # An empty list says that the pod is not ready, none at all that it is unknown.
        kept = [condition for condition in status.conditions if _is_read(condition, pod)]
        force_setattr(status, "conditions", [_without_message(one) if one.status == "True" else one for one in kept])
    if any(condition.type == "PodResizePending" for condition in status.conditions or ()) or status.resize:
        return
    for name, containers in (
        ("container_statuses", pod.spec.containers),
        ("init_container_statuses", pod.spec.init_containers),
    ):
        statuses = getattr(status, name)
        if statuses:
            by_name = {container.name: container for container in containers or ()}
            force_setattr(status, name, [one for one in statuses if _matters(one, by_name.get(one.name))] or None)


def _is_read(condition: Condition, pod: Pod) -> bool:
    """Whether a condition of a pod is read. PodScheduled of a bound pod says nothing new.

    Its time is read where the pod's class may spare it from preemption for a while.
    """
    if condition.type not in _KEPT_CONDITIONS:
        return False
    return (condition.type, condition.status) != ("PodScheduled", "True") or bool(pod.spec.priority_class_name)


def _without_message(condition: Condition) -> Condition:
    return condition if condition.message is None else replace(condition, message=None)


def _matters(status: ContainerStatus, container: Container | None) -> bool:
    """Whether it is read: by resizes, restart counts, and containers that wait or have terminated."""
    state = status.state
    ended = state is not None and (state.waiting is not None or state.terminated is not None)
    return ended or bool(status.restart_count) or _is_resized(status, container)


def _is_resized(status: ContainerStatus, container: Container | None) -> bool:
    """Whether a container has or was allocated other resources than it requests: only then its status matters."""
    requests = (container.resources.requests if container and container.resources else None) or {}
    actual = status.resources.requests if status.resources else None
    return any(amounts is not None and amounts != requests for amounts in (actual, status.allocated_resources))


# --- objects that are kept as plain values


def prune_whole(obj: Plain, kind: str, dropped: set[str], *, keep_templates: bool = False) -> None:
    """Remove from an object what nothing reads. Fields removed from its pod template are added to ``dropped``."""
    if kind == "ServiceAccount":
        obj["metadata"] = {key: obj["metadata"].get(key) for key in ("name", "namespace")}
        for key in obj.keys() - {"apiVersion", "kind", "metadata"}:
            del obj[key]
        return
    obj["metadata"] = _metadata(section(obj, "metadata"))
    if kind in _PRUNED:
        _PRUNED[kind](obj)
    status = obj.pop("status", None) or {}
    kept = {key: status[key] for key in _KEPT_STATUS.get(kind, ()) if key in status}
    if kept:
        obj["status"] = kept
    spec = obj.get("spec")
    for claim in (spec or {}).get("volumeClaimTemplates") or () if kind == "StatefulSet" else ():
        claim |= _claim_template(claim)
        claim.pop("status", None)
    if keep_templates:
        return
    owner = obj
    for key in TEMPLATES.get(kind, ()):
        owner = owner.get(key) or {}
        if owner is not obj and owner.get("metadata"):
            owner["metadata"] = _metadata(owner["metadata"])
    if kind in TEMPLATES and owner.get("template"):
        owner["template"] = prune_template(owner["template"], dropped)


def _webhooks(configuration: Plain) -> None:
    """The webhooks' rules and selectors, without addresses and certificates."""
    for hook in configuration.get("webhooks") or ():
        service = section(hook, "clientConfig").get("service")
        address = {"service": {key: service.get(key) for key in ("namespace", "name")}} if service else {"url": NOWHERE}
        hook["clientConfig"] = address


def _definition(definition: Plain) -> None:
    """The served versions and schemas, without descriptions."""
    spec = section(definition, "spec")
    spec.pop("conversion", None)
    for version in spec.get("versions") or ():
        for key in ("additionalPrinterColumns", "selectableFields"):
            version.pop(key, None)
        if "status" in section(version, "subresources"):
            part_of(version, "subresources")["status"] = {}
        _schema(section(version, "schema").get("openAPIV3Schema"))


def _schema(schema: Any) -> None:
    """A schema without descriptions, which are most of its size. A property may be called ``description``, too."""
    if not isinstance(schema, dict):
        return
    for key in ("$schema", "description", "example", "externalDocs", "id", "title"):
        schema.pop(key, None)
    for key in ("properties", "patternProperties", "definitions"):
        for inner in (schema.get(key) or {}).values():
            _schema(inner)
    for key in ("items", "additionalProperties", "not"):
        _schema(schema.get(key))
    for key in ("allOf", "anyOf", "oneOf"):
        for inner in schema.get(key) or ():
            _schema(inner)


def _server_of_group(service: Plain) -> None:
    """The group of an aggregated API server, without its certificate."""
    section(service, "spec").pop("caBundle", None)


def _scaled_object(obj: Plain) -> None:
    """The target and bounds of a ScaledObject, without triggers, which have addresses and queries."""
    for key in ("advanced", "triggers"):
        section(obj, "spec").pop(key, None)


_PRUNED: dict[str, Callable[[Plain], None]] = {
    "APIService": _server_of_group,
    "CustomResourceDefinition": _definition,
    "MutatingWebhookConfiguration": _webhooks,
    "ScaledObject": _scaled_object,
    "ValidatingWebhookConfiguration": _webhooks,
}


def prune_template(template: Plain, dropped: set[str]) -> Plain:
    """A pod template with the fields that matter to scheduling; the names of others are added to ``dropped``."""
    metadata, spec = section(template, "metadata"), section(template, "spec")
    if set(metadata.get("annotations") or ()) - KEPT_ANNOTATIONS:
        dropped.add("annotations")
    kept = _with_profile_alone(_some_of(spec, _KEPT_OF_SPEC, dropped), dropped)
    for key in _CONTAINERS:
        if kept.get(key):
            kept[key] = [_container(container, dropped) for container in kept[key]]
    if kept.get("volumes"):
        kept["volumes"] = [_volume(volume, dropped) for volume in kept["volumes"]]
    return {"metadata": _metadata(metadata), "spec": kept}


def _container(container: Plain, dropped: set[str]) -> Plain:
    return _with_profile_alone(_some_of(container, _KEPT_OF_CONTAINER, dropped), dropped) | shorten_command(container)


def _with_profile_alone(kept: Plain, dropped: set[str]) -> Plain:
    """Of a security context only the localhost seccomp profile, if there is one."""
    context = kept.pop(_CONTEXT, None)
    if not isinstance(context, dict) or not context:
        return kept
    profile = context.get("seccompProfile")
    if not isinstance(profile, dict) or profile.get("type") != "Localhost":
        dropped.add(_CONTEXT)
        return kept
    if len(context) > 1:
        dropped.add(_CONTEXT)
    return kept | {_CONTEXT: {"seccompProfile": profile}}


def _metadata(metadata: Plain) -> Plain:
    kept = {key: metadata[key] for key in _KEPT_METADATA if metadata.get(key) is not None}
    annotations = {key: text for key, text in (kept.pop("annotations", None) or {}).items() if key in KEPT_ANNOTATIONS}
    return kept | ({"annotations": annotations} if annotations else {})


def _some_of(whole: Plain, names: frozenset[str], dropped: set[str]) -> Plain:
    for name, value in whole.items():
        # The old name of the service account says nothing that the new one does not.
        if name not in names and value not in (None, [], "", _DEFAULTS.get(name)) and name != "serviceAccount":
            dropped.add(name)
    return {name: value for name, value in whole.items() if name in names}


def _volume(volume: Plain, dropped: set[str]) -> Plain:
    """Of a volume its type, and for types that decide where a pod can run the fields that do."""
    kept: Plain = {}
    for key, source in volume.items():
        if not isinstance(source, dict) or key == _EMPTY_DIR:
            kept[key] = source
            continue
        names = _names_of(_VOLUME_SOURCES.get(key))
        kept[key] = {name: value for name, value in source.items() if name in names}
        if any(name not in names and name != "defaultMode" for name in source):
            dropped.add("volumes")
    if template := section(kept, "ephemeral").get("volumeClaimTemplate"):
        part_of(kept, "ephemeral")["volumeClaimTemplate"] = _claim_template(template)
    return kept


def _claim_template(template: Plain) -> Plain:
    return {"metadata": _metadata(section(template, "metadata")), "spec": section(template, "spec")}


def _names_of(type_: Any) -> frozenset[str]:
    """The fields of ``Struct | None``; none for a volume source that is not read."""
    structs = (
        one for one in getattr(type_, "__args__", ()) if isinstance(one, type) and issubclass(one, msgspec.Struct)
    )
    return frozenset(f.encode_name for struct in structs for f in fields(struct))


_LEADER_ELECTION = "LeaderElection"
_SCHEDULING = frozenset({"FailedScheduling", "Preempted", "Scheduled"})
_LEASE = ("Lease", "kube-system", "kube-scheduler")


def prune_event(raw: msgspec.Raw) -> bytes | None:
    """The text of an Event, with its version, or None if it is neither a scheduler's about a pod nor about
    kube-scheduler's leader. Raises InputError.

    Upstream: pkg/scheduler/schedule_one.go and framework/preemption/executor.go emit them, and RecordEvent of
    client-go/tools/leaderelection/resourcelock/leaselock.go.
    """
    event = decode_json(raw, Event)
    about = event.involved_object
    if about.kind == "Pod":
        kept = event.reason in _SCHEDULING
    else:
        kept = event.reason == _LEADER_ELECTION and (about.kind, about.namespace, about.name) == _LEASE
    return msgspec.json.encode(event) if kept else None
