"""All devices, numbered, and the pools of each node; what is asked of a device is asked once per distinct answer.

The device axis is a column, too: axis 0 of the arrays here is the device, in the order of slices by name; D is
their number.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any, cast

import numpy as np

from kwhatif.api.devices import Device, ResourceSlice
from kwhatif.cluster.claim_store import DeviceId
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.columns import NodeColumns
from kwhatif.cluster.types import BoolArray, IntpArray
from kwhatif.devices.device_pools import Pool, PoolId, Unit, gather, in_order, nodes_of_device, nodes_of_slice
from kwhatif.versions import Features


class Inventory:
    """The devices of a cluster.

    units    list[Unit], D long
    pools    per row the node's pools, in the order of allocation
    numbers  device -> its numbers, more than one where a pool has several generations
    selections   what selectors let through, kept for whoever asks again, and so are ``plans``
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
        for each in slices:
            spec = each.spec
            id_ = spec.driver, spec.pool.name
            by_pool.setdefault(id_, []).append(each)
            units = by_slice[each.name] = []
            for device in spec.devices or ():
                unit = Unit(len(self.units), (spec.driver, spec.pool.name, device.name), device, each)
                units.append(unit)
                self.units.append(unit)
                self.numbers[unit.id] = (*self.numbers.get(unit.id, ()), unit.number)
            if spec.shared_counters and features.counters_belong_to_pools:
                counting.append(each)
                continue
            for row in self._rows(each):
                near[row].append(each)
                rows_of.setdefault(id_, set()).add(row)
        # Counters concern every node (upstream), but those without a device of the pool only if it is in disorder.
        apart: dict[PoolId, list[ResourceSlice]] = {}
        for each in counting if features.dra_partitionable_devices else ():
            id_ = each.spec.driver, each.spec.pool.name
            apart.setdefault(id_, []).append(each)
            for row in rows_of.get(id_, ()):
                near[row].append(each)
        strangers = [pool for some in apart.values() for pool in gather(some, by_pool, by_slice, features)]
        strangers = [pool for pool in strangers if not pool.usable]
        self.pools: list[tuple[Pool, ...]] = [
            in_order(
                [
                    *gather(some, by_pool, by_slice, features),
                    *(pool for pool in strangers if row not in rows_of.get(pool.id, ())),
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
    def of(cls, cluster: Cluster) -> Inventory:
        """The inventory of a cluster, made once for it and its forks."""
        devices = cluster.devices
        found = devices.memory.get("inventory")
        if found is None or found.columns is not cluster.columns:
            found = devices.memory["inventory"] = cls(cluster.columns, devices.slices, devices.features)
        return cast("Inventory", found)

    def _rows(self, each: ResourceSlice) -> list[int]:
        name = each.spec.node_name
        if name and not each.spec.shared_counters and each.spec.per_device_node_selection is None:
            row = self.columns.row(name)
            return [] if row is None else [row]
        return np.flatnonzero(nodes_of_slice(self.columns, each, self.features)).tolist()

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
    def listed(self) -> tuple[IntpArray, IntpArray]:
        """intp[Q] each: numbers of devices and rows of nodes that they are listed for, whatever becomes of pools."""
        rows_of = {each.name: self._rows(each) for each in self._slices}
        pairs = [
            (unit.number, row) for unit in self.units for row in rows_of[unit.slice.name] if self.reaches(unit, row)
        ]
        numbers, rows = zip(*pairs, strict=True) if pairs else ((), ())
        return np.array(numbers, np.intp), np.array(rows, np.intp)

    def code(self, key: Hashable, value: Callable[[Device, str], Hashable]) -> IntpArray:
        """intp[D]: dictionary codes of what ``value`` says of a device and its driver; kept under ``key``."""
        found = self._codes.get(key)
        if found is None:
            seen: dict[Hashable, int] = {}
            answers = [seen.setdefault(value(unit.device, unit.id[0]), len(seen)) for unit in self.units]
            found = self._codes[key] = np.array(answers, np.intp)
        return found

    def pattern(self, key: Hashable, codes: IntpArray) -> IntpArray:
        """intp[P]: for each device of each node, the place of the node's first device with the same code."""
        found = self._codes.get(key)
        if found is None:
            row = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
            pairs = row * (int(codes.max(initial=0)) + 1) + codes[self.flat]
            _, first, place = np.unique(pairs, return_index=True, return_inverse=True)
            found = self._codes[key] = first[place] - self.starts[row]
        return found

    def combined(self, columns: list[IntpArray]) -> IntpArray:
        """intp[D] or intp[P], as the columns are: one code for each distinct combination."""
        found = columns[0] if columns else np.zeros(len(self.units), np.intp)
        for column in columns[1:]:
            _, found = np.unique(found * (int(column.max(initial=0)) + 1) + column, return_inverse=True)
        return found

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
