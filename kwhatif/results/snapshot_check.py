"""Findings about a snapshot."""

from __future__ import annotations

from typing import ClassVar

from kwhatif.results.base import Result, ResultStruct


class Finding(ResultStruct, frozen=True, kw_only=True):
    """One thing that is wrong. ``level`` is ``error`` or ``warning``; ``place`` is a path within ``source``."""

    level: str
    rule: str
    object: str
    source: str = ""
    place: str = ""
    message: str


class CheckResult(Result, frozen=True, kw_only=True):
    """All that is wrong with a snapshot, errors first. ``strict`` lets warnings count as errors do."""

    schema: ClassVar[str] = "snapshot-validation"
    about: ClassVar[str] = "What contradicts itself in a snapshot, by kwhatif snapshot validate"
    view: ClassVar[str] = "snapshot.validate.text:VIEW"

    kind: str = "SnapshotCheck"
    source: str
    objects: int
    findings: tuple[Finding, ...]
    strict: bool = False

    @property
    def errors(self) -> int:
        return sum(finding.level == "error" for finding in self.findings)

    @property
    def warnings(self) -> int:
        return len(self.findings) - self.errors

    @property
    def exit_code(self) -> int:
        return 1 if self.errors or (self.strict and self.findings) else 0
