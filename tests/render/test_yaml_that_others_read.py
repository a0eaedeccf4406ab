"""Texts in YAML that we write stay texts for readers other than ours: Go's of YAML 1.1, and those of YAML 1.2."""

from __future__ import annotations

import re

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from kwhatif.render.formats import as_documents

# goyaml.v2, resolve.go: the table of words, and what strconv makes of what is left without underscores.
WORDS = {
    *("y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE"),
    *("n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE"),
    *("", "~", "null", "Null", "NULL", "<<"),
    *(".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF"),
}
INTEGERS = re.compile(r"[-+]?(0[xX][0-9a-fA-F]+|0[oO]?[0-7]+|0[bB][01]+|[0-9]+)")
FLOATS = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
DATES = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?")


def is_text_to_others(text: str) -> bool:
    if text in WORDS or DATES.fullmatch(text):
        return False
    number = text.replace("_", "")
    return not (text[:1] in "+-.0123456789" and (INTEGERS.fullmatch(number) or FLOATS.fullmatch(number)))


def check(text: str) -> None:
    written = as_documents([{"value": text}])
    assert yaml.safe_load(written) == {"value": text}
    value = written.removeprefix("---\nvalue: ").removesuffix("\n")
    assert value[:1] in "'\"|>" or is_text_to_others(value)


@pytest.mark.parametrize(
    "text",
    [
        "y",
        "N",
        "on",
        "Off",
        "1e3",
        "-1E+5",
        "012",
        "0x1F",
        "0o17",
        "0b10",
        "1_000",
        "-_1",
        "+.INF",
        ".nan",
        "2026-1-2",
        "~",
        "<<",
    ],
)
def test_what_others_take_for_something_else_is_quoted(text: str) -> None:
    assert as_documents([{"value": text}]).removeprefix("---\nvalue: ")[0] in "'\""
    check(text)


@given(st.text(alphabet="0123456789eExXoObB+-._:yYnNTtfaisul ~<", max_size=8))
@example("2001-01-01 10:00:00")
def test_every_text_stays_one(text: str) -> None:
    check(text)
