"""What containers should ask for, by policy, limits, ranges and other autoscalers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kwhatif.errors import InputError
from tests.commands.rightsize.clusters import Object, asked, node, row, used, workload

MIB = 1024**2
CPU = [0.1] * 9 + [0.4]
MEMORY = [200 * MIB] * 9 + [300 * MIB]


def policy(**parts: Any) -> str:
    return json.dumps({"apiVersion": "kwhatif.dev/v1", "kind": "RightsizingPolicy", **parts})


POLICIES: dict[str, tuple[dict[str, Any], str, str]] = {
    "the 90th percentile of CPU, the peak of memory, and 15%": ({}, "115m", "345Mi"),
    "another percentile and margin": (
        {"cpu": {"percentile": 100, "margin": 0}, "memory": {"percentile": 50, "margin": 50}},
        "400m",
        "300Mi",
    ),
    "the peak of both, in short": ({"cpu": "max", "memory": "max"}, "460m", "345Mi"),
    "no less than a floor": ({"cpu": {"floor": "250m"}, "memory": {"floor": "1Gi"}}, "250m", "1Gi"),
    "no more than a ceiling": ({"cpu": {"ceiling": "50m"}, "memory": {"ceiling": "128Mi"}}, "50m", "128Mi"),
    "a multiple of a step": ({"cpu": {"step": "50m"}, "memory": {"step": "100Mi"}}, "150m", "400Mi"),
    "a floor of pods by their labels": (
        {"floors": [{"selector": "runtime=java", "memory": "2Gi"}, {"selector": "runtime=go", "cpu": "4"}]},
        "115m",
        "2Gi",
    ),
}


@pytest.mark.parametrize("what", POLICIES)
def test_a_policy_says(what: str, tmp_path: Path) -> None:
    parts, cpu, memory = POLICIES[what]
    objects = [node("a"), *workload("web", ["a"], labels={"runtime": "java"})]
    result = asked(tmp_path, objects, used("web", 1, CPU, MEMORY), sizing=policy(**parts))
    assert (row(result, "cpu").advised, row(result, "memory").advised) == (cpu, memory)


def test_a_row_has_request_percentile_and_peak_as_kubernetes_writes_them(tmp_path: Path) -> None:
    result = asked(tmp_path, [node("a"), *workload("web", ["a"])], used("web", 1, CPU, MEMORY))
    told = [
        (each.resource, each.request, each.advised, each.percentile, each.peak, each.resize)
        for each in result.workloads
    ]
    assert told == [
        ("cpu", "500m", "115m", "100m", "400m", "in-place"),
        ("memory", "512Mi", "345Mi", "300Mi", "300Mi", "in-place"),
    ]


LIMITS: dict[str, tuple[Object, dict[str, Any], str | None, str | None]] = {
    "no limit gets none": ({}, {}, None, None),
    "limits follow in proportion": ({"cpu": "1", "memory": "1Gi"}, {}, "230m", "690Mi"),
    "limits stay where only requests are controlled": (
        {"cpu": "1", "memory": "1Gi"},
        {"controlledValues": "RequestsOnly"},
        "1",
        "1Gi",
    ),
    "Guaranteed pods stay so": (
        {"cpu": "500m", "memory": "512Mi"},
        {"controlledValues": "RequestsOnly"},
        "115m",
        "345Mi",
    ),
    "Guaranteed pods may become Burstable": (
        {"cpu": "500m", "memory": "512Mi"},
        {"controlledValues": "RequestsOnly", "keepGuaranteed": False},
        "500m",
        "512Mi",
    ),
}


@pytest.mark.parametrize("what", LIMITS)
def test_limits(what: str, tmp_path: Path) -> None:
    limits, parts, cpu, memory = LIMITS[what]
    objects = [node("a"), *workload("web", ["a"], limits=limits)]
    result = asked(tmp_path, objects, used("web", 1, CPU, MEMORY), sizing=policy(**parts))
    assert (row(result, "cpu").new_limit, row(result, "memory").new_limit) == (cpu, memory)


def vpa(**policies: Any) -> Object:
    return {
        "apiVersion": "autoscaling.k8s.io/v1",
        "kind": "VerticalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "resourcePolicy": {"containerPolicies": [{"containerName": "*", **policies}]},
        },
        "status": {
            "recommendation": {"containerRecommendations": [{"containerName": "main", "target": {"cpu": "77m"}}]}
        },
    }


def test_a_recommendation_counts_where_nobody_has_samples(tmp_path: Path) -> None:
    result = asked(tmp_path, [node("a"), *workload("web", ["a"]), *workload("api", ["a"])], json.dumps(vpa()))
    assert [(each.workload, each.advised, each.percentile) for each in result.workloads] == [
        ("Deployment/shop/web", "77m", None)
    ]
    assert result.unchanged["noUsage"] == 1


def test_samples_count_before_recommendations_and_policies_hold_for_both(tmp_path: Path) -> None:
    objects = [node("a"), *workload("web", ["a"]), vpa(minAllowed={"cpu": "200m"}, maxAllowed={"memory": "300Mi"})]
    result = asked(tmp_path, objects, used("web", 1, CPU, MEMORY))
    assert (row(result, "cpu").advised, row(result, "memory").advised) == ("200m", "300Mi")
    objects[-1] = vpa(mode="Off")
    result = asked(tmp_path, objects, used("web", 1, CPU, MEMORY))
    assert (result.workloads, result.unchanged["switchedOff"]) == ((), 1)


def test_a_limit_range_bounds_the_advice(tmp_path: Path) -> None:
    bounds = {"type": "Container", "min": {"cpu": "300m"}, "max": {"memory": "256Mi"}}
    limits = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "a", "namespace": "shop"}}
    result = asked(
        tmp_path,
        [node("a"), *workload("web", ["a"], memory="200Mi"), {**limits, "spec": {"limits": [bounds]}}],
        used("web", 1, CPU, MEMORY),
    )
    assert (row(result, "cpu").advised, row(result, "memory").advised) == ("300m", "256Mi")


LIMITED: dict[str, tuple[Object, Object | None, tuple[str, str | None]]] = {
    "a request is no less than the ratio leaves it beside a limit that stays": (
        {"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}},
        {"cpu": "2"},
        ("1", "2"),
    ),
    "a ratio says nothing of a container without a limit": (
        {"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}},
        None,
        ("115m", None),
    ),
    "a pod asks for no less than the minimum": ({"type": "Pod", "min": {"cpu": "400m"}}, None, ("400m", None)),
    "a pod asks for no more than the maximum": ({"type": "Pod", "max": {"cpu": "90m"}}, None, ("90m", None)),
    "a pod's limits are no more than the maximum": ({"type": "Pod", "max": {"cpu": "1"}}, {"cpu": "2"}, ("115m", "1")),
    "a pod's request is no less than the ratio leaves it": (
        {"type": "Pod", "maxLimitRequestRatio": {"cpu": "4"}},
        {"cpu": "2"},
        ("500m", "2"),
    ),
}


@pytest.mark.parametrize("what", LIMITED)
def test_limit_ranges(what: str, tmp_path: Path) -> None:
    bounds, limits, said = LIMITED[what]
    limited = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "a", "namespace": "shop"}}
    result = asked(
        tmp_path,
        [node("a"), *workload("web", ["a"], limits=limits), {**limited, "spec": {"limits": [bounds]}}],
        used("web", 1, [0.1], [2**20]),
        sizing=policy(controlledValues="RequestsOnly"),
    )
    found = row(result, "cpu")
    assert (found.advised, found.new_limit) == said


@pytest.mark.parametrize(
    "exclusion",
    [{"namespaces": ["shop"]}, {"workloads": ["Deployment/shop/web"]}, {"selector": "app in (web)"}],
)
def test_what_is_excluded_stays(exclusion: Object, tmp_path: Path) -> None:
    objects = [node("a"), *workload("web", ["a"])]
    result = asked(tmp_path, objects, used("web", 1, CPU, MEMORY), sizing=policy(exclude=[exclusion]))
    assert (result.workloads, result.unchanged["excluded"]) == ((), 1)
    assert result.outcome.verdict.startswith("No change: requests stay as they are; Pod could not be read")


def test_a_resize_takes_a_restart_or_a_new_pod(tmp_path: Path) -> None:
    restarts = [{"resourceName": "memory", "restartPolicy": "RestartContainer"}]
    objects = [node("a"), *workload("web", ["a"], resizePolicy=restarts)]
    result = asked(tmp_path, objects, used("web", 1, CPU, MEMORY), kubernetes_version="1.33")
    assert (row(result, "cpu").resize, row(result, "memory").resize) == ("in-place", "restart")
    result = asked(tmp_path, objects, used("web", 1, CPU, MEMORY), kubernetes_version="1.32")
    assert row(result, "cpu").resize == "recreate"


def test_pods_of_the_past_count_for_their_workload(tmp_path: Path) -> None:
    gone = [
        {**each, "metric": {**each["metric"], "pod": "web-5c9d7f8b64-x2k9p"}} for each in used("web", 1, [2.0], [1])
    ]
    result = asked(tmp_path, [node("a"), *workload("web", ["a"])], [*used("web", 1, CPU, MEMORY), *gone])
    assert row(result, "cpu").peak == "2"
    assert result.usage.strangers == 0


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"cpu": {"percentile": 0}}, "$.cpu"),
        ({"cpu": {"floor": "1", "ceiling": "500m"}}, "$.cpu.ceiling: expected no less than the floor, 1, found 500m"),
        ({"memory": {"step": "0"}}, "$.memory.step: expected more than 0, found 0"),
        ({"window": "soon"}, '$.window: expected a length of time such as 8d or 36h, found "soon"'),
        ({"exclude": [{}]}, "$.exclude[0]: expected namespaces, workloads or a selector"),
        ({"floors": [{"selector": "a in", "cpu": "1"}]}, "$.floors[0].selector"),
        ({"percentile": 90}, "percentile"),
    ],
)
def test_a_wrong_policy_is_refused_with_its_place(parts: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        asked(tmp_path, [node("a"), *workload("web", ["a"])], used("web", 1, CPU, MEMORY), sizing=policy(**parts))
    assert said in str(caught.value)
    assert "sizing.yaml" in str(caught.value)
