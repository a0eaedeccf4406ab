"""JSON Schemas made from the Structs that decode, and error messages for documents that do not fit them.

Documents of our own refuse unknown fields, other than Kubernetes' objects. ``convert_strictly`` and ``decode_strictly``
decode such a document; only one that does not decode is validated by its schema, which takes a hundred times as long
and gives the place, what was expected and what was found.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from kwhatif.api.decode import Json, convert, decode_json, describe_value, fits, in_range, step
from kwhatif.api.quantity import Quantity, QuantityError
from kwhatif.api.spelling_hints import suggest_spelling
from kwhatif.errors import InputError

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

DRAFT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]
T = TypeVar("T")

_QUANTITY = {
    "description": 'A number with an optional suffix, such as "500m", "1Gi" or 2.',
    "type": ["string", "number"],
    "format": "quantity",
}
_UNSAID = ("default", "title")


# --- schemas


def components(*types: Any, opaque: Collection[type] = ()) -> tuple[list[Schema], dict[str, Schema]]:
    """A schema for each type, and the definitions that they refer to as ``#/$defs/NAME``. Of ``opaque`` types there is
    none: their fields can be anything.
    """

    def schema_of(type_: type[Any]) -> Schema:
        return {"type": "object"} if type_ in opaque else _of_quantity(type_)

    schemas, definitions = msgspec.json.schema_components(types, schema_hook=schema_of, ref_template="#/$defs/{name}")
    for definition in definitions.values():
        if "description" in definition:
            # A docstring: its lines are broken as the code has them, and indented unless Python is 3.13 or later.
            definition["description"] = " ".join(definition["description"].split())
    return list(schemas), definitions


def document_schema(
    name: str,
    api_version: str,
    kind: str,
    description: str,
    properties: Mapping[str, Schema],
    *,
    required: tuple[str, ...] = ("apiVersion", "kind"),
    definitions: Mapping[str, Schema] | None = None,
    closed: bool = True,
) -> Schema:
    """The schema of a format of our own. A ``closed`` one has no other fields; one without an ``api_version`` has no
    ``apiVersion`` and ``kind``.
    """
    head = {"apiVersion": {"const": api_version}, "kind": {"const": kind}} if api_version else {}
    return {
        "$schema": DRAFT,
        "$id": f"https://kwhatif.dev/schemas/{name}.schema.json",
        "title": kind,
        "description": description,
        "type": "object",
        "required": list(required),
        "properties": {**head, **simplify(dict(properties))},
        **({"additionalProperties": False} if closed else {}),
        **({"$defs": simplify(dict(sorted(definitions.items())))} if definitions else {}),
    }


def simplify(value: Any) -> Any:
    """The same schema for readers: "this or null" on one level, and without defaults and titles."""
    if isinstance(value, list):
        return [simplify(item) for item in value]
    if not isinstance(value, dict):
        return value
    # A property may be called like a keyword; what describes a property is always an object.
    kept = {
        key: simplify(item) for key, item in value.items() if key not in _UNSAID or (item and isinstance(item, dict))
    }
    if kept.get("required") == []:
        del kept["required"]
    if "anyOf" in kept:
        # Older releases of msgspec have null first in some unions.
        kept["anyOf"].sort(key=lambda choice: choice == {"type": "null"})
    match kept.get("anyOf"):
        case [{"type": str(one), **rest}, {"type": "null"}]:
            return {"type": [one, "null"], **rest}
    return kept


def _of_quantity(type_: type[Any]) -> Schema:
    """The schema of what is decoded by a rule of our own."""
    if type_ is Quantity:
        return _QUANTITY
    raise NotImplementedError(f"no schema is known for {type_.__name__}")


# --- what a schema has against a value


def convert_strictly(value: object, type_: type[T]) -> T:
    """As ``convert``, into Structs that forbid what they do not know. Raises InputError with a ``place``."""
    struct: Any = type_
    if not fits(value, type_):
        for place, text in find_schema_errors(drop_nulls(value), _validator_of(struct)):
            raise InputError(text, place=place)
    return convert(value, type_)


def decode_strictly(data: Json, type_: type[T]) -> T:
    """As ``decode_json``; misfits are reported by the type's schema. Raises InputError with a ``place``."""
    try:
        return decode_json(data, type_)
    except InputError as error:
        if not error.place.startswith("$"):
            raise
        struct: Any = type_
        for place, text in find_schema_errors(drop_nulls(decode_json(data, Any)), _validator_of(struct)):
            raise InputError(text, place=place) from None
        raise


