"""Signatures of pods: plugins sign what filters and scores read, and equal signatures make pods interchangeable for
OpportunisticBatching.

As upstream's, a signature leaves out fields on purpose or by accident (protocol and address of host ports, the
namespace, the priority).

Upstream: kube-scheduler/framework/signers.go, and SignPod in pkg/scheduler/framework/runtime/framework.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from kwhatif.api.core import NodeSelectorRequirement, NodeSelectorTerm, Toleration
from kwhatif.cluster.pod_requests import is_scalar
from kwhatif.cluster.shapes import PodInfo, PodShape, is_read
from kwhatif.framework.interface import Handle, Plugin, overrides

Signature = Mapping[str, object]
"""What matters of a pod, by upstream's names; two are compared by ``==``."""

LABELS = "Labels"
NODE_NAME = "Spec.NodeName"
NODE_SELECTOR = "Spec.NodeSelector"
NODE_AFFINITY = "Spec.Affinity.NodeAffinity"
HOST_PORTS = "Spec.HostPorts()"
IMAGES = "Spec.CanonicalImageNames()"
RESOURCES = "Spec.ContainerRequestsAndOverheads()"
TOLERATIONS = "Spec.Tolerations"
VOLUMES = "Spec.Volumes.NonSyntheticSources()"
DECLARED_FEATURES = "Spec.RequiredFeatures()"
SCHEDULER_NAME = "Spec.SchedulerName"


def sign_tolerations(shape: PodShape) -> Signature:
    """Tolerations in the order of key and value."""

    def order(toleration: Toleration) -> tuple[str, str]:
        return toleration.key or "", toleration.value or ""

    return {TOLERATIONS: sorted(shape.spec.tolerations or (), key=order)}


def sign_node_affinity(shape: PodShape) -> Signature:
    """Node selector and node affinity; the order of terms, requirements and values does not count."""
    affinity = shape.spec.affinity.node_affinity if shape.spec.affinity else None
    signed: object = None
    if affinity is not None:
        required = affinity.required_during_scheduling_ignored_during_execution
        preferred = affinity.preferred_during_scheduling_ignored_during_execution
        signed = (
            sorted(map(_sign_term, (required.node_selector_terms if required else None) or ())),
            sorted(
                (preferred_scheduling_term.weight, _sign_term(preferred_scheduling_term.preference))
                for preferred_scheduling_term in preferred or ()
            ),
        )
    return {NODE_AFFINITY: signed, NODE_SELECTOR: dict(shape.spec.node_selector or {})}


def _sign_term(term: NodeSelectorTerm) -> tuple[list[bytes], list[bytes]]:
    return _sign_requirements(term.match_expressions or ()), _sign_requirements(term.match_fields or ())


def _sign_requirements(requirements: Iterable[NodeSelectorRequirement]) -> list[bytes]:
    return sorted(
        msgspec.json.encode(replace(requirement, values=sorted(requirement.values or ())))
        for requirement in requirements
    )


def sign_host_ports(shape: PodShape) -> Signature:
    """The numbers of host ports alone: 80/TCP and 80/UDP are one."""
    containers = (*(shape.spec.containers or ()), *(shape.spec.init_containers or ()))
    return {
        HOST_PORTS: {port.host_port for container in containers for port in container.ports or () if port.host_port}
    }


def sign_volumes(shape: PodShape) -> Signature:
    """Volumes without their names; those of which nothing is read, configMaps and secrets among them, are left out."""
    read = (volume for volume in shape.spec.volumes or () if is_read(volume))
    return {VOLUMES: sorted(msgspec.json.encode(replace(volume, name=""), enc_hook=str) for volume in read)}


def sign_resources(shape: PodShape, handle: Handle) -> Signature | None:
    """The requests that must fit; None with a resource that device classes serve."""
    features = handle.features
    if features.dra_extended_resource and features.extended_resources_end_signatures:
        return None
    serving = handle.cluster.devices.serving if handle.cluster is not None else {}
    if any(amount and name in serving for name, amount in shape.requests.items()):
        return None
    return {RESOURCES: {name: amount for name, amount in shape.requests.items() if amount or is_scalar(name)}}


class Signer:
    """Signs the pods of one profile: ``plugins`` are those with PreFilter, Filter, PreScore or Score."""

    def __init__(self, plugins: Iterable[Plugin[Any, Any]]) -> None:
        self._plugins = tuple(plugins)
        self.signs = all(overrides(type(plugin), "sign_pod") for plugin in self._plugins)
        """Whether pods may have a signature at all."""
        self._signatures: dict[int, Signature | None] = {}

    def sign(self, pod: PodInfo) -> Signature | None:
        """The pod's signature; None if it has none."""
        index = pod.shape.index
        if index not in self._signatures:
            self._signatures[index] = self._sign(pod)
        return self._signatures[index]

    def _sign(self, pod: PodInfo) -> Signature | None:
        signature: dict[str, object] = {SCHEDULER_NAME: pod.shape.spec.scheduler_name or ""}
        for plugin in self._plugins if self.signs else ():
            fragments = plugin.sign_pod(pod)
            if fragments is None:
                return None
            signature.update(fragments)
        return signature if self.signs else None
