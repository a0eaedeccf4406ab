"""A part of Go's templates, as ApplicationSets have them: fields, pipelines of functions that make texts, and if.

What is not known here is refused by name. Upstream: Go (text/template), Masterminds/sprig, argo-cd
(applicationset/utils/utils.go, template_functions.go).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from kwhatif import bounds
from kwhatif.errors import InputError

_ACTION = re.compile(
    r"(?:\s*)\{\{-\s(?P<trimmed>.*?)(?:\s-\}\}\s*|\}\})|\{\{(?P<plain>.*?)(?:\s-\}\}\s*|\}\})", re.DOTALL
)
_TOKEN = re.compile(
    r"""\s*(?:(?P<text>"(?:\\.|[^"\\])*"|`[^`]*`)|(?P<number>-?\d+)|(?P<field>\$?(?:\.[A-Za-z_]\w*)+|\$|\.)"""
    r"""|(?P<word>[A-Za-z_]\w*)|(?P<mark>[|()]))"""
)
_NO_NAME = re.compile(r"[^-a-z0-9.]")
_LONGEST_NAME = 253
_ABSENT = "<no value>"


def sanitize_name(name: str) -> str:
    """A name as Kubernetes may have it."""
    return _NO_NAME.sub("-", name.lower())[:_LONGEST_NAME].strip("-.")


def _replace(old: str, new: str, text: str) -> str:
    return text.replace(old, new)


def _index(value: Any, *keys: Any) -> Any:
    for key in keys:
        if isinstance(value, list) and isinstance(key, int) and 0 <= key < len(value):
            value = value[key]
        elif isinstance(value, Mapping):
            value = value.get(key)
        else:
            raise InputError(f"its template asks for element {key!r} of what has none")
    return value


def _dig(*words: Any) -> Any:
    """What is at a path of keys in the last word, or the word before it if a key is missing."""
    *keys, otherwise, value = words
    for key in keys:
        if not isinstance(value, Mapping) or key not in value:
            return otherwise
        value = value[key]
    return value


def _printf(form: str, *values: Any) -> str:
    if re.search(r"%[^sdvq%]", form):
        raise InputError(f"a format that is not known here: {form!a}")
    given = iter(values)
    return re.sub(
        r"%[sdv]|%q", lambda match: _text_of(next(given, "")) if match[0] != "%q" else _quote(next(given, "")), form
    )


def _quote(*values: Any) -> str:
    return " ".join('"' + _text_of(value).replace("\\", "\\\\").replace('"', '\\"') + '"' for value in values)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "and": lambda *values: next((value for value in values if not value), values[-1]),
    "coalesce": lambda *values: next((value for value in values if value), None),
    "contains": lambda part, text: part in text,
    "default": lambda otherwise, value=None: value or otherwise,
    "dig": _dig,
    "empty": lambda value=None: not value,
    "eq": lambda first, *others: first in others,
    "first": lambda values: values[0],
    "get": lambda value, key: value.get(key, ""),
    "hasKey": lambda value, key: key in value,
    "hasPrefix": lambda part, text: text.startswith(part),
    "hasSuffix": lambda part, text: text.endswith(part),
    "index": _index,
    "join": lambda by, values: by.join(map(_text_of, values)),
    "last": lambda values: values[-1],
    "lower": lambda text: text.lower(),
    "ne": lambda one, other: one != other,
    "normalize": sanitize_name,
    "not": lambda value: not value,
    "or": lambda *values: next((value for value in values if value), values[-1]),
    "printf": _printf,
    "quote": _quote,
    "replace": _replace,
    "splitList": lambda by, text: text.split(by),
    "squote": lambda value: f"'{_text_of(value)}'",
    "ternary": lambda one, other, test: one if test else other,
    "toString": lambda value: _text_of(value),
    "trim": lambda text: text.strip(),
    "trimPrefix": lambda part, text: text.removeprefix(part),
    "trimSuffix": lambda part, text: text.removesuffix(part),
    "trunc": lambda length, text: text[:length] if length >= 0 else text[length:],
    "upper": lambda text: text.upper(),
}


