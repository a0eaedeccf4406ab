"""An outcome of the search becomes what is written into claims.

Upstream: dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go (createNodeSelector).
"""

from __future__ import annotations

from uuid import NAMESPACE_OID, uuid5

from kwhatif.api.core import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from kwhatif.api.devices import Allocation, DeviceResult, DeviceResults, ResourceClaim
from kwhatif.devices.allocator import Outcome, Pick, Problem
from kwhatif.devices.device_pools import Unit
from kwhatif.devices.inventory import Inventory
from kwhatif.versions import Features


def allocations(
    inventory: Inventory, row: int, outcome: Outcome, claims: list[ResourceClaim], features: Features
) -> list[Allocation]:
    """The allocation of each claim on a node whose search came out well."""
    assert outcome.picks is not None
    start = int(inventory.starts[row])
    node = inventory.columns.names[row]
    found = []
    for claim, picks in zip(claims, outcome.picks, strict=True):
        units = [inventory.units[int(inventory.flat[start + pick.place])] for pick in picks]
        results = [
            _result(pick, unit, f"{claim.identity}/{place}", features)
            for place, (pick, unit) in enumerate(zip(picks, units, strict=True))
        ]
        devices = DeviceResults(results=results or None)
        found.append(Allocation(devices=devices, node_selector=_node_selector(units, node)))
    return found


def _result(pick: Pick, unit: Unit, seed: str, features: Features) -> DeviceResult:
    driver, pool, name = unit.id
    shares = features.dra_consumable_capacity and unit.device.allow_multiple_allocations
    return DeviceResult(
        request=pick.want.full_name,
        driver=driver,
        pool=pool,
        device=name,
        admin_access=True if pick.want.admin else None,
        tolerations=list(pick.want.tolerations) or None,
        binding_conditions=unit.device.binding_conditions if features.binding_conditions else None,
        binding_failure_conditions=unit.device.binding_failure_conditions if features.binding_conditions else None,
        # Upstream's is random; one made of what it stands for keeps answers the same.
        share_id=str(uuid5(NAMESPACE_OID, f"{seed}/{'/'.join(unit.id)}")) if shares else None,
        consumed_capacity=pick.consumed or None,
    )


def _node_selector(units: list[Unit], node: str) -> NodeSelector | None:
    """Where claims with these devices can be used; None for everywhere."""
    fields: list[NodeSelectorRequirement] = []
    expressions: list[NodeSelectorRequirement] = []
    for unit in units:
        own = unit.device if unit.slice.spec.per_device_node_selection else unit.slice.spec
        if own.node_name is not None or unit.device.binds_to_node:
            only = NodeSelectorRequirement(key="metadata.name", operator="In", values=[node])
            return NodeSelector(node_selector_terms=[NodeSelectorTerm(match_fields=[only])])
        terms = own.node_selector.node_selector_terms if own.node_selector else None
        if terms and len(terms) == 1:
            _add_new(fields, terms[0].match_fields or [])
            _add_new(expressions, terms[0].match_expressions or [])
    if not fields and not expressions:
        return None
    term = NodeSelectorTerm(match_fields=fields or None, match_expressions=expressions or None)
    return NodeSelector(node_selector_terms=[term])


def _add_new(known: list[NodeSelectorRequirement], more: list[NodeSelectorRequirement]) -> None:
    for each in more:
        if not any(
            each.key == other.key
            and each.operator == other.operator
            and set(each.values or ()) == set(other.values or ())
            for other in known
        ):
            known.append(each)


def spelt(problem: Problem, inventory: Inventory, row: int, claims: list[ResourceClaim]) -> str:
    """The text of a problem on one node."""
    text = problem.text.replace("{node}", inventory.columns.names[row])
    if claims:
        text = text.replace("{claim}", claims[problem.claim].key)
    if problem.place >= 0:
        unit = inventory.units[int(inventory.flat[int(inventory.starts[row]) + problem.place])]
        text = text.replace("{device}", "/".join(unit.id))
    if problem.pool >= 0:
        text = text.replace("{pool}", inventory.pools[row][problem.pool].name)
    return text
