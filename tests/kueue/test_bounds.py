"""The ends of what Kueue's numbers and trees may be: each is answered or refused in a line."""

from __future__ import annotations

from typing import Any

import pytest

import kwhatif
from kwhatif.errors import InputError
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.read.objects import decode_objects
from tests.kueue.test_laws import OBJECTS, kueue

LARGEST = str(2**63 - 1)
NOTHING_FITS = 'topology "racks" allows to fit only 8 out of 1000000000 pod(s)'
RACKS = kueue("Topology", "racks", levels=[{"nodeLabel": "rack"}])
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n", "labels": {"rack": "r"}},
    "status": {"allocatable": {"cpu": "8", "pods": "110"}, "conditions": [{"type": "Ready", "status": "True"}]},
}


def cluster(quota: str, flavor: dict[str, Any] | None = None, **spec: Any) -> OBJECTS:
    """A ClusterQueue with so much cpu."""
    resources = [{"name": "cpu", "nominalQuota": quota}]
    groups = [{"coveredResources": ["cpu"], "flavors": [{"name": "default", "resources": resources}]}]
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml"}},
        kueue("ResourceFlavor", "default", **(flavor or {})),
        kueue("ClusterQueue", "q", namespaceSelector={}, resourceGroups=groups, **spec),
        kueue("LocalQueue", "q", "ml", clusterQueue="q"),
    ]


def workload(cpu: str = "1", count: int = 1, **pod_set: Any) -> dict[str, Any]:
    container = {"name": "main", "resources": {"requests": {"cpu": cpu}}}
    pods = {"name": "main", "count": count, "template": {"spec": {"containers": [container]}}, **pod_set}
    return kueue("Workload", "w", "ml", queueName="q", podSets=[pods])


def chain(length: int, *, closed: bool) -> OBJECTS:
    last = {"parentName": "c0"} if closed else {}
    above = [kueue("Cohort", f"c{k}", parentName=f"c{k + 1}") for k in range(length - 1)]
    return [*above, kueue("Cohort", f"c{length - 1}", **last)]


@pytest.mark.parametrize(
    ("objects", "status", "message"),
    [
        ([*cluster(LARGEST), workload(LARGEST)], "admitted", ""),
        ([*cluster(LARGEST), workload(LARGEST, 2)], "admitted", ""),
        ([*cluster("9223372036854774"), workload("9223372036854775")], "pending", "insufficient quota for cpu"),
        ([*cluster("0"), workload(LARGEST, 10**9)], "pending", "maximum capacity (0)"),
        ([*cluster(LARGEST), workload("1", 10**9)], "admitted", ""),
        ([*cluster("10"), workload("1", 10**9, minCount=1)], "admitted", ""),
        ([*cluster("10"), workload("1", 10**9)], "pending", "current podset request (1G) > maximum capacity (10)"),
        (
            [
                *cluster(LARGEST, {"topologyName": "racks"}),
                RACKS,
                NODE,
                workload("1", 10**9, topologyRequest={"required": "rack"}),
            ],
            "pending",
            NOTHING_FITS,
        ),
        ([*cluster("10", cohortName="c0"), *chain(2_000, closed=True), workload()], "pending", "is inactive"),
        ([*cluster("10", cohortName="c0"), *chain(100, closed=False), workload()], "admitted", ""),
    ],
)
def test_numbers_and_trees_at_their_ends_are_answered(objects: OBJECTS, status: str, message: str) -> None:
    result = kwhatif.queue(snapshot=Snapshot(objects=decode_objects(objects)))
    (found,) = result.workloads
    assert found.status == status
    assert message in found.message


@pytest.mark.parametrize("length", [101, 5_000])
def test_a_tower_of_cohorts_is_refused_in_a_line(length: int) -> None:
    objects = [*cluster("10", cohortName="c0"), *chain(length, closed=False), workload()]
    with pytest.raises(InputError, match=r"^\w+ \w+ has more than 100 cohorts above it$"):
        kwhatif.queue(snapshot=Snapshot(objects=decode_objects(objects)))
