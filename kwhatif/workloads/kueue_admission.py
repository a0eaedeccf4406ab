"""What Kueue has to say before a workload's pods are scheduled: it is taken to be admitted.

Upstream: kubernetes-sigs/kueue, pkg/controller/jobframework.
"""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.admission.response import Doubt, Object
from kwhatif.api.objects import section
from kwhatif.workloads.objects import group_of, name_of

_QUEUE = "kueue.x-k8s.io/queue-name"
_NATIVE = {("batch", "Job"), ("", "Pod"), ("apps", "Deployment"), ("apps", "StatefulSet")}


def kueue_doubts(obj: Object) -> Iterator[Doubt]:
    """Nothing for an object that names no queue."""
    if queue := section(obj, "metadata", "labels").get(_QUEUE):
        what = f"Kueue holds {obj.get('kind')} {name_of(obj)} back until queue {queue} admits it"
        yield Doubt(what, "it is taken to be admitted as it is, in no flavor; kwhatif queue tells whether it is")


def is_queued(obj: Object) -> bool:
    """Whether it is of one of Kubernetes' own kinds that Kueue manages, and names a queue."""
    return (group_of(obj), obj.get("kind")) in _NATIVE and names_queue(obj)


def names_queue(obj: Object) -> bool:
    """Whether it has Kueue's label of a queue."""
    return bool(section(obj, "metadata", "labels").get(_QUEUE))


def as_admitted(obj: Object) -> Object:
    """A job that waits suspended begins; one without a queue is as it is."""
    if not names_queue(obj):
        return obj
    spec = dict(section(obj, "spec"))
    if spec.get("suspend"):
        spec["suspend"] = False
    if section(spec, "runPolicy").get("suspend"):
        spec["runPolicy"] = {**spec["runPolicy"], "suspend": False}
    return {**obj, "spec": spec}
