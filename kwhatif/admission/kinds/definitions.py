"""CustomResourceDefinition: names, versions, conversion, scale and status subresources, printer columns, selectable
fields.

Upstream: apiextensions-apiserver/pkg/apis/apiextensions (v1/defaults.go, validation/validation.go, v1/conversion.go).
CA bundles are not checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from kwhatif.admission.custom.definition import FieldNotFound, field_at
from kwhatif.admission.kinds.definition_schemas import check_schema, unknown_formats
from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.kinds.webhook_configurations import check_client
from kwhatif.admission.object_store import name_of
from kwhatif.admission.request import Request, each, within
from kwhatif.admission.response import Object
from kwhatif.admission.validation.field_rules import check_choice, dns_1035_label, dns_subdomain
from kwhatif.admission.validation.metadata import check_metadata
from kwhatif.admission.validation.problems import Problems

_STRATEGIES = ("None", "Webhook")
_REVIEWS = ("v1", "v1beta1")
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_MOST_SELECTABLE = 8
_ONLY_WEBHOOK = "should not be set when strategy is not set to Webhook"
_SELECTABLE = (
    "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."
)


def check_conversion(problems: Problems, spec: Object) -> None:
    conversion, path = spec["conversion"], "spec.conversion"
    strategy, webhook = conversion.get("strategy") or "", conversion.get("webhook") or {}
    client, reviews = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    if strategy != "None" and spec.get("preserveUnknownFields"):
        why = "must be None if spec.preserveUnknownFields is true"
        problems.invalid(f"{path}.strategy", strategy, why)
    if not strategy:
        problems.required(f"{path}.strategy")
    check_choice(problems, strategy or None, f"{path}.strategy", _STRATEGIES)
    if strategy != "Webhook":
        if client is not None:
            problems.forbidden(f"{path}.webhookClientConfig", _ONLY_WEBHOOK)
        if reviews:
            problems.forbidden(f"{path}.conversionReviewVersions", _ONLY_WEBHOOK)
        return
    if client is None:
        problems.required(f"{path}.webhookClientConfig", "required when strategy is set to Webhook")
    else:
        check_client(problems, client, f"{path}.webhookClientConfig")
    _check_reviews(problems, reviews, f"{path}.conversionReviewVersions")


def _check_reviews(problems: Problems, versions: list[str], path: str) -> None:
    if not versions:
        problems.required(path)
        return
    seen: set[str] = set()
    for i, version in enumerate(versions):
        if version in seen:
            problems.invalid(f"{path}[{i}]", version, "duplicate version")
        else:
            problems.invalid(f"{path}[{i}]", version, *dns_1035_label(version))
        seen.add(version)
    if not {*versions} & {*_REVIEWS}:
        problems.invalid(path, versions, f"must include at least one of {', '.join(_REVIEWS)}")


def check_subresources(problems: Problems, version: Object, path: str) -> None:
    scale = (version.get("subresources") or {}).get("scale")
    if scale is None:
        return
    for key, under, needed in (
        ("specReplicasPath", (".spec.",), True),
        ("statusReplicasPath", (".status.",), True),
        ("labelSelectorPath", (".spec.", ".status."), False),
    ):
        text, where = scale.get(key) or "", f"{path}.scale.{key}"
        if not text:
            if needed:
                problems.required(where)
        elif not text.startswith("."):
            problems.invalid(where, text, "must be a simple json path starting with .")
        elif not text.startswith(under):
            place = under[0].rstrip(".") if needed else "either .spec or .status"
            problems.invalid(where, text, f"should be a json path under {place}")


def check_columns(problems: Problems, version: Object, path: str) -> None:
    for i, column in enumerate(each(version, "additionalPrinterColumns")):
        where, kind = f"{path}[{i}]", column.get("type") or ""
        form, place = column.get("format") or "", column.get("jsonPath") or ""
        if not column.get("name"):
            problems.required(f"{where}.name")
        told = f"must be one of {','.join(_COLUMN_TYPES)}"
        if not kind:
            problems.required(f"{where}.type", told)
        elif kind not in _COLUMN_TYPES:
            problems.invalid(f"{where}.type", kind, told)
        if form and form not in _COLUMN_FORMATS:
            problems.invalid(f"{where}.format", form, f"must be one of {','.join(_COLUMN_FORMATS)}")
        if not place:
            problems.required(f"{where}.JSONPath")
        elif not place.startswith("."):
            problems.invalid(f"{where}.JSONPath", place, "must be a simple json path starting with .")


def check_selectable(problems: Problems, version: Object, path: str) -> None:
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    seen: set[tuple[str, ...]] = set()
    for i, field in enumerate(each(version, "selectableFields")):
        text, where = field.get("jsonPath") or "", f"{path}[{i}].jsonPath"
        if not text:
            problems.required(where)
            continue
        try:
            names, found = field_at(text, schema, brackets=False)
        except FieldNotFound as error:
            problems.invalid(where, text, f"is an invalid path: {error}")
            continue
        if names[0] == "metadata":
            problems.invalid(where, text, "must not point to fields in metadata")
        if found.get("type") not in ("string", "boolean", "integer"):
            problems.invalid(where, text, _SELECTABLE)
        if names in seen:
            problems.duplicate(where, text)
        seen.add(names)
    if len(seen) > _MOST_SELECTABLE:
        problems.too_many(path, len(seen), _MOST_SELECTABLE)


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
    """Groups below k8s.io need the annotation of an API approval."""
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
    """What all versions have alike, if they do; it is reported at the top-level field that older API versions had for
    it.
    """
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


def _field_of(key: str, version: Object) -> Any:
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
        _Part(key, key, check, partial(_field_of, key))
        for key, check in (
            ("subresources", check_subresources),
            ("additionalPrinterColumns", check_columns),
            ("selectableFields", check_selectable),
        )
    ),
)


def _warnings(obj: Object, old: Object | None) -> list[str]:
    """Formats that are not validated, where they are new."""
    now, before = (
        [f for v in each((one or {}).get("spec"), "versions") for f in unknown_formats(_schema(v) or {})]
        for one in (obj, old)
    )
    return [f'unrecognized format "{name}"' for name in dict.fromkeys(now) if name not in before]


STRATEGIES = {
    "CustomResourceDefinition": Strategy(defaults=_defaults, check=check_definition, warnings=_warnings),
}
