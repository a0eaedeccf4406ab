"""From an object that the API server stored to the pods of its controller; with those of CronJob and custom resources
that carry pod templates (``GROUP/KIND=$.spec.template``).

A cron job has one run, as if its time had come; a suspended one has none. Of a custom resource's templates each has as
many pods as ``replicas`` beside it says, or one. Upstream: pkg/controller/cronjob (cronjob_controllerv2.go, utils.go),
where the job is named after the minute.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import structs
from msgspec.structs import replace as replace_fields

from kwhatif.admission.response import Object
from kwhatif.api.kinds import GROUPS, TEMPLATES
from kwhatif.api.objects import section
from kwhatif.errors import UsageError
from kwhatif.workloads.children import kind_for, make_children
from kwhatif.workloads.daemon_set import make_daemon_set
from kwhatif.workloads.deployment import make_deployment
from kwhatif.workloads.job import make_job
from kwhatif.workloads.object_creation import (
    CreatedObjects,
    CreationFailure,
    ObjectCreator,
    Server,
)
from kwhatif.workloads.objects import deep_copy_json, group_of, integer, name_of, namespace_of, owner_reference
from kwhatif.workloads.pod_sets import DeclaredKind, PodSet
from kwhatif.workloads.replica_set import make_replicas
from kwhatif.workloads.stateful_set import make_stateful_set
from kwhatif.workloads.template_paths import FieldPath
from kwhatif.workloads.workload_kind import Companions, WorkloadKind

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


_FORM = re.compile(
    r"(?:(?P<group>[^/=]*)/)?(?P<kind>[^/=]+)=(?P<path>\$(?:\.[^.\[\],]+|\[(?:\d+|\*)\])+)(?P<rest>(?:,[^,=]+=[^,]*)*)"
)
_EXPECTED = "GROUP/KIND=$.spec.template, with [*] for lists and ,count=PATH and ,role=PATH after it"


class TemplatePath(DeclaredKind, frozen=True):
    """Where the objects of a kind carry their pod template."""

    @classmethod
    def parse(cls, text: str) -> TemplatePath:
        """Read ``GROUP/KIND=$.spec.workers[*].template,count=.size,role=.name``.

        ``[0]`` takes an item of a list, ``[*]`` each. Paths after it begin at that item, or with $ at the object.
        Raises UsageError.
        """
        form = _FORM.fullmatch(text)
        path = FieldPath.parse(form["path"]) if form else None
        if form is None or path is None:
            raise UsageError(f"not a pod template path: {text!r}; expected {_EXPECTED}")
        pods = PodSet(template=str(path))
        for part in form["rest"].split(",")[1:]:
            name, _, value = part.partition("=")
            if name not in ("count", "role") or (FieldPath.parse(value) is None and not _is_word(name, value)):
                raise UsageError(f"not a pod template path: {text!r}; expected {_EXPECTED}")
            if name == "role":
                pods = replace_fields(pods, role=value if FieldPath.parse(value) is None else f"{{{value}}}")
            else:
                pods = replace_fields(pods, count=int(value) if value.isdecimal() and len(value) < 10 else value)
        return cls(form["group"] or "", form["kind"], (pods,))

    def __str__(self) -> str:
        return self.sets[0].template


def merge_paths(paths: Iterable[TemplatePath]) -> list[DeclaredKind]:
    """One kind each, with all of its templates."""
    kinds: dict[tuple[str, str], DeclaredKind] = {}
    for path in paths:
        there = kinds.get((path.group, path.kind))
        kinds[path.group, path.kind] = path if there is None else structs.replace(there, sets=(*there.sets, *path.sets))
    return list(kinds.values())


def _is_word(name: str, value: str) -> bool:
    """Whether a value may stand for itself: a count is a number, a role a word of a pod's name."""
    return value.isdecimal() if name == "count" else bool(re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", value))


__all__ = [
    "WORKLOADS",
    "CreatedObjects",
    "CreationFailure",
    "Server",
    "TemplatePath",
    "make_native",
    "makes_pods",
    "reconcile",
]

_SIMPLE = {
    ("apps", "Deployment"): make_deployment,
    ("apps", "ReplicaSet"): make_replicas,
    ("", "ReplicationController"): make_replicas,
    ("batch", "Job"): make_job,
    ("batch", "CronJob"): make_cron_job,
}

WORKLOADS = frozenset((GROUPS[kind], kind) for kind in ("Pod", *TEMPLATES))
"""Group and kind of what becomes pods."""


def makes_pods(obj: Object, templates: Sequence[WorkloadKind] = ()) -> bool:
    """Whether pods are made of such an object here."""
    return (group_of(obj), obj.get("kind")) in WORKLOADS or any(path.fits(obj) for path in templates)


def reconcile(
    server: Server,
    obj: Object,
    nodes: Sequence[Object],
    *,
    ready: bool = True,
    templates: Sequence[WorkloadKind] = (),
    companions: Companions | None = None,
) -> CreatedObjects:
    """The pods and other objects that the controllers make of an object as the API server stored it.

    ``nodes`` are the candidates of daemon sets. With ``ready`` the pods of a StatefulSet become ready, so that each
    next one is made; without, an ordered one stops at its first. ``templates`` are kinds of operators, which may look
    up their ``companions``. Nothing is made of other kinds.
    """
    making = ObjectCreator(server)
    kind = kind_for(obj, templates)
    if kind is not None and (group_of(obj), obj.get("kind")) not in WORKLOADS:
        make_children(
            obj,
            kind,
            companions or Companions(),
            making,
            lambda controlled, making: make_native(controlled, making, ready=ready),
        )
    else:
        make_native(obj, making, nodes, ready=ready)
    return making.build_result()


def make_native(obj: Object, making: ObjectCreator, nodes: Sequence[Object] = (), *, ready: bool = True) -> None:
    """The objects that Kubernetes' own controllers make of an object; nothing for other kinds."""
    kind = (group_of(obj), str(obj.get("kind")))
    if kind == ("", "Pod"):
        making.record_pod(obj)
    elif kind in _SIMPLE:
        _SIMPLE[kind](obj, making)
    elif kind == ("apps", "StatefulSet"):
        make_stateful_set(obj, making, ready=ready)
    elif kind == ("apps", "DaemonSet"):
        make_daemon_set(obj, nodes, making)
