"""Quantities: exact numbers with a suffix, such as ``500m``, ``1Gi`` or ``2e3``, with upstream's parsing and rounding.

A quantity is ``mantissa * 10**exponent``, kept *narrow* or *wide* as upstream does. The number is the same; they differ
outside the range of an int64: narrow yields 0, wide the low 64 bits. So ``100E`` is worth 0 to a scheduler, and
``100000000000000000000`` is worth 7766279631452241920.

Upstream: apimachinery/pkg/api/resource (quantity.go, amount.go, math.go, scale_int.go, suffix.go).
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from kwhatif.golang.numbers import wrap_int64

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


def trim_space(text: str) -> str:
    """A text without the spaces around it."""
    return text.strip(_SPACE)


def fits(number: int) -> bool:
    """Whether a number is in the range of an int64."""
    return -INT64_MAX - 1 <= number <= INT64_MAX


__all__ = ["Quantity", "QuantityError", "plain_quantity"]


class Quantity:
    """An exact amount of a resource. Immutable, hashable, ordered by amount; equal texts share one object.

    ``500m == 0.5`` and both hash alike, though they print differently.
    """

    __slots__ = ("_exponent", "_form", "_mantissa", "_text", "_wide")

    _mantissa: int
    _exponent: int
    _wide: bool
    _form: str
    _text: str | None

    def __init__(self, mantissa: int, exponent: int, wide: bool, form: str, text: str | None = None) -> None:
        """For this module alone: others use ``parse``, ``from_json``, ``from_units`` and ``from_milli``."""
        put = object.__setattr__
        put(self, "_mantissa", mantissa)
        put(self, "_exponent", exponent)
        put(self, "_wide", wide)
        put(self, "_form", form)
        put(self, "_text", text)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Quantity cannot be changed")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a Quantity cannot be changed")

    def __reduce__(self) -> tuple[type[Quantity], tuple[int, int, bool, str, str | None]]:
        return Quantity, (self._mantissa, self._exponent, self._wide, self._form, self._text)

    # --- where they come from

    @classmethod
    def parse(cls, text: str) -> Quantity:
        """Read a text as upstream's ParseQuantity does. Raises QuantityError.

        What is finer than a billionth is rounded away from zero. Unlike upstream, a text of more than 1000
        characters or an exponent above 1000 is refused.
        """
        return _parse(text)

    @classmethod
    def from_json(cls, value: object) -> Quantity:
        """Read a JSON value as upstream's UnmarshalJSON does: a text, spaces around it allowed, or a number.

        null is zero. A fraction is read by its shortest decimal form, never by its binary one. Raises
        QuantityError.
        """
        if isinstance(value, str):
            return _parse_trimmed(value)
        if value is None:
            return _parse("0")
        if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() < 3000:
            return _parse(str(value))
        if isinstance(value, float) and math.isfinite(value):
            return _parse(shortest(value))
        raise QuantityError("a quantity is a text or a number of reasonable size")

    @classmethod
    def from_units(cls, units: int, *, binary: bool = False) -> Quantity:
        """So many whole units: bytes of memory, cores of cpu, pods; ``binary`` ones are written as ``4Gi``."""
        return cls(units, 0, not fits(units), BINARY if binary else DECIMAL)

    @classmethod
    def from_milli(cls, thousandths: int) -> Quantity:
        """So many thousandths of a unit, as cpu is counted."""
        return cls(thousandths, -3, not fits(thousandths), DECIMAL)

    @classmethod
    def from_amount(cls, resource: str, amount: int, *, binary: bool = False) -> Quantity:
        """So much of a resource, as ``amount_of`` counts it."""
        return cls.from_milli(amount) if resource == "cpu" else cls.from_units(amount, binary=binary)

    # --- what they are worth

    def value(self) -> int:
        """Whole units in the range of an int64, rounded up (upstream: Value)."""
        return self._scale_to(0)

    def milli_value(self) -> int:
        """Thousandths in the range of an int64, rounded up (upstream: MilliValue)."""
        return self._scale_to(-3)

    def amount_of(self, resource: str) -> int:
        """As schedulers and autoscalers count a resource: cpu in thousandths, all else in whole units."""
        return self.milli_value() if resource == "cpu" else self.value()

    @property
    def wide(self) -> bool:
        """Whether upstream keeps this amount as an inf.Dec, and not as an int64Amount."""
        return self._wide

    @property
    def exponent(self) -> int:
        """The power of ten that upstream counts this amount in."""
        return self._exponent

    @property
    def form(self) -> str:
        """How it is written: DecimalSI, BinarySI or DecimalExponent."""
        return self._form

    @property
    def is_zero(self) -> bool:
        return self._mantissa == 0

    def nano(self) -> int:
        """The exact amount in billionths, which nothing is finer than."""
        shift = self._exponent + 9
        return self._mantissa * _ten(shift) if shift >= 0 else self._mantissa // _ten(-shift)

    def exact_int(self) -> int | None:
        """The amount as an int64 where upstream keeps it as one without a fraction (upstream: AsInt64)."""
        if self._wide or self._exponent < 0:
            return None
        units = self._mantissa * _ten(self._exponent)
        return units if fits(units) else None

    def __float__(self) -> float:
        return self._mantissa * 10.0**self._exponent

    def _scale_to(self, exponent: int) -> int:
        """The multiple of ``10**exponent``, with upstream's two ways to round and to overflow."""
        shift = exponent - self._exponent
        if not self._wide:
            if shift > 0:
                return _divide_away_from_zero(self._mantissa, _ten(shift))
            scaled = self._mantissa * _ten(-shift)
            return scaled if fits(scaled) else 0
        if shift <= 0:
            # The factor passes through a float; one too large for an int64 becomes the smallest one on amd64.
            factor = _ten(-shift) if shift >= -NARROW_DIGITS else -(2**63)
            return wrap_int64(wrap_int64(self._mantissa) * factor)
        if self._mantissa < INT64_MAX and shift <= NARROW_DIGITS:
            # Truncated, then raised by one even below zero: -1.5 counts as 0 here.
            low = wrap_int64(self._mantissa)
            whole, rest = divmod(abs(low), _ten(shift))
            return (whole if low >= 0 else -whole) + (rest != 0)
        whole, rest = divmod(self._mantissa, _ten(shift))
        return wrap_int64(whole + (rest != 0))

    def __add__(self, other: Quantity) -> Quantity:
        """The exact sum. It is written as the left one is, or as the right one if the left one is zero."""
        if not isinstance(other, Quantity):
            return NotImplemented
        form = self._form if self._mantissa else other._form
        wide = self._wide or other._wide
        if not wide and not other._mantissa:
            return Quantity(self._mantissa, self._exponent, False, form)
        if not wide and not self._mantissa:
            return Quantity(other._mantissa, other._exponent, False, form)
        exponent = min(self._exponent, other._exponent)
        left = self._mantissa * _ten(self._exponent - exponent)
        right = other._mantissa * _ten(other._exponent - exponent)
        narrow = not wide and fits(left) and fits(right) and fits(left + right)
        return Quantity(left + right, exponent, not narrow, form)

    def __sub__(self, other: Quantity) -> Quantity:
        """The exact difference, written as a sum would be."""
        if not isinstance(other, Quantity):
            return NotImplemented
        return self + Quantity(-other._mantissa, other._exponent, other._wide, other._form)

    # --- order

    def _minus(self, other: Quantity) -> int:
        """A number with the sign of ``self - other``."""
        shift = self._exponent - other._exponent
        if shift >= 0:
            return self._mantissa * _ten(shift) - other._mantissa
        return self._mantissa - other._mantissa * _ten(-shift)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Quantity):
            return NotImplemented
        return self is other or self._minus(other) == 0

    def __lt__(self, other: Quantity) -> bool:
        return self._minus(other) < 0 if isinstance(other, Quantity) else NotImplemented

    def __le__(self, other: Quantity) -> bool:
        return self._minus(other) <= 0 if isinstance(other, Quantity) else NotImplemented

    def __gt__(self, other: Quantity) -> bool:
        return self._minus(other) > 0 if isinstance(other, Quantity) else NotImplemented

    def __ge__(self, other: Quantity) -> bool:
        return self._minus(other) >= 0 if isinstance(other, Quantity) else NotImplemented

    def __hash__(self) -> int:
        mantissa, shift = _without_factor(self._mantissa, 10)
        return hash((mantissa, self._exponent + shift if mantissa else 0))

    # --- how they are written

    def __str__(self) -> str:
        """As upstream prints it: the text it was read from where upstream keeps that, else ``canonical``."""
        if self._text is None:
            object.__setattr__(self, "_text", self.canonical)
        return self._text  # type: ignore[return-value]

    def __repr__(self) -> str:
        return f"Quantity.parse({str(self)!r})"

    @property
    def canonical(self) -> str:
        """The text with the largest suffix that leaves a whole number (upstream: CanonicalizeBytes).

        A binary quantity that is not whole or is below 1024 gets a decimal suffix. What is beyond the largest
        suffix gets none, as upstream has it: ``1000E`` comes out as ``1``.
        """
        if not self._mantissa:
            return "0"
        if self._form == BINARY:
            whole, rest = divmod(self._mantissa * _ten(max(self._exponent, 0)), _ten(max(-self._exponent, 0)))
            if not rest and abs(whole) >= 1024:
                number, times = _without_factor(whole, 1024)
                return f"{number}{BINARY_SUFFIX.get(10 * times, '')}"
        number, shift = _without_factor(self._mantissa, 10)
        shift += self._exponent
        number *= _ten(shift % 3)
        shift -= shift % 3
        if self._form == SCIENTIFIC:
            return f"{number}e{shift}" if shift else str(number)
        return f"{number}{DECIMAL_SUFFIX.get(shift, '')}"


# A cluster has few distinct quantities: half a million containers ask for some hundreds of them.
@lru_cache(maxsize=1 << 16)
def _parse(text: str) -> Quantity:
    return Quantity(*read(text))


@lru_cache(maxsize=1 << 16)
def _parse_trimmed(text: str) -> Quantity:
    return _parse(trim_space(text))


def _ten(power: int) -> int:
    """``10**power`` as an integer; the power is not below zero."""
    return int(10**power)


def _divide_away_from_zero(number: int, divisor: int) -> int:
    return -(-number // divisor) if number >= 0 else number // divisor


def _without_factor(number: int, factor: int) -> tuple[int, int]:
    """``(rest, times)`` so that ``rest * factor**times == number``, with as many times as can be."""
    times = 0
    while number and number % factor == 0:
        number //= factor
        times += 1
    return number, times


def plain_quantity(value: object) -> str:
    """The text of a quantity, for msgspec's ``enc_hook``, which wants NotImplementedError for anything else."""
    if isinstance(value, Quantity):
        return str(value)
    raise NotImplementedError(f"plain values have no place for a {type(value).__name__}")
