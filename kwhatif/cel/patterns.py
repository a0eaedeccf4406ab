"""Regular expressions as RE2 reads them, run by Python's own engine.

What RE2 does not know is refused, and what the two read differently is rewritten.
"""

from __future__ import annotations

import re
from functools import lru_cache

from kwhatif.cel.faults import Fault

__all__ = ["compiled", "search"]

_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_FOREIGN = re.compile(r"\(\?(?:[=!>]|<[=!]|\(|P=|#)")
_TOKEN = re.compile(
    r"(?P<quote>\\Q.*?(?:\\E|\Z))|(?P<escape>\\.)|\[:(?P<not>\^?)(?P<posix>[a-z]+):\]"
    r"|(?P<group>\(\?(?P<open><[A-Za-z_])?)|(?P<open_class>\[\^?\]?)|(?P<close_class>\])|(?P<end>\$)|(?P<other>.)",
    re.DOTALL,
)


def search(text: str, pattern: str) -> bool:
    """Whether the pattern is found anywhere. Raises Fault for a pattern that RE2 refuses."""
    return compiled(pattern).search(text) is not None


@lru_cache(maxsize=256)
def compiled(pattern: str) -> re.Pattern[str]:
    """Raises Fault."""
    problem = Fault(f"error parsing regexp: invalid or unsupported Perl syntax: `{pattern}`")
    if _FOREIGN.search(pattern):
        raise problem
    try:
        return re.compile(_rewritten(pattern, problem), re.ASCII)
    except (re.error, OverflowError):
        raise Fault(f"error parsing regexp: `{pattern}`") from None


def _rewritten(pattern: str, problem: Fault) -> str:
    found, inside = [], False
    many = "m" in (re.match(r"\(\?([a-zU]+)\)", pattern) or ["", ""])[1]
    for token in _TOKEN.finditer(pattern):
        text = token[0]
        if token["quote"]:
            text = re.escape(text[2:].removesuffix("\\E"))
        elif token["escape"]:
            if text[1] in "123456789" or text[1] in "ZGkK":
                raise problem
            if text[1] in "pPCX":
                raise Fault(f"regular expressions with {text} are not supported here")
            text = {"\\z": "\\Z", "\\a": "\\x07"}.get(text, text)
        elif token["posix"]:
            if not inside or token["posix"] not in _POSIX or token["not"]:
                raise problem
            text = _POSIX[token["posix"]]
        elif token["open_class"] and not inside:
            inside = True
        elif token["open_class"]:
            text = "\\" + text
        elif token["close_class"]:
            inside = False
        elif token["open"]:
            text = f"(?P{token['open']}"
        elif token["end"] and not inside and not many:
            # RE2's $ is the very end; Python's is also before a last line break.
            text = "\\Z"
        found.append(text)
    return "".join(found)
