"""Reading a request: what does not fit the types of its fields is no such object at all.

Upstream: apimachinery/pkg/runtime/serializer/json and encoding/json; the answer to a misfit is a 400.
"""

from __future__ import annotations

from kwhatif.admission.answer import Cause, Object, Refused
from kwhatif.admission.resources import group_of
from kwhatif.api.checked import checked_type
from kwhatif.api.decode import convert
from kwhatif.errors import InputError


def misshapen(obj: Object) -> Refused | None:
    """A refusal if a field has a value of a type that it cannot have."""
    try:
        convert(obj, checked_type(group_of(obj), obj["kind"]))
    except InputError as error:
        kind, version = obj["kind"], str(obj.get("apiVersion") or "").rpartition("/")[2]
        field = error.place.removeprefix("$.")
        message = f'{kind} in version "{version}" cannot be handled as a {kind}: {field}: {error.problem}'
        return Refused(400, "BadRequest", message, (Cause(field, error.problem),))
    return None
