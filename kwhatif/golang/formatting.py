"""Values as Go's ``%q`` and ``encoding/json`` print them inside error messages."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from decimal import Decimal

_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}
_HTML = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def go_quote(text: str) -> str:
    """``text`` as strconv.Quote has it."""
    return '"' + "".join(map(_escape, text)) + '"'


def _escape(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def one_line(text: str) -> str:
    """``text`` with what would break a line or a terminal spelled out."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _escape(c) for c in text)


def without_password(url: str) -> str:
    """An address as net/http has it in errors."""
    return re.sub(r"^([a-zA-Z0-9+.-]+://[^/@:]*):[^/@]*@", r"\1:***@", url)


def go_number(number: float) -> str:
    """A number as encoding/json writes it: no exponent between 1e-6 and 1e21."""
    if isinstance(number, int):
        return str(int(number))
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else f"{'+' if number > 0 else '-'}Inf"
    if number == 0 or 1e-6 <= abs(number) < 1e21:
        plain = format(Decimal(repr(number)), "f")
        return plain.rstrip("0").rstrip(".") if "." in plain else plain
    mantissa, _, exponent = repr(number).partition("e")
    return f"{mantissa.removesuffix('.0')}e{exponent[0]}{exponent[1:].lstrip('0')}"


def go_json(value: object) -> str:
    """``value``, as json.Marshal writes it: compact, HTML-safe, keys in their order."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return go_number(value)
        case str():
            quoted = json.dumps(value, ensure_ascii=False)
            return "".join(_HTML.get(char, char) for char in quoted)
        case Mapping():
            inside = ",".join(f"{go_json(str(key))}:{go_json(item)}" for key, item in value.items())
            return f"{{{inside}}}"
        case list() | tuple():
            return f"[{','.join(map(go_json, value))}]"
    return go_json(str(value))
