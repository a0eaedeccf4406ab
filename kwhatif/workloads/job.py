"""Job: as many pods at a time as its parallelism and remaining completions allow, and updates, which change how many
those are: its parallelism, and whether it is suspended.

Upstream: pkg/controller/job (job_controller.go: manageJob, activePodsForRemoval; indexed_job_utils.go),
pkg/registry/batch/job/strategy.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, filterfalse, islice
from operator import attrgetter

from kwhatif.admission.response import Object
from kwhatif.api.objects import part_of, section
from kwhatif.golang.parsing import parse_int
from kwhatif.workloads.job_scheduling import is_gang_candidate, scheduling_group_of
from kwhatif.workloads.object_creation import ObjectCreator, pod_from_template, truncate_name
from kwhatif.workloads.objects import annotations_of, deep_copy_json, integer, name_of, uid_of
from kwhatif.workloads.replica_set import DeletionOrder, owned_by
from kwhatif.workloads.rollout_members import RolloutPod
from kwhatif.workloads.rollout_state import Admit, Rollout, member_of

INDEX = "batch.kubernetes.io/job-completion-index"
OWN_CONTROLLER = "kubernetes.io/job-controller"
LONGEST_GENERATED = 58


def make_job(job: Object, making: ObjectCreator) -> None:
    """The pods that run at first."""
    spec = section(job, "spec")
    if spec.get("suspend") or not _is_managed_here(spec):
        return
    template = _label_template(job)
    if making.server.features.workload_with_job and is_gang_candidate(job):
        group = scheduling_group_of(job, making)
        if group is None:
            return
        if group:
            part_of(template, "spec")["schedulingGroup"] = {"podGroupName": group}
    making.pods_of(job, _pods_at_a_time(spec), lambda index: _pod_of(job, template, index))


def _is_managed_here(spec: Object) -> bool:
    return (spec.get("managedBy") or OWN_CONTROLLER) == OWN_CONTROLLER


def _pod_of(job: Object, template: Object, index: int) -> Object:
    if not _is_indexed(job):
        return pod_from_template(template, job)
    body = pod_from_template(template, job, truncate_name(name_of(job), f"-{index}-", LONGEST_GENERATED))
    for kind in ("annotations", "labels"):
        part_of(body, "metadata").setdefault(kind, {})[INDEX] = str(index)
    return body


def _is_indexed(job: Object) -> bool:
    return section(job, "spec").get("completionMode") == "Indexed"


def _pods_at_a_time(spec: Object, succeeded: int = 0) -> int:
    """How many pods run: without completions one success is enough, and until then all may try at once."""
    parallelism = integer(spec.get("parallelism"), 1)
    completions = spec.get("completions")
    if completions is None:
        return parallelism
    return max(0, min(parallelism, integer(completions, 1) - succeeded))


def _label_template(job: Object) -> Object:
    """The template with the labels by which the job finds its pods."""
    template = deep_copy_json(section(job, "spec", "template"))
    if section(job, "spec").get("manualSelector"):
        return dict(template)
    metadata = template.setdefault("metadata", {})
    labels = section(metadata, "labels")
    for prefix in ("", "batch.kubernetes.io/"):
        labels.setdefault(f"{prefix}controller-uid", uid_of(job))
        labels.setdefault(f"{prefix}job-name", name_of(job))
    metadata["labels"] = labels
    return dict(template)


@dataclass
class JobRollout(Rollout):
    """``ended``: the job has completed or failed, or another controller manages it, so that its pods are left alone."""

    job: Object
    status: Object
    ended: bool
    _template: Object = field(init=False)

    @classmethod
    def from_objects(cls, old: Object, new: Object, pods: Sequence[Object], admit: Admit) -> JobRollout:
        status = section(old, "status")
        conditions = status.get("conditions") or ()
        ended = any(one.get("type") in ("Complete", "Failed") and one.get("status") == "True" for one in conditions)
        members = [member_of(pod, "") for pod in owned_by(new, pods)]
        rollout = cls(members, admit, new, status, ended or not _is_managed_here(section(new, "spec")))
        rollout._template = _label_template(new)
        return rollout

    @property
    def _target_size(self) -> int:
        spec, succeeded = section(self.job, "spec"), integer(self.status.get("succeeded"), 0)
        if spec.get("suspend"):
            return 0
        if spec.get("completions") is None and succeeded:
            return self.members.active.total()
        return _pods_at_a_time(spec, succeeded)

    def sync(self) -> bool:
        active = [member for member in self.members if member.active]
        surplus = 0 if self.ended else len(active) - self._target_size
        going = list(self._first_to_go(active, surplus)) if surplus >= 0 else []
        for member in going:
            self.remove(member)
        if self._replaces_late:
            surplus += self.members.leaving.total()
        made = 0
        for index in islice(self._free_indexes(), max(0, -surplus)):
            if self.create(_pod_of(self.job, self._template, index), "") is None:
                break
            made += 1
        return bool(going or made)

    def _first_to_go(self, active: Sequence[RolloutPod], surplus: int) -> Iterator[RolloutPod]:
        """Those beyond an indexed job's completions, and others as a replica set's if these are too few."""
        if self.ended:
            return
        beyond = [member for member in active if _is_indexed(self.job) and _index_of(member) >= self._completions]
        yield from beyond
        left = [member for member in active if member not in beyond]
        order = DeletionOrder(left, Counter(), attrgetter("pod"), attrgetter("ready"), None)
        order.ties = self.ties
        yield from order.take(max(0, surplus - len(beyond)))

    def _free_indexes(self) -> Iterator[int]:
        """The lowest indexes that have neither succeeded nor have a pod; any numbers where pods have none."""
        if not _is_indexed(self.job):
            return count()
        taken = {_index_of(member) for member in self.members if member.active or self._replaces_late}
        done = list(_intervals(str(self.status.get("completedIndexes") or "")))
        free = (index for index in range(self._completions) if not any(index in interval for interval in done))
        return filterfalse(taken.__contains__, free)

    @property
    def _replaces_late(self) -> bool:
        """Whether a pod is replaced only once it is gone."""
        return section(self.job, "spec").get("podReplacementPolicy") == "Failed"

    @property
    def _completions(self) -> int:
        return integer(section(self.job, "spec").get("completions"), 1)

    def is_new(self, revision: str) -> bool:
        return False

    def remaining_work(self) -> str:
        running, target = self.members.available.total(), 0 if self.ended else self._target_size
        return "" if running >= target else f"{running} of {target} pods run"


def _index_of(member: RolloutPod) -> int:
    number = parse_int(annotations_of(member.pod).get(INDEX, ""))
    return -1 if number is None else number


def _intervals(text: str) -> Iterator[range]:
    """``1,3-5`` as 1 and 3 to 5. What cannot be read is left out, as the controller does."""
    for part in text.split(","):
        first, *rest = map(parse_int, part.split("-"))
        last = rest[0] if rest else first
        if first is not None and last is not None:
            yield range(first, last + 1)
