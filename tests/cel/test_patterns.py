"""Regular expressions mean what they mean in Go, and end at once."""

from __future__ import annotations

from time import process_time

import pytest

from kwhatif.cel.patterns import find_all, search
from kwhatif.cel.values import Fault


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        pytest.param(r"^\d$", "\N{ARABIC-INDIC DIGIT ONE}", False, id="digits are those of ASCII"),
        pytest.param(r"^\w+$", "é", False, id="so are letters of words"),
        pytest.param("a$", "a\n", False, id="the end is the very end"),
        pytest.param("(?m)a$", "a\n", True, id="but for lines"),
        pytest.param(r"\pL", "é", True, id="classes of Unicode"),
        pytest.param("^[[:upper:]]+$", "GPU", True, id="classes of POSIX"),
        pytest.param("(?i)h100", "H100", True, id="in any case"),
        pytest.param("(?U)a+", "a", True, id="the flag for few"),
        pytest.param(r"\Qa.b\E", "a.b", True, id="quoted"),
        pytest.param(r"a\z", "a", True, id="the end by its letter"),
        pytest.param("(?P<n>a)(?<m>b)", "ab", True, id="named groups"),
        pytest.param("x{1000}", "x", False, id="the most repetitions there may be"),
    ],
)
def test_what_is_found(pattern: str, text: str, found: bool) -> None:
    assert search(text, pattern) is found


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        pytest.param("(?=a)", "invalid or unsupported Perl syntax: `(?=`", id="looking ahead"),
        pytest.param(r"(a)\1", "invalid escape sequence: `\\1`", id="looking back at a group"),
        pytest.param("a**", "invalid nested repetition operator: `**`", id="repeated twice"),
        pytest.param("*a", "missing argument to repetition operator: `*`", id="nothing repeated"),
        pytest.param("(a", "missing closing ): `(a`", id="an open group"),
        pytest.param("a)", "unexpected ): `a)`", id="a closed one"),
        pytest.param("[a", "missing closing ]: `[a`", id="an open class"),
        pytest.param("[z-a]", "invalid character class range: `z-a`", id="a range the wrong way round"),
        pytest.param("x{1001}", "invalid repeat count: `{1001}`", id="too many repetitions"),
        pytest.param("a\\", "trailing backslash at end of expression: ``", id="a last backslash"),
    ],
)
def test_what_is_refused(pattern: str, problem: str) -> None:
    with pytest.raises(Fault) as caught:
        search("a", pattern)
    assert str(caught.value) == f"error parsing regexp: {problem}"


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        pytest.param("[0-9]+", "a1b22", ["1", "22"], id="each in turn"),
        pytest.param("a*", "baac", ["", "aa", ""], id="nothing is not found right behind something"),
        pytest.param("", "ab", ["", "", ""], id="nothing is everywhere"),
        pytest.param("é+", "héé", ["éé"], id="letters beyond ASCII"),
    ],
)
def test_all_that_is_found(pattern: str, text: str, found: list[str]) -> None:
    assert list(find_all(text, pattern)) == found


@pytest.mark.parametrize("pattern", ["(a+)+$", "^(a|a)*$", "(a?){200}a{200}b", "(.*)*x"])
def test_no_pattern_takes_for_ever(pattern: str) -> None:
    """By the time of this process, so that a busy machine does not count."""
    begun = process_time()
    assert not search("a" * 10_000 + "c", pattern)
    assert sum(1 for _ in find_all("a" * 10_000 + "c", pattern)) == 0
    assert process_time() - begun < 60
