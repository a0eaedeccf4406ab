"""What the API server fills in."""

from __future__ import annotations

from typing import Any

import pytest

from tests.admission.objects import (
    asking,
    claim,
    container,
    created,
    in_cluster,
    job,
    make,
    pod,
    server,
    template,
    trail,
    workload,
)

Json = dict[str, Any]


def spec_of(obj: Json) -> Json:
    spec = created(server(), obj)["spec"]
    assert isinstance(spec, dict)
    return spec


def test_a_pod_gets_what_every_pod_has_and_nothing_is_said_of_it() -> None:
    spec = spec_of(pod())
    assert (spec["restartPolicy"], spec["schedulerName"], spec["terminationGracePeriodSeconds"]) == (
        "Always",
        "default-scheduler",
        30,
    )
    assert not [line for line in trail(server(), pod()) if line.startswith("Defaults")]


def test_requests_come_from_limits_where_they_are_missing() -> None:
    api = server()
    given = pod(containers=[asking({"cpu": "1"}, {"cpu": "2", "memory": "1Gi"})])
    assert created(api, given)["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}
    assert "Defaults: spec.containers[0].resources.requests: requests of memory from the limits" in trail(
        server(), given
    )


def test_a_template_keeps_its_limits_to_itself() -> None:
    spec = spec_of(workload("Deployment", template=template(containers=[asking(None, {"cpu": "1"})])))
    assert spec["template"]["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "1"}}


WHOLE_PODS: list[tuple[str, Json, list[Json], Json]] = [
    (
        "requests of a whole pod come from its containers, else from its limits",
        {"limits": {"cpu": "4", "memory": "1Gi"}},
        [asking({"cpu": "500m"}, name="a"), asking({"cpu": "1"}, name="b")],
        {"limits": {"cpu": "4", "memory": "1Gi"}, "requests": {"cpu": "1500m", "memory": "1Gi"}},
    ),
    (
        "huge pages of a whole pod come from its containers",
        {"requests": {"memory": "1Gi"}},
        [asking(None, {"memory": "1Gi", "hugepages-2Mi": "4Mi"})],
        {"requests": {"memory": "1Gi", "hugepages-2Mi": "4Mi"}, "limits": {"hugepages-2Mi": "4Mi"}},
    ),
    (
        "a whole pod with requests alone stays as it is",
        {"requests": {"cpu": "1"}},
        [container()],
        {"requests": {"cpu": "1"}},
    ),
]


@pytest.mark.parametrize(
    ("resources", "containers", "expected"), [r[1:] for r in WHOLE_PODS], ids=[r[0] for r in WHOLE_PODS]
)
def test_whole_pods(resources: Json, containers: list[Json], expected: Json) -> None:
    assert spec_of(pod(containers=containers, resources=resources))["resources"] == expected


def test_amounts_finer_than_a_thousandth_are_rounded_up() -> None:
    spec = spec_of(pod(containers=[asking({"cpu": "0.0001", "memory": "1Gi"})]))
    assert spec["containers"][0]["resources"]["requests"] == {"cpu": "1m", "memory": "1Gi"}


def test_a_volume_of_no_kind_is_an_empty_directory() -> None:
    assert spec_of(pod(volumes=[{"name": "v"}]))["volumes"] == [{"name": "v", "emptyDir": {}}]


WORKLOADS: list[tuple[str, Json, Json]] = [
    (
        "a deployment rolls a quarter of one replica at a time",
        workload("Deployment"),
        {
            "replicas": 1,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}},
        },
    ),
    (
        "a deployment that is recreated needs no numbers",
        workload("Deployment", replicas=0, strategy={"type": "Recreate"}),
        {"replicas": 0, "strategy": {"type": "Recreate"}},
    ),
    ("a replica set has one replica", workload("ReplicaSet"), {"replicas": 1}),
    (
        "a stateful set goes one by one from the first ordinal",
        workload("StatefulSet"),
        {
            "replicas": 1,
            "podManagementPolicy": "OrderedReady",
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        },
    ),
    (
        "a daemon set removes one pod at a time",
        workload("DaemonSet"),
        {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}},
    ),
    (
        "a job runs one pod once",
        job(),
        {"parallelism": 1, "completions": 1, "completionMode": "NonIndexed", "backoffLimit": 6, "suspend": False},
    ),
    ("a job with parallelism alone has no number of completions", job(parallelism=3), {"parallelism": 3}),
    ("a claim is a file system", claim(), {"volumeMode": "Filesystem"}),
]


@pytest.mark.parametrize(("obj", "expected"), [row[1:] for row in WORKLOADS], ids=[row[0] for row in WORKLOADS])
def test_workloads(obj: Json, expected: Json) -> None:
    spec = spec_of(obj)
    assert {key: spec[key] for key in expected} == expected
    assert "completions" in expected or "completions" not in spec


def test_a_replication_controller_selects_what_its_template_says() -> None:
    made = created(server(), make("ReplicationController", "rc", spec={"template": template()}))
    assert made["spec"]["selector"] == {"app": "a"} == made["metadata"]["labels"]


def test_a_job_marks_its_pods_and_selects_them_by_its_uid() -> None:
    made = created(server(), job())
    uid = made["metadata"]["uid"]
    labels = made["spec"]["template"]["metadata"]["labels"]
    assert labels["job-name"] == labels["batch.kubernetes.io/job-name"] == "j"
    assert labels["controller-uid"] == uid
    assert made["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}


def test_a_job_with_a_selector_of_its_own_keeps_it() -> None:
    made = created(server(), job(manualSelector=True, selector={"matchLabels": {"app": "a"}}))
    assert made["spec"]["selector"] == {"matchLabels": {"app": "a"}}
    assert made["spec"]["template"]["metadata"]["labels"] == {"app": "a"}


def test_a_namespace_carries_its_name_as_a_label() -> None:
    made = created(server(), in_cluster("Namespace", "team"))
    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": "team"}


def test_label_keys_are_merged_into_selectors_that_are_there() -> None:
    term = {"topologyKey": "zone", "labelSelector": {}, "matchLabelKeys": ["app", "absent"]}
    constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    spec = created(
        server(),
        pod(
            labels={"app": "a"},
            affinity={
                "podAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}]
                }
            },
            topologySpreadConstraints=[constraint],
        ),
    )["spec"]
    (weighted,) = spec["affinity"]["podAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    merged = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["a"]}]}
    assert weighted["podAffinityTerm"]["labelSelector"] == merged
    assert "labelSelector" not in spec["topologySpreadConstraints"][0]
