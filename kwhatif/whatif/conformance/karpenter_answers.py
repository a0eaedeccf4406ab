"""Replay scenarios that Karpenter was recorded in, and answer in the shape they were recorded in.

A scenario is a cluster with NodePools, a catalogue and pods that found no node; the format is described in
``docs/conformance.md``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from kwhatif.api.core import Pod, Taint
from kwhatif.api.node_pools import NodePool
from kwhatif.autoscaling.karpenter import exact_amounts as amounts
from kwhatif.autoscaling.karpenter.catalogue import Catalogue
from kwhatif.autoscaling.karpenter.consolidation import METHODS, consolidate
from kwhatif.autoscaling.karpenter.karpenter_world import KarpenterWorld
from kwhatif.autoscaling.karpenter.known_labels import INSTANCE_TYPE
from kwhatif.autoscaling.karpenter.new_claim import NewClaim
from kwhatif.autoscaling.karpenter.provisioner import provision
from kwhatif.cluster.shapes import start_time
from kwhatif.whatif.autoscale.instance_types_document import KarpenterOptions, KnownType
from kwhatif.whatif.conformance.recorded_autoscaling import RecordedKarpenter
from kwhatif.whatif.conformance.scenario_objects import plain_objects, read_objects


class KarpenterScenario(msgspec.Struct, rename="camel"):
    """One line of a file of such scenarios. ``expected`` may be absent."""

    name: str
    now: str
    objects: list[msgspec.Raw]
    pods: list[Pod]
    node_pools: list[NodePool]
    instance_types: list[KnownType]
    pool_instance_types: dict[str, list[str]] = {}
    options: KarpenterOptions = KarpenterOptions()
    disruption: bool = False
    expected: RecordedKarpenter | None = None
    varies: list[str] = []


def karpenter_answer(scenario: KarpenterScenario) -> dict[str, Any]:
    """The scenario's outcome, in the shape of ``expected`` with the scenario's name."""
    world = world_of_scenario(scenario)
    found = provision(world)
    result = found.round
    answer: dict[str, Any] = {
        "name": scenario.name,
        "placed": result.placed,
        "nodeClaims": [_claim(claim, world.catalogue) for claim in result.claims],
        "errors": {pod: list(reasons) for pod, reasons in result.errors.items()},
        "relaxed": {pod: _given_up(what) for pod, what in result.relaxed.items()},
        "ignored": {pod: list(reasons) for pod, reasons in found.ignored.items()},
        "notPending": list(found.not_pending),
        "skippedPools": result.skipped,
    }
    if scenario.disruption:
        answer["disruption"] = {method: _disruption(world, method) for method in METHODS}
    return answer


def _disruption(world: KarpenterWorld, method: str) -> dict[str, Any]:
    asked = consolidate(world, method)
    answer: dict[str, Any] = {
        "candidates": {
            each.name: {"cost": each.cost, "price": each.price or 0, "pods": len(each.pods)}
            for each in asked.found.candidates
        },
        "budgets": dict(asked.budgets),
        "reasons": asked.found.reasons,
    }
    command = asked.command
    if command is not None:
        answer["command"] = {
            "decision": command.decision,
            "nodes": [each.name for each in command.nodes],
            "placed": dict(command.placed),
            "savings": command.savings(world.catalogue),
            "replacements": [_claim(claim, world.catalogue) for claim in command.replacements],
        }
    return answer


def world_of_scenario(scenario: KarpenterScenario) -> KarpenterWorld:
    objects, plain = read_objects(scenario.objects), plain_objects(scenario.objects)
    return KarpenterWorld(
        start_time(scenario.now),
        objects,
        scenario.pods,
        scenario.node_pools,
        Catalogue([each.as_instance_type() for each in scenario.instance_types]),
        scenario.pool_instance_types,
        # Recorded with a client that looks for a PersistentVolume in the pod's namespace, and finds none there.
        scenario.options.as_settings(volume_places_known=False),
        plain.get("DaemonSet", ()),
        plain.get("PodDisruptionBudget", ()),
    )


def _given_up(what: Mapping[str, int]) -> dict[str, Any]:
    return {key: True if key == "tolerate" else count for key, count in what.items()}


def _claim(claim: NewClaim, catalogue: Catalogue) -> dict[str, Any]:
    requirements = claim.created()
    cheapest = catalogue.cheapest(claim.types, requirements)
    spelled = [each for key in sorted(requirements) for each in requirements[key].spelt()]
    return {
        "nodePool": claim.template.name,
        "pods": [wants.key for wants in claim.pods],
        "requirements": [_without_names(each) for each in spelled],
        "instanceTypes": [catalogue.types[row].name for row in claim.types],
        "cheapest": None
        if cheapest is None
        else {
            "instanceType": catalogue.types[cheapest[0]].name,
            "zone": cheapest[1].zone,
            "capacityType": cheapest[1].capacity_type,
            "price": cheapest[1].price,
        },
        "requests": amounts.in_units(claim.requests),
        "taints": _taints(claim.template.pool.taints),
        "startupTaints": _taints(claim.template.pool.spec.template.spec.startup_taints or ()),
        "labels": dict(claim.labels()),
        "minValuesRelaxed": claim.lowered_minimum,
    }


def _without_names(requirement: dict[str, object]) -> dict[str, object]:
    if requirement["key"] != INSTANCE_TYPE:
        return requirement
    return {key: value for key, value in requirement.items() if key != "values"}


def _taints(taints: Iterable[Taint]) -> list[str]:
    return sorted(f"{taint.key}={taint.value or ''}:{taint.effect}" for taint in taints)
