"""Expressions about devices in CEL: which of their words are names.

Upstream: dynamic-resource-allocation/cel/compile.go (what an expression knows) and apiserver/pkg/cel/library.
"""

from __future__ import annotations

import re
from collections.abc import Callable

CEL_WORDS = frozenset(
    {
        *("add", "all", "allowMultipleAllocations", "asApproximateFloat", "asInteger", "attributes", "bind", "bool"),
        *("capacity", "cel", "compareTo", "contains", "device", "double", "driver", "dyn", "e", "endsWith", "exists"),
        *("existsOne", "exists_one", "false", "filter", "find", "findAll", "format", "has", "hasValue", "in"),
        *("includes", "indexOf", "int", "isGreaterThan", "isInteger", "isLessThan", "isQuantity", "isSemver"),
        *("isSorted", "join", "lastIndexOf", "list", "lowerAscii", "major", "map", "matches", "max", "min", "minor"),
        *("none", "null", "of", "ofNonZeroValue", "optFlatMap", "optMap", "optional", "or", "orValue", "patch"),
        *("quantity", "replace", "semver", "sign", "size", "split", "startsWith", "string", "sub", "substring", "sum"),
        *("transformList", "transformMap", "trim", "true", "type", "uint", "upperAscii", "value"),
    }
)
"""What names mean to an expression about devices; attributes that are called like this keep their names, too."""

# A text that a function makes a quantity or a version of; any other text, with what stands around it; or a word.
_TOKEN = re.compile(
    r"""\b(?P<measure>(?:isQuantity|isSemver|quantity|semver)\(\s*["'])(?P<measured>(?:[^"'\\]|\\.)*)(?P<end>["'])"""
    r"""|(?P<quote>[rR]?["'])(?P<text>(?:[^"'\\]|\\.)*)(?P<unquote>["'])|\w+"""
)
_NUMBER = re.compile("(?:0x[0-9a-fA-F]+|[0-9]+(?:[eE][0-9]+)?)[uU]?")
_LOOKS_INSIDE = re.compile(
    r"\.(?:contains|endsWith|find|findAll|indexOf|lastIndexOf|matches|replace|split|startsWith|substring)\("
)


def looks_inside(expression: str) -> bool:
    """Whether an expression asks for parts of a text."""
    return _LOOKS_INSIDE.search(expression) is not None


def with_words(expression: str, put: Callable[[str], str], put_measure: Callable[[str], str]) -> str:
    """The expression with what ``put`` makes of each text and each word in it; numbers stay.

    ``put_measure`` is for texts that are turned into quantities and versions.
    """

    def token(found: re.Match[str]) -> str:
        if found["measure"]:
            return found["measure"] + put_measure(found["measured"]) + found["end"]
        if found["quote"]:
            return found["quote"] + put(found["text"]) + found["unquote"]
        return found[0] if _NUMBER.fullmatch(found[0]) else put(found[0])

    return _TOKEN.sub(token, expression)
