"""Label selectors as a command line spells them: ``app=web``, ``tier in (a,b),!canary``.

Upstream: apimachinery/pkg/labels/selector.go (Parse).
"""

from __future__ import annotations

import re

from kwhatif.api.selectors import Requirement, Selector, SelectorError, valid_requirement

_TOKEN = re.compile(r"\s*(?P<sign>==|!=|[=!<>(),])|\s*(?P<word>[^\s=!<>(),]+)")
_OPERATORS = {"=": "In", "==": "In", "!=": "NotIn", "in": "In", "notin": "NotIn", ">": "Gt", "<": "Lt"}


def parse_selector(text: str) -> Selector:
    """Read a selector as kubectl does; an empty text selects everything. Raises SelectorError."""
    return _Parser(text).selector()


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = [found["sign"] or found["word"] for found in _TOKEN.finditer(text)]
        self._next = 0

    def selector(self) -> Selector:
        requirements: list[Requirement] = []
        while self._tokens:
            requirements.append(self._requirement())
            if self._peek() == "":
                break
            if self._take() != ",":
                raise self._unexpected("',' or the end")
        return Selector(tuple(sorted(requirements, key=lambda requirement: requirement.key)))

    def _requirement(self) -> Requirement:
        if self._peek() == "!":
            self._take()
            return valid_requirement(self._word("a label"), "DoesNotExist", ())
        key = self._word("a label or '!'")
        if self._peek() in ("", ","):
            return valid_requirement(key, "Exists", ())
        sign = self._take()
        if sign not in _OPERATORS:
            raise self._unexpected("=, !=, in, notin, > or <")
        values = self._listed() if sign in ("in", "notin") else (self._value(),)
        return valid_requirement(key, _OPERATORS[sign], values)

    def _value(self) -> str:
        """What is compared with; nothing at all stands for an empty value."""
        return "" if self._peek() in ("", ",") else self._word("a value")

    def _listed(self) -> tuple[str, ...]:
        """``(a,b)``: each value once, in order; between two commas stands an empty one."""
        if self._take() != "(":
            raise self._unexpected("'('")
        values = {""} if self._peek() in (",", ")") else set()
        while (token := self._take()) != ")":
            if token == ",":
                values |= {""} if self._peek() in (",", ")") else set()
            elif self._is_word(token) and self._peek() in (",", ")"):
                values.add(token)
            else:
                raise self._unexpected("',' or ')'")
        return tuple(sorted(values))

    def _peek(self) -> str:
        return self._tokens[self._next] if self._next < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._peek()
        self._next += 1
        return token

    def _word(self, what: str) -> str:
        token = self._take()
        if not self._is_word(token):
            raise self._unexpected(what)
        return token

    def _is_word(self, token: str) -> bool:
        return bool(token) and token not in ("=", "==", "!=", "!", "<", ">", "(", ")", ",")

    def _unexpected(self, expected: str) -> SelectorError:
        """About the token that was taken last."""
        token = self._tokens[self._next - 1] if self._next <= len(self._tokens) else ""
        return SelectorError(f"expected {expected}, found {repr(token) if token else 'the end'}")
