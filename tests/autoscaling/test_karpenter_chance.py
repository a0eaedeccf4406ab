"""What the recordings of Karpenter say varies with its maps is what is told to be left to chance."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

import kwhatif
from kwhatif.api.decode import decode_json
from kwhatif.autoscaling.karpenter.karpenter_snapshot import KarpenterSnapshot
from kwhatif.autoscaling.karpenter.map_order import MapOrder
from kwhatif.autoscaling.karpenter.scheduler import provision
from kwhatif.commands.autoscale.karpenter_plan import identity_of
from kwhatif.commands.conformance.autoscaler_replay import KarpenterScenario, snapshot_of_scenario

TESTS = Path(__file__).parents[1]
SAMPLES = TESTS.parent / "samples/karpenter"
ONLY_ORDER = {"nodeClaims.order", "nodeClaims.priceOrder"}


def recorded(family: str) -> Iterator[tuple[str, bool, KarpenterSnapshot]]:
    """Name, whether NodeClaims or places came out otherwise in five runs of the real one, and the moment."""
    for line in gzip.decompress((TESTS / f"conformance/karpenter/{family}.jsonl.gz").read_bytes()).splitlines():
        told = json.loads(line)
        varies = {field for field in told.get("varies", ()) if field.startswith(("nodeClaims", "placed"))}
        yield told["name"], bool(varies - ONLY_ORDER), snapshot_of_scenario(decode_json(line, KarpenterScenario))


def varies(world: KarpenterSnapshot) -> bool:
    found = provision(world)
    if not world.order.mattered:
        return False
    others = [provision(world.with_map_order(MapOrder(Random(seed)))) for seed in range(6)]
    answers = [(Counter(map(identity_of, each.results.claims)), each.results.placed) for each in (found, *others)]
    return any(answer != answers[0] for answer in answers)


@pytest.mark.long
@pytest.mark.parametrize("family", ["basic", "constraints", "topology", "pools", "volumes", "mixed"])
def test_what_varied_in_real_runs_is_found_to_vary(family: str) -> None:
    missed = [name for name, really, world in recorded(family) if really and not varies(world)]
    assert missed == []


@pytest.mark.long
def test_what_came_out_alike_in_real_runs_hardly_ever_varies() -> None:
    firm = [world for family in ("constraints", "topology") for _, really, world in recorded(family) if not really]
    assert len(firm) >= 12
    assert sum(map(varies, firm)) <= 1


@pytest.mark.long
def test_a_choice_between_zones_is_told_and_a_plan_without_any_is_not() -> None:
    pod: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "labels": {"app": "p"}},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "6"}}}]},
    }
    world: dict[str, Any] = {"snapshot": SAMPLES / "cluster.yaml", "catalogue": SAMPLES / "catalogue.yaml"}
    plain = kwhatif.karpenter([pod], **world)
    assert plain.chance is not None
    assert (plain.chance.orders, [each.firm for each in plain.machines]) == (0, [True] * len(plain.machines))
    zone, app = "topology.kubernetes.io/zone", {"matchLabels": {"app": "p"}}
    spread = {"maxSkew": 1, "topologyKey": zone, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": app}
    pod["spec"]["topologySpreadConstraints"] = [spread]
    told = kwhatif.karpenter([pod], **world)
    assert told.chance is not None
    assert (told.chance.orders, told.chance.pods) == (6, ())
    assert not all(each.firm for each in told.machines)
