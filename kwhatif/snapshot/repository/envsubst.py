"""Texts with variables as Flux evaluates them: ``${NAME}`` with a default, which may hold others, and other forms.

Upstream: drone/envsubst (parse/scan.go, funcs.go), of which fluxcd/pkg/envsubst is a copy.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from kwhatif import bounds

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# The dashes of a shell's `${NAME-word}` are none of these: Flux refuses them.
_OPERATOR = re.compile(r":=|:-|:\?|:\+|##|%%|//|/#|/%|\^[,^]?|,[,^]?|[=:#%/]")
_DEFAULTS = frozenset({"=", ":=", ":-", ":?", ":+"})
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
_ESCAPED = ("\\/", "\\\\")

LookUp = Callable[[str, bool], str | None]
"""The value of a variable, which need not have one if a default stands there; None if it is not known."""


def evaluate(text: str, look_up: LookUp) -> str:
    """A text with the values of its variables; what is none, or has an unknown one, stays as it stands."""
    try:
        return _Evaluation(text, look_up).text_until("")
    except _UnclosedError:
        return text


class _UnclosedError(Exception):
    """A brace that nothing closes, which Flux refuses; and expressions in each other without end."""


class _Evaluation:
    def __init__(self, text: str, look_up: LookUp) -> None:
        self._text, self._look_up, self._at, self._depth = text, look_up, 0, 0

    def text_until(self, ends: str, *, is_escaped: bool = False) -> str:
        """What comes before one of some characters, evaluated; all if there is none.

        In what is to be replaced a backslash takes the meaning from a slash.
        """
        parts: list[str] = []
        while self._at < len(self._text) and not (ends and self._text[self._at] in ends):
            if self._text.startswith("$${", self._at):
                parts.append("${")
                self._at += len("$${")
            elif is_escaped and self._text.startswith(_ESCAPED, self._at):
                parts.append(self._text[self._at + 1])
                self._at += 2
            elif self._text.startswith("${", self._at):
                parts.append(self._variable())
            else:
                parts.append(self._text[self._at])
                self._at += 1
        return "".join(parts)

    def _variable(self) -> str:
        begin = self._at
        self._depth += 1
        if self._depth > bounds.DEPTH:
            raise _UnclosedError
        done = self._expression()
        self._depth -= 1
        if done is not None:
            return done
        if self._at >= len(self._text) or self._text[self._at - 1] != "}":
            self._at = begin + len("${")
            return "${"
        return self._text[begin : self._at]

    def _expression(self) -> str | None:
        """The value of what stands between braces; None if it is no variable, or not known."""
        self._at += len("${")
        is_length = self._text.startswith("#", self._at)
        self._at += is_length
        name = _NAME.match(self._text, self._at)
        if name is None:
            return None
        self._at = name.end()
        operator = _OPERATOR.match(self._text, self._at)
        arguments: list[str] = []
        if operator is not None:
            self._at = operator.end()
            is_replaced = operator[0].startswith("/")
            ends = ":}" if operator[0] == ":" else "/}" if is_replaced else "}"
            arguments.append(self.text_until(ends, is_escaped=is_replaced))
            if ends[0] != "}" and self._text.startswith(ends[0], self._at):
                self._at += 1
                if not (is_replaced and self._text.startswith("}", self._at)):
                    arguments.append(self.text_until("}", is_escaped=is_replaced))
        if not self._text.startswith("}", self._at):
            if operator is not None:
                raise _UnclosedError
            return None
        self._at += 1
        word = operator[0] if operator is not None else ""
        value = self._look_up(name[0], word in _DEFAULTS)
        if value is None:
            return None
        return str(len(value.encode())) if is_length else _apply(word, value, arguments)


def _apply(word: str, value: str, arguments: list[str]) -> str:
    first, second = (*arguments, "", "")[:2]
    has_second = len(arguments) > 1
    match word:
        case "^":
            return value[:1].upper() + value[1:]
        case "^^":
            return value.upper()
        case ",":
            return value[:1].lower() + value[1:]
        case ",,":
            return value.lower()
        case ":":
            return _part(value, arguments)
        case "#" | "##":
            return _without_prefix(value, first, longest=word == "##")
        case "%" | "%%":
            return _without_prefix(value[::-1], first[::-1], longest=word == "%%")[::-1]
        case "/" | "//":
            return value.replace(first, second, -1 if word == "//" else 1) if first else value
        case "/#":
            return second + value.removeprefix(first) if has_second and value.startswith(first) else value
        case "/%":
            return value.removesuffix(first) + second if has_second and value.endswith(first) else value
    return value or first if word in _DEFAULTS else value


def _part(value: str, arguments: list[str]) -> str:
    """A part by where it starts and, if that is said, how long it is; the whole for what is no number."""
    if not all(map(_INTEGER.fullmatch, arguments)):
        return value
    start, *length = map(int, arguments)
    start = start if start >= 0 else max(len(value) + start, 0)
    return value[start : start + max(length[0], 0)] if length else value[start:]


def _without_prefix(value: str, pattern: str, *, longest: bool) -> str:
    from kwhatif.cel.globs import matches_glob

    ends = range(len(value), -1, -1) if longest else range(len(value) + 1)
    return next((value[end:] for end in ends if matches_glob(value[:end], pattern)), value)
