"""Which versions of charts a constraint allows, as helm and Flux read it.

Upstream: Masterminds/semver (constraints.go).
"""

from __future__ import annotations

import re
from functools import total_ordering
from typing import Any

_VERSION = re.compile(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")
_PART = re.compile(
    r"(?P<sign>=|!=|>=|=>|<=|=<|>|<|~>|~|\^)?\s*v?(?P<major>\d+|[xX*])(?:\.(?P<minor>\d+|[xX*]))?"
    r"(?:\.(?P<patch>\d+|[xX*]))?(?:-(?P<pre>[0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?"
)
_RANGE = re.compile(r"(\S+)\s+-\s+(\S+)")


@total_ordering
class Version:
    """A version of three numbers, with what comes before a release."""

    def __init__(self, text: str) -> None:
        match = _VERSION.fullmatch(text.strip())
        self.is_known = match is not None
        groups = match.groups() if match is not None else ("0", None, None, text)
        self.numbers = tuple(int(group or 0) for group in groups[:3])
        self.pre = groups[3] or ""

    @property
    def _order(self) -> tuple[Any, ...]:
        parts = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in self.pre.split("."))
        # A release comes after all that come before it.
        return self.is_known, self.numbers, not self.pre, parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self._order == other._order

    def __lt__(self, other: Version) -> bool:
        return self._order < other._order

    def __hash__(self) -> int:
        return hash(self._order)


def is_allowed(version: str, constraint: str) -> bool:
    """Whether a version is one of those of a constraint: ``1.2.3``, ``~1.2``, ``^1``, ``1.x``, ``>=1 <3 || 5.*``."""
    text = constraint.strip()
    if version.removeprefix("v") == text.removeprefix("v"):
        return True
    candidate = Version(version)
    return candidate.is_known and any(_is_in(candidate, part) for part in (text or "*").split("||"))


def _is_in(version: Version, text: str) -> bool:
    text = _RANGE.sub(r">=\1 <=\2", text)
    at, matched = 0, False
    while at < len(text):
        if text[at] in " ,":
            at += 1
            continue
        part = _PART.match(text, at)
        if part is None or not _holds(version, part):
            return False
        at, matched = part.end(), True
    return matched


def _holds(version: Version, part: re.Match[str]) -> bool:
    sign, major, minor, patch, pre = part.group("sign", "major", "minor", "patch", "pre")
    if version.pre and not pre:
        return False
    given = [int(number) for number in (major, minor, patch) if number is not None and number.isdigit()]
    if not major.isdigit():
        given = []
    elif minor is not None and not minor.isdigit():
        given = given[:1]
    floor = Version(".".join(map(str, [*given, 0, 0, 0][:3])) + (f"-{pre}" if pre else ""))
    whole = len(given) == 3
    beyond = Version(".".join(map(str, [*given[:-1], given[-1] + 1, 0, 0][:3]))) if given else None
    inside = not given or (version == floor if whole else floor <= version and (beyond is None or version < beyond))
    match sign:
        case "!=":
            return not inside
        case ">":
            return version > floor if whole else beyond is not None and version >= beyond
        case "<":
            return version < floor
        case ">=" | "=>":
            return version >= floor
        case "<=" | "=<":
            return version <= floor if whole else inside or version < floor
        case "~" | "~>":
            top = given[:2] if len(given) > 1 else given
            return not given or floor <= version < Version(".".join(map(str, [*top[:-1], top[-1] + 1, 0, 0][:3])))
        case "^":
            return not given or floor <= version < _next_breaking(given)
    return inside


def _next_breaking(parts: list[int]) -> Version:
    for place, number in enumerate(parts):
        if number or place == len(parts) - 1:
            return Version(".".join(map(str, [*parts[:place], number + 1, 0, 0][:3])))
    return Version("0")
