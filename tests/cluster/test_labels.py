"""Coded labels and looked-up selectors answer as asking everybody one after the other does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.api.selectors import Requirement, Selector
from kwhatif.cluster.labels import LabelColumns, SelectorIndex

KEYS, VALUES = ("app", "tier", "pod-name"), ("a", "b", "c", "")
LABELS = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES))
REQUIREMENTS = st.one_of(
    st.builds(
        Requirement,
        st.sampled_from(KEYS),
        st.sampled_from(["In", "NotIn"]),
        st.lists(st.sampled_from((*VALUES, "never")), min_size=1, max_size=3).map(tuple),
    ),
    st.builds(Requirement, st.sampled_from(KEYS), st.sampled_from(["Exists", "DoesNotExist"]), st.just(())),
)
SELECTORS = st.builds(Selector, st.lists(REQUIREMENTS, max_size=3).map(tuple), st.sampled_from([False] * 9 + [True]))
NAMESPACES = ("blue", "red")


@pytest.mark.long
@given(st.lists(LABELS), st.lists(st.tuples(SELECTORS, LABELS), min_size=1))
def test_a_mask_says_what_the_selector_says_of_each_also_of_those_that_come_later(
    some: list[dict[str, str]], steps: list[tuple[Selector, dict[str, str]]]
) -> None:
    columns = LabelColumns()
    for labels in some:
        columns.append(labels)
    for selector, late in steps:
        columns.append(late)
        some = [*some, late]
        expected = [selector.matches(labels) for labels in some]
        first = len(some) // 2
        assert columns.matching(selector).tolist() == expected
        assert columns.matching(selector, first).tolist() == expected[first:]
        assert columns.matching(selector, len(some)).tolist() == []


def test_numbers_are_nothing_that_label_selectors_compare() -> None:
    with pytest.raises(ValueError, match="Gt"):
        LabelColumns().matching(Selector((Requirement("cores", "Gt", ("4",)),)))


@given(
    st.lists(st.tuples(SELECTORS, st.none() | st.sets(st.sampled_from(NAMESPACES))), max_size=12),
    st.lists(st.tuples(st.sampled_from(NAMESPACES), LABELS), min_size=1),
)
def test_what_selects_a_pod_is_found_without_asking_all(
    filed: list[tuple[Selector, set[str] | None]], pods: list[tuple[str, dict[str, str]]]
) -> None:
    index: SelectorIndex[int] = SelectorIndex()
    for number, (selector, namespaces) in enumerate(filed):
        index.add(selector, namespaces, number)
        for namespace, labels in pods:
            expected = [
                n
                for n, (known, homes) in enumerate(filed[: number + 1])
                if (homes is None or namespace in homes) and known.matches(labels)
            ]
            assert sorted(index.selecting(namespace, labels)) == expected
