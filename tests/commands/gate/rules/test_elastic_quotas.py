"""The rule ``quota`` finds pods beyond an ElasticQuota, as it finds refusals by a ResourceQuota."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import kwhatif
from tests.scheduler_plugin_builders import (
    Json,
    elastic_quota,
    namespace_named,
    plain_node,
    plain_pod,
    policy_with,
    write_cluster,
)


def deployment(replicas: int, cpu: str) -> Json:
    template = {"metadata": {"labels": {"app": "api"}}, "spec": plain_pod("api", cpu)["spec"]}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "api"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "api", "namespace": "a"}, "spec": spec}


@pytest.mark.parametrize(
    ("replicas", "parameters", "found"),
    [
        pytest.param(
            3, {}, [("1 pod of 3 beyond an ElasticQuota", {"pods": 1, "asks": 2000, "used": 4000, "limit": 5000})],
            id="those for which there is no room",
        ),
        pytest.param(2, {}, [], id="none of those that fit"),
        pytest.param(3, {"namespaces": ["others-*"]}, [], id="none of namespaces that the rule does not look at"),
    ],
)  # fmt: skip
def test_pods_beyond_an_elastic_quota_are_found(
    tmp_path: Path, replicas: int, parameters: Json, found: list[tuple[str, Json]]
) -> None:
    quota = elastic_quota("a", least={"cpu": "10", "memory": "64Gi"}, most={"cpu": "5", "memory": "64Gi"})
    cluster = write_cluster(tmp_path, plain_node("n1"), namespace_named("a"), quota)
    head, rules = tmp_path / "head.json", tmp_path / "rules.json"
    head.write_text(json.dumps(deployment(replicas, "2")))
    kind = {"apiVersion": "kwhatif.dev/v1", "kind": "GatePolicy"}
    rules.write_text(json.dumps({**kind, "rules": {"quota": {"level": "error", **parameters}}}))
    result = kwhatif.gate(str(head), snapshot=cluster, config=str(rules), policy=policy_with("CapacityScheduling"))
    assert [(each.title, each.numbers) for each in result.findings] == found
    assert result.exit_code == bool(found)
    assert all("ElasticQuota a/quota-of-a: cpu: asks 2, used 4 of max 5" in each.message for each in result.findings)
