"""Errors about one field, worded as Kubernetes words them (upstream: util/validation/field/errors.go)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kwhatif.golang.spelling import go_json, go_number, go_quote


@dataclass(frozen=True, slots=True)
class Path:
    """Where a field is: ``profiles[0].schedulerName``. Its methods return whole error lines."""

    text: str = ""

    def child(self, *names: str) -> Path:
        return Path(".".join((self.text, *names) if self.text else names))

    def index(self, index: int | str) -> Path:
        return Path(f"{self.text}[{index}]")

    def invalid(self, value: object, detail: str) -> str:
        return self._error("Invalid value", value, detail)

    def unsupported(self, value: object, supported: Iterable[str]) -> str:
        return self._error("Unsupported value", value, f"supported values: {', '.join(map(go_quote, supported))}")

    def duplicate(self, value: object) -> str:
        return self._error("Duplicate value", value)

    def required(self, detail: str = "") -> str:
        return f"{self.text}: Required value{': ' if detail else ''}{detail}"

    def forbidden(self, detail: str) -> str:
        return f"{self.text}: Forbidden: {detail}"

    def _error(self, what: str, value: object, detail: str = "") -> str:
        return f"{self.text}: {what}: {_shown(value)}{': ' if detail else ''}{detail}"


ROOT = Path()


def _shown(value: object) -> str:
    """Plain values as Go prints them, everything else as its JSON."""
    match value:
        case str():
            return go_quote(value)
        case int() | float() if not isinstance(value, bool):
            return go_number(value)
    return go_json(value)


def aggregate(problems: Iterable[str]) -> str:
    """Many errors as one, each once (upstream: util/errors/errors.go)."""
    lines = list(dict.fromkeys(problems))
    return lines[0] if len(lines) == 1 else f"[{', '.join(lines)}]"
