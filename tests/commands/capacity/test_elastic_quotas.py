"""ElasticQuotas end what fits, under a scheduler with CapacityScheduling."""

from __future__ import annotations

from pathlib import Path

import pytest

import kwhatif
from kwhatif.commands.capacity.text import capacity_blocks
from kwhatif.render.tables import text_of
from kwhatif.results.place import QuotaShortage
from tests.scheduler_plugin_builders import (
    Json,
    elastic_quota,
    namespace_named,
    plain_node,
    plain_pod,
    policy_with,
    write_cluster,
)

POLICY = policy_with("CapacityScheduling")


@pytest.mark.parametrize(
    ("policy", "most", "fits", "ended", "told"),
    [
        pytest.param(
            POLICY, "5", 2, "quota", "ElasticQuota team-a/quota-of-team-a: cpu: asks 2, used 4 of max 5", id="its max"
        ),
        pytest.param(
            POLICY,
            "100",
            4,
            "quota",
            "all ElasticQuotas together: cpu: asks 2, used 9 of min 10",
            id="what all are entitled to, where it may borrow what is left",
        ),
        pytest.param("default", "5", 7, "nodes", "the nodes", id="a scheduler without the plugin does not know them"),
    ],
)
def test_what_ends_it(tmp_path: Path, policy: Json | str, most: str, fits: int, ended: str, told: str) -> None:
    cluster = write_cluster(
        tmp_path,
        plain_node("n1"),
        *map(namespace_named, ("team-a", "team-b")),
        elastic_quota("team-a", least={"cpu": "4", "memory": "64Gi"}, most={"cpu": most, "memory": "64Gi"}),
        elastic_quota("team-b", least={"cpu": "6", "memory": "64Gi"}),
        plain_pod("b-0", "1", namespace="team-b", node="n1"),
    )
    result = kwhatif.capacity(plain_pod("a-0", "2", namespace="team-a"), snapshot=cluster, policy=policy)
    assert (result.fits, result.ended) == (fits, ended)
    assert told in text_of(capacity_blocks(result))
    assert result.lacks_nodes == (ended == "nodes")


def test_json_has_the_arithmetic(tmp_path: Path) -> None:
    cluster = write_cluster(
        tmp_path, plain_node("n1"), namespace_named("a"), elastic_quota("a", most={"cpu": "1500m", "memory": "9Gi"})
    )
    result = kwhatif.place(plain_pod("big", "2", namespace="a"), snapshot=cluster, policy=POLICY)
    (placement,) = result.placements
    assert placement.quota == QuotaShortage(
        quota="a/quota-of-a", bound="max", resource="cpu", asks=2000, used=0, limit=1500
    )
