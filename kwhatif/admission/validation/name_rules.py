"""What names, labels and ports may look like; each rule answers with what is wrong, in upstream's words.

Upstream: apimachinery/pkg/util/validation/validation.go.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kwhatif.admission.validation.problems import Problems
from kwhatif.api.label_text import is_label_key, is_label_value

__all__ = [
    "check_label_key",
    "check_labels",
    "dns_label",
    "dns_subdomain",
    "label_key",
    "label_value",
    "port_name",
    "port_number",
]

_EMPTY = "must be non-empty"
_SIGNS = "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_VALUE = f"({_NAME})?"
_ENDS = "and must start and end with an alphanumeric character"


def label_key(key: str) -> list[str]:
    """Rules for a qualified name: a name, and perhaps a domain and a slash before it."""
    if is_label_key(key):
        return []
    prefix, slash, name = key.partition("/")
    if "/" in name:
        text = _unlike(f"a qualified name must consist of {_SIGNS}", _NAME, "MyName", "my.name", "123-abc")
        return [f"{text} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    problems = []
    if slash:
        problems = [f"prefix part {text}" for text in (dns_subdomain(prefix, "bytes") if prefix else [_EMPTY])]
    name = name if slash else key
    if not name:
        problems.append(f"name part {_EMPTY}")
    elif len(name.encode()) > 63:
        problems.append(f"name part {_longer(63, 'bytes')}")
    if not re.fullmatch(_NAME, name):
        problems.append("name part " + _unlike(f"must consist of {_SIGNS}", _NAME, "MyName", "my.name", "123-abc"))
    return problems


def label_value(value: str) -> list[str]:
    if is_label_value(value):
        return []
    problems = [_longer(63, "bytes")] if len(value.encode()) > 63 else []
    if not re.fullmatch(_VALUE, value):
        what = f"a valid label must be an empty string or consist of {_SIGNS}"
        problems.append(_unlike(what, _VALUE, "MyValue", "my_value", "12345"))
    return problems


def dns_label(value: str) -> list[str]:
    problems = [_longer(63)] if len(value.encode()) > 63 else []
    if not re.fullmatch(_LABEL, value):
        if re.fullmatch(_SUBDOMAIN, value):
            problems.append("must not contain dots")
        else:
            what = f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {_ENDS}"
            problems.append(_unlike(what, _LABEL, "my-name", "123-abc"))
    return problems


def dns_subdomain(value: str, unit: str = "characters") -> list[str]:
    problems = [_longer(253, unit)] if len(value.encode()) > 253 else []
    if not re.fullmatch(_SUBDOMAIN, value):
        signs = "lower case alphanumeric characters, '-' or '.'"
        what = f"a lowercase RFC 1123 subdomain must consist of {signs}, {_ENDS}"
        problems.append(_unlike(what, _SUBDOMAIN, "example.com"))
    return problems


def port_name(name: str) -> list[str]:
    problems = [_longer(15)] if len(name.encode()) > 15 else []
    if not re.fullmatch("[-a-z0-9]+", name):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", name):
        problems.append("must contain at least one letter (a-z)")
    if "--" in name:
        problems.append("must not contain consecutive hyphens")
    if name[:1] == "-" or name[-1:] == "-":
        problems.append("must not begin or end with a hyphen")
    return problems


def port_number(port: int) -> list[str]:
    return [] if 1 <= port <= 65535 else ["must be between 1 and 65535, inclusive"]


def check_label_key(problems: Problems, key: str, path: str) -> None:
    problems.invalid(path, key, *label_key(key))


def check_labels(problems: Problems, labels: Mapping[str, Any] | None, path: str) -> None:
    """Labels, or a selector that is a map of labels, by key."""
    for key, value in sorted((labels or {}).items()):
        check_label_key(problems, key, path)
        problems.invalid(path, value or "", *label_value(value or ""))


def _longer(most: int, unit: str = "characters") -> str:
    """Upstream counts bytes everywhere, but says so only of labels."""
    return f"must be no more than {most} {unit}"


def _unlike(what: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{what} (e.g. {shown}regex used for validation is '{pattern}')"
