"""The claims that the ephemeral volume controller makes for a pod.

Upstream: pkg/controller/volume/ephemeral/controller.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.api.meta import OwnerReference
from kwhatif.api.others import PersistentVolumeClaim, VolumePhase


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
