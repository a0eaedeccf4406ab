"""Headline and body of a plan are about one moment: when growing has come to rest."""

from __future__ import annotations

from pathlib import Path

import pytest

import kwhatif
from tests.cli.running import run
from tests.simulation.edits.editing import workload

SAMPLES = Path(__file__).parents[3] / "samples"


def test_what_is_bought_after_the_first_loop_is_in_the_table_the_price_and_the_sizes(tmp_path: Path) -> None:
    """Of 9 pods, one a node, the first loop finds room for three: the group with the least waste has no more."""
    apart = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"app": "apart"}}, "topologyKey": "kubernetes.io/hostname"}
            ]
        }
    }
    body = workload("Deployment", "apart", 9, cpu="2", pod={"affinity": apart})
    home = SAMPLES / "autoscaled"
    result = kwhatif.autoscale([body], snapshot=home / "cluster.yaml", groups=home / "groups.yaml")
    assert result.scale_up is not None
    first = sum(each.to - each.size for each in result.plan)
    assert first < len(result.scale_up.nodes) == sum(each.nodes for each in result.outcome.added_nodes)
    assert result.cost == result.outcome.cost == result.scale_up.cost
    assert result.cost == round(sum(each.cost or 0 for each in result.scale_up.nodes), 2)
    for each in result.scale_up.groups:
        assert f"{each.group} from {each.size} to {each.to}" in result.verdict


@pytest.mark.long
def test_karpenters_headline_counts_the_machines_of_the_table() -> None:
    files = [str(SAMPLES / "karpenter" / name) for name in ("cluster.yaml", "catalogue.yaml")]
    ran = run("autoscale", "--snapshot", files[0], "--catalogue", files[1], str(SAMPLES / "karpenter" / "web.yaml"))
    result = kwhatif.karpenter([SAMPLES / "karpenter" / "web.yaml"], snapshot=files[0], catalogue=files[1])
    assert result.scale_up is not None
    count = len(result.scale_up.nodes)
    assert count == sum(each.nodes for each in result.outcome.added_nodes) > 0
    assert result.cost == result.outcome.cost == round(sum(each.cost or 0 for each in result.scale_up.nodes), 2)
    assert f"Karpenter buys {count} machine" in ran.out
