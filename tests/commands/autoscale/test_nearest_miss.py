"""Why a NodePool buys no machine for a pod, and what alone stands in the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kwhatif

SAMPLES = Path(__file__).parents[3] / "samples/karpenter"
FAMILY, ZONE = "example.com/family", "topology.kubernetes.io/zone"

MISSES = [
    pytest.param({FAMILY: "z"}, "2", "spot", ["family In [z], but the NodePool has", ": 15 types"], id="a pool's own"),
    pytest.param({FAMILY: "z"}, "2", "steady", ["example.com/family In [z]: 15 types"], id="a label of no type"),
    pytest.param({ZONE: "mars"}, "2", "steady", ["zone In [mars]: "], id="a zone where there is nothing"),
    pytest.param({}, "500", "steady", ["requests 500, the largest type offers 47700m"], id="more than any machine has"),
    pytest.param({ZONE: "mars"}, "500", "steady", [], id="two things at once"),
    pytest.param({}, "500", "arm", ["besides the taint, cpu: req"], id="a taint, and more than any machine has"),
]


@pytest.mark.parametrize(("selector", "cpu", "pool", "said"), MISSES)
def test_what_alone_stands_in_the_way(selector: dict[str, str], cpu: str, pool: str, said: list[str]) -> None:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    spec: dict[str, Any] = {"nodeSelector": selector, "containers": [container]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    world: dict[str, Any] = {"snapshot": SAMPLES / "cluster.yaml", "catalogue": SAMPLES / "catalogue.yaml"}
    (plan,) = kwhatif.karpenter([pod], **world, orders=0).pods
    nearest = next(each.nearest for each in plan.refusals if each.node_pool == pool)
    assert all(text in nearest for text in said)
    assert bool(nearest) == bool(said)
