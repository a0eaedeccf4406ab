"""Quantities: what upstream's parser makes of a text, in tables."""

from __future__ import annotations

import copy
import itertools
import math
import pickle

import pytest

from kwhatif.api.quantity import Quantity, QuantityError

MAX, MIN = 2**63 - 1, -(2**63)


# --- what texts are worth


@pytest.mark.parametrize(
    ("text", "units", "thousandths"),
    [
        ("0", 0, 0),
        ("2", 2, 2000),
        ("250m", 1, 250),
        ("1001m", 2, 1001),
        ("1u", 1, 1),
        ("7n", 1, 1),
        ("3k", 3000, 3_000_000),
        ("3Ki", 3072, 3_072_000),
        ("1.5Gi", 1_610_612_736, 1_610_612_736_000),
        ("1.1Ki", 1127, 1_126_400),
        ("73.019Gi", 78_403_554_247, 78_403_554_246_656),
        ("2048e6", 2_048_000_000, 2_048_000_000_000),
        ("5E3", 5000, 5_000_000),
        ("15e-1", 2, 1500),
        ("2E", 2 * 10**18, 0),
        ("-1500m", -2, -1500),
        ("9223372036854775807", MAX, -1000),
    ],
)
def test_a_quantity_is_worth_its_units_and_thousandths_rounded_up(text: str, units: int, thousandths: int) -> None:
    quantity = Quantity.parse(text)
    assert (quantity.value(), quantity.milli_value()) == (units, thousandths)


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("10E", 0),
        ("100E", 0),
        ("1e19", 0),
        ("1e1000", 0),
        ("-10E", 0),
        ("10000000000000000000", 10**19 - 2**64),
        ("100000000000000000000", 7_766_279_631_452_241_920),
        ("9223372036854775808", MIN),
        ("8Ei", MAX),
        ("100Ei", MAX),
        ("9223372036854775808Ki", MAX),
        ("-8Ei", -MAX),
        ("7Ei", 7 * 2**60),
    ],
)
def test_beyond_an_int64_short_decimals_are_worth_nothing_long_ones_wrap_and_binaries_are_capped(
    text: str, units: int
) -> None:
    assert Quantity.parse(text).value() == units


@pytest.mark.parametrize(("text", "units"), [("-1.5Ki", -1536), ("-1.0001Ki", -1023), ("-0.1n", 1), ("-1500m", -2)])
def test_below_zero_rounding_depends_on_the_form_as_it_does_upstream(text: str, units: int) -> None:
    assert Quantity.parse(text).value() == units


@pytest.mark.parametrize(
    ("finer", "rounded"),
    [
        ("0.1n", "1n"),
        ("1.000000001n", "2n"),
        ("1e-10", "1n"),
        ("1e-2000000000", "1n"),
        ("0.0000000012", "2n"),
        ("-0.0000000012", "-2n"),
        ("0.00000000001Ki", "11n"),
        ("123456789012345678.1234567891", "123456789012345678123456790n"),
    ],
)
def test_what_is_finer_than_a_billionth_is_rounded_away_from_zero(finer: str, rounded: str) -> None:
    assert Quantity.parse(finer) == Quantity.parse(rounded)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("1.", "1"),
        (".5", "500m"),
        ("+3", "3"),
        ("-.5k", "-500"),
        ("1.G", "1G"),
        ("00012", "12"),
        ("0.", "0"),
        ("1e+3", "1k"),
        ("1E-0", "1"),
        ("3.0Mi", "3Mi"),
    ],
)
def test_unusual_spellings_of_numbers_are_accepted(text: str, plain: str) -> None:
    assert Quantity.parse(text) == Quantity.parse(plain)


@pytest.mark.parametrize("text", [".", "+", "-", "-.", "m", "Ki", "Ti", "e5", ".Gi", "00", "-0", "0Pi"])
def test_a_text_without_digits_is_zero_where_upstream_lets_it_pass(text: str) -> None:
    quantity = Quantity.parse(text)
    assert quantity.is_zero
    assert quantity == Quantity.parse("0")


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            " ",
            "1 ",
            " 1",
            "1\n",
            "one",
            "1i",
            "1K",
            "1g",
            "1ki",
            "1KI",
            "1mi",
            "1Zi",
            "1mm",
            "1kk",
            "1Mim",
        ),
        *("1..2", "1.2.3", "--1", "+-1", "1-", "1+1", "1e", "1e+", "1e1.5", "1ee3", "1E3E3", "1e3Ki", "1,5"),
        *("0x10", "1_000", "NaN", "inf", "٣", "1²", "½", "Pi", "Ei", "-Pi", "e-10", "1e99999999999999999999"),
    ],
)
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(QuantityError):
        Quantity.parse(text)


@pytest.mark.parametrize(
    "text", ["1e1001", "9" * 1001, "0" * 5000, "1e2147483647", "0." + "1" * 100_000, "1" * 999 + "0" * 9]
)
def test_numbers_of_absurd_length_are_refused_at_once(text: str) -> None:
    with pytest.raises(QuantityError, match=r"too large|at most 1000 characters"):
        Quantity.parse(text)


