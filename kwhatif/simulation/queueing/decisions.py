"""What Kueue decided, and about which jobs it was asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kwhatif.admission.response import Object
from kwhatif.api.kueue import KueueWorkload
from kwhatif.kueue.cycle import ADMITTED, PREEMPTING
from kwhatif.kueue.jobs.job_framework import JobOutcome
from kwhatif.kueue.kueue_objects import KueueObjects, KueueState
from kwhatif.kueue.preemption.candidates import Target
from kwhatif.kueue.run import KueueRun, RecordedCycle
from kwhatif.results.base import Gap
from kwhatif.results.place import Refusal

MOST_WORKLOADS = 2_000
"""In a larger cluster nothing is tried, since each change is tried on a copy of everything."""


@dataclass(frozen=True)
class AskedJob:
    """A job of the manifests, and what Kueue makes of it; None where that is not known.

    ``name`` is how answers name it, ``origin`` where it stands, ``manifest`` what it was made of. ``pods`` are its pods
    (``namespace/name``), each with its pod set.
    """

    name: str
    origin: str
    manifest: Object
    outcome: JobOutcome | None
    pods: Mapping[str, str] = field(default_factory=dict)

    @property
    def workload(self) -> KueueWorkload | None:
        return None if self.outcome is None else self.outcome.workload


@dataclass
class Decisions:
    """The state after the last cycle, and what happened on the way: who was admitted, borrowing how far up, and who
    had to go for whom.

    Asked about were ``jobs`` and ``workloads``, those of the jobs first. ``run`` has come to rest with them, ``before``
    without them where fixes are tried. ``refusals`` are of Kueue's own objects in the manifests.
    """

    objects: KueueObjects
    jobs: Sequence[AskedJob]
    workloads: Sequence[KueueWorkload]
    gaps: Sequence[Gap]
    refusals: Sequence[Refusal]
    run: KueueRun
    before: KueueRun
    cycles: int = 0
    borrowing_levels: dict[str, int] = field(default_factory=dict)
    preempted: dict[str, list[Target]] = field(default_factory=dict)

    @property
    def state(self) -> KueueState:
        return self.run.state

    @property
    def keys(self) -> list[str]:
        return [workload.key for workload in self.workloads]

    def note(self, cycles: Sequence[RecordedCycle]) -> None:
        self.cycles += len(cycles)
        for cycle in cycles:
            for entry in cycle.entries:
                key = entry.workload.key
                if entry.result == ADMITTED and entry.assignment is not None:
                    self.borrowing_levels[key] = entry.assignment.borrowing_level
                elif entry.result == PREEMPTING:
                    self.preempted.setdefault(key, []).extend(entry.targets)
