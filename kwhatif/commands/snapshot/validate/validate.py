"""Validates a snapshot: what cannot be read, and what is inconsistent.

An error is a state that no cluster could have, or that keeps the snapshot from being loaded; a warning is a state that
a cluster may have, but rarely on purpose. References to kinds that the snapshot does not cover are not checked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from kwhatif.api.kinds import KINDS
from kwhatif.commands.snapshot.validate.objects import device_findings, node_findings, pod_findings, storage_findings
from kwhatif.commands.snapshot.validate.references import ObjectIndex, warning
from kwhatif.errors import InputError
from kwhatif.progress import report_start
from kwhatif.results.snapshot_check import CheckResult, Finding
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.load import load_snapshot
from kwhatif.snapshot.read.files import STDIN
from kwhatif.snapshot.validation import ValidatedSnapshot, read_for_validation
from kwhatif.versions import Features


def validate(paths: Sequence[str], features: Features, *, strict: bool = False) -> CheckResult:
    """All that is wrong with the files. ``strict`` lets warnings count. Raises InputError if they cannot be opened."""
    read = _read(paths)
    return CheckResult(
        source=read.snapshot.source,
        objects=len(read.snapshot.objects)
        + sum(len(o) for kind, o in read.snapshot.whole.items() if kind not in KINDS),
        findings=(*read.problems, *check(read.snapshot, features, read.misread)),
        strict=strict,
    )


def check(
    snapshot: Snapshot, features: Features, misread: Collection[tuple[str, str, str]] = frozenset()
) -> list[Finding]:
    """The inconsistencies, errors first. ``misread`` objects (kind, namespace, name) could not be read."""
    report_start("Looking for contradictions")
    known = ObjectIndex(snapshot, features, misread)
    findings = {
        *_while_reading(snapshot),
        *node_findings(known),
        *pod_findings(known),
        *storage_findings(known),
        *device_findings(known),
    }
    return sorted(findings, key=lambda f: (f.level, f.rule, f.object, f.message))


def _read(paths: Sequence[str]) -> ValidatedSnapshot:
    """The snapshot as every command loads it; if it cannot be loaded, what can be read of it, and why not more."""
    if STDIN in paths:
        return read_for_validation(paths)
    try:
        return ValidatedSnapshot(load_snapshot(paths))
    except InputError as error:
        try:
            read = read_for_validation(paths)
        except InputError:
            raise error from None
        if not read.problems:
            raise
        return read


def _while_reading(snapshot: Snapshot) -> Iterator[Finding]:
    """What the snapshot itself says it is short of."""
    for kind, reason in snapshot.unreadable.items():
        yield warning("unreadable-kind", kind, f"could not be read: {reason}")
    for text in snapshot.inconsistencies:
        yield warning("changed-while-read", "", text)
