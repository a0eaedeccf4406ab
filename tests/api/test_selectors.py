"""Selectors: which labels, nodes and taints they match, in tables, and the laws between operators."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.api.core import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodSpec,
    Taint,
    Toleration,
)
from kwhatif.api.label_text import is_label_key, is_label_value
from kwhatif.api.meta import LabelSelector, LabelSelectorRequirement
from kwhatif.api.selectors import (
    NodeTerm,
    RequiredNodeAffinity,
    Requirement,
    Selector,
    SelectorError,
    tolerates,
    untolerated,
)

NAMES = st.from_regex(r"[a-z0-9]([a-z0-9._-]{0,5}[a-z0-9])?", fullmatch=True)
LABELS = st.dictionaries(st.sampled_from("abc"), st.sampled_from(["", "x", "y", "7", "-7"]), max_size=3)


def expression(key: str, operator: str, *values: str) -> NodeSelectorRequirement:
    return NodeSelectorRequirement(key=key, operator=operator, values=list(values))


def term(*expressions: NodeSelectorRequirement, fields: tuple[NodeSelectorRequirement, ...] = ()) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_expressions=list(expressions), match_fields=list(fields))


def spec(node_selector: dict[str, str] | None = None, *terms: NodeSelectorTerm, required: bool = True) -> PodSpec:
    selector = NodeSelector(node_selector_terms=list(terms)) if required else None
    node_affinity = NodeAffinity(required_during_scheduling_ignored_during_execution=selector)
    return PodSpec(node_selector=node_selector, affinity=Affinity(node_affinity=node_affinity))


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
    nothing, everything = Selector.of(None), Selector.of(LabelSelector())
    assert not nothing.matches({})
    assert not nothing.matches({"a": "x"})
    assert everything.matches({})
    assert everything.matches({"a": "x"})
    assert (nothing.empty, everything.empty) == (False, True)
    assert (str(nothing), str(everything)) == ("<none>", "<all>")


def test_labels_and_expressions_must_all_match() -> None:
    selector = Selector.of(
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
        Selector.of(LabelSelector(match_expressions=expressions))


@pytest.mark.parametrize(("key", "value"), [("", "x"), ("a b", "x"), ("-a", "x"), ("a", "x y"), ("a", "x" * 64)])
def test_selectors_of_labels_that_cannot_exist_are_refused(key: str, value: str) -> None:
    with pytest.raises(SelectorError, match="not a valid label"):
        Selector.of(LabelSelector(match_labels={key: value}))
    expressions = [LabelSelectorRequirement(key=key, operator="NotIn", values=[value])]
    with pytest.raises(SelectorError, match="not a valid label"):
        Selector.of(LabelSelector(match_expressions=expressions))


@given(LABELS, LABELS)
def test_a_selector_of_labels_matches_their_supersets(wanted: dict[str, str], labels: dict[str, str]) -> None:
    assert Selector.of_labels(wanted).matches(labels) == (wanted.items() <= labels.items())


@given(LABELS, LABELS)
def test_further_requirements_narrow_a_selector_and_nothing_stays_nothing(
    wanted: dict[str, str], labels: dict[str, str]
) -> None:
    more = [Requirement("a", "Exists", ())]
    narrowed = Selector.of_labels(wanted).also(more)
    assert narrowed.matches(labels) == (Selector.of_labels(wanted).matches(labels) and "a" in labels)
    assert Selector.of(None).also(more) == Selector.of(None)


@given(LABELS)
def test_equal_selectors_are_one_key_whatever_the_order_of_their_labels(labels: dict[str, str]) -> None:
    backwards = dict(reversed(labels.items()))
    assert hash(Selector.of_labels(labels)) == hash(Selector.of_labels(backwards))
    assert Selector.of_labels(labels) == Selector.of_labels(backwards)


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


# --- node selector terms


def test_a_term_needs_all_of_its_expressions_and_fields() -> None:
    compiled = NodeTerm.of(
        term(expression("zone", "In", "a", "b"), fields=(expression("metadata.name", "In", "node-1"),))
    )
    assert compiled is not None
    assert compiled.matches({"zone": "a"}, "node-1")
    assert not compiled.matches({"zone": "a"}, "node-2")
    assert not compiled.matches({"zone": "c"}, "node-1")
    assert str(compiled) == "zone in (a,b) and metadata.name=node-1"


def test_a_field_may_also_exclude_a_name_and_an_unknown_field_is_empty() -> None:
    compiled = NodeTerm.of(
        term(fields=(expression("metadata.name", "NotIn", "node-1"), expression("spec.x", "In", "")))
    )
    assert compiled is not None
    assert compiled.matches({}, "node-2")
    assert not compiled.matches({}, "node-1")


def test_an_empty_term_is_none_at_all() -> None:
    assert NodeTerm.of(NodeSelectorTerm()) is None


@pytest.mark.parametrize(
    "broken",
    [
        term(expression("zone", "Near", "a")),
        term(expression("zone", "In")),
        term(expression("zone", "Gt", "-1")),
        term(expression("a zone", "NotIn", "a")),
        term(expression("zone", "NotIn", "not a value")),
        term(fields=(expression("metadata.name", "Exists"),)),
        term(fields=(expression("metadata.name", "In", "a", "b"),)),
        term(expression("zone", "In", "a"), fields=(expression("metadata.name", "In"),)),
    ],
)
def test_a_term_that_cannot_be_parsed_matches_no_node(broken: NodeSelectorTerm) -> None:
    compiled = NodeTerm.of(broken)
    assert compiled is not None
    assert compiled.broken
    assert not compiled.matches({"zone": "a"}, "a")
    assert str(compiled) == "<broken>"


# --- required node affinity


def test_a_pod_without_selector_and_affinity_fits_every_node() -> None:
    for plain in (PodSpec(), spec(required=False)):
        affinity = RequiredNodeAffinity.of(plain)
        assert affinity.trivial
        assert affinity.matches({}, "any")


def test_required_affinity_without_terms_fits_no_node() -> None:
    for hopeless in (spec(None), spec(None, NodeSelectorTerm())):
        affinity = RequiredNodeAffinity.of(hopeless)
        assert not affinity.trivial
        assert not affinity.matches({"zone": "a"}, "any")


def test_one_term_suffices_but_the_node_selector_is_always_needed() -> None:
    affinity = RequiredNodeAffinity.of(
        spec({"os": "linux"}, term(expression("zone", "In", "a")), term(expression("gpu", "Exists")))
    )
    assert affinity.matches({"os": "linux", "zone": "a"}, "n")
    assert affinity.matches({"os": "linux", "gpu": ""}, "n")
    assert not affinity.matches({"os": "linux", "zone": "b"}, "n")
    assert not affinity.matches({"zone": "a", "gpu": ""}, "n")


def test_a_broken_term_does_not_spoil_its_neighbour() -> None:
    affinity = RequiredNodeAffinity.of(spec(None, term(expression("x", "?")), term(expression("zone", "Exists"))))
    assert affinity.matches({"zone": "a"}, "n")
    assert not affinity.matches({}, "n")


def test_a_node_selector_may_ask_for_labels_that_cannot_exist() -> None:
    affinity = RequiredNodeAffinity.of(PodSpec(node_selector={"a b": "c d"}))
    assert not affinity.matches({"a": "c"}, "n")


# --- tolerations

TAINT = Taint(key="k", value="5", effect="NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        (Toleration(key="k", operator="Equal", value="5", effect="NoSchedule"), True),
        (Toleration(key="k", value="5"), True),
        (Toleration(key="k", operator="", value="5", effect=""), True),
        (Toleration(key="k", operator="Equal", value="6"), False),
        (Toleration(key="k"), False),
        (Toleration(key="other", operator="Exists"), False),
        (Toleration(key="k", operator="Exists"), True),
        (Toleration(key="k", operator="Exists", value="ignored"), True),
        (Toleration(operator="Exists"), True),
        (Toleration(operator="Exists", effect="NoExecute"), False),
        (Toleration(value="5"), True),
        (Toleration(key="k", operator="In", value="5"), False),
    ],
)
def test_a_toleration_tolerates_by_key_operator_value_and_effect(toleration: Toleration, tolerated: bool) -> None:
    assert tolerates(toleration, TAINT, comparison_operators=False) is tolerated
    assert tolerates(toleration, TAINT, comparison_operators=True) is tolerated


@pytest.mark.parametrize(
    ("operator", "value", "taint", "tolerated"),
    [
        ("Lt", "6", "5", True),
        ("Lt", "5", "5", False),
        ("Gt", "4", "5", True),
        ("Gt", "5", "5", False),
        ("Gt", "-6", "-5", True),
        ("Gt", "+4", "5", False),
        ("Gt", "04", "5", False),
        ("Gt", "4", "05", False),
        ("Gt", "-0", "5", False),
        ("Gt", "", "5", False),
        ("Lt", "9223372036854775808", "5", False),
    ],
)
def test_comparing_tolerations_take_plain_integers_and_need_the_feature(
    operator: str, value: str, taint: str, tolerated: bool
) -> None:
    toleration = Toleration(key="k", operator=operator, value=value)
    tainted = Taint(key="k", value=taint, effect="NoSchedule")
    assert tolerates(toleration, tainted, comparison_operators=True) is tolerated
    assert not tolerates(toleration, tainted, comparison_operators=False)


def test_untolerated_keeps_order_and_looks_only_at_the_effects_asked_for() -> None:
    taints = [
        Taint(key="a", effect="NoSchedule"),
        Taint(key="b", effect="PreferNoSchedule"),
        Taint(key="c", effect="NoExecute"),
        Taint(key="d", effect="NoSchedule"),
    ]
    tolerations = [Toleration(key="a", operator="Exists")]
    hard = ("NoSchedule", "NoExecute")
    assert [t.key for t in untolerated(taints, tolerations, hard, comparison_operators=False)] == ["c", "d"]
    assert untolerated(taints, [Toleration(operator="Exists")], hard, comparison_operators=False) == []


@given(NAMES, NAMES, st.sampled_from(["NoSchedule", "PreferNoSchedule", "NoExecute"]))
def test_a_taint_is_tolerated_by_its_own_image_and_by_the_universal_toleration(
    key: str, value: str, effect: str
) -> None:
    taint = Taint(key=key, value=value, effect=effect)
    image = Toleration(key=key, operator="Equal", value=value, effect=effect)
    assert tolerates(image, taint, comparison_operators=False)
    assert tolerates(Toleration(operator="Exists"), taint, comparison_operators=False)
