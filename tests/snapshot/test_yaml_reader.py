"""YAML as kubectl reads it: documents, words, keys, aliases and merges."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kwhatif import bounds
from kwhatif.errors import InputError
from kwhatif.snapshot.read import yaml_reader
from kwhatif.snapshot.read.yaml_reader import YamlDocument, plain, read_yaml


def documents(text: str) -> list[YamlDocument]:
    return list(read_yaml(text.encode(), "f.yaml"))


def value(text: str) -> Any:
    (document,) = documents(text)
    return document.value


# --- documents


def test_documents_are_numbered_as_they_stand_and_empty_ones_left_out() -> None:
    found = documents("# first\na: 1\n---\n# nothing here\n---\n\n- b\n...\n---\nitems:\n  - c: 1\n  -\n    d: 2\n")
    assert [(d.number, d.line, d.value) for d in found] == [
        (1, 2, {"a": 1}),
        (3, 7, ["b"]),
        (4, 10, {"items": [{"c": 1}, {"d": 2}]}),
    ]
    assert [d.item_lines for d in found] == [(), (), (11, 13)]


def test_only_the_elements_of_the_outermost_items_have_lines() -> None:
    (found,) = documents("items:\n- items:\n  - a\n  - [b]\n- [c, {items: [{}]}]\nother:\n- {d: e}\n")
    assert found.item_lines == (2, 5)


def test_nothing_holds_no_document() -> None:
    assert [documents(text) for text in ("", "\n", "# comment", "---", "---\n---\n", "null", "~\n---\n")] == [[]] * 7


# --- words


@pytest.mark.parametrize(
    ("word", "meaning"),
    [
        *((word, word) for word in ("y", "Yes", "on", "ON", "N", "no", "off", "tRUE", "12:30", "2001-13-01", "01-1-1")),
        *((word, plain(word)) for word in ("true", "False", "~", "null", "012", "0x1F", "1_000", "1e3", ".5", "a")),
        ("2001-1-2", "2001-01-02T00:00:00Z"),
        ("2001-01-02 3:4:5.60", "2001-01-02T03:04:05.6Z"),
        ("2001-01-02t03:04:05+00:00", "2001-01-02T03:04:05Z"),
        ("2001-01-02T03:04:05.1234567891-05:30", "2001-01-02T03:04:05.123456789-05:30"),
        ("2001-01-02T03:04:05", "2001-01-02T03:04:05"),
    ],
)
def test_words_in_objects_of_kustomizations(word: str, meaning: Any) -> None:
    (found,) = read_yaml(f"- {word}\n".encode(), "f.yaml", as_kustomize=True)
    assert found.value == [meaning]
    assert type(found.value[0]) is type(meaning)


def test_annotations_may_stand_twice_in_objects_of_kustomizations_and_nothing_else() -> None:
    twice = b"metadata: {name: a, annotations: {x: '1', z: '1'}, annotations: {y: '2', y: '3', z: '2'}, annotations: }"
    (found,) = read_yaml(twice, "f.yaml", as_kustomize=True)
    assert found.value["metadata"]["annotations"] == {"x": "1", "y": "3", "z": "1"}
    for text in (b"metadata: {labels: {}, labels: {}}", b"spec: {annotations: {}, annotations: {}}", b"{a: 1, a: 2}"):
        with pytest.raises(InputError, match="appears twice"):
            list(read_yaml(text, "f.yaml", as_kustomize=True))
    with pytest.raises(InputError, match="appears twice"):
        list(read_yaml(twice, "f.yaml"))


@pytest.mark.parametrize(
    ("word", "meaning"),
    [
        *((word, True) for word in ("true", "True", "TRUE", "yes", "Yes", "on", "ON", "y", "Y")),
        *((word, False) for word in ("false", "False", "no", "No", "NO", "off", "Off", "n", "N")),
        *((word, None) for word in ("null", "Null", "NULL", "~", "")),
        *((word, word) for word in ("tRUE", "yEs", "oN", "nULL", "None", "nil", "t", "yes!", "<<")),
        ("7", 7),
        ("-7", -7),
        ("+7", 7),
        ("007", 7),
        ("017", 15),
        ("0o17", 15),
        ("0O17", 15),
        ("0x1F", 31),
        ("-0x1f", -31),
        ("0b101", 5),
        ("1_000", 1000),
        ("0", 0),
        ("-0", 0),
        ("08", 8),
        ("019", 19),
        ("0o8", "0o8"),
        ("0xg", "0xg"),
        ("0b2", "0b2"),
        ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", 18446744073709552000),
        ("1.5", 1.5),
        ("1.0", 1),
        ("1.", 1),
        (".5", 0.5),
        ("-.5", -0.5),
        ("1e3", 1000),
        ("1.5e-3", 0.0015),
        ("1e22", 1e22),
        ("1e999", "1e999"),
        ("9" * 5000, "9" * 5000),
        ("1_0.5", 10.5),
        ("._5", "._5"),
        (".", "."),
        ("-", "-"),
        ("1.2.3", "1.2.3"),
        ("1e", "1e"),
        ("12:30", "12:30"),
        ("12:30:45", "12:30:45"),
        ("2026-03-01", "2026-03-01"),
        ("2026-03-01T11:29:02Z", "2026-03-01T11:29:02Z"),
        ("500m", "500m"),
        ("1Gi", "1Gi"),
        ("1٣", "1٣"),
    ],
)
def test_unquoted_words_mean_what_they_mean_to_kubectl(word: str, meaning: Any) -> None:
    found = plain(word)
    assert (found, type(found)) == (meaning, type(meaning))


def test_infinities_and_nan_are_known_but_not_let_through() -> None:
    assert [plain(".inf"), plain("+.Inf"), plain("-.INF")] == [math.inf, math.inf, -math.inf]
    assert math.isnan(float(str(plain(".NaN"))))
    for word in (".inf", "-.inf", ".nan", "!!float .inf"):
        with pytest.raises(InputError, match="not a number in JSON"):
            documents(f"a: {word}")


def test_quotes_blocks_and_the_string_tag_keep_words_from_meaning_anything() -> None:
    text = "a: 'yes'\nb: \"1\"\nc: |\n  5\nd: >-\n  null\ne: !!str 1.0\nf: ! on\ng: !!timestamp 2026-01-01\n"
    assert value(text) == {
        "a": "yes",
        "b": "1",
        "c": "5\n",
        "d": "null",
        "e": "1.0",
        "f": "on",
        "g": "2026-01-01",
    }


def test_tags_of_the_core_are_obeyed_and_quoted_words_may_carry_them() -> None:
    assert value("[!!int '5', !!float 2, !!float '2.5', !!bool 'on', !!null '', !!map {}, !!seq []]") == [
        *(5, 2, 2.5, True, None, {}, [])
    ]


@pytest.mark.parametrize(
    "tagged", ["!!int 1.5", "!!int yes", "!!bool 1", "!!float x", "!!null 0", "!!seq {}", "!!set {}"]
)
def test_a_tag_that_does_not_fit_its_value_is_refused(tagged: str) -> None:
    with pytest.raises(InputError, match=r"^f\.yaml document 1: line 1, column 4: "):
        documents(f"a: {tagged}")


# --- keys


def test_keys_become_strings_as_in_json() -> None:
    assert value("{1: a, 0x10: b, true: c, no: d, '2': e, 1e3: f}") == {
        "1": "a",
        "16": "b",
        "true": "c",
        "false": "d",
        "2": "e",
        "1000": "f",
    }


def test_the_same_key_in_different_mappings_is_no_duplicate() -> None:
    assert value("a: {x: 1}\nb: {x: 2}\nc: [{x: 3}, {x: 4}]") == {
        "a": {"x": 1},
        "b": {"x": 2},
        "c": [{"x": 3}, {"x": 4}],
    }


# --- aliases and merges


def test_aliases_stand_for_what_they_name_even_as_keys() -> None:
    assert value("a: &k {x: 1}\nb: *k\nc: &s word\n*s : &k [*s]\nd: *k") == {
        "a": {"x": 1},
        "b": {"x": 1},
        "c": "word",
        "word": ["word"],
        "d": ["word"],
    }


def test_anchors_do_not_reach_into_the_next_document() -> None:
    with pytest.raises(InputError, match=r"document 2: line 3, column 4: the alias \*x has no anchor before it"):
        documents("a: &x 1\n---\nb: *x")


def test_merged_keys_give_way_to_own_keys_and_to_earlier_merges() -> None:
    text = "a: &a {p: 1, q: 1}\nb: &b {q: 2, r: 2}\nc:\n  p: 3\n  <<: [*a, *b]\nd:\n  <<: *b\n  r: 4\n"
    found = value(text + "e: {<<: {s: 5}}")
    assert [found[key] for key in "cde"] == [{"p": 3, "q": 1, "r": 2}, {"q": 2, "r": 4}, {"s": 5}]
    assert found["a"] == {"p": 1, "q": 1}


def test_a_quoted_merge_key_is_a_key() -> None:
    assert value("'<<': 1") == {"<<": 1}


def test_many_aliases_are_fine_until_they_stand_for_too_much() -> None:
    header = f"base: &b [{', '.join('x' * 999)}]\nuses:\n"
    assert len(value(header + "- *b\n" * 1000)["uses"]) == 1000
    with pytest.raises(InputError, match="its aliases stand for more than 1,000,000 values"):
        documents(header + "- *b\n" * 1001)
    with pytest.raises(InputError, match=r"document 2: .* its aliases stand for"):
        documents(header + "- *b\n" * 600 + "---\n" + header + "- *b\n" * 600)


def test_nesting_is_counted_through_aliases() -> None:
    half = bounds.DEPTH // 2
    fits = f"a: &a {'[' * (half - 1)}{']' * (half - 1)}\nb: {'[' * half}*a{']' * half}\n"
    assert "b" in value(fits)
    with pytest.raises(InputError, match="nested more than 200 levels"):
        documents(f"a: &a {'[' * half}{']' * half}\nb: {'[' * half}*a{']' * half}\n")


def test_a_file_holds_so_many_keys_and_values_in_all_its_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "YAML_VALUES", 7)
    assert len(documents("a: [1, 2]\n---\n- []\n")) == 2
    with pytest.raises(InputError, match=r"document 2: line 3, column 4: more than 7 keys and values.* -o json"):
        documents("a: [1, 2]\n---\n- [1]\n")


def test_a_longer_file_has_to_be_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "YAML_BYTES", 10)
    assert value("a: abcdefg") == {"a": "abcdefg"}
    with pytest.raises(InputError, match=r"f\.yaml: larger than 10 bytes, the limit of YAML; as JSON"):
        documents("a: abcdefgh")


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_any_way_to_nest_is_bounded(opening: str) -> None:
    with pytest.raises(InputError, match=r"nested more than 200 levels|a key must be a string"):
        documents(opening * 100_000)


# --- the parser's own errors


def test_errors_of_the_parser_have_document_line_and_column() -> None:
    with pytest.raises(InputError) as caught:
        documents("a: 1\n---\nb: [1,\n  2\nc: 3\n")
    assert str(caught.value).startswith("f.yaml document 2: line 5, column ")


def test_the_slow_parser_gives_the_same_values_and_places(monkeypatch: pytest.MonkeyPatch) -> None:
    good, bad = "a: &x [1, yes, 'on']\nb: {<<: {c: *x}}\n", "a: b: c"
    fast = value(good)
    monkeypatch.setattr(yaml_reader, "_LOADER", yaml.SafeLoader)
    assert value(good) == fast
    for text, place in ((bad, "line 1, column 5"), ("a: \x07", "line 1, column 4")):
        with pytest.raises(InputError, match=place):
            documents(text)


# --- laws

SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text()
VALUES = st.recursive(
    SCALARS, lambda v: st.lists(v, max_size=4) | st.dictionaries(st.text(), v, max_size=4), max_leaves=20
)
# YAML has no long keys, and does not know JSON's way to escape what lies beyond the first 65536 characters.
SHORT = st.text(st.characters(max_codepoint=0xD7FF), max_size=100)


@pytest.mark.long
@given(st.dictionaries(st.text(), VALUES, min_size=1), st.booleans())
def test_what_a_yaml_library_writes_reads_back_the_same(data: dict[str, Any], flow: bool) -> None:
    # All in quotes, with a tag where that is needed: bare words mean different things to different libraries.
    text = yaml.dump(data, Dumper=yaml.SafeDumper, allow_unicode=True, default_flow_style=flow, default_style='"')
    assert value(text) == data


@pytest.mark.long
@given(st.dictionaries(SHORT, SHORT | st.lists(SHORT | st.integers(-(2**63), 2**63 - 1)), min_size=1))
def test_json_is_yaml(data: dict[str, Any]) -> None:
    assert value(json.dumps(data)) == data


@given(st.text(st.sampled_from("ab01.:-?!&*<>[]{},#|'\"\\~ \n\t%@`é\x00"), max_size=60))
def test_any_text_is_documents_or_one_input_error(text: str) -> None:
    try:
        assert all(document.value is not None for document in documents(text))
    except InputError as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017 - either outcome is fine
        assert error.source.startswith("f.yaml")  # noqa: PT017
        assert "line " in error.place  # noqa: PT017
