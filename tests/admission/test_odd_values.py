"""Whatever stands in a field, there is an answer: odd values are refused or let in, and never an accident."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from kwhatif.admission.pipeline import PLUGINS, QUOTA
from kwhatif.admission.response import RequestRefusal, StoredObject
from tests.admission.objects import (
    asking,
    claim,
    container,
    job,
    limit_range,
    make,
    pod,
    quota,
    server,
    template,
    workload,
)

Json = dict[str, Any]
Path = tuple[str | int, ...]

ODD: tuple[Any, ...] = (None, {}, [], "", "x y", 0, -1, 2**70, True, 1.5, [None], [{}], {"a": None}, ["a"])

SELECTOR = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}
TERM = {
    "topologyKey": "zone",
    "labelSelector": SELECTOR,
    "namespaceSelector": {},
    "namespaces": ["x"],
    "matchLabelKeys": ["c"],
    "mismatchLabelKeys": ["d"],
}
NODE_TERM = {
    "matchExpressions": SELECTOR["matchExpressions"],
    "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}],
}
FULL = pod(
    labels={"a": "b"},
    containers=[
        {**asking({"cpu": "1", "hugepages-2Mi": "2Mi"}, {"hugepages-2Mi": "2Mi"}), "restartPolicy": "Always"},
        container("d", ports=[{"name": "a", "containerPort": 1, "hostPort": 2}], resources={"claims": [{"name": "g"}]}),
    ],
    initContainers=[container("i", restartPolicy="Always")],
    resourceClaims=[{"name": "g", "resourceClaimName": "g"}],
    resources={"requests": {"cpu": "2"}, "limits": {"memory": "1Gi"}},
    nodeSelector={"a": "b"},
    tolerations=[{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 4}],
    affinity={
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [NODE_TERM]},
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": NODE_TERM}],
        },
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [TERM],
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": TERM}],
        },
    },
    topologySpreadConstraints=[
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": SELECTOR}
    ],
    volumes=[{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": claim()["spec"]}}}],
    schedulingGates=[{"name": "a/b"}],
    activeDeadlineSeconds=5,
    hostNetwork=False,
)
OBJECTS: list[Json] = [
    FULL,
    claim(selector=SELECTOR),
    workload(
        "Deployment", strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": "9%"}}
    ),
    workload("StatefulSet", ordinals={"start": 1}, volumeClaimTemplates=[claim()]),
    workload("DaemonSet"),
    make("ReplicationController", "rc", spec={"template": template()}),
    job(
        completionMode="Indexed",
        completions=2,
        managedBy="acme.io/jobs",
        podReplacementPolicy="Failed",
        podFailurePolicy={
            "rules": [
                {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1]}},
                {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
            ]
        },
        successPolicy={"rules": [{"succeededIndexes": "0-1", "succeededCount": 1}]},
    ),
    make(
        "CronJob",
        "cj",
        "batch/v1",
        spec={"schedule": "* * * * *", "timeZone": "Etc/UTC", "jobTemplate": {"spec": job()["spec"]}},
    ),
]


def paths(value: Any, path: Path = ()) -> Iterator[Path]:
    yield path
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from paths(item, (*path, key))


def changed(obj: Json, path: Path, value: Any) -> Json:
    result = copy.deepcopy(obj)
    inner: Any = result
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = copy.deepcopy(value)
    return result


@pytest.mark.long
@pytest.mark.parametrize("obj", OBJECTS, ids=[obj["kind"] for obj in OBJECTS])
def test_every_field_with_every_odd_value(obj: Json) -> None:
    everything = (*(plugin.name for plugin in PLUGINS), QUOTA)
    context = (limit_range({"type": "Container", "max": {"cpu": "4"}}), quota({"pods": "9", "requests.cpu": "9"}))
    for path in paths(obj):
        if path[:1] not in (("spec",), ("metadata",)) or path in (("metadata",), ("metadata", "namespace")):
            continue
        for value in ODD:
            api = server(*context, plugins=everything)
            odd = changed(obj, path, value)
            answer = api.create(odd)
            assert isinstance(answer, StoredObject | RequestRefusal)
            if isinstance(answer, RequestRefusal):
                assert answer.message
            elif odd["metadata"].get("name"):
                assert isinstance(api.update(odd), StoredObject | RequestRefusal)


def test_nothing_in_the_full_pod_is_refused_as_it_is() -> None:
    assert isinstance(server().create(FULL), StoredObject)


def test_a_null_in_a_list_is_an_empty_item() -> None:
    answer = server().create(pod(containers=[container(), None]))
    assert isinstance(answer, RequestRefusal)
    assert [cause.field for cause in answer.causes] == ["spec.containers[1].name", "spec.containers[1].image"]
