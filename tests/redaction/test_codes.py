"""Pseudonyms are in the order of what they stand for, and stay so, and stay what they are, whatever comes later."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.redaction.translation import OrderedCodes, Translation, between

digits = st.from_regex(r"[0-9]{0,4}[1-9]", fullmatch=True)
words = st.text("abtkxz019ÄT", min_size=1, max_size=4)
batches = st.lists(st.lists(words, max_size=8), min_size=1, max_size=6)


@given(low=st.one_of(st.just(""), digits), high=st.one_of(st.none(), digits), count=st.integers(1, 40))
def test_codes_between_two_others_are_in_order_and_leave_room_for_more(low: str, high: str | None, count: int) -> None:
    if high is not None and low >= high:
        low, high = high, None
    codes = between(low, high, count, 3)
    assert len(codes) == count
    for one, other in pairwise([low, *codes, *([high] if high else [])]):
        assert one < other
        assert between(one, other, 1, 1)
    assert all(re.fullmatch("[0-9]{2,}[1-9]", code) for code in codes)


@given(batches)
def test_words_that_come_later_find_a_place_and_no_code_changes(given_words: list[list[str]]) -> None:
    codes = Translation().words
    before: dict[str, str] = {}
    for batch in given_words:
        for word in batch:
            codes.code(word)
        codes.settle()
        assert codes.codes.items() >= before.items()
        before = dict(codes.codes)
        assert not list(codes.faults())
    everything = sorted({*codes.codes, *codes.kept})
    assert sorted(everything, key=codes.code) == everything
    assert len({codes.code(word) for word in everything}) == len(everything)


def test_the_same_words_get_the_same_codes_in_whatever_order_they_are_met() -> None:
    def coded(*met: str) -> dict[str, str]:
        codes = Translation().words
        for word in met:
            codes.code(word)
        codes.settle()
        return codes.codes

    assert coded("web", "api", "zoo") == coded("zoo", "web", "api", "web")


@pytest.mark.parametrize("numbers", [range(500), range(500, 0, -1)], ids=["ever later ones", "ever earlier ones"])
def test_words_that_come_one_by_one_have_codes_that_can_still_be_read(numbers: range) -> None:
    codes = Translation().words
    for number in numbers:
        codes.code(f"web{number:04}")
        codes.settle()
    assert not list(codes.faults())
    assert max(map(len, codes.codes.values())) < 40


@pytest.mark.parametrize("part", [Translation().words, Translation().resources, Translation().nodes])
def test_every_stem_lies_between_the_words_that_stay_beside_it(part: OrderedCodes) -> None:
    assert len(part.stems) == len(part.kept) + 1
    assert sorted(part.kept) == list(part.kept)
    for place, stem in enumerate(part.stems):
        for code in (f"{stem}0001", f"{stem}9999"):
            assert not place or part.kept[place - 1] < code
            assert place == len(part.kept) or code < part.kept[place]


def test_no_code_can_be_taken_for_one_of_another_kind() -> None:
    translation = Translation()
    stems = [stem for part in (translation.words, translation.resources, translation.nodes) for stem in part.stems]
    assert len(set(stems)) == len(stems)
    assert all(re.fullmatch("[a-z]{1,2}|node-", stem) for stem in stems)
