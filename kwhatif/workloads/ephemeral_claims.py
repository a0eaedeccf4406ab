"""The claims that the ephemeral volume controller makes for a pod.

Upstream: pkg/controller/volume/ephemeral/controller.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kwhatif.api.core import Pod
from kwhatif.api.decode import convert
from kwhatif.api.others import PersistentVolumeClaim


def ephemeral_claims(pod: Pod) -> Iterator[PersistentVolumeClaim]:
    """A claim for each generic ephemeral volume, named after pod and volume and owned by the pod."""
    for volume in pod.spec.volumes or ():
        template = volume.ephemeral.volume_claim_template if volume.ephemeral else None
        if template is None:
            continue
        metadata: dict[str, Any] = dict(template.metadata or {})
        metadata |= {
            "name": f"{pod.metadata.name}-{volume.name}",
            "namespace": pod.metadata.namespace or "default",
            "ownerReferences": [
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "name": pod.metadata.name,
                    "uid": pod.metadata.uid,
                    "controller": True,
                }
            ],
        }
        yield convert(
            {"metadata": metadata, "spec": template.spec or {}, "status": {"phase": "Pending"}},
            PersistentVolumeClaim,
        )
