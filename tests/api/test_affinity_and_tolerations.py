"""What a pod asks of nodes: selector terms, required affinity and tolerations."""

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
from kwhatif.api.selectors import NodeTerm, RequiredNodeAffinity, find_untolerated_taints, tolerates

NAMES = st.from_regex(r"[a-z0-9]([a-z0-9._-]{0,5}[a-z0-9])?", fullmatch=True)


def expression(key: str, operator: str, *values: str) -> NodeSelectorRequirement:
    return NodeSelectorRequirement(key=key, operator=operator, values=list(values))


def term(*expressions: NodeSelectorRequirement, fields: tuple[NodeSelectorRequirement, ...] = ()) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_expressions=list(expressions), match_fields=list(fields))


def spec(node_selector: dict[str, str] | None = None, *terms: NodeSelectorTerm, required: bool = True) -> PodSpec:
    selector = NodeSelector(node_selector_terms=list(terms)) if required else None
    node_affinity = NodeAffinity(required_during_scheduling_ignored_during_execution=selector)
    return PodSpec(node_selector=node_selector, affinity=Affinity(node_affinity=node_affinity))


# --- node selector terms


def test_a_term_needs_all_of_its_expressions_and_fields() -> None:
    compiled = NodeTerm.from_term(
        term(expression("zone", "In", "a", "b"), fields=(expression("metadata.name", "In", "node-1"),))
    )
    assert compiled is not None
    assert compiled.matches({"zone": "a"}, "node-1")
    assert not compiled.matches({"zone": "a"}, "node-2")
    assert not compiled.matches({"zone": "c"}, "node-1")
    assert str(compiled) == "zone in (a,b) and metadata.name=node-1"


def test_a_field_may_also_exclude_a_name_and_an_unknown_field_is_empty() -> None:
    compiled = NodeTerm.from_term(
        term(fields=(expression("metadata.name", "NotIn", "node-1"), expression("spec.x", "In", "")))
    )
    assert compiled is not None
    assert compiled.matches({}, "node-2")
    assert not compiled.matches({}, "node-1")


def test_an_empty_term_is_none_at_all() -> None:
    assert NodeTerm.from_term(NodeSelectorTerm()) is None


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
    compiled = NodeTerm.from_term(broken)
    assert compiled is not None
    assert compiled.broken
    assert not compiled.matches({"zone": "a"}, "a")
    assert str(compiled) == "<broken>"


# --- required node affinity


def test_a_pod_without_selector_and_affinity_fits_every_node() -> None:
    for plain in (PodSpec(), spec(required=False)):
        affinity = RequiredNodeAffinity.from_pod_spec(plain)
        assert affinity.trivial
        assert affinity.matches({}, "any")


def test_required_affinity_without_terms_fits_no_node() -> None:
    for hopeless in (spec(None), spec(None, NodeSelectorTerm())):
        affinity = RequiredNodeAffinity.from_pod_spec(hopeless)
        assert not affinity.trivial
        assert not affinity.matches({"zone": "a"}, "any")


def test_one_term_suffices_but_the_node_selector_is_always_needed() -> None:
    affinity = RequiredNodeAffinity.from_pod_spec(
        spec({"os": "linux"}, term(expression("zone", "In", "a")), term(expression("gpu", "Exists")))
    )
    assert affinity.matches({"os": "linux", "zone": "a"}, "n")
    assert affinity.matches({"os": "linux", "gpu": ""}, "n")
    assert not affinity.matches({"os": "linux", "zone": "b"}, "n")
    assert not affinity.matches({"zone": "a", "gpu": ""}, "n")


def test_a_broken_term_does_not_spoil_its_neighbour() -> None:
    affinity = RequiredNodeAffinity.from_pod_spec(
        spec(None, term(expression("x", "?")), term(expression("zone", "Exists")))
    )
    assert affinity.matches({"zone": "a"}, "n")
    assert not affinity.matches({}, "n")


def test_a_node_selector_may_ask_for_labels_that_cannot_exist() -> None:
    affinity = RequiredNodeAffinity.from_pod_spec(PodSpec(node_selector={"a b": "c d"}))
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
    assert [t.key for t in find_untolerated_taints(taints, tolerations, hard, comparison_operators=False)] == ["c", "d"]
    assert find_untolerated_taints(taints, [Toleration(operator="Exists")], hard, comparison_operators=False) == []


@pytest.mark.long
@given(NAMES, NAMES, st.sampled_from(["NoSchedule", "PreferNoSchedule", "NoExecute"]))
def test_a_taint_is_tolerated_by_its_own_image_and_by_the_universal_toleration(
    key: str, value: str, effect: str
) -> None:
    taint = Taint(key=key, value=value, effect=effect)
    image = Toleration(key=key, operator="Equal", value=value, effect=effect)
    assert tolerates(image, taint, comparison_operators=False)
    assert tolerates(Toleration(operator="Exists"), taint, comparison_operators=False)
