"""Quantities: what holds of all texts, held against decimal arithmetic."""

from __future__ import annotations

import decimal

from hypothesis import assume, given
from hypothesis import strategies as st

from kwhatif.api.quantity import Quantity, QuantityError

MAX, MIN = 2**63 - 1, -(2**63)
EXACT = decimal.Context(prec=400, rounding=decimal.ROUND_UP)
FACTORS: dict[str, int | str] = {
    "n": "1e-9",
    "u": "1e-6",
    "m": "1e-3",
    "": "1",
    "k": "1e3",
    "M": "1e6",
    "G": "1e9",
    "T": "1e12",
    "P": "1e15",
    "E": "1e18",
    "Ki": "1024",
    "Mi": 1024**2,
    "Gi": 1024**3,
    "Ti": 1024**4,
    "Pi": 1024**5,
    "Ei": 1024**6,
    "e0": "1",
    "e3": "1e3",
    "E-2": "1e-2",
    "e+5": "1e5",
    "E7": "1e7",
}


@st.composite
def texts(draw: st.DrawFn, suffixes: tuple[str, ...] = tuple(FACTORS), digits: int = 12) -> str:
    whole = draw(st.text("0123456789", max_size=digits))
    fraction = draw(st.none() | st.text("0123456789", max_size=digits))
    assume(whole or fraction)
    sign = draw(st.sampled_from(["", "", "+", "-"]))
    return sign + whole + ("" if fraction is None else "." + fraction) + draw(st.sampled_from(suffixes))


def exact(text: str) -> decimal.Decimal:
    """The number a text stands for, to the billionth, away from zero; by decimal arithmetic alone."""
    suffix = text.lstrip("+-.0123456789")
    number = text.removesuffix(suffix)
    value = EXACT.multiply(decimal.Decimal(number), decimal.Decimal(FACTORS[suffix]))
    value = value.quantize(decimal.Decimal("1e-9"), context=EXACT)
    return max(decimal.Decimal(-MAX), min(value, decimal.Decimal(MAX))) if suffix.endswith("i") else value


def ceiling(value: decimal.Decimal) -> int:
    return int(value.to_integral_value(decimal.ROUND_CEILING, EXACT))


@given(texts())
def test_the_worth_is_that_of_decimal_arithmetic_rounded_up(text: str) -> None:
    value, quantity = exact(text), Quantity.parse(text)
    assume(value >= 0)
    if value < 10**15:
        assert quantity.value() == ceiling(value)
        assert quantity.milli_value() == ceiling(1000 * value)
    assert quantity.is_zero == (value == 0)


@given(texts(), texts())
def test_order_equality_and_hash_are_those_of_the_exact_numbers(one: str, other: str) -> None:
    a, b, x, y = Quantity.parse(one), Quantity.parse(other), exact(one), exact(other)
    assert ((a < b), (a <= b), (a == b), (a != b), (a >= b), (a > b)) == (
        (x < y),
        (x <= y),
        (x == y),
        (x != y),
        (x >= y),
        (x > y),
    )
    assert a != b or hash(a) == hash(b)


@given(texts(), texts())
def test_sums_are_exact_whatever_the_order(one: str, other: str) -> None:
    total = Quantity.parse(one) + Quantity.parse(other)
    assert total == Quantity.parse(other) + Quantity.parse(one)
    assert total == Quantity.parse(f"{EXACT.add(exact(one), exact(other)):f}")


@given(texts(suffixes=("", "m", "k", "G", "Ki", "Mi", "Ti", "e3", "e-2"), digits=9))
def test_the_printed_forms_read_back_as_the_same_amount(text: str) -> None:
    quantity = Quantity.parse(text)
    assert Quantity.parse(quantity.canonical) == quantity
    assert Quantity.parse(str(quantity)) == quantity
    assert Quantity.parse(quantity.canonical).canonical == quantity.canonical


@given(st.integers(MIN, MAX))
def test_units_and_thousandths_are_worth_what_they_say(number: int) -> None:
    assert Quantity.from_units(number).value() == number
    assert Quantity.from_milli(number).milli_value() == number
    assert Quantity.from_units(number) == Quantity.parse(str(number))


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e17, max_value=1e17))
def test_a_float_is_read_by_its_shortest_decimal_form(number: float) -> None:
    shortest = decimal.Decimal(repr(number)).quantize(decimal.Decimal("1e-9"), context=EXACT)
    assert Quantity.from_json(number) == Quantity.parse(f"{shortest:f}")


@given(st.text(st.sampled_from("0123456789+-.eEinumkKMGTP x\n²"), max_size=12))
def test_any_text_is_a_quantity_or_a_quantity_error(text: str) -> None:
    try:
        quantity = Quantity.parse(text)
    except QuantityError:
        return
    assert MIN <= quantity.value() <= MAX
    assert MIN <= quantity.milli_value() <= MAX
    assert text == "" or quantity == Quantity.parse(text)
