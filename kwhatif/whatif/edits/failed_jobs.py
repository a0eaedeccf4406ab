"""Jobs that lose pods: each counts as a failure, and a job that has failed too often makes no more of them.

Upstream: pkg/controller/job/job_controller.go (isPodFailed, exceedsBackoffLimit). A job with a podFailurePolicy or a
backoffLimitPerIndex is taken to go on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kwhatif.api.core import Pod
from kwhatif.cluster.cluster import FINISHED
from kwhatif.whatif.edits.draft import Draft
from kwhatif.workloads.objects import integer, name_of, namespace_of, section

Job = tuple[str, str]
"""Namespace and name."""

_USUAL_LIMIT = 6


def job_of(pod: Pod) -> Job | None:
    """The job whose active pod this is."""
    owner = pod.controller
    over = pod.metadata.deletion_timestamp or (pod.status.phase or "") in FINISHED
    return None if owner is None or owner.kind != "Job" or over else (pod.namespace, owner.name or "")


def fail_jobs(draft: Draft, pods: Sequence[Pod]) -> set[Job]:
    """Count the loss of these pods as failures of their jobs. Returns the jobs that fail for it."""
    lost = Counter(map(job_of, pods))
    failing: set[Job] = set()
    for job in list(draft.whole("Job")):
        number = lost[namespace_of(job), name_of(job)]
        spec, status = section(job, "spec"), section(job, "status")
        if not number or spec.get("podFailurePolicy") or spec.get("backoffLimitPerIndex") is not None:
            continue
        failed = integer(status.get("failed"), 0) + number
        draft.put_whole({**job, "status": {**status, "failed": failed}})
        if failed > integer(spec.get("backoffLimit"), _USUAL_LIMIT):
            failing.add((namespace_of(job), name_of(job)))
    return failing