def drop_nulls(value: Any) -> Any:
    """Null is the same as absent."""
    if isinstance(value, dict):
        return {key: drop_nulls(item) for key, item in value.items() if item is not None}
    return [drop_nulls(item) for item in value] if isinstance(value, list) else value


def find_schema_errors(value: Any, validator: Validator) -> Iterator[tuple[str, str]]:
    """Place and text of all that a schema does not allow, sorted by place."""
    problems: dict[tuple[str, str], list[str]] = {}
    for error in validator.iter_errors(value):
        for leaf in _leaves(error):
            place = "".join(f"[{key}]" if isinstance(key, int) else step(key) for key in leaf.absolute_path)
            # Numbers padded, so that the tenth element comes after the second.
            problems.setdefault((f"${place}", _describe_error(leaf)), [str(key).zfill(6) for key in leaf.absolute_path])
    # A misspelt field also leaves a required one missing: only the first is reported.
    yield from sorted(problems, key=lambda misfit: (problems[misfit], not misfit[1].startswith("unknown"), misfit))


def validator(schema: Schema) -> Validator:
    """A validator of the schema that knows quantities."""
    # Takes a while to import, and most documents are sound.
    import jsonschema

    checker = jsonschema.FormatChecker(())
    checker.checks("quantity", QuantityError)(lambda value: Quantity.from_json(value) is not None)
    return jsonschema.Draft202012Validator(schema, format_checker=checker)


@cache
def _validator_of(type_: Any) -> Validator:
    (schema,), definitions = components(type_)
    return validator({**schema, "$defs": definitions})


def _leaves(error: ValidationError) -> Iterator[ValidationError]:
    """Of the errors of "this or null", those of this."""
    if error.validator != "anyOf" or not error.context:
        yield error
        return
    for inner in error.context:
        if not (inner.validator == "type" and inner.validator_value == "null"):
            yield from _leaves(inner)


_TYPES = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "an integer",
    "number": "a number",
    "object": "an object",
    "string": "a string",
}
_A_QUANTITY = 'a quantity such as "500m" or "1Gi"'


def _describe_error(error: ValidationError) -> str:
    """A schema's complaint in the words of the reader that decodes."""
    value: Any = error.instance
    wanted: Any = error.validator_value
    schema: Any = error.schema
    match error.validator:
        case "additionalProperties":
            known = list(schema.get("properties", ()))
            unknown = next(key for key in value if key not in known)
            return f"unknown field {describe_value(unknown)}{suggest_spelling(unknown, known) or _one_of(known)}"
        case "required":
            return f"the field {next(key for key in wanted if key not in value)} is missing"
        case "type" if schema.get("format") == "quantity":
            expected = _A_QUANTITY
        case "type":
            names = [wanted] if isinstance(wanted, str) else wanted
            expected = " or ".join(_TYPES[name] for name in names if name in _TYPES)
        case "format":
            expected = _A_QUANTITY
        case "minimum" | "maximum":
            expected = f"an integer {in_range(schema.get('minimum'), schema.get('maximum'))}"
        case "const":
            expected = describe_value(wanted)
        case "enum":
            expected = f"one of {', '.join(map(str, wanted))}" if len(wanted) > 1 else describe_value(wanted[0])
        case "minLength":
            return "expected a name, found none"
        case _:
            return error.message
    return f"expected {expected}, found {describe_value(value)}"


def _one_of(choices: list[str]) -> str:
    return f" (expected one of {', '.join(choices)})"
