"""Replays scenarios recorded with cluster-autoscaler or Karpenter, with answers in the form of the recording.

A scenario is a cluster with node groups, or with NodePools and a catalogue, and pods that found no node; the formats
are described in ``docs/contributing/conformance.md``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from kwhatif.api.core import Node, Pod, Taint
from kwhatif.api.document_numbers import Count, Measure, Number
from kwhatif.api.node_provisioning import NodePool
from kwhatif.api.objects import part_of
from kwhatif.api.workloads_and_storage import PodDisruptionBudget
from kwhatif.autoscaling.cluster_autoscaler.autoscaler_flags import Flags, flags_of, group_settings
from kwhatif.autoscaling.cluster_autoscaler.autoscaling_context import AutoscalingContext, NodeGroup, NodeGroups, Prices
from kwhatif.autoscaling.cluster_autoscaler.eligibility import Utilization
from kwhatif.autoscaling.cluster_autoscaler.expanders import CONFIG_MAP, KEY
from kwhatif.autoscaling.cluster_autoscaler.node_readiness import moment
from kwhatif.autoscaling.cluster_autoscaler.node_template import NodeTemplate
from kwhatif.autoscaling.cluster_autoscaler.orchestrator import NoScaleUpInfo, ScaleUpInfo
from kwhatif.autoscaling.cluster_autoscaler.planner import ScaleDown, Unremovable
from kwhatif.autoscaling.cluster_autoscaler.static_autoscaler import LoopResult, StaticAutoscaler
from kwhatif.autoscaling.karpenter import pod_data as amounts
from kwhatif.autoscaling.karpenter.catalogue import Catalogue, InstanceType, KarpenterOptions
from kwhatif.autoscaling.karpenter.consolidation import METHODS, consolidate
from kwhatif.autoscaling.karpenter.karpenter_snapshot import KarpenterSnapshot
from kwhatif.autoscaling.karpenter.new_claim import NewClaim
from kwhatif.autoscaling.karpenter.requirements import INSTANCE_TYPE
from kwhatif.autoscaling.karpenter.scheduler import provision
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo, start_time
from kwhatif.commands.conformance.scenario import plain_objects, read_objects
from kwhatif.framework.status import Status
from kwhatif.golang.parsing import SECOND
from kwhatif.scheduling.setup import Setup


class Group(msgspec.Struct, rename="camel"):
    """A node group of a scenario."""

    name: str
    min: Count
    max: Count
    target: Count
    nodes: list[str] = []
    template: Node | None = None
    template_pods: list[Pod] | None = None
    options: dict[str, Any] | None = None
    failed_scale_up_seconds_ago: Number | None = None
    scale_up_requested_seconds_ago: Number | None = None

    def as_node_group(self, flags: Flags, now: int, place: str) -> NodeGroup:
        return NodeGroup(
            self.name,
            self.min,
            self.max,
            self.target,
            tuple(self.nodes),
            self.template,
            tuple(self.template_pods or ()),
            group_settings(self.options or {}, flags, place=f"{place}.options"),
            _ago(now, self.failed_scale_up_seconds_ago),
            _ago(now, self.scale_up_requested_seconds_ago),
        )


class AutoscalerScenario(msgspec.Struct, rename="camel"):
    """One line of a file of such scenarios. ``expected`` may be absent."""

    name: str
    now: str
    objects: list[msgspec.Raw]
    pods: list[Pod]
    node_groups: list[Group]
    loops: list[Measure] = []
    config: dict[str, Any] | None = None
    options: dict[str, Any] = {}
    gpu_label: str = ""
    prices: dict[str, Measure] | None = None
    expected: dict[str, Any] | None = None


def autoscaler_answer(scenario: AutoscalerScenario, setup: Setup) -> dict[str, Any]:
    """The scenario's outcome, in the shape of ``expected`` with the scenario's name."""
    world = context_of_scenario(scenario, setup)
    up = StaticAutoscaler().loop(world)
    downwards = StaticAutoscaler()
    down = [
        downwards.loop(replace(world, now=world.now + round(after * SECOND)), up=False, down=True)
        for after in scenario.loops
    ]
    return {
        "name": scenario.name,
        "templates": {name: _template(template) for name, template in sorted(up.templates.items())},
        "scaleUp": _scale_up(up),
        "scaleDown": [_scale_down(loop.scale_down) for loop in down],
    }


def context_of_scenario(scenario: AutoscalerScenario, setup: Setup) -> AutoscalingContext:
    flags = flags_of(scenario.options, place="$.options")
    now = moment(scenario.now)
    objects, plain = read_objects(scenario.objects), plain_objects(scenario.objects)
    prices = scenario.prices
    return AutoscalingContext(
        now=now,
        cluster=Cluster.load(objects, setup.features),
        pending=scenario.pods,
        groups=NodeGroups(
            [group.as_node_group(flags, now, f"$.nodeGroups[{k}]") for k, group in enumerate(scenario.node_groups)]
        ),
        flags=flags,
        framework=setup.profile(setup.configuration.profiles[0]).framework.filters_only(),
        daemon_sets=plain.get("DaemonSet", ()),
        jobs=plain.get("Job", ()),
        gpu_label=scenario.gpu_label,
        prices=None if prices is None else Prices(prices, prices.get("cpu", 0.0), prices.get("memory", 0.0)),
        priorities=next(
            (
                part_of(config_map, "data").get(KEY)
                for config_map in plain.get("ConfigMap", ())
                if part_of(config_map, "metadata", "name") == CONFIG_MAP
            ),
            None,
        ),
    )


def _ago(now: int, seconds: int | None) -> int | None:
    return None if seconds is None else now - seconds * SECOND


def _template(template: NodeTemplate) -> dict[str, Any]:
    taints = [taint.text for taint in template.node.spec.taints or ()]
    return {"pods": sorted(map(_owner_name_of, template.pods)), "taints": sorted(taints), "free": template.free}


def _owner_name_of(pod: PodInfo) -> str:
    owner = pod.pod.controller
    namespace = pod.shape.namespace
    return f"Pod {pod.key}" if owner is None else f"{owner.kind} {namespace}/{owner.name}"


def _scale_up(loop: LoopResult) -> dict[str, Any]:
    scale_up = loop.scale_up
    return {
        "result": scale_up.result,
        "healthy": loop.healthy,
        "error": {"type": "transientError", "text": scale_up.error} if scale_up.error else None,
        "placed": loop.placed,
        "ignored": sorted((*loop.ignored, *loop.overlooked)),
        "unschedulable": [pod.key for pod in scale_up.pods],
        "skippedGroups": scale_up.skipped,
        "options": [
            {
                "group": option.group.name,
                "nodes": option.nodes,
                "pods": sorted(pod.key for pod in option.pods),
                "similar": sorted(group.name for group in option.similar),
            }
            for option in scale_up.options
        ],
        "chosen": None if scale_up.chosen is None else scale_up.chosen.group.name,
        "plan": _plan(scale_up.plan),
        "toMinSize": _plan(loop.scale_up_to_min_size),
        "triggered": sorted(pod.key for pod in scale_up.triggered),
        "awaiting": sorted(pod.key for pod in scale_up.await_evaluation),
        "remaining": {key: _remaining(remaining) for key, remaining in scale_up.remain_unschedulable.items()},
        "events": scale_up.events(),
    }


def _plan(plan: list[ScaleUpInfo]) -> list[dict[str, Any]]:
    sizes = ({"group": info.group.name, "from": info.current_size, "to": info.new_size} for info in plan)
    return sorted(sizes, key=lambda group: part_of(group, "group"))


def _remaining(remaining: NoScaleUpInfo) -> dict[str, Any]:
    return {
        "rejected": {group: _status(status) for group, status in remaining.rejected.items()},
        "skipped": {group: sorted(reasons) for group, reasons in remaining.skipped.items()},
    }


def _status(status: Status) -> Mapping[str, Any]:
    return {"plugin": status.plugin, "reasons": sorted(status.reasons)}


def _scale_down(scale_down: ScaleDown) -> dict[str, Any]:
    return {
        "result": scale_down.result,
        "candidates": scale_down.candidates,
        "utilization": {node: _utilization(used) for node, used in scale_down.utilization.items()},
        "unneeded": {node: removal.moves for node, removal in scale_down.unneeded.items()},
        "unremovable": {node: _unremovable(why) for node, why in scale_down.unremovable.items()},
        "removable": _in_two(scale_down.removable),
        "deleted": _in_two(scale_down.deleted),
    }


def _in_two(nodes: tuple[list[str], list[str]] | None) -> dict[str, list[str]] | None:
    return None if nodes is None else {"empty": nodes[0], "drain": nodes[1]}


def _utilization(used: Utilization) -> dict[str, Any]:
    shares = {"cpu": used.cpu, "memory": used.memory}
    utilization = {name: share for name, share in shares.items() if share is not None}
    return {"utilization": used.share, "resource": used.resource, **utilization}


def _unremovable(why: Unremovable) -> dict[str, Any]:
    reason = {"reason": why.reason, "pod": why.pod, "podReason": why.pod_reason}
    return {key: value for key, value in reason.items() if value}


class KarpenterScenario(msgspec.Struct, rename="camel"):
    """One line of a file of such scenarios. ``expected`` may be absent."""

    name: str
    now: str
    objects: list[msgspec.Raw]
    pods: list[Pod]
    node_pools: list[NodePool]
    instance_types: list[InstanceType]
    pool_instance_types: dict[str, list[str]] = {}
    options: KarpenterOptions = KarpenterOptions()
    disruption: bool = False
    expected: dict[str, Any] | None = None
    varies: list[str] = []


def karpenter_answer(scenario: KarpenterScenario) -> dict[str, Any]:
    """The scenario's outcome, in the shape of ``expected`` with the scenario's name."""
    world = snapshot_of_scenario(scenario)
    provisioning = provision(world)
    result = provisioning.results
    answer: dict[str, Any] = {
        "name": scenario.name,
        "placed": result.placed,
        "nodeClaims": [_claim(claim, world.catalogue) for claim in result.claims],
        "errors": {pod: list(reasons) for pod, reasons in result.errors.items()},
        "relaxed": {pod: _given_up(what) for pod, what in result.relaxed.items()},
        "ignored": {pod: list(reasons) for pod, reasons in provisioning.ignored.items()},
        "notPending": list(provisioning.not_pending),
        "skippedPools": result.skipped,
    }
    if scenario.disruption:
        answer["disruption"] = {method: _disruption(world, method) for method in METHODS}
    return answer


def _disruption(world: KarpenterSnapshot, method: str) -> dict[str, Any]:
    consolidation = consolidate(world, method)
    answer: dict[str, Any] = {
        "candidates": {
            candidate.name: {"cost": candidate.cost, "price": candidate.price or 0, "pods": len(candidate.pods)}
            for candidate in consolidation.search.candidates
        },
        "budgets": dict(consolidation.budgets),
        "reasons": consolidation.search.reasons,
    }
    command = consolidation.command
    if command is not None:
        answer["command"] = {
            "decision": command.decision,
            "nodes": [node.name for node in command.nodes],
            "placed": dict(command.placed),
            "savings": command.savings(world.catalogue),
            "replacements": [_claim(claim, world.catalogue) for claim in command.replacements],
        }
    return answer


def snapshot_of_scenario(scenario: KarpenterScenario) -> KarpenterSnapshot:
    objects, plain = read_objects(scenario.objects), plain_objects(scenario.objects)
    return KarpenterSnapshot(
        start_time(scenario.now),
        objects,
        scenario.pods,
        scenario.node_pools,
        Catalogue(scenario.instance_types),
        scenario.pool_instance_types,
        scenario.options,
        plain.get("DaemonSet", ()),
        objects.list_all(PodDisruptionBudget),
        # Recorded with a client that looks for a PersistentVolume in the pod's namespace, and finds none there.
        volume_places_known=False,
    )


def _given_up(what: Mapping[str, int]) -> dict[str, Any]:
    return {key: True if key == "tolerate" else count for key, count in what.items()}


def _claim(claim: NewClaim, catalogue: Catalogue) -> dict[str, Any]:
    requirements = claim.resolve_requirements()
    cheapest = catalogue.cheapest(claim.types, requirements)
    spelled = [to_selector for key in sorted(requirements) for to_selector in requirements[key].to_selectors()]
    return {
        "nodePool": claim.template.name,
        "pods": [wants.key for wants in claim.pods],
        "requirements": [_without_names(requirement) for requirement in spelled],
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
    if part_of(requirement, "key") != INSTANCE_TYPE:
        return requirement
    return {key: value for key, value in requirement.items() if key != "values"}


def _taints(taints: Iterable[Taint]) -> list[str]:
    return sorted(f"{taint.key}={taint.value or ''}:{taint.effect}" for taint in taints)
