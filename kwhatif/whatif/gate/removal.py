"""Objects that a change removes, and what goes with them."""

from __future__ import annotations

from collections.abc import Collection

from kwhatif.api.kinds import KINDS
from kwhatif.api.meta import Resource
from kwhatif.api.others import PersistentVolumeClaim
from kwhatif.cluster.storage import claim_names
from kwhatif.results.gate import Subject
from kwhatif.whatif.edits.draft import Draft
from kwhatif.whatif.fidelity.ownership import Owners


def remove(draft: Draft, gone: Collection[Subject], owners: Owners) -> None:
    """Take objects out of a copy of the snapshot, and the pods that are theirs. A claim stays while a pod uses it."""
    if not gone:
        return
    draft.drop_pods({pod.key for pod in draft.pods if owners.workload_of(pod) in gone})
    used = {(pod.namespace, name) for pod in draft.pods for name, _ in claim_names(pod)}

    def left(obj: Resource) -> Resource | None:
        if isinstance(obj, PersistentVolumeClaim) and (obj.namespace, obj.name) in used:
            return obj
        return None if Subject(kind=type(obj).__name__, namespace=obj.namespace, name=obj.name) in gone else obj

    for kind in sorted({subject.kind for subject in gone} & draft.snapshot.objects.covered()):
        draft.change(KINDS[kind], left)
    for kind, listed in draft.snapshot.whole.items():
        names = {(subject.namespace, subject.name) for subject in gone if subject.kind == kind}
        listed[:] = [
            obj for obj in listed if (obj["metadata"].get("namespace") or "", obj["metadata"]["name"]) not in names
        ]
