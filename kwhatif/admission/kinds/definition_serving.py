"""How custom resources are served: converted between versions, scaled, printed as columns, selected by fields.

Upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go. Bundles of authorities are not read.
"""

from __future__ import annotations

from kwhatif.admission.answer import Object
from kwhatif.admission.custom.field_paths import NoField, field_at
from kwhatif.admission.kinds.webhook_configurations import check_client
from kwhatif.admission.request import each
from kwhatif.admission.validation.choices import check_choice
from kwhatif.admission.validation.name_rules import dns_1035_label
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
    for i, version in enumerate(versions):
        if version in versions[:i]:
            problems.invalid(f"{path}[{i}]", version, "duplicate version")
        else:
            problems.invalid(f"{path}[{i}]", version, *dns_1035_label(version))
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
        except NoField as error:
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
