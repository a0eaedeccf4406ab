"""The strategy of a custom resource, made from its definition.

Upstream: apiextensions-apiserver/pkg/registry/customresource (strategy.go, validator.go).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from kwhatif.admission.custom.definition import Definition, fill_defaults
from kwhatif.admission.custom.schema_rules import broken_rules, has_rules
from kwhatif.admission.custom.schemas import (
    MISSING,
    SchemaError,
    against_schema,
    find_duplicate_items,
    find_embedded_errors,
    note,
)
from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.request import Request
from kwhatif.admission.response import Object
from kwhatif.admission.validation.metadata import check_metadata
from kwhatif.admission.validation.problems import Problems
from kwhatif.api.objects import section

_UNCHECKED = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


def custom_strategy(definition: Definition, old: Object | None) -> Strategy:
    """The strategy of a definition's resources; ``old`` is what is stored, if an object is updated."""
    return Strategy(
        defaults=partial(_defaults, definition),
        check=partial(_check, definition, old),
        warnings=partial(_warnings, definition),
        has_spec=False,
    )


def _defaults(definition: Definition, request: Request, obj: Object) -> None:
    if definition.has_status:
        obj.pop("status", None)
        if request.old is not None and "status" in request.old:
            obj["status"] = request.old["status"]
    fill_defaults(obj, definition.schema)


def _check(definition: Definition, old: Object | None, problems: Problems, obj: Object) -> None:
    check_metadata(problems, obj)
    schema = definition.schema
    if not schema:
        return
    before: Any = MISSING if old is None else old
    errors: list[SchemaError] = against_schema(obj, schema, "", before)
    errors += find_embedded_errors(obj, schema)
    if old is None or not any(find_duplicate_items(old, schema)):
        errors += find_duplicate_items(obj, schema)
    free = note(problems, errors)
    if has_rules(schema):
        if free:
            note(problems, broken_rules(obj, schema, "", before))
        else:
            problems.invalid("<nil>", None, _UNCHECKED)


def _warnings(definition: Definition, obj: Object, old: Object | None) -> Iterator[str]:
    version = definition.version
    if version.get("deprecated"):
        spec = definition.spec
        usual = f"{spec.get('group')}/{version.get('name')} {section(spec, 'names').get('kind')} is deprecated"
        yield str(version.get("deprecationWarning") or usual)
