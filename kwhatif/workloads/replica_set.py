"""ReplicaSet and ReplicationController: so many pods, all alike.

Upstream: pkg/controller/replicaset/replica_set.go, which serves both.
"""

from __future__ import annotations

from kwhatif.admission.answer import Object
from kwhatif.workloads.making import Making
from kwhatif.workloads.objects import integer, section
from kwhatif.workloads.pods import pod_from_template


def make_replicas(owner: Object, making: Making) -> None:
    spec = section(owner, "spec")
    template = section(spec, "template")
    count = integer(spec.get("replicas"), 1)
    making.pods_of(owner, count, lambda _: pod_from_template(template, owner))