def test_an_exponent_keeps_its_low_32_bits() -> None:
    assert Quantity.parse("5e4294967297") == Quantity.parse("50")


# --- JSON


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("  1Gi\t", "1Gi"),
        (5, "5"),
        (-3, "-3"),
        (2**70, "1180591620717411303424"),
        (0.1, "100m"),
        (1.0, "1"),
        (2.5e-7, "250e-9"),
        (1e22, "10e21"),
        (1e-9, "1e-9"),
        (None, "0"),
    ],
)
def test_json_texts_and_numbers_are_quantities(value: object, text: str) -> None:
    assert str(Quantity.from_json(value)) == text


@pytest.mark.parametrize(
    "value", [True, False, [], {}, math.inf, math.nan, "", "\x1c1", b"1", pytest.param(10**5000, id="huge")]
)
def test_other_json_values_are_no_quantities(value: object) -> None:
    with pytest.raises(QuantityError):
        Quantity.from_json(value)


# --- how they print


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("1000m", "1"),
        ("1500m", "1500m"),
        ("0.5", "500m"),
        ("2000k", "2M"),
        ("1234567k", "1234567k"),
        ("2048Ki", "2Mi"),
        ("1.5Gi", "1536Mi"),
        ("1Ki", "1Ki"),
        ("1000Ki", "1000Ki"),
        (".5Ki", "512"),
        ("1.0001Ki", "1024102400u"),
        ("-2048Mi", "-2Gi"),
        ("1e3", "1e3"),
        ("10e3", "10e3"),
        ("1e4", "10e3"),
        ("5e-4", "500e-6"),
        ("1e0", "1"),
        ("1000E", "1"),
        ("0Gi", "0"),
        ("8Ei", "9223372036854775807"),
    ],
)
def test_the_canonical_form_has_the_largest_suffix_that_leaves_a_whole_number(text: str, canonical: str) -> None:
    assert Quantity.parse(text).canonical == canonical


@pytest.mark.parametrize("text", ["+5", "1.500", "007", "1E3", "1.G", "+3Ki"])
def test_some_texts_print_as_they_were_written_though_they_are_not_canonical(text: str) -> None:
    quantity = Quantity.parse(text)
    assert str(quantity) == text
    assert quantity.canonical != text


# --- sums


@pytest.mark.parametrize(
    ("left", "right", "printed"),
    [
        ("1Gi", "1G", "2073741824"),
        ("1G", "1Gi", "2073741824"),
        ("512Mi", "512Mi", "1Gi"),
        ("0", "1Gi", "1Gi"),
        ("1Gi", "0", "1Gi"),
        ("100m", "900m", "1"),
        ("1e3", "1", "1001"),
        ("1e3", "1000", "2e3"),
        ("1.5Ki", "512", "2Ki"),
        ("1n", "1E", "1000000000000000000000000001n"),
        ("9E", "1E", "10E"),
    ],
)
def test_a_sum_is_written_like_its_left_side_unless_that_is_zero(left: str, right: str, printed: str) -> None:
    assert str(Quantity.parse(left) + Quantity.parse(right)) == printed


def test_a_sum_that_leaves_an_int64_wraps_instead_of_vanishing() -> None:
    largest = Quantity.from_units(MAX)
    assert (largest + Quantity.from_units(1)).value() == MIN
    assert (largest + largest).value() == -2


# --- objects


def test_equal_texts_share_one_object() -> None:
    assert Quantity.parse("128Mi") is Quantity.parse("128" + "Mi")


def test_a_quantity_cannot_be_changed() -> None:
    quantity = Quantity.parse("1")
    with pytest.raises(AttributeError, match="cannot be changed"):
        quantity._mantissa = 2
    with pytest.raises(AttributeError, match="cannot be changed"):
        del quantity._mantissa
    assert quantity.value() == 1


def test_copies_and_pickles_are_the_same_quantity() -> None:
    for quantity in map(Quantity.parse, ("1.500", "1.5Gi", "100E")):
        for twin in (copy.deepcopy(quantity), pickle.loads(pickle.dumps(quantity))):
            assert (twin, str(twin), twin.value()) == (quantity, str(quantity), quantity.value())


def test_other_types_are_neither_equal_nor_comparable_nor_addable() -> None:
    one = Quantity.parse("1")
    assert one != 1
    for operation in ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__add__"):
        assert getattr(one, operation)(1) is NotImplemented


def test_every_pair_of_spellings_of_one_amount_is_equal_and_hashes_alike() -> None:
    spellings = [
        "1024",
        "1Ki",
        "1.024k",
        "1024000m",
        "1024e0",
        "10240e-1",
        "1.024e3",
        ".001024M",
        "+1024.000",
    ]
    for one, other in itertools.combinations(map(Quantity.parse, spellings), 2):
        assert one == other
        assert hash(one) == hash(other)
