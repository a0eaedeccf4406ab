"""Field errors in Kubernetes' words, and the syntax of label names and values.

Functions return errors in upstream's words; nothing if the value is valid. Lengths are in bytes. Upstream:
util/validation/field/errors.go, apimachinery/pkg/api/validate/content.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from kwhatif.golang.formatting import go_json, go_number, go_quote


class Path(msgspec.Struct, frozen=True):
    """The path of a field: ``profiles[0].schedulerName``. Its methods return whole error lines."""

    text: str = ""

    def child(self, *names: str) -> Path:
        return Path(".".join((self.text, *names) if self.text else names))

    def index(self, index: int | str) -> Path:
        return Path(f"{self.text}[{index}]")

    def invalid(self, value: object, detail: str) -> str:
        return self._error("Invalid value", value, detail)

    def not_supported(self, value: object, supported: Iterable[str]) -> str:
        values = ", ".join(map(go_quote, supported))
        return self._error("Unsupported value", value, f"supported values: {values}" if values else "")

    def duplicate(self, value: object) -> str:
        return self._error("Duplicate value", value)

    def required(self, detail: str = "") -> str:
        return f"{self.text}: Required value{': ' if detail else ''}{detail}"

    def forbidden(self, detail: str) -> str:
        return f"{self.text}: Forbidden: {detail}"

    def _error(self, what: str, value: object, detail: str = "") -> str:
        return f"{self.text}: {what}: {_format_value(value)}{': ' if detail else ''}{detail}"


ROOT = Path()


def _format_value(value: object) -> str:
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


_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_NAME})?"
_DNS_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_SUBDOMAIN = rf"{_DNS_LABEL}(\.{_DNS_LABEL})*"
_NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    f"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME}')"
)
_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used "
    f"for validation is '{_VALUE}')"
)
_DNS_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    f"'{_DNS_SUBDOMAIN}')"
)


def _longer(text: str, limit: int) -> list[str]:
    return [f"must be no more than {limit} bytes"] if len(text.encode()) > limit else []


def dns_subdomain(text: str) -> list[str]:
    """What keeps ``text`` from being a lowercase DNS name of at most 253 bytes."""
    wrong = _longer(text, 253)
    return wrong if re.fullmatch(_DNS_SUBDOMAIN, text) else [*wrong, _DNS_RULE]


def qualified_name(text: str) -> list[str]:
    """What keeps ``text`` from being a label key: a name of at most 63 bytes, perhaps after ``prefix/``."""
    *prefix, name = text.split("/")
    if len(prefix) > 1:
        with_prefix = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {_NAME_RULE} {with_prefix}"]
    wrong = []
    if prefix:
        wrong += dns_subdomain(prefix[0]) if prefix[0] else ["must be non-empty"]
        wrong = [f"prefix part {problem}" for problem in wrong]
    parts = _longer(name, 63) if name else ["must be non-empty"]
    if not re.fullmatch(_NAME, name):
        parts.append(_NAME_RULE)
    return wrong + [f"name part {problem}" for problem in parts]


def label_value(text: str) -> list[str]:
    """What keeps ``text`` from being the value of a label."""
    wrong = _longer(text, 63)
    return wrong if re.fullmatch(_VALUE, text) else [*wrong, _VALUE_RULE]


def extended_resource(text: str) -> bool:
    """Whether a resource is neither Kubernetes' own nor a quota's (upstream: core/v1/helper/helpers.go)."""
    native = "/" not in text or "kubernetes.io/" in text
    return not native and not text.startswith("requests.") and not qualified_name(f"requests.{text}")
