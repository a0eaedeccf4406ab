"""Selectors: which labels they match, in tables, and the laws between operators."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.api.meta import LabelSelector, LabelSelectorRequirement
from kwhatif.api.selectors import (
    Requirement,
    Selector,
    SelectorError,
    is_label_key,
    is_label_value,
)

LABELS = st.dictionaries(st.sampled_from("abc"), st.sampled_from(["", "x", "y", "7", "-7"]), max_size=3)


# --- requirements


@pytest.mark.parametrize(
    ("operator", "values", "matching", "other"),
    [
        ("In", ("x", "y"), ["x", "y"], ["z", "", None]),
        ("NotIn", ("x", "y"), ["z", "", None], ["x", "y"]),
        ("Exists", (), ["x", ""], [None]),
        ("DoesNotExist", (), [None], ["x", ""]),
        (
            "Gt",
            ("5",),
            ["6", "0007", "+6", str(2**63 - 1)],
            ["5", "-6", "x", "", "6.5", " 6", str(2**63), None],
        ),
        ("Lt", ("5",), ["4", "-9", "-0", "0" * 5000], ["5", "6", "4x", "", "9" * 5000, None]),
    ],
)
def test_each_operator_matches_its_values_and_no_others(
    operator: str, values: tuple[str, ...], matching: list[str | None], other: list[str | None]
) -> None:
    requirement = Requirement("k", operator, values)
    assert [value for value in matching + other if requirement.matches(value)] == matching


@pytest.mark.parametrize(
    ("operator", "values"),
    [
        ("In", ()),
        ("NotIn", ()),
        ("Exists", ("x",)),
        ("DoesNotExist", ("x",)),
        ("Gt", ()),
        ("Gt", ("1", "2")),
        ("Gt", ("one",)),
        ("Lt", ("9" * 30,)),
        ("Lt", ("9" * 5000,)),
        ("Equals", ("x",)),
        ("", ()),
    ],
)
def test_a_requirement_with_the_wrong_number_or_kind_of_values_is_refused(
    operator: str, values: tuple[str, ...]
) -> None:
    with pytest.raises(SelectorError):
        Requirement("k", operator, values)


@pytest.mark.parametrize(
    ("requirement", "text"),
    [
        (Requirement("k", "In", ("x",)), "k=x"),
        (Requirement("k", "In", ("x", "y")), "k in (x,y)"),
        (Requirement("k", "NotIn", ("x",)), "k notin (x)"),
        (Requirement("k", "Exists", ()), "k"),
        (Requirement("k", "DoesNotExist", ()), "!k"),
        (Requirement("k", "Gt", ("5",)), "k > 5"),
        (Requirement("k", "Lt", ("5",)), "k < 5"),
    ],
)
def test_requirements_print_as_selectors_are_written(requirement: Requirement, text: str) -> None:
    assert str(requirement) == text


@given(LABELS, st.lists(st.sampled_from(["", "x", "y"]), min_size=1))
def test_not_in_is_the_opposite_of_in_and_does_not_exist_that_of_exists(
    labels: dict[str, str], values: list[str]
) -> None:
    value = labels.get("a")
    for yes, no, of in (("In", "NotIn", tuple(values)), ("Exists", "DoesNotExist", ())):
        assert Requirement("a", yes, of).matches(value) is not Requirement("a", no, of).matches(value)


# --- label selectors


def test_no_selector_selects_nothing_and_an_empty_one_everything() -> None:
    nothing, everything = Selector.from_label_selector(None), Selector.from_label_selector(LabelSelector())
    assert not nothing.matches({})
    assert not nothing.matches({"a": "x"})
    assert everything.matches({})
    assert everything.matches({"a": "x"})
    assert (nothing.empty, everything.empty) == (False, True)
    assert (str(nothing), str(everything)) == ("<none>", "<all>")


def test_labels_and_expressions_must_all_match() -> None:
    selector = Selector.from_label_selector(
        LabelSelector(
            match_labels={"app": "web"},
            match_expressions=[LabelSelectorRequirement(key="tier", operator="NotIn", values=["test"])],
        )
    )
    assert selector.matches({"app": "web"})
    assert selector.matches({"app": "web", "tier": "prod"})
    assert not selector.matches({"app": "web", "tier": "test"})
    assert not selector.matches({"tier": "prod"})
    assert str(selector) == "app=web,tier notin (test)"


@pytest.mark.parametrize("operator", ["Gt", "Lt", "Equals", ""])
def test_label_selectors_know_no_comparisons(operator: str) -> None:
    expressions = [LabelSelectorRequirement(key="k", operator=operator, values=["1"])]
    with pytest.raises(SelectorError, match="not a valid"):
        Selector.from_label_selector(LabelSelector(match_expressions=expressions))


@pytest.mark.parametrize(("key", "value"), [("", "x"), ("a b", "x"), ("-a", "x"), ("a", "x y"), ("a", "x" * 64)])
def test_selectors_of_labels_that_cannot_exist_are_refused(key: str, value: str) -> None:
    with pytest.raises(SelectorError, match="not a valid label"):
        Selector.from_label_selector(LabelSelector(match_labels={key: value}))
    expressions = [LabelSelectorRequirement(key=key, operator="NotIn", values=[value])]
    with pytest.raises(SelectorError, match="not a valid label"):
        Selector.from_label_selector(LabelSelector(match_expressions=expressions))


@given(LABELS, LABELS)
def test_a_selector_of_labels_matches_their_supersets(wanted: dict[str, str], labels: dict[str, str]) -> None:
    assert Selector.from_labels(wanted).matches(labels) == (wanted.items() <= labels.items())


@given(LABELS, LABELS)
def test_further_requirements_narrow_a_selector_and_nothing_stays_nothing(
    wanted: dict[str, str], labels: dict[str, str]
) -> None:
    more = [Requirement("a", "Exists", ())]
    narrowed = Selector.from_labels(wanted).with_requirements(more)
    assert narrowed.matches(labels) == (Selector.from_labels(wanted).matches(labels) and "a" in labels)
    assert Selector.from_label_selector(None).with_requirements(more) == Selector.from_label_selector(None)


@given(LABELS)
def test_equal_selectors_are_one_key_whatever_the_order_of_their_labels(labels: dict[str, str]) -> None:
    backwards = dict(reversed(labels.items()))
    assert hash(Selector.from_labels(labels)) == hash(Selector.from_labels(backwards))
    assert Selector.from_labels(labels) == Selector.from_labels(backwards)


# --- what a label may be


@pytest.mark.parametrize("key", ["a", "A9", "a.b_c-d", "x" * 63, "example.com/a", "a-b.c/D", "a." * 126 + "a/x"])
def test_names_with_or_without_a_dns_prefix_are_label_keys(key: str) -> None:
    assert is_label_key(key)


@pytest.mark.parametrize(
    "key",
    [
        "",
        "/",
        "a/",
        "/a",
        "a/b/c",
        "-a",
        "a-",
        "x" * 64,
        "A.com/a",
        "a..b/c",
        "a-/c",
        "a" * 254 + "/b",
        "é",
        "a\n",
    ],
)
def test_other_texts_are_no_label_keys(key: str) -> None:
    assert not is_label_key(key)


def test_a_label_value_may_be_empty_but_has_neither_slashes_nor_loose_ends() -> None:
    assert [value for value in ("", "x", "1.2_3-4", "a/b", "-1", "1-", "x" * 64, "a b") if is_label_value(value)] == [
        "",
        "x",
        "1.2_3-4",
    ]
