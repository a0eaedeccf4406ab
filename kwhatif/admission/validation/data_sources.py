"""What a claim is filled from: ``dataSource`` and ``dataSourceRef``, each of which stands for the other.

Upstream: pkg/apis/core/validation/validation.go, pkg/api/persistentvolumeclaim/util.go.
"""

from __future__ import annotations

from kwhatif.admission.answer import Object
from kwhatif.admission.validation.name_rules import dns_subdomain
from kwhatif.admission.validation.problems import Problems

_CLAIM = ("", "PersistentVolumeClaim")
_SNAPSHOT = ("snapshot.storage.k8s.io", "VolumeSnapshot")
_DEFAULT_GROUP = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"


def check_data_sources(problems: Problems, spec: Object, path: str) -> None:
    """Sources of other kinds than claims and snapshots, and those of other namespaces, are dropped unread."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and _kind(source) not in (_CLAIM, _SNAPSHOT):
        source = None
    if reference is not None and reference.get("namespace"):
        reference = None
    source, reference = source or reference, reference or source
    if source is None or reference is None:
        return
    _check(problems, source, f"{path}.dataSource")
    _check(problems, reference, f"{path}.dataSourceRef")
    if (_kind(source), source.get("name")) != (_kind(reference), reference.get("name")):
        problems.invalid(path, f"{path}.dataSource", "must match dataSourceRef")


def _kind(source: Object) -> tuple[str, str]:
    return source.get("apiGroup") or "", source.get("kind") or ""


def _check(problems: Problems, source: Object, path: str) -> None:
    group, kind = _kind(source)
    for key in ("name", "kind"):
        if not source.get(key):
            problems.required(f"{path}.{key}")
    if not group and kind != _CLAIM[1]:
        problems.invalid(path, kind, _DEFAULT_GROUP)
    if group:
        problems.invalid(f"{path}.apiGroup", group, *dns_subdomain(group))
