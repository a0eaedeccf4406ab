"""The loss of a pod counts as a failure of its Job, which fails for good beyond its backoffLimit: no pod is made
again, and its others are deleted.

A job with a podFailurePolicy or a backoffLimitPerIndex is assumed to go on. Upstream:
pkg/controller/job/job_controller.go (isPodFailed, exceedsBackoffLimit), backoff_utils.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kwhatif.admission.response import Object
from kwhatif.api.core import Pod
from kwhatif.api.objects import section
from kwhatif.workloads.objects import integer, name_of, namespace_of

Job = tuple[str, str]
"""Namespace and name."""

_USUAL_LIMIT = 6


def job_of(pod: Pod) -> Job | None:
    """The job whose active pod this is."""
    owner = pod.controller
    over = pod.metadata.deletion_timestamp or pod.is_finished
    return None if owner is None or owner.kind != "Job" or over else (pod.namespace, owner.name or "")


def failures_left(job: Object) -> int | None:
    """How many pods more the job may lose; None for one that is assumed to go on whatever happens."""
    spec = section(job, "spec")
    if spec.get("podFailurePolicy") or spec.get("backoffLimitPerIndex") is not None:
        return None
    return integer(spec.get("backoffLimit"), _USUAL_LIMIT) - integer(section(job, "status").get("failed"), 0)


class JobFailures:
    """Counts the pods that jobs lose. ``failed`` are the jobs that have lost too many."""

    def __init__(self, jobs: Iterable[Object]) -> None:
        left = (((namespace_of(job), name_of(job)), failures_left(job)) for job in jobs)
        self._left = {job: number for job, number in left if number is not None}
        self.failed: set[Job] = set()

    def lose(self, pods: Iterable[Pod]) -> set[Job]:
        """These pods are lost at once. Returns the jobs that fail for it."""
        failing = set()
        for job, number in Counter(map(job_of, pods)).items():
            if job is not None and job in self._left:
                self._left[job] -= number
                if self._left[job] < 0 and job not in self.failed:
                    failing.add(job)
        self.failed |= failing
        return failing


class JobBackoffs:
    """How long jobs wait until they make a lost pod again; what they had lost before is in no snapshot."""

    def __init__(self) -> None:
        self._losses: Counter[Job] = Counter()

    def count_loss(self, pod: Pod) -> float:
        """Seconds until a job's ``pod`` comes in the place of another one; 0 for pods of other controllers."""
        job = job_of(pod)
        if job is None:
            return 0.0
        self._losses[job] += 1
        return float(min(10 << min(self._losses[job] - 1, 6), 600))
