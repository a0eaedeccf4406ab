"""Claims and volumes that do not go together.

Upstream: pkg/controller/volume/persistentvolume/pv_controller.go (what binding leaves).
"""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.api.core import Pod
from kwhatif.api.others import PersistentVolume, PersistentVolumeClaim, VolumeAttachment
from kwhatif.cluster.storage import claim_names, class_of
from kwhatif.results.snapshot_check import Finding
from kwhatif.whatif.validate.check_references import Known, error, warning


def storage_findings(known: Known) -> Iterator[Finding]:
    """Findings about the volumes of pods, claims and what they are bound to."""
    for pod in known.unfinished:
        yield from _of_pod(pod, known)
    volumes = {volume.name: volume for volume in known.objects.of(PersistentVolume)}
    for claim in known.objects.of(PersistentVolumeClaim):
        yield from _of_claim(claim, volumes, known)
    for volume in volumes.values():
        yield from _of_volume(volume, known)
    for attachment in known.objects.of(VolumeAttachment):
        name = attachment.spec.source.persistent_volume_name
        if name and known.lacks("PersistentVolume", name):
            yield warning("claim-without-volume", attachment, f"attaches volume {name}, which is not there")


def _of_pod(pod: Pod, known: Known) -> Iterator[Finding]:
    for name, _ in claim_names(pod):
        if known.lacks("PersistentVolumeClaim", name, pod.namespace):
            # A pod may wait for its claim; it cannot run without it.
            finding = error if pod.spec.node_name else warning
            yield finding("missing-claim", pod, f"uses PersistentVolumeClaim {name}, which is not there")


def _of_claim(claim: PersistentVolumeClaim, volumes: dict[str, PersistentVolume], known: Known) -> Iterator[Finding]:
    wanted, name = class_of(claim), claim.spec.volume_name
    if not name:
        if claim.status.phase == "Bound":
            yield error("claim-without-volume", claim, "is Bound, but names no volume")
        if wanted and known.lacks("StorageClass", wanted):
            yield warning("missing-storage-class", claim, f"waits for StorageClass {wanted}, which is not there")
        return
    if known.lacks("PersistentVolume", name):
        yield error("claim-without-volume", claim, f"is bound to PersistentVolume {name}, which is not there")
    volume = volumes.get(name)
    ref = volume.spec.claim_ref if volume else None
    if ref is not None and (ref.namespace, ref.name) != (claim.namespace, claim.name):
        text = f"is bound to PersistentVolume {name}, which is kept for {ref.namespace}/{ref.name}"
        yield error("claim-volume-mismatch", claim, text)
    elif ref is not None and ref.uid and claim.metadata.uid and ref.uid != claim.metadata.uid:
        text = f"is bound to PersistentVolume {name}, which is kept for an earlier claim of this name"
        yield error("claim-volume-mismatch", claim, text)


def _of_volume(volume: PersistentVolume, known: Known) -> Iterator[Finding]:
    ref = volume.spec.claim_ref
    if ref is None or volume.status.phase != "Bound":
        # One that was released keeps its reference, and one may be kept for a claim that is still to come.
        return
    if known.lacks("PersistentVolumeClaim", ref.name or "", ref.namespace or ""):
        text = f"is bound to PersistentVolumeClaim {ref.namespace}/{ref.name}, which is not there"
        yield warning("volume-without-claim", volume, text)
