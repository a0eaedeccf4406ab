"""What Kueue could do and is not modelled is said where somebody uses it, and only there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import kwhatif
from tests.commands.queue.test_queue import cluster_queue, job, queues, there, workload

Json = dict[str, Any]


def gaps(tmp_path: Path, asked: Json, *objects: Json, version: str = "v1beta2", **configuration: Any) -> list[str]:
    path = tmp_path / "kueue.json"
    known = {"apiVersion": f"config.kueue.x-k8s.io/{version}", "kind": "Configuration"}
    path.write_text(json.dumps({**known, **configuration}))
    made = there(*(objects or queues(cluster_queue("a", "4"))), workload("other", "a", "1"))
    return [gap.what for gap in kwhatif.queue([asked], snapshot=made, kueue_config=str(path)).gaps]


def annotated(**annotations: str) -> Json:
    made = job("train", **{"queue-name": "a"})
    made["metadata"]["annotations"] = {f"kueue.x-k8s.io/{key}": value for key, value in annotations.items()}
    return made


PODS = "not modelled of the Configuration: waitForPodsReady"


@pytest.mark.parametrize(
    ("configuration", "expected"),
    [
        ({"featureGates": {"PartialAdmission": True, "LocalQueueMetrics": False}}, []),
        (
            {
                "featureGates": {
                    "TASBalancedPlacement": True,
                    "PartialAdmission": False,
                    "SparkApplicationIntegration": True,
                }
            },
            ["feature gates that are not modelled: PartialAdmission=false, TASBalancedPlacement=true"],
        ),
        ({"waitForPodsReady": {"timeout": "5m"}}, [PODS]),
        ({"version": "v1beta1", "waitForPodsReady": {"timeout": "5m"}}, []),
        ({"version": "v1beta1", "waitForPodsReady": {"enable": True}}, [PODS]),
    ],
    ids=[
        *(
            "gates as they are, and one that decides nothing",
            "gates that are set otherwise",
            "pods that others wait for",
        ),
        *("in v1beta1 that has to be enabled", "and is"),
    ],
)
def test_settings_of_the_configuration_are_named(tmp_path: Path, configuration: Json, expected: list[str]) -> None:
    assert gaps(tmp_path, annotated(), **configuration) == expected


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({"elastic-job": "false"}, []),
        ({"elastic-job": "true"}, ["slices of elastic jobs are not modelled"]),
        ({"prebuilt-workload-name": "there"}, ["prebuilt Workloads are not modelled"]),
    ],
)
def test_jobs_that_need_more_are_named(tmp_path: Path, annotations: Json, expected: list[str]) -> None:
    assert gaps(tmp_path, annotated(**annotations)) == expected


def test_workloads_that_need_more_are_named(tmp_path: Path) -> None:
    slice_of, failed = workload("second", "a", "1"), workload("failed", "a", "1")
    slice_of["metadata"]["annotations"] = {"kueue.x-k8s.io/workload-slice-replacement-for": "ml/first"}
    failed["status"] = {"unhealthyNodes": [{"name": "n"}]}
    found = gaps(tmp_path, annotated(), *queues(cluster_queue("a", "4")), slice_of, failed)
    assert found == [
        "slices of elastic jobs are not modelled",
        "other domains for pods whose node has failed are not modelled",
    ]


@pytest.mark.parametrize(("settings", "expected"), [({}, 0), ({"admissionFairSharing": {}}, 1)])
def test_fair_sharing_by_use_takes_effect_where_the_configuration_has_it(
    tmp_path: Path, settings: Json, expected: int
) -> None:
    scope = {"admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"}}
    assert len(gaps(tmp_path, annotated(), *queues(cluster_queue("a", "4", **scope)), **settings)) == expected
