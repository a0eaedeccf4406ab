"""A rule that differs by Kubernetes version, and the functions by which the tables declare one."""

from __future__ import annotations

from typing import cast

import msgspec

from kwhatif.versions.gates import stage_of
from kwhatif.versions.minors import number_of

AREAS = frozenset(
    {
        "API server",
        "Job controller",
        "configuration",
        "extenders",
        "messages",
        "queue",
        "PreFilter",
        "Filter",
        "PostFilter",
        "Score",
    }
)
"""Whose a rule is that belongs to no plugin: an extension point, or something beside them all."""


class VersionRule(msgspec.Struct, frozen=True):
    """A gate, or a behaviour that holds ``since`` one minor and ``until`` before another.

    ``whose`` are the plugins that it concerns, or one of ``AREAS``; ``source`` is below pkg/scheduler, unless it begins
    otherwise.
    """

    whose: tuple[str, ...]
    what: str
    source: str
    gate: str = ""
    since: str = ""
    until: str = ""

    def by_default(self, minor: str) -> bool:
        """The value in a minor when no gate is set."""
        if self.gate:
            stage = stage_of(self.gate, minor)
            return stage is not None and stage.on
        number = number_of(minor)
        begun = not self.since or number >= number_of(self.since)
        return begun and (not self.until or number < number_of(self.until))


class RuleGroup:
    """Declares rules of the same plugins, or in the same area.

    Sources without a slash are in ``folder``. To a type checker, a rule is the bool that it is in ``Features``.
    """

    def __init__(self, *names: str, folder: str = "") -> None:
        self._names = names
        self._folder = folder

    def gate(self, name: str, what: str) -> bool:
        """On where a feature gate is."""
        return cast("bool", VersionRule(self._names, what, "pkg/features", gate=name))

    def since(self, minor: str, source: str, what: str, *, until: str = "") -> bool:
        """On from a minor on; if another is given, until before that."""
        return cast("bool", VersionRule(self._names, what, self._path(source), since=minor, until=until))

    def until(self, minor: str, source: str, what: str) -> bool:
        """On in every minor before this one."""
        return cast("bool", VersionRule(self._names, what, self._path(source), until=minor))

    def _path(self, source: str) -> str:
        return source if "/" in source or not self._folder else f"{self._folder}/{source}".rstrip("/")