def render_go(text: str, values: Mapping[str, Any]) -> str:
    """A template with its values. Raises InputError for what is not evaluated here."""
    if "{{" not in text:
        return text
    pieces: list[tuple[str, str]] = []
    at = 0
    for match in _ACTION.finditer(text):
        pieces += [
            ("text", text[at : match.start()]),
            ("action", (match.group("trimmed") or match.group("plain") or "").strip()),
        ]
        at = match.end()
    pieces.append(("text", text[at:]))
    return _Rendering(values).run(pieces)


class _Rendering:
    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def run(self, pieces: list[tuple[str, str]]) -> str:
        texts: list[str] = []
        # For each "if" that is open: whether this part is shown, and whether one of its parts was.
        open_: list[tuple[bool, bool]] = []
        for sort, text in pieces:
            shown = all(is_live for is_live, _ in open_)
            if sort == "text":
                texts += [text] * shown
                continue
            word, _, rest = text.partition(" ")
            if text.startswith("/*"):
                continue
            if word == "if":
                test = shown and bool(self._pipeline(rest))
                open_.append((test, test))
            elif word == "else" and open_:
                _, done = open_.pop()
                outer = all(is_live for is_live, _ in open_)
                test = outer and not done and (not rest or bool(self._pipeline(rest.removeprefix("if"))))
                open_.append((test, done or test))
            elif word == "end" and open_:
                open_.pop()
            elif word in ("range", "with", "define", "template", "block", "else", "end"):
                raise InputError(f"a template with {word!r}, which is not evaluated here")
            elif shown:
                texts.append(_text_of(self._pipeline(text)))
        return "".join(texts)

    def _pipeline(self, text: str) -> Any:
        tokens: list[tuple[str, str]] = []
        at = 0
        text = text.strip()
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None or len(tokens) > bounds.DEPTH:
                raise InputError(f"a template that is not evaluated here: {text!a}")
            tokens.append((match.lastgroup or "", match.group(match.lastgroup or 0)))
            at = match.end()
        value = self._parse(tokens)
        if tokens:
            raise InputError(f"a template that is not evaluated here: {text!a}")
        return value

    def _parse(self, tokens: list[tuple[str, str]]) -> Any:
        """The value of a pipeline, up to its end or a closing bracket."""
        given: tuple[Any, ...] = ()
        while True:
            value = self._command(tokens, given)
            if not tokens or tokens[0] != ("mark", "|"):
                return value
            tokens.pop(0)
            given = (value,)

    def _command(self, tokens: list[tuple[str, str]], values: tuple[Any, ...]) -> Any:
        if tokens and tokens[0][0] == "word" and tokens[0][1] not in ("true", "false", "nil"):
            name = tokens.pop(0)[1]
            function = FUNCTIONS.get(name)
            if function is None:
                raise InputError(f"a template with the function {name}, which is not known here")
            arguments: list[Any] = []
            while tokens and tokens[0] not in (("mark", "|"), ("mark", ")")):
                arguments.append(self._operand(tokens))
            try:
                return function(*arguments, *values)
            except (TypeError, AttributeError, IndexError):
                raise InputError(f"a template whose {name} gets what it does not take") from None
        if values:
            raise InputError("a template whose pipeline ends in no function")
        return self._operand(tokens)

    def _operand(self, tokens: list[tuple[str, str]]) -> Any:
        sort, text = tokens.pop(0) if tokens else ("", "")
        if sort == "text":
            return text[1:-1] if text[0] == "`" else re.sub(r"\\(.)", r"\1", text[1:-1])
        if sort == "number":
            return int(text)
        if sort == "word":
            return {"true": True, "false": False}.get(text)
        if (sort, text) == ("mark", "("):
            value = self._parse(tokens)
            if not tokens or tokens.pop(0) != ("mark", ")"):
                raise InputError("a template with a bracket that nothing closes")
            return self._field(value, tokens.pop(0)[1]) if tokens and tokens[0][0] == "field" else value
        if sort == "field":
            return self._field(self._values, text.removeprefix("$"))
        raise InputError("a template that is not evaluated here")

    def _field(self, value: Any, path: str) -> Any:
        for key in filter(None, path.split(".")):
            value = value.get(key) if isinstance(value, Mapping) else None
        return value


def _text_of(value: Any) -> str:
    if value is None:
        return _ABSENT
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{' '.join(map(_text_of, value))}]"
    return str(value)
