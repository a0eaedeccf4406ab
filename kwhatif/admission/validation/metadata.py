"""Validation of object metadata.

Upstream: apimachinery/pkg/api/validation/objectmeta.go, apiserver/pkg/registry/rest/create.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kwhatif.admission.object_store import group_of
from kwhatif.admission.request import each
from kwhatif.admission.response import Object
from kwhatif.admission.validation.field_rules import (
    check_labels,
    dns_1035_label,
    dns_label,
    dns_subdomain,
    label_key,
    path_segment,
)
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.rows import table
from kwhatif.api.field_types import newest_types
from kwhatif.api.objects import section

_MOST_ANNOTATIONS = 256 * 1024
_ANY_FINALIZERS = frozenset(
    {"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "coordination.k8s.io"}
    | {"node.k8s.io", "policy"}
)
"""Groups of Kubernetes' own whose objects may have finalizers without a domain, as custom resources may."""
_ORPHANS, _CASCADE = "orphan", "foregroundDeletion"


def check_metadata(problems: Problems, obj: Object, *, label: bool = False) -> None:
    """The metadata of an object whose name is a DNS label or, more freely, a DNS subdomain."""
    _check(problems, obj, dns_label if label else dns_subdomain)


def check_service_metadata(problems: Problems, obj: Object) -> None:
    """Metadata of a service, whose name is one in DNS."""
    _check(problems, obj, dns_label if problems.features.services_are_named_as_labels else dns_1035_label)


def check_usual_metadata(problems: Problems, obj: Object) -> None:
    """Metadata of a kind whose names may be any path segment, such as roles."""
    _check(problems, obj, path_segment)


def check_named(problems: Problems, obj: Object, rule: Callable[[str], list[str]]) -> None:
    """Metadata of a kind with a rule of its own for names."""
    _check(problems, obj, rule)


def annotations_of(obj: Object) -> Object:
    texts: Object = section(obj, "metadata", "annotations")
    return texts


def object_table(
    text: str,
    *functions: Callable[..., Any],
    names: Callable[[str], list[str]] | None = dns_subdomain,
    **named: Callable[..., Any],
) -> Callable[[Problems, Object], None]:
    """A check of whole objects: their metadata, with a rule for ``names``, and then a table (see ``rows``)."""
    judge = table(text, *functions, **named)

    def check(problems: Problems, obj: Object) -> None:
        if names is not None:
            _check(problems, obj, names)
        judge(problems, obj, "")

    return check


def check_annotations(problems: Problems, annotations: Mapping[str, Any] | None, path: str) -> None:
    """Keys as those of labels, but for capitals in their domains; all of them together have a limit."""
    size = 0
    for key, value in sorted((annotations or {}).items()):
        size += len(key.encode()) + len(str(value or "").encode())
        problems.invalid(path, key, *label_key(key.lower()))
    if size > _MOST_ANNOTATIONS:
        problems.too_long(path, _MOST_ANNOTATIONS)


_TEMPLATE = (
    *("name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp"),
    *("deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences", "finalizers", "managedFields"),
)


def check_template_metadata(problems: Problems, metadata: Object, path: str) -> None:
    """Of a template only labels and annotations may be set."""
    check_annotations(problems, metadata.get("annotations"), f"{path}.annotations")
    check_labels(problems, metadata.get("labels"), f"{path}.labels")
    for key in _TEMPLATE:
        # An empty list counts as set, an empty text does not.
        if metadata.get(key) or isinstance(metadata.get(key), list):
            problems.forbidden(f"{path}.{'uID' if key == 'uid' else key}", "cannot be set")


def check_kept(problems: Problems, new: Object, old: Object) -> None:
    """What nobody may change about any object. Snapshots may have left out its uid."""
    before = section(old, "metadata")
    for key in ("uid", "deletionGracePeriodSeconds"):
        value, was = section(new, "metadata").get(key), before.get(key)
        if value is not None and value != was and (was or key != "uid"):
            problems.invalid(f"metadata.{key}", value, "field is immutable")


def _check(problems: Problems, obj: Object, rule: Callable[[str], list[str]]) -> None:
    metadata = section(obj, "metadata")
    name, begun = metadata.get("name") or "", metadata.get("generateName") or ""
    if begun:
        # More will follow, so that it may end in a dash.
        whole = begun[:-2] + "a" if rule is not path_segment and len(begun) > 1 and begun.endswith("-") else begun
        problems.invalid("metadata.generateName", begun, *rule(whole))
    if not name:
        problems.required("metadata.name", "name or generateName is required")
    else:
        problems.invalid("metadata.name", name, *rule(name))
    if metadata.get("namespace"):
        problems.invalid("metadata.namespace", metadata["namespace"], *dns_label(metadata["namespace"]))
    check_labels(problems, metadata.get("labels"), "metadata.labels")
    if metadata.get("annotations"):
        check_annotations(problems, metadata["annotations"], "metadata.annotations")
    if metadata.get("ownerReferences"):
        _owners(problems, each(metadata, "ownerReferences"), "metadata.ownerReferences")
    if metadata.get("finalizers"):
        _finalizers(problems, metadata["finalizers"], "metadata.finalizers")
        if group_of(obj) in newest_types().groups - _ANY_FINALIZERS:
            _kubernetes_finalizers(problems, metadata["finalizers"], "metadata.finalizers")


def _owners(problems: Problems, owners: list[Object], path: str) -> None:
    """Upstream's paths of single references do not say which."""
    controller = ""
    for owner in owners:
        version, kind, name = (str(owner.get(key) or "") for key in ("apiVersion", "kind", "name"))
        if version.count("/") > 1 or not version.rpartition("/")[2]:
            problems.invalid(f"{path}.apiVersion", version, "version must not be empty")
        for key in ("kind", "name", "uid"):
            if not owner.get(key):
                problems.invalid(f"{path}.{key}", "", "must not be empty")
        if (version, kind) == ("v1", "Event"):
            problems.invalid(path, owner, "/v1, Kind=Event is disallowed from being an owner")
        if owner.get("controller"):
            if controller:
                only = 'Only one reference can have Controller set to true. Found "true" in references for'
                problems.invalid(path, owners, f"{only} {controller} and {kind}/{name}")
            else:
                controller = f"{kind}/{name}"


def _kubernetes_finalizers(problems: Problems, finalizers: list[str], path: str) -> None:
    for i, finalizer in enumerate(finalizers):
        problems.invalid(f"{path}[{i}]", finalizer or "", *standard_finalizer(finalizer or ""))


def standard_finalizer(finalizer: str) -> list[str]:
    """Of those without a domain there are but three."""
    if "/" in finalizer or finalizer in (_ORPHANS, _CASCADE, "kubernetes"):
        return []
    return ["name is neither a standard finalizer name nor is it fully qualified"]


def _finalizers(problems: Problems, finalizers: list[str], path: str) -> None:
    for finalizer in finalizers:
        problems.invalid(path, finalizer or "", *label_key(finalizer or ""))
    if _ORPHANS in finalizers and _CASCADE in finalizers:
        problems.invalid(path, finalizers, f"finalizer {_ORPHANS} and {_CASCADE} cannot be both set")
