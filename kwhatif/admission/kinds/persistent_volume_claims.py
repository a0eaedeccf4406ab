"""Persistent volume claims.

Upstream: pkg/apis/core/validation/validation.go, pkg/api/persistentvolumeclaim/util.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.admission.answer import Object
from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.plugins.container_amounts import amounts
from kwhatif.admission.request import Request
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.validate_metadata import check_metadata
from kwhatif.admission.validation.validate_volumes import check_claim_spec

_CLASS = "volume.beta.kubernetes.io/storage-class"


def _defaults(request: Request, spec: Object) -> None:
    if spec.get("volumeMode") is None:
        spec["volumeMode"] = "Filesystem"


def _check(problems: Problems, obj: Object) -> None:
    check_metadata(problems, obj)
    check_claim_spec(problems, obj.get("spec") or {}, "spec")


def claim_warnings(spec: Object, path: str) -> Iterator[str]:
    """What is said of the spec of a claim, or of a template of claims."""
    resources = spec.get("resources") or {}
    for key in ("requests", "limits"):
        storage = amounts(resources.get(key)).get("storage")
        if storage is not None and storage.milli_value() % 1000:
            where = f"{path}.resources.{key}[storage]"
            yield f'{where}: fractional byte value "{storage}" is invalid, must be an integer'


def _warnings(obj: Object, old: Object | None) -> Iterator[str]:
    if _CLASS in ((obj.get("metadata") or {}).get("annotations") or {}):
        yield f'metadata.annotations[{_CLASS}]: deprecated since v1.8; use "storageClassName" attribute instead'
    yield from claim_warnings(obj.get("spec") or {}, "spec")


STRATEGIES = {"PersistentVolumeClaim": Strategy(defaults=_defaults, check=_check, warnings=_warnings)}
