"""CustomResourceDefinition: names, versions, conversion, scale and status subresources, printer columns, selectable
fields.

Upstream: apiextensions-apiserver/pkg/apis/apiextensions (v1/defaults.go, validation/validation.go, v1/conversion.go).
CA bundles are not checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from kwhatif.admission.custom.definition import FieldNotFound, field_at
from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.object_store import name_of
from kwhatif.admission.other_kinds.definition_schemas import check_schema, unknown_formats
from kwhatif.admission.other_kinds.webhook_configurations import check_client, check_reviews
from kwhatif.admission.request import Request, each, within
from kwhatif.admission.response import Object
from kwhatif.admission.validation.field_rules import dns_1035_label, dns_subdomain
from kwhatif.admission.validation.metadata import object_table
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.rows import each_item, table
from kwhatif.api.objects import part_of, section

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_MOST_SELECTABLE = 8
_SELECTABLE = (
    "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."
)


_CONVERSION = table(
    """
    conversion.strategy          text & invalid if preserveUnknownFields and converts:
            must be None if spec.preserveUnknownFields is true
    conversion.strategy          required & one_of None Webhook
    conversion?.webhook.clientConfig    forbidden unless strategy=Webhook @ webhookClientConfig: ONLY
    conversion?.webhook.conversionReviewVersions
            if_nonempty & forbidden unless strategy=Webhook @ conversionReviewVersions: ONLY
    conversion?                  stop unless strategy=Webhook
    conversion?.webhook.clientConfig    present @ webhookClientConfig: required when strategy is set to Webhook
    conversion?.webhook.clientConfig    check_client @ webhookClientConfig
    conversion?.webhook.conversionReviewVersions    required & check_reviews @ conversionReviewVersions
    """.replace("ONLY", "should not be set when strategy is not set to Webhook"),
    check_reviews,
    check_client=check_client,
    converts=lambda spec: part_of(spec, "conversion").get("strategy") != "None",
)


def _json_path(*roots: str) -> Callable[[str], list[str]]:
    place = roots[0].rstrip(".") if len(roots) == 1 else "either .spec or .status"

    def rule(text: str) -> list[str]:
        if not text.startswith("."):
            return ["must be a simple json path starting with ."]
        return [] if text.startswith(roots) else [f"should be a json path under {place}"]

    return rule


check_subresources = table(
    """
    scale?.specReplicasPath      required & in_spec
    scale?.statusReplicasPath    required & in_status
    scale?.labelSelectorPath     if_nonempty & in_either
    """,
    in_spec=_json_path(".spec."),
    in_status=_json_path(".status."),
    in_either=_json_path(".spec.", ".status."),
)
_COLUMNS = table(
    f"""
    name                         required
    type                         required: must be one of {",".join(_COLUMN_TYPES)}
    type                         if_nonempty & not is_no_type: must be one of {",".join(_COLUMN_TYPES)}
    format                       if_nonempty & not is_no_format: must be one of {",".join(_COLUMN_FORMATS)}
    jsonPath                     required & begins . @ JSONPath: must be a simple json path starting with .
    """,
    is_no_type=lambda kind: kind not in _COLUMN_TYPES,
    is_no_format=lambda form: form not in _COLUMN_FORMATS,
)
check_columns = each_item(_COLUMNS)


def check_selectable(problems: Problems, fields: list[Object], path: str, schema: Object) -> None:
    seen: set[tuple[str, ...]] = set()
    for i, field in enumerate(fields):
        text, where = field.get("jsonPath") or "", f"{path}[{i}].jsonPath"
        if not text:
            problems.required(where)
            continue
        try:
            names, shape = field_at(text, schema, brackets=False)
        except FieldNotFound as error:
            problems.invalid(where, text, f"is an invalid path: {error}")
            continue
        if names[0] == "metadata":
            problems.invalid(where, text, "must not point to fields in metadata")
        if shape.get("type") not in ("string", "boolean", "integer"):
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
    service = section(spec["conversion"], "webhook", "clientConfig").get("service")
    if service is not None and service.get("port") is None:
        service["port"] = 443


def check_definition(problems: Problems, obj: Object) -> None:
    spec = within(obj, "spec")
    _DEFINITION(problems, obj)
    _check_approval(problems, obj, str(spec.get("group") or ""))
    _check_versions(problems, spec)
    _NAMES(problems, section(spec, "names"), "spec.names")
    for part in _PARTS:
        if _common(spec, part.find) is not None:
            part.check(problems, each(spec, "versions")[0], f"spec.{part.common}")
    _CONVERSION(problems, spec, "spec")
    if spec.get("preserveUnknownFields"):
        why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        problems.invalid("spec.preserveUnknownFields", True, why)


def _is_misnamed(obj: Object) -> bool:
    spec = part_of(obj, "spec")
    return name_of(obj) != f"{section(spec, 'names').get('plural') or ''}.{spec.get('group') or ''}"


def _group(group: str) -> list[str]:
    wrong = [",".join(dns_subdomain(group))] if dns_subdomain(group) else []
    return wrong or ([] if "." in group else ["should be a domain with at least one dot"])


_DEFINITION = object_table(
    """
    metadata.name                if_nonempty & invalid if _is_misnamed: must be spec.names.plural+"."+spec.group
    spec.group                   required & _group
    spec.scope                   required & one_of Cluster Namespaced
    """,
    *(_is_misnamed, _group),
)


def _check_approval(problems: Problems, obj: Object, group: str) -> None:
    """Groups below k8s.io need the annotation of an API approval."""
    if not f".{group}".endswith((".k8s.io", ".kubernetes.io")):
        return
    said = str(section(obj, "metadata", "annotations").get(_APPROVED) or "")
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
    values = [find(version) for version in each(spec, "versions")]
    return values[0] if values and values[0] and all(value == values[0] for value in values) else None


def _check_versions(problems: Problems, spec: Object) -> None:
    versions = each(spec, "versions")
    alike = {part: _common(spec, part.find) is not None for part in _PARTS}
    for i, version in enumerate(versions):
        if not _schema(version):
            problems.required(f"spec.versions[{i}].schema.openAPIV3Schema")
    for i, version in enumerate(versions):
        where = f"spec.versions[{i}]"
        _VERSION(problems, version, where)
        for part in _PARTS:
            if part.find(version) and not alike[part]:
                part.check(problems, version, f"{where}.{part.key}")
    names = [version.get("name") or "" for version in versions]
    if len(set(names)) < len(names):
        problems.invalid("spec.versions", versions, "must contain unique version names")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        problems.invalid("spec.versions", versions, "must have exactly one version marked as storage version")


_VERSION = table(
    """
    name                         text & in_one dns_1035_label
    deprecationWarning           invalid unless deprecated: can only be set for deprecated versions
    deprecationWarning           max_bytes 256 if deprecated: must be <= 256 characters long
    deprecationWarning           at_least_one if deprecated
    """,
    at_least_one=lambda text: [] if text else ["must not be an empty string"],
)
_NAMES = table(
    f"""
    plural                       required
    singular                     required
    kind                         required
    listKind                     required
    plural                       if_nonempty & in_one dns_1035_label
    singular                     if_nonempty & in_one dns_1035_label
    kind                         if_nonempty & in_one lower: {_MIXED}
    listKind                     if_nonempty & in_one lower: {_MIXED}
    shortNames[]                 in_one dns_1035_label
    categories[]                 in_one dns_1035_label
    listKind                     if_nonempty & invalid if twice: kind and listKind may not be the same
    """,
    lower=lambda name: dns_1035_label(str(name).lower()),
    twice=lambda names: names.get("listKind") == names.get("kind"),
)


def _field_of(key: str, version: Object) -> Any:
    return version.get(key)


def _schema(version: Object) -> Object | None:
    schema: Object | None = section(version, "schema").get("openAPIV3Schema")
    return schema


def _check_schema(problems: Problems, version: Object, path: str) -> None:
    status = section(version, "subresources").get("status") is not None
    check_schema(problems, _schema(version) or {}, f"{path}.openAPIV3Schema", status=status)


class _Part(msgspec.Struct, frozen=True):
    """A part of a version: at ``key`` there, and at ``common`` of the whole if all versions have it alike."""

    key: str
    common: str
    check: Callable[[Problems, Object, str], None]
    find: Callable[[Object], Any]


def _check_subresources(problems: Problems, version: Object, path: str) -> None:
    check_subresources(problems, part_of(version, "subresources"), path)


def _check_columns(problems: Problems, version: Object, path: str) -> None:
    check_columns(problems, part_of(version, "additionalPrinterColumns"), path)


def _check_selectable(problems: Problems, version: Object, path: str) -> None:
    check_selectable(problems, part_of(version, "selectableFields"), path, _schema(version) or {})


_PARTS = (
    _Part("schema", "validation", _check_schema, _schema),
    *(
        _Part(key, key, check, partial(_field_of, key))
        for key, check in (
            ("subresources", _check_subresources),
            ("additionalPrinterColumns", _check_columns),
            ("selectableFields", _check_selectable),
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
