"""Inputs with two wrong files: each reads both, is the same for the same seed, and some change of each sort comes."""

from __future__ import annotations

import json

import pytest

from tests.fuzz.cases import cases
from tests.fuzz.good_files import good_files


@pytest.mark.long
def test_a_third_of_the_inputs_has_a_second_wrong_file_that_its_command_reads() -> None:
    some = list(cases(7, 0, 600))
    two = [case for case in some if case.second is not None]
    assert 0.28 < len(two) / len(some) < 0.5
    for case in two:
        assert case.second is not None
        word, text = case.second
        assert f"{{{word}}}" in case.command
        assert text != json.dumps(good_files()[word]) or " = " in case.name


@pytest.mark.long
def test_the_same_number_is_the_same_input() -> None:
    assert list(cases(7, 100, 140)) == list(cases(7, 100, 140))
