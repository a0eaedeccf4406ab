"""Claims that controllers make for a pod: by the resource claim controller from templates, by the ephemeral volume
controller for generic ephemeral volumes.

Upstream: pkg/controller/resourceclaim/controller.go (handleClaim), pkg/controller/volume/ephemeral/controller.go.
Claims from templates end in random letters upstream; here the suffix is left out, and a number is added if the name is
taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec
from msgspec.structs import replace

from kwhatif.admission.response import Object
from kwhatif.api.core import Pod, PodResourceClaimStatus
from kwhatif.api.decode import convert
from kwhatif.api.devices import ClaimStatus, ResourceClaim, ResourceClaimTemplate
from kwhatif.api.meta import ObjectMeta, OwnerReference
from kwhatif.api.objects import section
from kwhatif.api.quantity import plain_quantity
from kwhatif.api.workloads_and_storage import PersistentVolumeClaim, VolumePhase

POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"


def device_claims(
    pod: Pod, template: Callable[[str], ResourceClaimTemplate | None], is_taken: Callable[[str], bool]
) -> Iterator[tuple[PodResourceClaimStatus, ResourceClaim]]:
    """A claim for each of the pod's that names a template and has none yet, with the entry of the pod's status.

    ``template`` finds one in the pod's namespace; nothing is made of a template that does not exist.
    """
    made = {status.name for status in pod.status.resource_claim_statuses or ()}
    names: set[str] = set()
    for resource_claim in pod.spec.resource_claims or ():
        if resource_claim.resource_claim_template_name is None or resource_claim.name in made:
            continue
        template_object = template(resource_claim.resource_claim_template_name)
        if template_object is None:
            continue
        name = base = f"{pod.metadata.name}-{resource_claim.name}"
        number = 0
        while name in names or is_taken(name):
            number += 1
            name = f"{base}-{number}"
        names.add(name)
        meta = template_object.spec.metadata or ObjectMeta()
        owner = OwnerReference(
            api_version="v1",
            kind="Pod",
            name=pod.metadata.name,
            uid=pod.identity,
            controller=True,
        )
        namespace = pod.metadata.namespace or "default"
        claim = ResourceClaim(
            api_version="resource.k8s.io/v1",
            kind="ResourceClaim",
            metadata=ObjectMeta(
                name=name,
                namespace=namespace,
                uid=f"{namespace}/{name}",
                labels=meta.labels,
                annotations={**(meta.annotations or {}), POD_CLAIM_NAME: resource_claim.name},
                owner_references=[owner],
            ),
            spec=template_object.spec.spec,
            status=ClaimStatus(),
        )
        yield PodResourceClaimStatus(name=resource_claim.name, resource_claim_name=name), claim


def plain_device_claims(
    pod: Object, template: Callable[[str], Object | None], is_taken: Callable[[str], bool]
) -> Iterator[Object]:
    """The same for a pod as the API server stores it, whose status is completed."""
    if not any(claim.get("resourceClaimTemplateName") for claim in section(pod, "spec").get("resourceClaims") or ()):
        return

    def typed_template_of(name: str) -> ResourceClaimTemplate | None:
        template_object = template(name)
        return None if template_object is None else convert(template_object, ResourceClaimTemplate)

    for status, claim in device_claims(convert(pod, Pod), typed_template_of, is_taken):
        before = section(pod, "status")
        statuses = [
            *(before.get("resourceClaimStatuses") or ()),
            {"name": status.name, "resourceClaimName": status.resource_claim_name},
        ]
        pod["status"] = {**before, "resourceClaimStatuses": statuses}
        body: Object = msgspec.to_builtins(claim, enc_hook=plain_quantity)
        yield body


def ephemeral_claims(pod: Pod) -> Iterator[PersistentVolumeClaim]:
    """A claim for each generic ephemeral volume, named after pod and volume and owned by the pod."""
    for volume in pod.spec.volumes or ():
        template = volume.ephemeral.volume_claim_template if volume.ephemeral else None
        if template is None:
            continue
        owner = OwnerReference(
            api_version="v1", kind="Pod", name=pod.metadata.name, uid=pod.metadata.uid, controller=True
        )
        metadata = replace(
            template.metadata,
            name=f"{pod.metadata.name}-{volume.name}",
            namespace=pod.metadata.namespace or "default",
            owner_references=[owner],
        )
        yield PersistentVolumeClaim(metadata=metadata, spec=template.spec, status=VolumePhase(phase="Pending"))
