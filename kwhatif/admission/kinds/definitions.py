"""Definitions of custom resources.

Upstream: apiextensions-apiserver/pkg/apis/apiextensions (v1/defaults.go, validation/validation.go),
pkg/apis/apiextensions/v1/conversion.go.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from kwhatif.admission.answer import Object
from kwhatif.admission.kinds.definition_schemas import check_schema, unknown_formats
from kwhatif.admission.kinds.definition_serving import (
    check_columns,
    check_conversion,
    check_selectable,
    check_subresources,
)
from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.request import Request, each, within
from kwhatif.admission.validation.name_rules import dns_1035_label, dns_subdomain
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.validate_metadata import check_metadata
from kwhatif.admission.world import name_of

_MIXED = "may have mixed case, but should otherwise match: "
_APPROVED = "api-approved.kubernetes.io"
_WHY_APPROVED = "https://github.com/kubernetes/enhancements/pull/1111"
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#\s]+")


def _defaults(request: Request, spec: Object) -> None:
    names = within(spec, "names")
    if not names.get("singular") and names.get("kind"):
        names["singular"] = str(names["kind"]).lower()
    if not names.get("listKind") and names.get("kind"):
        names["listKind"] = f"{names['kind']}List"
    if spec.get("conversion") is None:
        spec["conversion"] = {"strategy": "None"}
    service = ((spec["conversion"].get("webhook") or {}).get("clientConfig") or {}).get("service")
    if service is not None and service.get("port") is None:
        service["port"] = 443


def check_definition(problems: Problems, obj: Object) -> None:
    spec = within(obj, "spec")
    names, group = spec.get("names") or {}, str(spec.get("group") or "")
    check_metadata(problems, obj)
    if name_of(obj) and name_of(obj) != f"{names.get('plural') or ''}.{group}":
        problems.invalid("metadata.name", name_of(obj), 'must be spec.names.plural+"."+spec.group')
    if not group:
        problems.required("spec.group")
    elif wrong := dns_subdomain(group):
        problems.invalid("spec.group", group, ",".join(wrong))
    elif "." not in group:
        problems.invalid("spec.group", group, "should be a domain with at least one dot")
    scope = spec.get("scope") or ""
    if not scope:
        problems.required("spec.scope")
    elif scope not in ("Cluster", "Namespaced"):
        problems.unsupported("spec.scope", scope, ("Cluster", "Namespaced"))
    _check_approval(problems, obj, group)
    _check_versions(problems, spec)
    _check_names(problems, names)
    for part in _PARTS:
        if _common(spec, part.find) is not None:
            part.check(problems, each(spec, "versions")[0], f"spec.{part.common}")
    check_conversion(problems, spec)
    if spec.get("preserveUnknownFields"):
        why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        problems.invalid("spec.preserveUnknownFields", True, why)


def _check_approval(problems: Problems, obj: Object, group: str) -> None:
    """Groups of Kubernetes' own are for what its community has approved."""
    if not f".{group}".endswith((".k8s.io", ".kubernetes.io")):
        return
    said = str(((obj.get("metadata") or {}).get("annotations") or {}).get(_APPROVED) or "")
    path, must = f"metadata.annotations[{_APPROVED}]", f'protected groups must have approval annotation "{_APPROVED}"'
    if not said:
        problems.required(path, f"{must}, see {_WHY_APPROVED}")
    elif not said.startswith("unapproved") and not _ADDRESS.match(said):
        why = f'{must} with either a URL or a reason starting with "unapproved", see {_WHY_APPROVED}'
        problems.invalid(path, said, why)


def _common(spec: Object, find: Callable[[Object], Any]) -> Any:
    """What all versions have alike, if they do; it is told of as if it were written once."""
    found = [find(version) for version in each(spec, "versions")]
    return found[0] if found and found[0] and all(value == found[0] for value in found) else None


def _check_versions(problems: Problems, spec: Object) -> None:
    versions = each(spec, "versions")
    alike = {part: _common(spec, part.find) is not None for part in _PARTS}
    for i, version in enumerate(versions):
        if not _schema(version):
            problems.required(f"spec.versions[{i}].schema.openAPIV3Schema")
    names = [str(version.get("name") or "") for version in versions]
    for i, version in enumerate(versions):
        where = f"spec.versions[{i}]"
        if wrong := dns_1035_label(names[i]):
            problems.invalid(f"{where}.name", names[i], ",".join(wrong))
        warning = version.get("deprecationWarning")
        if warning is not None and not version.get("deprecated"):
            problems.invalid(f"{where}.deprecationWarning", warning, "can only be set for deprecated versions")
        elif warning is not None and len(warning.encode()) > 256:
            problems.invalid(f"{where}.deprecationWarning", warning, "must be <= 256 characters long")
        elif warning == "":
            problems.invalid(f"{where}.deprecationWarning", warning, "must not be an empty string")
        for part in _PARTS:
            if part.find(version) and not alike[part]:
                part.check(problems, version, f"{where}.{part.key}")
    if len(set(names)) < len(names):
        problems.invalid("spec.versions", versions, "must contain unique version names")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        problems.invalid("spec.versions", versions, "must have exactly one version marked as storage version")


def _check_names(problems: Problems, names: Object) -> None:
    for key in ("plural", "singular", "kind", "listKind"):
        if not names.get(key):
            problems.required(f"spec.names.{key}")
    for key in ("plural", "singular"):
        if names.get(key) and (wrong := dns_1035_label(names[key])):
            problems.invalid(f"spec.names.{key}", names[key], ",".join(wrong))
    for key in ("kind", "listKind"):
        if names.get(key) and (wrong := dns_1035_label(str(names[key]).lower())):
            problems.invalid(f"spec.names.{key}", names[key], _MIXED + ",".join(wrong))
    for key in ("shortNames", "categories"):
        for i, name in enumerate(names.get(key) or ()):
            if wrong := dns_1035_label(name):
                problems.invalid(f"spec.names.{key}[{i}]", name, ",".join(wrong))
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        problems.invalid("spec.names.listKind", names["listKind"], "kind and listKind may not be the same")


def _written(key: str, version: Object) -> Any:
    return version.get(key)


def _schema(version: Object) -> Object | None:
    found: Object | None = (version.get("schema") or {}).get("openAPIV3Schema")
    return found


def _check_schema(problems: Problems, version: Object, path: str) -> None:
    status = (version.get("subresources") or {}).get("status") is not None
    check_schema(problems, _schema(version) or {}, f"{path}.openAPIV3Schema", status=status)


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a version: at ``key`` there, and at ``common`` of the whole if all versions have it alike."""

    key: str
    common: str
    check: Callable[[Problems, Object, str], None]
    find: Callable[[Object], Any]


_PARTS = (
    _Part("schema", "validation", _check_schema, _schema),
    *(
        _Part(key, key, check, partial(_written, key))
        for key, check in (
            ("subresources", check_subresources),
            ("additionalPrinterColumns", check_columns),
            ("selectableFields", check_selectable),
        )
    ),
)


def _warnings(obj: Object, old: Object | None) -> list[str]:
    """Formats that nobody looks at, where they are new."""
    now, before = (
        [f for v in each((one or {}).get("spec"), "versions") for f in unknown_formats(_schema(v) or {})]
        for one in (obj, old)
    )
    return [f'unrecognized format "{name}"' for name in dict.fromkeys(now) if name not in before]


STRATEGIES = {
    "CustomResourceDefinition": Strategy(defaults=_defaults, check=check_definition, warnings=_warnings),
}
