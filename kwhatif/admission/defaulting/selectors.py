"""Selectors that the API server completes: ``matchLabelKeys`` and ``mismatchLabelKeys`` of pods, and the generated
selector and labels of a job.

Upstream: pkg/registry/core/pod/strategy.go, pkg/registry/batch/job/strategy.go.
"""

from __future__ import annotations

from kwhatif.admission.object_store import name_of
from kwhatif.admission.request import Request, each, within
from kwhatif.admission.response import Object
from kwhatif.api.objects import section

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def merge_label_keys(request: Request) -> None:
    """A selector that is absent matches nothing and stays so."""
    if request.kind != "Pod" or request.old is not None:
        return
    spec = section(request.object, "spec")
    labels = section(request.object, "metadata", "labels")
    for kind in ("podAffinity", "podAntiAffinity"):
        affinity = section(spec, "affinity").get(kind) or {}
        for i, weighted in enumerate(each(affinity, _PREFERRED)):
            path = f"spec.affinity.{kind}.{_PREFERRED}[{i}].podAffinityTerm"
            _merge(request, section(weighted, "podAffinityTerm"), labels, path)
        for i, term in enumerate(each(affinity, _REQUIRED)):
            _merge(request, term, labels, f"spec.affinity.{kind}.{_REQUIRED}[{i}]")
    for i, constraint in enumerate(each(spec, "topologySpreadConstraints")):
        _merge(request, constraint, labels, f"spec.topologySpreadConstraints[{i}]")


def _merge(request: Request, term: Object, labels: dict[str, str], path: str) -> None:
    selector = term.get("labelSelector")
    if not isinstance(selector, dict):
        return
    keys = [(key, "In") for key in term.get("matchLabelKeys") or ()]
    keys += [(key, "NotIn") for key in term.get("mismatchLabelKeys") or ()]
    for key, operator in keys:
        if key in labels:
            added = {"key": key, "operator": operator, "values": [labels[key]]}
            selector["matchExpressions"] = [*each(selector, "matchExpressions"), added]
            where = f"{path}.labelSelector.matchExpressions"
            request.record_change("MatchLabelKeys", where, f"{key} {operator.lower()} ({labels[key]})")


_UID = "batch.kubernetes.io/controller-uid"


def generate_selector(request: Request) -> None:
    """Labels that are set already stay and are checked by validation. An update generates the same selector again."""
    if request.kind != "Job":
        return
    spec = within(request.object, "spec")
    if spec.get("manualSelector"):
        return
    uid, name = str(section(request.object, "metadata").get("uid") or ""), name_of(request.object)
    labels = within(within(within(spec, "template"), "metadata"), "labels")
    for key, value in {
        "job-name": name,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": uid,
        _UID: uid,
    }.items():
        labels.setdefault(key, value)
    within(within(spec, "selector"), "matchLabels").setdefault(_UID, uid)
