"""Rules for the metadata of any object.

Upstream: apimachinery/pkg/api/validation/objectmeta.go.
"""

from __future__ import annotations

from kwhatif.admission.answer import Object
from kwhatif.admission.validation.name_rules import check_labels, dns_label, dns_subdomain
from kwhatif.admission.validation.problems import Problems

__all__ = ["check_metadata", "check_usual_metadata"]


def check_metadata(problems: Problems, obj: Object, *, label: bool = False) -> None:
    """Name and labels of any object; the name is a DNS label or, more freely, a DNS subdomain."""
    metadata = obj.get("metadata") or {}
    name = metadata.get("name") or ""
    if not name:
        problems.required("metadata.name", "name or generateName is required")
    else:
        problems.invalid("metadata.name", name, *(dns_label(name) if label else dns_subdomain(name)))
    check_labels(problems, metadata.get("labels"), "metadata.labels")


def check_usual_metadata(problems: Problems, obj: Object) -> None:
    """Metadata of a kind whose names may hold anything but a slash, as those of roles."""
    metadata = obj.get("metadata") or {}
    if not metadata.get("name"):
        problems.required("metadata.name", "name or generateName is required")
    check_labels(problems, metadata.get("labels"), "metadata.labels")
