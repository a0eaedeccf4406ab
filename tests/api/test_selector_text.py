"""Label selectors as a command line spells them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.api.selectors import Requirement, Selector, SelectorError, parse_selector

MEANINGS = {
    "app=web": "app=web",
    "app==web": "app=web",
    " app = web ": "app=web",
    "app=": "app=",
    "app!=web": "app notin (web)",
    "app": "app",
    "!app": "!app",
    "app in (b,a)": "app in (a,b)",
    "app in (a)": "app=a",
    "app notin (a, b)": "app notin (a,b)",
    "app in ()": "app=",
    "app in (,a)": "app in (,a)",
    "cores>4,cores<16": "cores > 4,cores < 16",
    "tier=x,app=web,!gone": "app=web,!gone,tier=x",
    "example.com/pool in (in,notin)": "example.com/pool in (in,notin)",
    "": "<all>",
}


@pytest.mark.parametrize("text", MEANINGS)
def test_a_selector_reads_as_kubectl_has_it(text: str) -> None:
    assert str(parse_selector(text)) == MEANINGS[text]


REFUSED = {
    "=web": "expected a label or '!', found '='",
    "app=a=b": "expected ',' or the end, found '='",
    "app=web,": "expected a label or '!', found the end",
    "app web": "expected =, !=, in, notin, > or <, found 'web'",
    "app in a": "expected '(', found 'a'",
    "app in (a": "expected ',' or ')', found 'a'",
    "app in (a b)": "expected ',' or ')', found 'a'",
    "!app=web": "expected ',' or the end, found '='",
    "!": "expected a label, found the end",
    "-app=web": "'-app' is not a valid label key",
    "app=we+b": "'we+b' is not a valid label value",
    "cores>many": "for 'Gt', 'Lt' operators, the value must be an integer",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_selector_is_refused_with_what_was_expected(text: str) -> None:
    with pytest.raises(SelectorError) as refused:
        parse_selector(text)
    assert str(refused.value) == REFUSED[text]


@given(st.text(alphabet="ab=!<>(), in", max_size=12))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        selector = parse_selector(text)
    except SelectorError:
        return
    assert isinstance(selector, Selector)


_WORDS = st.sampled_from(["a", "b", "in", "notin"])
_REQUIREMENTS = st.builds(
    Requirement,
    _WORDS,
    st.sampled_from(["In", "NotIn"]),
    st.sets(_WORDS, min_size=1).map(lambda values: tuple(sorted(values))),
) | st.builds(Requirement, _WORDS, st.sampled_from(["Exists", "DoesNotExist"]), st.just(()))


@given(st.lists(_REQUIREMENTS, max_size=3))
def test_what_a_selector_prints_as_reads_back(requirements: list[Requirement]) -> None:
    selector = Selector(tuple(sorted(requirements, key=lambda requirement: requirement.key)))
    assert parse_selector("" if selector.empty else str(selector)) == selector
