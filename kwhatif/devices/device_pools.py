"""Pools of devices as a node sees them: the slices of the newest generation, complete and valid or not.

Upstream: dynamic-resource-allocation/structured/internal/incubating/pools_incubating.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from kwhatif.api.core import NodeSelector
from kwhatif.api.devices import Device, ResourceSlice
from kwhatif.api.selectors import NodeTerm
from kwhatif.cluster.claim_store import DeviceId
from kwhatif.cluster.columns import NodeColumns
from kwhatif.cluster.types import BoolArray
from kwhatif.versions import Features

PoolId = tuple[str, str]
"""(driver, name)."""


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """One device of one slice; ``number`` is its place in the inventory."""

    number: int
    id: DeviceId
    device: Device
    slice: ResourceSlice


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """What a node can see of a pool: ``units`` in the order of allocation, and ``others`` that it cannot reach.

    ``counters`` are the shared ones by set and name, in billionths.
    """

    id: PoolId
    incomplete: bool = False
    invalid: str = ""
    units: tuple[Unit, ...] = ()
    others: tuple[Unit, ...] = ()
    counters: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """``driver/pool``."""
        return "/".join(self.id)

    @property
    def usable(self) -> bool:
        return not self.incomplete and not self.invalid


# --- which nodes


def nodes_of(columns: NodeColumns, selector: NodeSelector) -> BoolArray:
    """bool[N]: nodes that a node selector admits."""
    mask = np.zeros(len(columns), np.bool_)
    for term in map(NodeTerm.of, selector.node_selector_terms or ()):
        if term is None or term.broken:
            continue
        only = term.fields[0] if len(term.fields) == 1 and not term.expressions else None
        if only is not None and only.key == "metadata.name" and only.operator == "In":
            # By far the most frequent one, and there are as many of them as nodes.
            rows = [row for name in only.values if (row := columns.row(name)) is not None]
            mask[rows] = True
        else:
            mask |= columns.matching_term(term.expressions, term.fields)
    return mask


def _nodes(columns: NodeColumns, name: str | None, everywhere: bool | None, selector: NodeSelector | None) -> BoolArray:
    if name:
        mask = np.zeros(len(columns), np.bool_)
        row = columns.row(name)
        if row is not None:
            mask[row] = True
        return mask
    if everywhere:
        return np.ones(len(columns), np.bool_)
    return np.zeros(len(columns), np.bool_) if selector is None else nodes_of(columns, selector)


def nodes_of_device(columns: NodeColumns, device: Device) -> BoolArray:
    """bool[N]: nodes of a device whose slice lets each device choose."""
    return _nodes(columns, device.node_name, device.all_nodes, device.node_selector)


def nodes_of_slice(columns: NodeColumns, each: ResourceSlice, features: Features) -> BoolArray:
    """bool[N]: nodes that a slice concerns (upstream: GatherPools)."""
    spec = each.spec
    partitions = features.dra_partitionable_devices
    if not partitions and spec.per_device_node_selection is not None:
        return np.zeros(len(columns), np.bool_)
    if spec.node_name or spec.all_nodes or spec.node_selector is not None:
        return _nodes(columns, spec.node_name, spec.all_nodes, spec.node_selector)
    mask = np.zeros(len(columns), np.bool_)
    if spec.per_device_node_selection:
        for device in spec.devices or ():
            mask |= nodes_of_device(columns, device)
    return mask


# --- pools


def gather(
    near: Iterable[ResourceSlice],
    everything: dict[PoolId, list[ResourceSlice]],
    units: Mapping[str, Sequence[Unit]],
    features: Features,
) -> list[Pool]:
    """The pools of a node, in any order.

    ``near`` are the slices that concern the node, ``everything`` all slices by pool, ``units`` those of each slice
    by its name.
    """
    found: dict[PoolId, list[ResourceSlice]] = {}
    for each in near:
        spec = each.spec.pool
        slices = found.setdefault((each.spec.driver, spec.name), [])
        if slices and spec.generation > slices[0].spec.pool.generation:
            slices.clear()
        if not slices or spec.generation == slices[0].spec.pool.generation:
            slices.append(each)
    pools = []
    for id_, slices in found.items():
        pool = _build(id_, slices, everything.get(id_, []), units, features)
        if pool is not None:
            pools.append(pool)
    return pools


def in_order(pools: Iterable[Pool]) -> tuple[Pool, ...]:
    """In the order of allocation: by driver and name, those with binding conditions last."""
    return tuple(sorted(pools, key=lambda pool: (_waits_to_bind(pool), pool.id)))


def _waits_to_bind(pool: Pool) -> bool:
    return any(unit.device.binding_conditions is not None for unit in pool.units)


def _build(
    id_: PoolId,
    slices: list[ResourceSlice],
    everything: list[ResourceSlice],
    units: Mapping[str, Sequence[Unit]],
    features: Features,
) -> Pool | None:
    """One pool; None if a newer generation, which does not concern the node, has replaced it."""
    spec = slices[0].spec.pool
    incomplete = len(slices) != spec.resource_slice_count
    others: list[ResourceSlice] = []
    if incomplete and features.pools_are_complete_across_nodes:
        if any(each.spec.pool.generation > spec.generation for each in everything):
            return None
        same = [each for each in everything if each.spec.pool.generation == spec.generation]
        incomplete = len(same) != spec.resource_slice_count
        near = {each.name for each in slices}
        others = [each for each in same if each.name not in near]
    if incomplete and features.devices_of_incomplete_pools_are_refused:
        return Pool(id_, incomplete=True)
    slices = sorted(slices, key=lambda each: each.name)
    by_pool = features.dra_partitionable_devices and features.counters_belong_to_pools
    counting = [each for each in slices if each.spec.shared_counters] if by_pool else []
    holding = [each for each in slices if not each.spec.shared_counters] if by_pool else slices
    invalid = _duplicate_device(holding)
    counters: dict[str, dict[str, int]] = {}
    if not invalid and by_pool:
        invalid = _add_counters(counting, counters) or _unknown_counter([*slices, *others], counters)
    if invalid:
        return Pool(id_, incomplete=incomplete, invalid=invalid)
    return Pool(
        id_,
        incomplete,
        "",
        tuple(unit for each in holding for unit in units[each.name]),
        tuple(unit for each in others for unit in units[each.name]) if by_pool else (),
        counters,
    )


def _duplicate_device(slices: Iterable[ResourceSlice]) -> str:
    names = set()
    for device in (device for each in slices for device in each.spec.devices or ()):
        if device.name in names:
            return f"duplicate device name {device.name}"
        names.add(device.name)
    return ""


def _add_counters(slices: Iterable[ResourceSlice], counters: dict[str, dict[str, int]]) -> str:
    for each in slices:
        for one in each.spec.shared_counters or ():
            if one.name in counters:
                return f"duplicate counter set name {one.name}"
            counters[one.name] = {name: counter.value.nano() for name, counter in (one.counters or {}).items()}
    return ""


def _unknown_counter(slices: Iterable[ResourceSlice], counters: dict[str, dict[str, int]]) -> str:
    for device in (device for each in slices for device in each.spec.devices or ()):
        for used in device.consumes_counters or ():
            if used.counter_set not in counters:
                return f"counter set {used.counter_set} not found"
            for name in used.counters or {}:
                if name not in counters[used.counter_set]:
                    return f"counter {name} not found in counter set {used.counter_set}"
    return ""
