"""From an object that the API server took to the pods that its controllers make of it.

Job: pods that run to an end, as many at a time as its parallelism and what is left to do allow.

Upstream: pkg/controller/job/job_controller.go, indexed_job_utils.go; the labels: pkg/registry/batch/job/strategy.go.

CronJob: one run of it, as if its time had come. A suspended one has no runs.

Upstream: pkg/controller/cronjob/cronjob_controllerv2.go, utils.go; there the job is named after the minute.

Custom resources that carry a pod template: ``GROUP/KIND=$.spec.template`` tells where.

There is no controller to agree with: the resource gets as many pods as ``spec.replicas`` says, or one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kwhatif.admission.response import Object
from kwhatif.api.field_types import check_part
from kwhatif.api.kinds import GROUPS, TEMPLATES
from kwhatif.errors import InputError, UsageError
from kwhatif.workloads.daemon_set import make_daemon_set
from kwhatif.workloads.deployment import make_deployment
from kwhatif.workloads.object_creation import (
    CreatedObjects,
    CreationFailure,
    ObjectCreator,
    Server,
    pod_from_template,
    truncate_name,
)
from kwhatif.workloads.objects import (
    deep_copy_json,
    group_of,
    integer,
    name_of,
    namespace_of,
    owner_reference,
    section,
    uid_of,
)
from kwhatif.workloads.replica_set import make_replicas
from kwhatif.workloads.stateful_set import make_stateful_set

INDEX = "batch.kubernetes.io/job-completion-index"
OWN_CONTROLLER = "kubernetes.io/job-controller"
LONGEST_GENERATED = 58


def make_job(job: Object, making: ObjectCreator) -> None:
    spec = section(job, "spec")
    if spec.get("suspend") or (spec.get("managedBy") or OWN_CONTROLLER) != OWN_CONTROLLER:
        return
    template = _label_template(job)

    def body_of(index: int) -> Object:
        if spec.get("completionMode") != "Indexed":
            return pod_from_template(template, job)
        body = pod_from_template(template, job, truncate_name(name_of(job), f"-{index}-", LONGEST_GENERATED))
        for kind in ("annotations", "labels"):
            body["metadata"].setdefault(kind, {})[INDEX] = str(index)
        return body

    making.pods_of(job, _active(spec), body_of)


def _active(spec: Object) -> int:
    """How many pods run at first: without completions one success is enough, and all may try at once."""
    parallelism = integer(spec.get("parallelism"), 1)
    completions = spec.get("completions")
    if completions is None:
        return parallelism
    return min(parallelism, integer(completions, 1))


def _label_template(job: Object) -> Object:
    """The template with the labels by which the job finds its pods."""
    template = deep_copy_json(section(job, "spec", "template"))
    if section(job, "spec").get("manualSelector"):
        return dict(template)
    metadata = template.setdefault("metadata", {})
    labels = metadata.get("labels") or {}
    for prefix in ("", "batch.kubernetes.io/"):
        labels.setdefault(f"{prefix}controller-uid", uid_of(job))
        labels.setdefault(f"{prefix}job-name", name_of(job))
    metadata["labels"] = labels
    return dict(template)


LONGEST_JOB_NAME = 63


def make_cron_job(cron_job: Object, making: ObjectCreator) -> None:
    spec = section(cron_job, "spec")
    if spec.get("suspend"):
        return
    template = section(spec, "jobTemplate")
    metadata = {key: deep_copy_json(section(template, "metadata", key)) for key in ("labels", "annotations")}
    body = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": f"{name_of(cron_job)[: LONGEST_JOB_NAME - 2]}-1",
            "namespace": namespace_of(cron_job),
            "ownerReferences": [owner_reference(cron_job)],
            **metadata,
        },
        "spec": deep_copy_json(section(template, "spec")),
    }
    pods = integer(section(template, "spec").get("parallelism"), 1)
    job = making.controller(body, cron_job, "Error creating job", pods)
    if job is not None:
        make_job(job, making)


_FORM = re.compile(r"(?:(?P<group>[^/=]*)/)?(?P<kind>[^/=]+)=\$(?P<path>(?:\.[^.\[\]]+|\[\d+\])+)")
_PART = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class TemplatePath:
    """Where the objects of a kind carry their pod template."""

    group: str
    kind: str
    path: tuple[str | int, ...]

    @classmethod
    def parse(cls, text: str) -> TemplatePath:
        """Read ``GROUP/KIND=$.spec.template``; ``[0]`` takes an item of a list. Raises UsageError."""
        form = _FORM.fullmatch(text)
        if form is None:
            raise UsageError(f"not a pod template path: {text!r}; expected GROUP/KIND=$.spec.template")
        parts = tuple(int(place) if place else name for name, place in _PART.findall(form["path"]))
        return cls(form["group"] or "", form["kind"], parts)

    def fits(self, obj: Object) -> bool:
        return obj.get("kind") == self.kind and group_of(obj) == self.group

    def __str__(self) -> str:
        return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.path)

    def template(self, obj: Object) -> Object:
        """The template of an object. Raises InputError if there is none."""
        here: Any = obj
        for part in self.path:
            try:
                here = here[part]
            except (KeyError, IndexError, TypeError):
                here = None
                break
        if not isinstance(here, dict):
            raise InputError(f"{self.kind} {name_of(obj)} has no pod template here", place=str(self))
        return here


def make_custom(obj: Object, where: TemplatePath, making: ObjectCreator) -> None:
    count = section(obj, "spec").get("replicas")
    check_part(count, "int32", "$.spec.replicas")
    template = where.template(obj)
    check_part(template, "core.v1.PodTemplateSpec", str(where))
    making.pods_of(obj, integer(count, 1), lambda _: pod_from_template(template, obj))


__all__ = ["WORKLOADS", "CreatedObjects", "CreationFailure", "Server", "TemplatePath", "makes_pods", "reconcile"]

_SIMPLE = {
    ("apps", "Deployment"): make_deployment,
    ("apps", "ReplicaSet"): make_replicas,
    ("", "ReplicationController"): make_replicas,
    ("batch", "Job"): make_job,
    ("batch", "CronJob"): make_cron_job,
}

WORKLOADS = frozenset((GROUPS[kind], kind) for kind in ("Pod", *TEMPLATES))
"""Group and kind of what becomes pods."""


def makes_pods(obj: Object, templates: Sequence[TemplatePath] = ()) -> bool:
    """Whether anything here makes pods of such an object."""
    return (group_of(obj), obj.get("kind")) in WORKLOADS or any(path.fits(obj) for path in templates)


def reconcile(
    server: Server,
    obj: Object,
    nodes: Sequence[Object],
    *,
    ready: bool = True,
    templates: Sequence[TemplatePath] = (),
) -> CreatedObjects:
    """What the controllers make of an object as the API server stored it.

    ``nodes`` are those that daemon sets may want. With ``ready`` the pods of a StatefulSet become ready, so that
    each next one is made; without, an ordered one stops at its first. Of other kinds nothing is made.
    """
    making = ObjectCreator(server)
    kind = (group_of(obj), str(obj.get("kind")))
    if kind == ("", "Pod"):
        making.record_pod(obj)
    elif kind in _SIMPLE:
        _SIMPLE[kind](obj, making)
    elif kind == ("apps", "StatefulSet"):
        make_stateful_set(obj, making, ready=ready)
    elif kind == ("apps", "DaemonSet"):
        make_daemon_set(obj, nodes, making)
    else:
        for where in templates:
            if where.fits(obj):
                make_custom(obj, where, making)
                break
    return making.build_result()
