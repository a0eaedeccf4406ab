"""The gate's verdict on a change: findings, exemptions, and the outcome of each rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import msgspec

from kwhatif.results.amounts import format_count
from kwhatif.results.base import Fidelity, Result, ResultStruct
from kwhatif.results.outcome import Outcome
from kwhatif.results.place import Placement, ScaleUp

Excerpt = tuple[tuple[int, str], ...]
"""Lines of a manifest with their numbers, of which some are left out."""

Level = Literal["error", "warn", "off"]
Status = Literal["passed", "warned", "failed", "off", "exempted", "not applicable"]


class Subject(ResultStruct, frozen=True, kw_only=True):
    """What a finding or a change is about: a workload, a pod, a node, a pool. ``namespace`` is empty if it has none."""

    kind: str
    namespace: str = ""
    name: str

    def __str__(self) -> str:
        """``Deployment shop/web``."""
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


class Location(ResultStruct, frozen=True, kw_only=True):
    """A line of a manifest: the first that changed, else where its document begins; ``file`` is empty if unknown."""

    file: str
    line: int = 1


class Finding(ResultStruct, frozen=True, kw_only=True):
    """One thing that a rule does not let pass.

    ``title`` is one short line, ``message`` the explanation with numbers, ``numbers`` the values measured and the
    threshold. ``pod`` is one that it is about: with ``--explain`` the gate says more of it. ``fingerprint`` stays the
    same from run to run, whatever the numbers are.
    """

    rule: str
    level: Level
    subject: Subject | None = None
    location: Location | None = None
    title: str
    message: str
    numbers: dict[str, int | float | str] = msgspec.field(default_factory=dict)
    hint: str = ""
    pod: str = ""
    fingerprint: str


class Exemption(ResultStruct, frozen=True, kw_only=True):
    """A finding that does not count, since an annotation says so, and why."""

    rule: str
    subject: Subject
    reason: str
    finding: Finding


class RuleOutcome(ResultStruct, frozen=True, kw_only=True):
    """What came of one rule: how many subjects it looked at, what it wants (``threshold``) and what it found
    (``summary``), both as a person reads it."""

    rule: str
    level: Level
    status: Status
    checked: int = 0
    findings: int = 0
    threshold: str = ""
    summary: str = ""


class Change(ResultStruct, frozen=True, kw_only=True):
    """One object of the change, and what became of its pods; ``details`` name the fields that differ.

    Where an update hangs, ``replicas`` are what the object wants, other than all pods afterwards. What is ``kept`` has
    left the manifests, and whoever deploys them leaves it where it is.
    """

    what: Literal["added", "changed", "removed", "kept", "unchanged"]
    subject: Subject
    location: Location | None = None
    pods_before: int = 0
    pods_after: int = 0
    replicas: int | msgspec.UnsetType = msgspec.UNSET
    details: tuple[str, ...] = ()

    @property
    def pods(self) -> str:
        """``4 -> 9 (12 while the update hangs)``; empty for what has none."""
        if not self.pods_before and not self.pods_after:
            return ""
        if isinstance(self.replicas, int):
            return f"{self.pods_before} -> {self.replicas} ({self.pods_after} while the update hangs)"
        return f"{self.pods_before} -> {self.pods_after}"


class GateFile(ResultStruct, frozen=True, kw_only=True):
    """A file that is not as it was in the base (without a base: a file), and what became of it.

    ``reason`` says why it was not read into objects. It is ``accepted`` if somebody named it as one to go without.
    """

    file: str
    use: Literal["read", "rendered", "passed over", "not read"]
    reason: str = ""
    accepted: bool = False

    @property
    def is_missing(self) -> bool:
        """Whether the change may hold more than was judged."""
        return self.use == "not read" and not self.accepted


class GateFiles(ResultStruct, frozen=True, kw_only=True):
    """The account of files: how many were ``named``, be it by their directories, and what became of them.

    ``changed`` are those that differ from the base; without a base those that were not read.
    """

    named: int = 0
    read: int = 0
    rendered: int = 0
    passed_over: int = 0
    not_read: int = 0
    changed: tuple[GateFile, ...] = ()

    @property
    def missing(self) -> tuple[GateFile, ...]:
        """Those that should have been judged."""
        return tuple(file for file in self.changed if file.is_missing)

    def __str__(self) -> str:
        """``Files: 12 named, 8 read, 3 passed over, 1 not read.``"""
        counts = {
            "named": self.named,
            "read": self.read,
            "rendered": self.rendered,
            "passed over": self.passed_over,
            "not read": self.not_read,
        }
        return f"Files: {', '.join(f'{number} {what}' for what, number in counts.items() if number)}."


def describe_findings(errors: int, warnings: int, exempted: int, placements: Sequence[Placement]) -> str:
    """``2 errors, 1 warning, 1 exempted``; without findings also how many pods find no node."""
    parts = [format_count(errors, "error")] if errors else []
    parts += [format_count(warnings, "warning")] if warnings else []
    parts += [f"{exempted} exempted"] if exempted else []
    if parts:
        return ", ".join(parts)
    pending = sum(not placement.good for placement in placements)
    if not pending:
        return "no findings"
    finds = "finds" if 1 in (pending, len(placements)) else "find"
    return (
        f"no findings, though {pending} of {format_count(len(placements), 'pod')} {finds} no node: no rule forbids it"
    )


class GateResult(Result, frozen=True, kw_only=True):
    """What the gate says.

    ``judged`` is ``change`` if there was something to compare with, else ``everything``. ``findings`` come errors
    first, then by file, line and rule; those that are exempted are in ``exemptions`` alone. ``scale_up`` is what
    autoscalers add for the change, if they were asked. ``policy`` says where the
    rules came from, ``note`` what there is to say of the whole ("nothing to judge: ..."). ``files`` is the account of
    all files; the verdict is ``unknown`` if some of the change could not be read into objects.
    """

    rows: ClassVar[str] = "findings"
    schema: ClassVar[str] = "gate-report"
    about: ClassVar[str] = "What kwhatif gate says of a change"
    view: ClassVar[str] = "gate.page:VIEW"

    kind: str = "GateReport"
    outcome: Outcome
    verdict: Literal["pass", "warn", "fail", "unknown"]
    judged: Literal["change", "everything"]
    note: str = ""
    files: GateFiles = GateFiles()
    changes: tuple[Change, ...] = ()
    placements: tuple[Placement, ...] = ()
    scale_up: ScaleUp | None = None
    rules: tuple[RuleOutcome, ...] = ()
    findings: tuple[Finding, ...] = ()
    exemptions: tuple[Exemption, ...] = ()
    warnings: tuple[str, ...] = ()
    fidelity: Fidelity
    policy: str = ""

    @property
    def lacks_nodes(self) -> bool:
        return any(placement.outcome == "unschedulable" for placement in self.placements)

    @property
    def excerpts(self) -> Mapping[Location, Excerpt]:
        """What stands where findings point, if that was asked for."""
        return self._context.excerpts

    @property
    def errors(self) -> int:
        """How many findings fail the gate."""
        return sum(finding.level == "error" for finding in self.findings)

    @property
    def placed_count(self) -> int:
        """How many of the pods found a node."""
        return sum(placement.good for placement in self.placements)

    @property
    def counts(self) -> dict[str, int]:
        """How many objects were added, changed, removed, kept and left as they are."""
        counts = Counter(change.what for change in self.changes)
        return {what: counts[what] for what in ("added", "changed", "removed", "kept", "unchanged")}

    @property
    def exit_code(self) -> int:
        """0 if the outcome is good, 2 if files of the change were not read, else 1: the gate fails."""
        return 2 if self.verdict == "unknown" else self.outcome.exit_code

    @property
    def good(self) -> bool:
        """Whether the change may go in."""
        return self.outcome.good
