"""All devices of a cluster, numbered, and the pools that each node sees: slices of the newest generation, complete and
valid or not.

Axis 0 of the arrays here is the device, in the order of slices by name; D is their number. Selectors are evaluated once
per distinct device. Upstream: dynamic-resource-allocation/structured/internal/incubating/pools_incubating.go.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, cast

import msgspec
import numpy as np

from kwhatif.api.core import NodeSelector
from kwhatif.api.devices import Device, ResourceSlice
from kwhatif.api.selectors import NodeTerm
from kwhatif.cluster.claim_store import DeviceId
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.columns import NodeColumns
from kwhatif.cluster.types import BoolArray, IntpArray
from kwhatif.versions import Features

PoolId = tuple[str, str]
"""(driver, name)."""


class Unit(msgspec.Struct, frozen=True, eq=False):
    """One device of one slice; ``number`` is its place in the inventory."""

    number: int
    id: DeviceId
    device: Device
    slice: ResourceSlice


class Pool(msgspec.Struct, frozen=True, eq=False):
    """What a node can see of a pool: ``units`` in the order of allocation, and ``others`` that it cannot reach.

    ``counters`` are the shared ones by set and name, in billionths.
    """

    id: PoolId
    incomplete: bool = False
    invalid: str = ""
    units: tuple[Unit, ...] = ()
    others: tuple[Unit, ...] = ()
    counters: dict[str, dict[str, int]] = {}

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
    for term in map(NodeTerm.from_term, selector.node_selector_terms or ()):
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


def nodes_of_slice(columns: NodeColumns, resource_slice: ResourceSlice, features: Features) -> BoolArray:
    """bool[N]: nodes that a slice concerns (upstream: GatherPools)."""
    spec = resource_slice.spec
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


def gather_pools(
    near: Iterable[ResourceSlice],
    everything: dict[PoolId, list[ResourceSlice]],
    units: Mapping[str, Sequence[Unit]],
    features: Features,
) -> list[Pool]:
    """The pools of a node, in any order.

    ``near`` are the slices that concern the node, ``everything`` all slices by pool, ``units`` those of each slice
    by its name.
    """
    by_id: dict[PoolId, list[ResourceSlice]] = {}
    for resource_slice in near:
        spec = resource_slice.spec.pool
        slices = by_id.setdefault((resource_slice.spec.driver, spec.name), [])
        if slices and spec.generation > slices[0].spec.pool.generation:
            slices.clear()
        if not slices or spec.generation == slices[0].spec.pool.generation:
            slices.append(resource_slice)
    pools = []
    for id_, slices in by_id.items():
        pool = _build(id_, slices, everything.get(id_, []), units, features)
        if pool is not None:
            pools.append(pool)
    return pools


def sort_pools(pools: Iterable[Pool]) -> tuple[Pool, ...]:
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
        if any(resource_slice.spec.pool.generation > spec.generation for resource_slice in everything):
            return None
        same = [
            resource_slice for resource_slice in everything if resource_slice.spec.pool.generation == spec.generation
        ]
        incomplete = len(same) != spec.resource_slice_count
        near = {resource_slice.name for resource_slice in slices}
        others = [resource_slice for resource_slice in same if resource_slice.name not in near]
    if incomplete and features.devices_of_incomplete_pools_are_refused:
        return Pool(id_, incomplete=True)
    slices = sorted(slices, key=lambda resource_slice: resource_slice.name)
    by_pool = features.dra_partitionable_devices and features.counters_belong_to_pools
    counting = [resource_slice for resource_slice in slices if resource_slice.spec.shared_counters] if by_pool else []
    holding = (
        [resource_slice for resource_slice in slices if not resource_slice.spec.shared_counters] if by_pool else slices
    )
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
        tuple(unit for resource_slice in holding for unit in units[resource_slice.name]),
        tuple(unit for resource_slice in others for unit in units[resource_slice.name]) if by_pool else (),
        counters,
    )


def _duplicate_device(slices: Iterable[ResourceSlice]) -> str:
    names = set()
    for device in (device for resource_slice in slices for device in resource_slice.spec.devices or ()):
        if device.name in names:
            return f"duplicate device name {device.name}"
        names.add(device.name)
    return ""


def _add_counters(slices: Iterable[ResourceSlice], counters: dict[str, dict[str, int]]) -> str:
    for resource_slice in slices:
        for one in resource_slice.spec.shared_counters or ():
            if one.name in counters:
                return f"duplicate counter set name {one.name}"
            counters[one.name] = {name: counter.value.nano() for name, counter in (one.counters or {}).items()}
    return ""


def _unknown_counter(slices: Iterable[ResourceSlice], counters: dict[str, dict[str, int]]) -> str:
    for device in (device for resource_slice in slices for device in resource_slice.spec.devices or ()):
        for used in device.consumes_counters or ():
            if used.counter_set not in counters:
                return f"counter set {used.counter_set} not found"
            for name in used.counters or {}:
                if name not in counters[used.counter_set]:
                    return f"counter {name} not found in counter set {used.counter_set}"
    return ""


class Inventory:
    """The devices of a cluster.

    units    list[Unit], D long
    pools    per row the node's pools, in the order of allocation
    numbers  device -> its numbers, more than one where a pool has several generations
    selections   what selectors let through, kept for the next search, and so are ``plans``
    """

    def __init__(self, columns: NodeColumns, slices: list[ResourceSlice], features: Features) -> None:
        self.columns, self.features = columns, features
        self.units: list[Unit] = []
        self.numbers: dict[DeviceId, tuple[int, ...]] = {}
        by_slice: dict[str, list[Unit]] = {}
        by_pool: dict[PoolId, list[ResourceSlice]] = {}
        near: list[list[ResourceSlice]] = [[] for _ in range(len(columns))]
        rows_of: dict[PoolId, set[int]] = {}
        counting: list[ResourceSlice] = []
        for resource_slice in slices:
            spec = resource_slice.spec
            id_ = spec.driver, spec.pool.name
            by_pool.setdefault(id_, []).append(resource_slice)
            units = by_slice[resource_slice.name] = []
            for device in spec.devices or ():
                unit = Unit(len(self.units), (spec.driver, spec.pool.name, device.name), device, resource_slice)
                units.append(unit)
                self.units.append(unit)
                self.numbers[unit.id] = (*self.numbers.get(unit.id, ()), unit.number)
            if spec.shared_counters and features.counters_belong_to_pools:
                counting.append(resource_slice)
                continue
            for row in self._rows(resource_slice):
                near[row].append(resource_slice)
                rows_of.setdefault(id_, set()).add(row)
        # Counters concern every node (upstream), but those without a device of the pool only if it is in disorder.
        apart: dict[PoolId, list[ResourceSlice]] = {}
        for resource_slice in counting if features.dra_partitionable_devices else ():
            id_ = resource_slice.spec.driver, resource_slice.spec.pool.name
            apart.setdefault(id_, []).append(resource_slice)
            for row in rows_of.get(id_, ()):
                near[row].append(resource_slice)
        elsewhere = [pool for some in apart.values() for pool in gather_pools(some, by_pool, by_slice, features)]
        in_disorder = [pool for pool in elsewhere if not pool.usable]
        self.pools: list[tuple[Pool, ...]] = [
            sort_pools(
                [
                    *gather_pools(some, by_pool, by_slice, features),
                    *(pool for pool in in_disorder if row not in rows_of.get(pool.id, ())),
                ]
            )
            for row, some in enumerate(near)
        ]
        self.selections: dict[Hashable, Any] = {}
        self.plans: dict[Hashable, Any] = {}
        self._codes: dict[Hashable, IntpArray] = {}
        self._chosen: dict[int, BoolArray] = {}
        self._slices = slices
        self._index()

    @classmethod
    def for_cluster(cls, cluster: Cluster) -> Inventory:
        """The inventory of a cluster, made once for it and its forks."""
        devices = cluster.devices
        inventory = devices.memory.get("inventory")
        if inventory is None or inventory.columns is not cluster.columns:
            inventory = devices.memory["inventory"] = cls(cluster.columns, devices.slices, devices.features)
        return cast("Inventory", inventory)

    def _rows(self, resource_slice: ResourceSlice) -> list[int]:
        name = resource_slice.spec.node_name
        if name and not resource_slice.spec.shared_counters and resource_slice.spec.per_device_node_selection is None:
            row = self.columns.row(name)
            return [] if row is None else [row]
        return np.flatnonzero(nodes_of_slice(self.columns, resource_slice, self.features)).tolist()

    def _index(self) -> None:
        """Arrays over all (node, device) pairs, node by node.

        flat     intp[P]: the device's number; ``starts`` intp[N + 1]: where each node's pairs begin
        layout   intp[N]: nodes with one code have pools of the same make, so that places in them mean the same
        """
        self.rows_of: list[list[int]] = [[] for _ in self.units]
        flat: list[int] = []
        starts = [0]
        layouts: dict[Hashable, int] = {}
        codes = []
        for row, pools in enumerate(self.pools):
            names = [pool.id[1] for pool in pools]
            for pool in pools:
                for unit in (*pool.units, *pool.others):
                    self.rows_of[unit.number].append(row)
                flat += [unit.number for unit in pool.units]
            starts.append(len(flat))
            # Counters are kept by the pool's name alone, so pools of one name get in each other's way.
            made = tuple((names.index(pool.id[1]), *self._make(pool, row)) for pool in pools)
            codes.append(layouts.setdefault(made, len(layouts)))
        self.flat: IntpArray = np.array(flat, np.intp)
        self.starts: IntpArray = np.array(starts, np.intp)
        self.layout: IntpArray = np.array(codes, np.intp)

    @cached_property
    def device_rows(self) -> tuple[IntpArray, IntpArray]:
        """intp[Q] each: numbers of devices and rows of nodes that they are listed for, whatever becomes of pools."""
        rows_of = {resource_slice.name: self._rows(resource_slice) for resource_slice in self._slices}
        pairs = [
            (unit.number, row) for unit in self.units for row in rows_of[unit.slice.name] if self.reaches(unit, row)
        ]
        numbers, rows = zip(*pairs, strict=True) if pairs else ((), ())
        return np.array(numbers, np.intp), np.array(rows, np.intp)

    def code(self, key: Hashable, value: Callable[[Device, str], Hashable]) -> IntpArray:
        """intp[D]: dictionary codes of what ``value`` says of a device and its driver; kept under ``key``."""
        codes = self._codes.get(key)
        if codes is None:
            seen: dict[Hashable, int] = {}
            answers = [seen.setdefault(value(unit.device, unit.id[0]), len(seen)) for unit in self.units]
            codes = self._codes[key] = np.array(answers, np.intp)
        return codes

    def pattern(self, key: Hashable, codes: IntpArray) -> IntpArray:
        """intp[P]: for each device of each node, the place of the node's first device with the same code."""
        places = self._codes.get(key)
        if places is None:
            row = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
            pairs = row * (int(codes.max(initial=0)) + 1) + codes[self.flat]
            _, first, place = np.unique(pairs, return_index=True, return_inverse=True)
            places = self._codes[key] = first[place] - self.starts[row]
        return places

    def combine_codes(self, columns: list[IntpArray]) -> IntpArray:
        """intp[D] or intp[P], as the columns are: one code for each distinct combination."""
        codes = columns[0] if columns else np.zeros(len(self.units), np.intp)
        for column in columns[1:]:
            _, codes = np.unique(codes * (int(column.max(initial=0)) + 1) + column, return_inverse=True)
        return codes

    def reaches(self, unit: Unit, row: int) -> bool:
        """Whether a node is one of a device's own choice; a device that leaves it to its slice has no choice."""
        if not unit.slice.spec.per_device_node_selection:
            return True
        mask = self._chosen.get(unit.number)
        if mask is None:
            mask = self._chosen[unit.number] = nodes_of_device(self.columns, unit.device)
        return bool(mask[row])

    def _make(self, pool: Pool, row: int) -> tuple[Hashable, ...]:
        """What makes pools of different nodes alike."""
        counters = tuple((name, *sorted(values.items())) for name, values in sorted(pool.counters.items()))
        reached = tuple(self.reaches(unit, row) for unit in pool.units)
        own = pool.id if pool.others else None
        return pool.incomplete, bool(pool.invalid), len(pool.units), counters, own, None if all(reached) else reached
