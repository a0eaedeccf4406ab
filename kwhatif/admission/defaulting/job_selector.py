"""A job's own selector and the labels of its pods, unless it brings a selector of its own.

Upstream: pkg/registry/batch/job/strategy.go.
"""

from __future__ import annotations

from kwhatif.admission.request import Request, within
from kwhatif.admission.world import name_of

_UID = "batch.kubernetes.io/controller-uid"


def generate_selector(request: Request) -> None:
    """Labels that are there already stay, and are judged by validation. An update says the same once more."""
    if request.kind != "Job":
        return
    spec = within(request.object, "spec")
    if spec.get("manualSelector"):
        return
    uid, name = str((request.object.get("metadata") or {}).get("uid") or ""), name_of(request.object)
    labels = within(within(within(spec, "template"), "metadata"), "labels")
    for key, value in {
        "job-name": name,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": uid,
        _UID: uid,
    }.items():
        labels.setdefault(key, value)
    within(within(spec, "selector"), "matchLabels").setdefault(_UID, uid)
