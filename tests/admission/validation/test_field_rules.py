"""What names may look like, and in which words others are refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kwhatif.admission.validation.field_rules import (
    dns_label,
    dns_subdomain,
    label_key,
    label_value,
    port_name,
    port_number,
)

LONG = "a" * 64

GOOD = [
    (label_key, "app"),
    (label_key, "example.com/My_app.1"),
    (label_value, ""),
    (label_value, "A-b_c.9"),
    (dns_label, "a-1"),
    (dns_subdomain, "a.b-1.c"),
    (port_name, "http-1"),
]
BAD: list[tuple[Callable[[str], list[str]], str, list[str]]] = [
    (label_key, "/app", ["prefix part must be non-empty"]),
    (label_key, "a/", ["name part must be non-empty", "name part must consist of"]),
    (label_key, "a/b/c", ["a valid label key must consist of"]),
    (label_key, LONG, ["name part must be no more than 63 bytes"]),
    (label_key, f"{'a.' * 127}a/b", ["prefix part must be no more than 253 bytes"]),
    (label_value, LONG, ["must be no more than 63 bytes"]),
    (label_value, "-", ["a valid label must be"]),
    (dns_label, LONG, ["must be no more than 63 characters"]),
    (dns_label, "a.b", ["must not contain dots"]),
    (dns_label, "", ["a lowercase RFC 1123 label must"]),
    (dns_subdomain, "a" * 254, ["must be no more than 253 characters"]),
    (dns_subdomain, "A", ["a lowercase RFC 1123 subdomain must"]),
    (port_name, "a" * 16, ["must be no more than 15 characters"]),
    (port_name, "80", ["must contain at least one letter (a-z)"]),
    (port_name, "-a--b", ["must not contain consecutive hyphens", "must not begin or end with a hyphen"]),
    (port_name, "Http", ["must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"]),
]


@pytest.mark.parametrize(("rule", "text"), GOOD, ids=[f"{rule.__name__} likes {text!r}" for rule, text in GOOD])
def test_good(rule: Callable[[str], list[str]], text: str) -> None:
    assert rule(text) == []


@pytest.mark.parametrize(
    ("rule", "text", "said"), BAD, ids=[f"{rule.__name__} dislikes {text[:9]!r}" for rule, text, _ in BAD]
)
def test_bad(rule: Callable[[str], list[str]], text: str, said: list[str]) -> None:
    found = rule(text)
    assert len(found) == len(said)
    assert all(one.startswith(start) for one, start in zip(found, said, strict=True)), found


def test_ports_are_counted_from_one() -> None:
    assert [port for port in (0, 1, 65535, 65536) if not port_number(port)] == [1, 65535]
