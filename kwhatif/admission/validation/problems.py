"""Validation errors of an object, collected in the order in which they are found.

Upstream: apimachinery/pkg/util/validation/field/errors.go and apimachinery/pkg/api/errors/errors.go.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from kwhatif.admission.object_store import kind_name, name_of
from kwhatif.admission.response import Object, RequestRefusal, StatusCause
from kwhatif.versions import Features, features_of


class Problems:
    """Each method notes one problem of the field at ``path``; ``features`` are the rules by which it is one."""

    def __init__(self, features: Features | None = None) -> None:
        self.causes: list[StatusCause] = []
        self.features = features or features_of()

    def required(self, path: str, why: str = "") -> None:
        self._note(path, "Required value", why)

    def forbidden(self, path: str, why: str) -> None:
        self._note(path, "Forbidden", why)

    def invalid(self, path: str, value: Any, *whys: str) -> None:
        """One problem for each reason; without a reason there is none."""
        for why in whys:
            self._note(path, f"Invalid value: {_format_value(value)}", why)

    def wrong(self, path: str, why: str) -> None:
        """Something is wrong with a value that is not worth showing."""
        self._note(path, "Invalid value", why)

    def duplicate(self, path: str, value: Any, why: str = "") -> None:
        self._note(path, f"Duplicate value: {_format_value(value)}", why)

    def not_supported(self, path: str, value: Any, supported: Iterable[str]) -> None:
        self._note(
            path,
            f"Unsupported value: {_format_value(value)}",
            f"supported values: {', '.join(map(_format_value, supported))}",
        )

    def not_found(self, path: str, value: Any, why: str = "") -> None:
        self._note(path, f"Not found: {_format_value(value)}", why)

    def too_long(self, path: str, most: int) -> None:
        self._note(path, "Too long", f"may not be more than {most} bytes")

    def too_many(self, path: str, number: int, most: int) -> None:
        self._note(path, f"Too many: {number}", f"must have at most {most} items")

    def refusal(self, obj: Object) -> RequestRefusal | None:
        """422 with all errors; duplicates are listed as causes twice, but appear once in the message."""
        if not self.causes:
            return None
        said = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in self.causes))
        whole = said[0] if len(said) == 1 else f"[{', '.join(said)}]"
        message = f'{kind_name(obj)} "{name_of(obj)}" is invalid: {whole}'
        return RequestRefusal(422, "Invalid", message, tuple(self.causes))

    def _note(self, path: str, what: str, why: str) -> None:
        self.causes.append(StatusCause(path, f"{what}: {why}" if why else what))


def _format_value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
