"""Formats of texts that schemas name; what is not here is not looked at.

Upstream: kube-openapi/pkg/validation/strfmt.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from datetime import date
from ipaddress import IPv4Address, IPv6Address, ip_network
from urllib.parse import urlsplit

from kwhatif.golang.duration import Duration

_TIME = re.compile(r"[0-9]{2}:[0-9]{2}:[0-9]{2}(.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})")
_UUID = "[0-9a-f]{8}-?[0-9a-f]{4}-?%s[0-9a-f]{3}-?%s[0-9a-f]{3}-?[0-9a-f]{12}"
_MAC = re.compile(r"([0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}|([0-9a-fA-F]{4}\.){2}[0-9a-fA-F]{4}")


def _reads(read: Callable[[str], object]) -> Callable[[str], bool]:
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
    return len(text) == 10 and _reads(date.fromisoformat)(text)


def _is_uri(text: str) -> bool:
    if any(letter.isspace() and letter != " " for letter in text):
        return False
    return _reads(urlsplit)(text) and (text.startswith("/") or bool(re.match(r"[A-Za-z][A-Za-z0-9+.-]*:.", text)))


_FORMATS: dict[str, Callable[[str], bool]] = {
    "date-time": _date_time,
    "datetime": _date_time,
    "date": _is_date,
    "duration": _reads(Duration.parse),
    "ipv4": _reads(IPv4Address),
    "ipv6": _reads(IPv6Address),
    "cidr": lambda text: "/" in text and _reads(lambda value: ip_network(value, strict=False))(text),
    "mac": lambda text: _MAC.fullmatch(text) is not None,
    "uuid": _like(_UUID % ("[0-9a-f]", "[0-9a-f]")),
    "uuid3": _like(_UUID % ("3", "[0-9a-f]")),
    "uuid4": _like(_UUID % ("4", "[89ab]")),
    "uuid5": _like(_UUID % ("5", "[89ab]")),
    "byte": _reads(lambda text: base64.b64decode(text, validate=True)),
    "hexcolor": _like("#?([0-9a-f]{3}|[0-9a-f]{6})"),
    "uri": _is_uri,
    # Of what net/mail takes for an address only the least is asked.
    "email": _like(".+@.+"),
}


def fits_format(name: str, text: str) -> bool:
    """Whether a text has a format; it has any that is not known."""
    test = _FORMATS.get(name)
    return test is None or test(text)
