"""How a text becomes the parts of a quantity.

Upstream: apimachinery/pkg/api/resource (quantity.go: ParseQuantity, suffix.go).
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple

INT64_MAX = 2**63 - 1
NARROW_DIGITS = 18  # every number of so many decimal digits fits an int64
_NANO = -9

# Upstream works with numbers of any length, which lets a text of ten characters ask for gigabytes of digits.
LONGEST_TEXT = 1000
_LARGEST_EXPONENT = 1000

DECIMAL, BINARY, SCIENTIFIC = "DecimalSI", "BinarySI", "DecimalExponent"

# Possessive, so that a text of many digits that fails in the end fails at once.
_GRAMMAR = re.compile(r"([+-]?+)(0*+)([0-9]*+)(?:\.([0-9]*+))?+([eEinumkKMGTP]*+[+-]?+[0-9]*+)")
_POWER_OF_TEN = re.compile(r"[eE]([+-]?[0-9]+)")
_POWERS_OF_TEN = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_POWERS_OF_TWO = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
DECIMAL_SUFFIX = {power: suffix for suffix, power in _POWERS_OF_TEN.items()}
BINARY_SUFFIX = {power: suffix for suffix, power in _POWERS_OF_TWO.items()}

# What Go's strings.TrimSpace removes; Python's strip would also take the separators U+001C to U+001F.
_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


class QuantityError(ValueError):
    """A text that is not a quantity."""


class Parts(NamedTuple):
    """``mantissa * 10**exponent``; ``wide`` where upstream leaves its int64 form; ``text`` if it is kept."""

    mantissa: int
    exponent: int
    wide: bool
    form: str
    text: str | None


def read(text: str) -> Parts:
    """The parts of a quantity. Raises QuantityError."""
    if not text:
        raise QuantityError("an empty text is not a quantity")
    if len(text) > LONGEST_TEXT:
        raise QuantityError(f"a quantity has at most {LONGEST_TEXT} characters")
    match = _GRAMMAR.fullmatch(text)
    if match is None:
        raise QuantityError('a quantity is a number and a suffix, such as "500m" or "1Gi"')
    if text == "0":
        return Parts(0, 0, False, DECIMAL, text)
    sign, zeros, significant, fraction, suffix = match.groups(default="")
    exponent, power_of_two, form = _meaning(suffix)
    parts = _narrow(text, significant or "0", fraction, exponent, power_of_two, form)
    if parts is None:
        if not zeros + significant + fraction:
            raise QuantityError("a quantity needs digits before its suffix")
        digits = significant + fraction or "0"
        parts = _wide(int(digits) << power_of_two, exponent - len(fraction), form)
    return parts._replace(mantissa=-parts.mantissa) if sign == "-" else parts


def _narrow(text: str, digits: str, fraction: str, exponent: int, power_of_two: int, form: str) -> Parts | None:
    """The unsigned int64 form, or None for what is too long, too fine, or a fraction with a binary suffix."""
    if form == BINARY:
        if fraction or len(digits) + power_of_two * 3 // 10 > 14:
            return None
        number = int(digits)
        return Parts(number << power_of_two, 0, False, form, text if number & 7 else None)
    exponent -= len(fraction)
    digits += fraction
    if len(digits) > NARROW_DIGITS or exponent < _NANO:
        return None
    # Such a text is not always canonical ("+5", "1.500"), yet upstream prints it unchanged.
    kept = exponent % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
    return Parts(int(digits), exponent, False, form, text if kept else None)


def _wide(number: int, exponent: int, form: str) -> Parts:
    """The unsigned form without bounds, in billionths; binary suffixes are capped at the largest int64."""
    if not number:
        return Parts(0, min(max(exponent, -_LARGEST_EXPONENT), _LARGEST_EXPONENT), True, form, None)
    number = _in_billionths(number, exponent)
    if form == BINARY and number > INT64_MAX * 10**9:
        return Parts(INT64_MAX, 0, True, form, None)
    if form == BINARY and number < 10**9:
        form = DECIMAL
    return Parts(number, _NANO, True, form, None)


def _meaning(suffix: str) -> tuple[int, int, str]:
    """A suffix as (power of ten, power of two, format)."""
    if suffix in _POWERS_OF_TEN:
        return _POWERS_OF_TEN[suffix], 0, DECIMAL
    if suffix in _POWERS_OF_TWO:
        return 0, _POWERS_OF_TWO[suffix], BINARY
    match = _POWER_OF_TEN.fullmatch(suffix)
    power = int(match[1]) if match else 0
    if not match or not fits(power):
        raise QuantityError(f"{suffix[:40]!r} is not a suffix of a quantity")
    power = (power + 2**31) % 2**32 - 2**31  # upstream keeps the low 32 bits
    if power > _LARGEST_EXPONENT:
        raise QuantityError(f"the exponent {power} of a quantity is too large")
    return power, 0, SCIENTIFIC


def _in_billionths(number: int, exponent: int) -> int:
    """``number * 10**exponent``, which is above zero, in billionths and rounded up."""
    shift = _NANO - exponent
    if shift <= 0:
        return int(number * 10**-shift)
    return 1 if shift > 2 * LONGEST_TEXT else -(-number // 10**shift)


def shortest(value: float) -> str:
    """A finite float as Go's encoding/json writes it, which is what reaches the API server."""
    text = repr(value)
    if 1e-6 <= abs(value) < 1e21:
        text = format(Decimal(text), "f")
    return text.removesuffix(".0").replace("e-0", "e-")


def trimmed(text: str) -> str:
    """A text without the spaces around it."""
    return text.strip(_SPACE)


def fits(number: int) -> bool:
    """Whether a number is in the range of an int64."""
    return -INT64_MAX - 1 <= number <= INT64_MAX
