"""The library ``format`` of expressions: rules for names, by name. Upstream: apiserver/pkg/cel/library/format.go."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from datetime import date

from kwhatif.admission.validation.name_rules import dns_1035_label, dns_label, dns_subdomain, label_key, label_value
from kwhatif.cel.faults import Fault
from kwhatif.cel.overloads import Overload, define, merged, per_character
from kwhatif.cel.standard import timestamp_of
from kwhatif.cel.urls import parsed
from kwhatif.cel.values import NamedFormat, Optional

_UUID = re.compile("[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE)


def _begun(rule: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """A rule for the beginning of a name, which may end in a dash."""
    return lambda text: rule(text[:-2] + "a" if len(text) > 1 and text.endswith("-") else text)


def _reads(read: Callable[[str], object], problem: str) -> Callable[[str], list[str]]:
    def check(text: str) -> list[str]:
        try:
            read(text)
        except (Fault, ValueError) as error:
            return [problem or str(error).partition(": ")[2]]
        return []

    return check


_RULES: dict[str, Callable[[str], list[str]]] = {
    "dns1123Label": dns_label,
    "dns1123Subdomain": dns_subdomain,
    "dns1035Label": dns_1035_label,
    "qualifiedName": label_key,
    "dns1123LabelPrefix": _begun(dns_label),
    "dns1123SubdomainPrefix": _begun(dns_subdomain),
    "dns1035LabelPrefix": _begun(dns_1035_label),
    "labelValue": label_value,
    "uri": _reads(parsed, ""),
    "uuid": lambda text: [] if _UUID.fullmatch(text) else ["does not match the UUID format"],
    "byte": _reads(lambda text: base64.b64decode(text, validate=True), "invalid base64"),
    "date": _reads(date.fromisoformat, "invalid date"),
    "datetime": _reads(timestamp_of, "invalid datetime"),
}


def _validate(found: NamedFormat, text: str) -> Optional:
    problems = _RULES[found.name](text)
    return Optional(problems) if problems else Optional(there=False)


def _definitions() -> Iterator[tuple[str, Overload]]:
    for name in _RULES:
        yield from define(f"format.{name}() -> Format", lambda name=name: NamedFormat(name))
    yield from define(
        "format.named(string) -> optional(Format)",
        lambda name: Optional(NamedFormat(name)) if name in _RULES else Optional(there=False),
    )
    yield from define(
        "Format.validate(string) -> optional(list(string))", _validate, lambda one, text: per_character(text)
    )


FORMATS = merged(_definitions())
"""Functions for expressions of policies and of schemas."""
