"""Kubernetes minors: which are supported, and the minor of a version."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kwhatif.errors import UsageError

SUPPORTED_MINORS = ("1.29", "1.30", "1.31", "1.32", "1.33", "1.34", "1.35", "1.36")
DEFAULT_MINOR = SUPPORTED_MINORS[-1]
LEGACY_MINOR = "1.22"
"""The last minor but one that read a legacy Policy; it has rows, too, but is not one of those supported."""


def number_of(minor: str) -> tuple[int, int]:
    """``"1.36"`` as numbers that can be compared."""
    major, _, rest = minor.partition(".")
    return int(major), int(rest)


def is_newer(minor: str, other: str) -> bool:
    """Whether a minor comes after another one."""
    return number_of(minor) > number_of(other)


# What distributions append says nothing about the minor: 1.34.2+k3s1, v1.33.1-eks-abc.
_VERSION = re.compile(r"v?([0-9]{1,9})\.([0-9]{1,9})\+?(?:\.[0-9]+)*(?:[-+].*)?")


def minor_of(version: str) -> str:
    """``"1.34"`` of ``v1.34.2``, ``1.34.2+k3s1`` and the like. Raises UsageError for what is no version."""
    match = _VERSION.fullmatch(version.strip())
    if match is None:
        raise UsageError(f"Kubernetes version {version!r}: expected one such as 1.34, v1.34.2 or 1.34.2+k3s1")
    return f"{int(match[1])}.{int(match[2])}"


def sort_minors(minors: Iterable[str]) -> list[str]:
    """Minors, the oldest first."""
    return sorted(minors, key=number_of)


def nearest_minor(minor: str, *, legacy: bool = False) -> str:
    """The supported minor that is nearest to a minor: itself, the oldest or the newest.

    With ``legacy``, that of legacy policies is one of them.
    """
    if minor in SUPPORTED_MINORS:
        return minor
    if legacy and number_of(minor) <= number_of(LEGACY_MINOR):
        return LEGACY_MINOR
    older = number_of(minor) < number_of(SUPPORTED_MINORS[0])
    return SUPPORTED_MINORS[0 if older else -1]
