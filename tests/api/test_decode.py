"""Decoding: what fits, what Go's rules make of null, and where a misfit is said to be."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.api.core import Node, Pod
from kwhatif.api.decode import convert, decode_json, decode_list, describe_value, line_and_column, step
from kwhatif.api.meta import ObjectMeta
from kwhatif.api.quantity import Quantity
from kwhatif.api.workloads_and_storage import CSIStorageCapacity, PodDisruptionBudget
from kwhatif.errors import InputError


class Mixed(msgspec.Struct, rename="camel"):
    """Shapes that the API types happen not to have."""

    name: str
    port: int | str | None = None
    ratio: float | None = None
    flags: list[bool] | None = None
    sizes: dict[str, int] | None = None
    many: list[dict[str, list[str]]] | None = None
    amounts: list[Quantity] | None = None
    free: Any = None


def misfit(value: Any, type_: Any = Pod) -> tuple[str, str]:
    """Place and problem of the error that a value leads to, the same for JSON and for plain values."""
    with pytest.raises(InputError) as from_value:
        convert(value, type_)
    with pytest.raises(InputError) as from_json:
        decode_json(json.dumps(value).encode(), type_)
    assert str(from_value.value) == str(from_json.value)
    assert "\n" not in str(from_value.value)
    return from_value.value.place, from_value.value.problem


# --- what fits


def test_json_and_plain_values_decode_alike() -> None:
    value = {
        "metadata": {"name": "web", "labels": {"app.kubernetes.io/name": "web"}},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "100m", "memory": 1024}}}]},
        "unknown": {"is": ["ignored"]},
    }
    pod = convert(value, Pod)
    assert pod == decode_json(json.dumps(value).encode(), Pod)
    assert pod.spec.containers is not None
    resources = pod.spec.containers[0].resources
    assert resources is not None
    assert resources.requests == {"cpu": Quantity.parse("0.1"), "memory": Quantity.parse("1Ki")}


def test_a_raw_message_a_view_and_a_bytearray_are_json_too() -> None:
    for data in (msgspec.Raw(b'{"name": "n"}'), memoryview(b'{"name": "n"}'), bytearray(b'{"name": "n"}')):
        assert decode_json(data, Mixed).name == "n"


@pytest.mark.parametrize(
    ("value", "type_", "expected"),
    [
        ({"metadata": None, "spec": None, "status": None}, Pod, Pod()),
        ({"spec": {"nodeName": None, "containers": None}}, Pod, Pod()),
        ({"metadata": {"labels": {"a": None}}}, Pod, Pod(metadata=ObjectMeta(labels={"a": ""}))),
        ({"name": "n", "flags": [None, True]}, Mixed, Mixed(name="n", flags=[False, True])),
        ({"name": "n", "sizes": {"a": None}}, Mixed, Mixed(name="n", sizes={"a": 0})),
        ({"name": "n", "many": [None, {"a": None}]}, Mixed, Mixed(name="n", many=[{}, {"a": []}])),
        ({"name": "n", "amounts": [None]}, Mixed, Mixed(name="n", amounts=[Quantity.parse("0")])),
        ({"capacity": None}, CSIStorageCapacity, CSIStorageCapacity()),
    ],
)
def test_null_is_absent_in_an_object_and_the_zero_value_in_a_list_or_map(value: Any, type_: Any, expected: Any) -> None:
    assert convert(value, type_) == expected
    assert decode_json(json.dumps(value).encode(), type_) == expected


def test_raw_parts_survive_the_slow_way() -> None:
    value = decode_json(b'{"name": "n", "parts": {"a": [1, 2]}, "note": null}', Parts)
    assert (bytes(value.parts["a"]), value.note) == (b"[1,2]", "")


class Parts(msgspec.Struct):
    name: str
    parts: dict[str, msgspec.Raw]
    note: str = ""


def test_a_union_takes_each_of_its_types() -> None:
    assert [convert({"name": "n", "port": port}, Mixed).port for port in (80, "http", None)] == [
        80,
        "http",
        None,
    ]


# --- where a misfit is


@pytest.mark.parametrize(
    ("value", "place", "problem"),
    [
        ({"metadata": {"labels": {"n": 5}}}, "$.metadata.labels.n", "expected a string, found the number 5"),
        ({"metadata": {"labels": {"n": True}}}, "$.metadata.labels.n", "expected a string, found true"),
        ({"metadata": {"labels": {"n": [1]}}}, "$.metadata.labels.n", "expected a string, found a list"),
        ({"metadata": {"labels": ["n"]}}, "$.metadata.labels", "expected an object, found a list"),
        ({"metadata": "web"}, "$.metadata", 'expected an object, found "web"'),
        ([], "$", "expected an object, found a list"),
        (None, "$", "expected an object, found null"),
        ({"spec": {"priority": "1"}}, "$.spec.priority", 'expected an integer, found "1"'),
        ({"spec": {"priority": 1.5}}, "$.spec.priority", "expected an integer, found the number 1.5"),
        ({"spec": {"priority": False}}, "$.spec.priority", "expected an integer, found false"),
        (
            {"spec": {"priority": 2**31}},
            "$.spec.priority",
            "expected an integer from -2147483648 to 2147483647, found the number 2147483648",
        ),
        ({"spec": {"hostNetwork": 1}}, "$.spec.hostNetwork", "expected true or false, found the number 1"),
        ({"spec": {"hostNetwork": "true"}}, "$.spec.hostNetwork", 'expected true or false, found "true"'),
        ({"spec": {"containers": {}}}, "$.spec.containers", "expected a list, found an object"),
        ({"spec": {"containers": [{}, 7]}}, "$.spec.containers[1]", "expected an object, found the number 7"),
        (
            {"spec": {"containers": [{}, {"resources": {"requests": {"cpu": "abc"}}}]}},
            "$.spec.containers[1].resources.requests.cpu",
            'expected a quantity such as "500m" or "1Gi", found "abc"',
        ),
        (
            {"spec": {"overhead": {"nvidia.com/gpu": True}}},
            '$.spec.overhead["nvidia.com/gpu"]',
            'expected a quantity such as "500m" or "1Gi", found true',
        ),
    ],
)
def test_a_misfit_is_named_with_its_exact_place_what_was_expected_and_what_was_found(
    value: Any, place: str, problem: str
) -> None:
    assert misfit(value) == (place, problem)


@pytest.mark.parametrize(
    ("value", "place", "problem"),
    [
        ({}, "$", "the field name is missing"),
        ({"name": None}, "$", "the field name is missing"),
        ({"name": "n", "port": 1.5}, "$.port", "expected an integer or a string, found the number 1.5"),
        ({"name": "n", "ratio": "1"}, "$.ratio", 'expected a number, found "1"'),
        ({"name": "n", "ratio": True}, "$.ratio", "expected a number, found true"),
        ({"name": "n", "many": [{"a": [1]}]}, "$.many[0].a[0]", "expected a string, found the number 1"),
    ],
)
def test_required_fields_and_unions_are_checked_too(value: Any, place: str, problem: str) -> None:
    assert misfit(value, Mixed) == (place, problem)


def test_keys_that_are_no_strings_are_refused() -> None:
    with pytest.raises(InputError, match=r"^\$\.sizes: expected a string as key, found the number 1$"):
        convert({"name": "n", "sizes": {1: 2}}, Mixed)


def test_the_first_of_several_misfits_by_field_order_is_named_once() -> None:
    place, problem = misfit({"metadata": {"labels": {"a": 1, "b": 2}}, "spec": {"priority": "x"}})
    assert (place, problem) == ("$.metadata.labels.a", "expected a string, found the number 1")


def test_a_type_without_a_rule_of_its_own_still_has_a_place() -> None:
    class Coloured(msgspec.Struct):
        data: bytes

    with pytest.raises(InputError, match=r"^\$\.data: expected bytes, got int$"):
        convert({"data": 5}, Coloured)


@pytest.mark.parametrize("number", ["9" * 5000, "-" + "9" * 5000, "1e999", "-1.5e400"])
def test_numbers_beyond_all_ranges_are_refused_wherever_they_are(number: str) -> None:
    for key in ("free", "port", "ratio", "unions"):
        data = f'{{"name": "n", "sizes": null, "{key}": {number}}}'.encode()
        if key == "unions":
            assert decode_json(data, Mixed).name == "n"
        else:
            with pytest.raises(InputError, match=rf"^\$\.{key}: this number is too large$"):
                decode_json(data, Mixed)


def test_long_integers_within_reason_are_kept_where_any_value_may_be() -> None:
    data = f'{{"name": "n", "sizes": {{"a": null}}, "free": {"9" * 900}}}'.encode()
    assert decode_json(data, Mixed).free == 10**900 - 1


# --- lists


def test_a_list_reads_null_as_empty_and_names_the_item_of_a_misfit() -> None:
    assert decode_list(b"null", Pod) == []
    assert decode_list(b'[{"spec": null}, {}]', Pod) == [Pod(), Pod()]
    with pytest.raises(InputError, match=r"^\$\[1\]\.spec\.priority: expected an integer, found \"high\"$"):
        decode_list(b'[{"spec": null}, {"spec": {"priority": "high"}}]', Pod)
    with pytest.raises(InputError, match=r"^\$: expected a list, found an object$"):
        decode_list(b"{}", Node)


# --- syntax


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b"", "line 1, column 1"),
        (b'{"name": "n"', "line 1, column 13"),
        (b'{"name": "n",}', "line 1, column 14"),
        (b'{\n  "name": "n"\n  "port": 1\n}', "line 3, column 3"),
        ('{"name": "ü", "port": x}'.encode(), "line 1, column 23"),
        (b'{"name": "n"} {', "line 1, column 15"),
        (b'{"name": "n"}]', "line 1, column 14"),
        (b"{'name': 'n'}", "line 1, column 2"),
        (b'{"name": 1, "port": }', "line 1, column 21"),
    ],
)
def test_a_syntax_error_is_named_with_line_and_column(data: bytes, place: str) -> None:
    with pytest.raises(InputError, match="not valid JSON") as caught:
        decode_json(data, Mixed)
    assert caught.value.place == place


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b'{"name": "\xff"}', "not valid UTF-8"),
        (b'{"name": "\\ud800"}', "not valid JSON"),
        (b'{"name": "n", "free": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
        (b'{"name": "n", "other": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
        (b'{"name": 1, "other": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
    ],
)
def test_bytes_that_are_no_text_and_bottomless_nesting_are_refused(data: bytes, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        decode_json(data, Mixed)


def test_line_and_column_count_characters_from_one() -> None:
    text = "a\nüx\n".encode()
    assert [line_and_column(text, i) for i in (0, 1, 2, 4, 6)] == [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1)]


# --- wording


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("two\nlines", '"two\\nlines"'),
        ("größe", '"größe"'),
        ("\u2028", '"\\u2028"'),
        ("x" * 100, '"' + "x" * 59 + '…"'),
        (10**400, "the number too long to show"),
        (b"", "a bytes"),
    ],
)
def test_a_value_is_described_on_one_short_line(value: object, text: str) -> None:
    assert describe_value(value) == text


def test_a_step_is_a_dot_for_words_and_brackets_for_other_keys() -> None:
    assert [step(key) for key in ("cpu", "a-b", "nvidia.com/gpu", "", "0")] == [
        ".cpu",
        ".a-b",
        '["nvidia.com/gpu"]',
        '[""]',
        '["0"]',
    ]


# --- laws

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["metadata", "spec", "labels", "selector", "name", "x"]), inner)
    ),
    max_leaves=20,
)


@pytest.mark.long
@given(JSON)
def test_any_json_value_decodes_or_is_an_input_error_and_both_ways_agree(value: Any) -> None:
    outcomes = [
        outcome(lambda: convert(value, PodDisruptionBudget)),
        outcome(lambda: decode_json(json.dumps(value).encode(), PodDisruptionBudget)),
    ]
    assert outcomes[0] == outcomes[1]
    if isinstance(outcomes[0], str):
        assert outcomes[0].startswith("$")
        assert len(outcomes[0].splitlines()) == 1


def outcome(read: Callable[[], object]) -> object:
    try:
        return read()
    except InputError as error:
        return str(error)


@pytest.mark.long
@pytest.mark.posix
def test_threads_that_decode_for_the_first_time_do_not_crash() -> None:
    """Without the lock, one process in seven does."""
    words = [sys.executable, "-m", "tests.snapshot.decoding_race", "40"]
    assert subprocess.run(words, cwd=Path(__file__).parents[2], check=False).returncode == 0
