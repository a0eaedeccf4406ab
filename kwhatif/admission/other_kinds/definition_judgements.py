"""``allOf``, ``anyOf``, ``oneOf`` and ``not`` in a definition's schema: they validate values and must not define
fields.

Upstream: apiextensions-apiserver/pkg/apiserver/schema (validation.go, complete.go).
"""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.admission.request import each
from kwhatif.admission.response import Object
from kwhatif.admission.validation.problems import Problems
from kwhatif.api.objects import section
from kwhatif.cel.patterns import search
from kwhatif.cel.values import Fault

_EITHER = [{"type": "integer"}, {"type": "string"}]
_FORBIDDEN = (
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
)
"""What only a schema itself may say, and what is said of it elsewhere."""
_MAY_BE_EMPTY = frozenset({"default", "additionalProperties", "x-kubernetes-list-type", "x-kubernetes-map-type"})


def judgements(schema: Object, path: str) -> Iterator[tuple[Object, str]]:
    """The schemas that judge the same value, in upstream's order."""
    for key in ("anyOf", "allOf", "oneOf"):
        for i, inner in enumerate(each(schema, key)):
            yield inner or {}, f"{path}.{key}[{i}]"
    if isinstance(schema.get("not"), dict):
        yield schema["not"], f"{path}.not"


def check_judgements(problems: Problems, schema: Object, path: str) -> None:
    """What is forbidden inside of these keywords, and fields that the structural schema does not define."""
    _check_pattern(problems, schema, path)
    for inner, where in judgements(schema, path):
        if not _says_either(schema, where.removeprefix(path)):
            _check_nested(problems, inner, where, either=where == f"{path}.allOf[0]")
    for inner, where in judgements(schema, path):
        _check_defined(problems, inner, where, schema, path)


def _says_either(schema: Object, where: str) -> bool:
    """An integer or a string: the one case in which types are named."""
    return where.startswith(".anyOf") and schema.get("anyOf") == _EITHER


def _check_pattern(problems: Problems, schema: Object, path: str) -> None:
    pattern = schema.get("pattern")
    if pattern:
        try:
            search("", pattern)
        except Fault as fault:
            why = f"must be a valid regular expression, but isn't: {fault}"
            problems.invalid(f"{path}.pattern", pattern, why)


def _check_nested(problems: Problems, schema: Object, path: str, *, either: bool = False) -> None:
    """``either``: whether an integer or a string may stand here."""
    _check_pattern(problems, schema, path)
    for inner, where in judgements(schema, path):
        if not (either and _says_either(schema, where.removeprefix(path))):
            _check_nested(problems, inner, where)
    if isinstance(schema.get("items"), dict):
        _check_nested(problems, schema["items"], f"{path}.items")
    for key, inner in section(schema, "properties").items():
        _check_nested(problems, inner or {}, f"{path}.properties[{key}]")
    for key, why in _FORBIDDEN:
        value = schema.get(key)
        if value is not None if key in _MAY_BE_EMPTY else value:
            problems.forbidden(f"{path}.{key}", why)
    if "metadata" in section(schema, "properties"):
        problems.forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context")


def _check_defined(problems: Problems, judging: Object, where: str, schema: Object | None, path: str) -> None:
    """Each field that is judged at ``where`` has to have a schema at ``path``."""
    if schema is None:
        problems.required(path, f"because it is defined in {where}")
        return
    for inner, place in judgements(judging, where):
        _check_defined(problems, inner, place, schema, path)
    if isinstance(judging.get("items"), dict):
        items = schema.get("items")
        _check_defined(problems, judging["items"], f"{where}.items", items, f"{path}.items")
    known = section(schema, "properties")
    for key, inner in section(judging, "properties").items():
        place = f"properties[{key}]"
        _check_defined(problems, inner or {}, f"{where}.{place}", known.get(key), f"{path}.{place}")
