"""A trimmed snapshot becomes a file, checked first, and a result."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from kwhatif.api.core import Pod
from kwhatif.api.quantity import plain_quantity
from kwhatif.errors import InputError
from kwhatif.results.snapshot_trim import KindCount, TrimmedPod, TrimResult
from kwhatif.snapshot.format.model import Snapshot, write_snapshot
from kwhatif.snapshot.load import load_snapshot
from kwhatif.whatif.session import Asked, Session
from kwhatif.whatif.trim.decision import Cycle, Decision, decide
from kwhatif.whatif.trim.trim import Trimmed


def check_and_write(
    trimmed: Trimmed, session: Session, asked: Sequence[Asked], path: str, *, loosely: bool
) -> Decision:
    """Write the snapshot, after what will be in the file was read back and decided again: that decision.

    Raises InputError.
    """
    with tempfile.TemporaryDirectory(prefix="kwhatif-") as folder:
        draft = os.path.join(folder, "trimmed.json")
        write_snapshot(trimmed.snapshot, draft)
        read = load_snapshot([draft])
    there = {pod.key: pod for pod in read.objects.of(Pod)}
    again = decide(session, read, [replace(item, pod=there[item.pod.key]) for item in asked])
    same, _ = trimmed.decision.against(again, loosely=loosely)
    if not same:
        raise InputError("what was left gives another decision once it is read back: nothing was written", source=path)
    write_snapshot(trimmed.snapshot, path)
    return again


def told(before: Snapshot, trimmed: Trimmed, decision: Decision, path: str) -> TrimResult:
    """What was cut, and the decision that is left."""
    after, mine = trimmed.snapshot, {key for key, _ in decision.pods}
    kinds = []
    left = after.counts()
    for kind, number in before.counts().items():
        if number or left.get(kind):
            kinds.append(KindCount(kind=kind, before=number, after=left.get(kind, 0)))
    return TrimResult(
        source=before.source,
        file=path,
        pods=tuple(_pod(key, cycles) for key, cycles in decision.pods),
        kinds=tuple(kinds),
        bytes_before=_size(before),
        bytes_after=_size(after),
        steps=trimmed.steps,
        complete=trimmed.complete,
        others_pending=tuple(
            pod.key for pod in after.objects.of(Pod) if not pod.spec.node_name and pod.key not in mine
        ),
    )


def _pod(key: str, cycles: Sequence[Cycle]) -> TrimmedPod:
    last = cycles[-1]
    return TrimmedPod(
        pod=key,
        outcome=last.outcome,
        node=last.node,
        score=last.score,
        message=last.message,
        victims=tuple(victim for cycle in cycles for victim in cycle.victims),
    )


def _size(snapshot: Snapshot) -> int:
    """Bytes of the objects as JSON, before they are packed."""
    return len(msgspec.json.encode(snapshot.by_kind(), enc_hook=plain_quantity))
