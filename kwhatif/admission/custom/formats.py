"""The formats of strings that OpenAPI schemas name, and the CEL library ``format``; unknown formats are not checked.

Upstream: kube-openapi/pkg/validation/strfmt, apiextensions-apiserver/pkg/apiserver/validation/formats.go,
apiserver/pkg/cel/library/format.go.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from datetime import date
from ipaddress import IPv4Address, IPv6Address, ip_network
from unicodedata import category
from urllib.parse import urlsplit

from kwhatif.admission.validation.field_rules import dns_1035_label, dns_label, dns_subdomain, label_key, label_value
from kwhatif.cel.declarations import Overload, define, merge_definitions, per_character
from kwhatif.cel.kubernetes import parse_url
from kwhatif.cel.standard import timestamp_of
from kwhatif.cel.values import Fault, NamedFormat, Optional
from kwhatif.golang.parsing import Duration

_TIME = re.compile(r"[0-9]{2}:[0-9]{2}:[0-9]{2}(.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})")
_UUID = "[0-9a-f]{8}-?[0-9a-f]{4}-?%s[0-9a-f]{3}-?%s[0-9a-f]{3}-?[0-9a-f]{12}"
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_HOST = re.compile(
    "[a-zA-Z0-9~](-?[a-zA-Z0-9~]{0,62})?|([a-zA-Z0-9~]([a-zA-Z0-9~-]{0,61}[a-zA-Z0-9~])?[.])+[a-zA-Z]{2,63}"
)
_MAC = re.compile(r"([0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}|([0-9a-fA-F]{4}\.){2}[0-9a-fA-F]{4}")


def _test_by_parsing(read: Callable[[str], object]) -> Callable[[str], bool]:
    def test(text: str) -> bool:
        try:
            read(text)
        except (ValueError, binascii.Error):
            return False
        return True

    return test


def _like(pattern: str) -> Callable[[str], bool]:
    return lambda text: re.fullmatch(pattern, text, re.IGNORECASE) is not None


def _date_time(text: str) -> bool:
    day, sign, time = text.lower().partition("t")
    return bool(sign) and _is_date(day) and _TIME.fullmatch(time) is not None


def _is_date(text: str) -> bool:
    return len(text) == 10 and _test_by_parsing(date.fromisoformat)(text)


def _is_uri(text: str) -> bool:
    if any(letter.isspace() and letter != " " for letter in text):
        return False
    return _test_by_parsing(urlsplit)(text) and (
        text.startswith("/") or bool(re.match(r"[A-Za-z][A-Za-z0-9+.-]*:.", text))
    )


def _is_hostname(text: str) -> bool:
    """Letters of all alphabets and signs such as emojis count as letters, but for signs in the last label."""
    plain = "".join("a" if sign.isalpha() else "~" if category(sign)[0] == "S" else sign for sign in text)
    fits = len(text.encode()) <= 255 and all(len(label.encode()) <= 63 for label in text.split("."))
    return fits and _HOST.fullmatch(plain) is not None


def _is_isbn(text: str, *sizes: int) -> bool:
    digits = re.sub(r"[\s-]", "", text)
    if len(digits) not in sizes or not re.fullmatch(r"[0-9]+X?" if len(digits) == 10 else "[0-9]+", digits):
        return False
    values = [10 if sign == "X" else int(sign) for sign in digits]
    if len(digits) == 10:
        return sum((place + 1) * value for place, value in enumerate(values)) % 11 == 0
    return sum((3 if place % 2 else 1) * value for place, value in enumerate(values)) % 10 == 0


_FORMATS: dict[str, Callable[[str], bool]] = {
    "datetime": _date_time,
    "date": _is_date,
    "duration": _test_by_parsing(Duration.parse),
    "ipv4": _test_by_parsing(IPv4Address),
    "ipv6": _test_by_parsing(IPv6Address),
    "cidr": lambda text: "/" in text and _test_by_parsing(lambda value: ip_network(value, strict=False))(text),
    "mac": lambda text: _MAC.fullmatch(text) is not None,
    "uuid": _like(_UUID % ("[0-9a-f]", "[0-9a-f]")),
    "uuid3": _like(_UUID % ("3", "[0-9a-f]")),
    "uuid4": _like(_UUID % ("4", "[89ab]")),
    "uuid5": _like(_UUID % ("5", "[89ab]")),
    "byte": _test_by_parsing(lambda text: base64.b64decode(text, validate=True)),
    "hexcolor": _like("#?([0-9a-f]{3}|[0-9a-f]{6})"),
    "uri": _is_uri,
    "hostname": _is_hostname,
    "k8sshortname": lambda text: len(text.encode()) <= 63 and re.fullmatch(_LABEL, text) is not None,
    "k8slongname": lambda text: len(text.encode()) <= 253 and re.fullmatch(rf"{_LABEL}(\.{_LABEL})*", text) is not None,
    "isbn": lambda text: _is_isbn(text, 10, 13),
    "isbn10": lambda text: _is_isbn(text, 10),
    "isbn13": lambda text: _is_isbn(text, 13),
    "ssn": _like("[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}"),
    "bsonobjectid": _like("[0-9a-f]{24}"),
    # Only the minimum of what net/mail accepts as an address.
    "email": _like(".+@.+"),
}


_UNTESTED = frozenset({"password", "creditcard", "rgbcolor"})
_OF_NUMBERS = {"integer": ("int32", "int64"), "number": ("float", "double")}


def is_recognised(name: str, kind: str) -> bool:
    """Whether the API server checks a format of values of a type (``""`` for any)."""
    if kind in ("", "string"):
        return name.replace("-", "") in _FORMATS.keys() | _UNTESTED
    return name in _OF_NUMBERS.get(kind, ())


def fits_format(name: str, text: str) -> bool:
    """Whether a text has a format. Every text has a format that is unknown."""
    test = _FORMATS.get(name.replace("-", ""))
    return test is None or test(text)


_UUID_FORMAT = re.compile("[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE)


def _mask_trailing_dash(rule: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """A rule for the beginning of a name, which may end in a dash."""
    return lambda text: rule(text[:-2] + "a" if len(text) > 1 and text.endswith("-") else text)


def _rule_from_parser(read: Callable[[str], object], problem: str) -> Callable[[str], list[str]]:
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
    "dns1123LabelPrefix": _mask_trailing_dash(dns_label),
    "dns1123SubdomainPrefix": _mask_trailing_dash(dns_subdomain),
    "dns1035LabelPrefix": _mask_trailing_dash(dns_1035_label),
    "labelValue": label_value,
    "uri": _rule_from_parser(parse_url, ""),
    "uuid": lambda text: [] if _UUID_FORMAT.fullmatch(text) else ["does not match the UUID format"],
    "byte": _rule_from_parser(lambda text: base64.b64decode(text, validate=True), "invalid base64"),
    "date": _rule_from_parser(date.fromisoformat, "invalid date"),
    "datetime": _rule_from_parser(timestamp_of, "invalid datetime"),
}


def _validate(named_format: NamedFormat, text: str) -> Optional:
    problems = _RULES[named_format.name](text)
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


FORMATS = merge_definitions(_definitions())
"""Functions for expressions of policies and of schemas."""
