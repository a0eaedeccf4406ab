"""Regular expressions: RE2's, in linear time, as in cel-go. Upstream: Go's regexp/syntax."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from kwhatif.cel.values import Fault

_IN_GO = {
    "bad repetition operator": "invalid nested repetition operator",
    "invalid named capture group": "invalid named capture",
    "invalid repetition size": "invalid repeat count",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "trailing \\": "trailing backslash at end of expression",
}
"""Go's words for what RE2 says of a pattern, where they differ."""


def search(text: str, pattern: str) -> bool:
    """Whether the pattern is found anywhere. Raises Fault for a pattern that RE2 refuses."""
    return compile_pattern(pattern).search(text) is not None


def find_all(text: str, pattern: str) -> Iterator[str]:
    """What the pattern finds; as in Go, no empty match right behind another match. Raises Fault."""
    before = -1
    for match in compile_pattern(pattern).finditer(text):
        if match.end() > match.start() or match.start() != before:
            yield match[0]
        before = match.end()


@lru_cache(maxsize=256)
def compile_pattern(pattern: str) -> Any:
    """RE2's expression of a pattern. Raises Fault for one that RE2 refuses."""
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        said = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
        problem, _, where = said.partition(": ")
        raise Fault(f"error parsing regexp: {_IN_GO.get(problem, problem)}: `{where}`") from None
