"""Rules: what becomes of a value, by the field it is in. What has no rule, or is not what its rule is about, goes.

A rule takes a value and the names, and gives the value to put in its place or ``GONE``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from kwhatif.golang.duration import Duration
from kwhatif.redaction.pseudonyms import Names

Rule = Callable[[Any, Names], Any]

GONE: Final = object()

_AMOUNT = re.compile(r"[+-]?[0-9]*+(?:\.[0-9]*+)?(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?")
_SHARE = re.compile(r"[0-9]+%?")
_SCHEDULE = re.compile(
    r"(?:@(?:annually|yearly|monthly|weekly|daily|midnight|hourly)"
    r"|(?:[0-9*/,? LW#-]|\b(?:SUN|MON|TUE|WED|THU|FRI|SAT|JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC)\b)+)",
    re.IGNORECASE,
)
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(?:Z|[+-][0-9]{2}:[0-9]{2})")


def number(value: Any, names: Names) -> Any:
    """A number says nothing about names."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else GONE


def flag(value: Any, names: Names) -> Any:
    """So do yes and no."""
    return value if isinstance(value, bool) else GONE


def amount(value: Any, names: Names) -> Any:
    """A quantity."""
    return value if _is(_AMOUNT, value) else number(value, names)


def share(value: Any, names: Names) -> Any:
    """A number, or a percentage."""
    return value if _is(_SHARE, value) else number(value, names)


def time(value: Any, names: Names) -> Any:
    """A point in time."""
    return value if _is(_TIME, value) else GONE


def duration(value: Any, names: Names) -> Any:
    """A length of time, as Go spells it."""
    try:
        return str(Duration.parse(value))
    except (TypeError, ValueError):
        return GONE


def schedule(value: Any, names: Names) -> Any:
    """When a cron job is due."""
    return value if _is(_SCHEDULE, value) else GONE


def _is(pattern: re.Pattern[str], value: Any) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def one_of(*known: str) -> Rule:
    """A word that upstream defines; any other is replaced, so that it means as little as before."""
    words = frozenset(known)

    def rule(value: Any, names: Names) -> Any:
        if not isinstance(value, str):
            return GONE
        return value if value in words or not value else names.name(value)

    return rule


def named(method: Callable[[Names, str], str]) -> Rule:
    """A text that ``Names`` has a method for."""

    def rule(value: Any, names: Names) -> Any:
        return method(names, value) if isinstance(value, str) else GONE

    return rule


def each(rule: Rule) -> Rule:
    """A list of such values. What is no such value leaves no gap."""

    def apply(value: Any, names: Names) -> Any:
        if not isinstance(value, list):
            return GONE
        return [found for item in value if (found := rule(item, names)) is not GONE]

    return apply


class fields:
    """An object with a rule for each of its fields."""

    def __init__(self, rules: Mapping[str, Rule] | None = None, /, **more: Rule) -> None:
        self.rules: dict[str, Rule] = {**(rules or {}), **more}

    def __call__(self, value: Any, names: Names) -> Any:
        if not isinstance(value, dict):
            return GONE
        kept = {}
        for key, item in value.items():
            rule = self.rules.get(key)
            if rule is None or item is None:
                continue
            found = rule(item, names)
            if found is not GONE:
                kept[key] = found
        return kept


def table(key: Callable[[Names, str], str], rule: Rule) -> Rule:
    """A map whose keys are names."""

    def apply(value: Any, names: Names) -> Any:
        if not isinstance(value, dict):
            return GONE
        kept = {}
        for raw, item in value.items():
            found = rule(item, names)
            if isinstance(raw, str) and found is not GONE:
                kept[key(names, raw)] = found
        return kept

    return apply
