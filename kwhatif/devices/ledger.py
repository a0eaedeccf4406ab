"""Which devices are taken, as columns that follow the claims of one cluster."""

from __future__ import annotations

from typing import cast

import numpy as np

from kwhatif.cluster.claim_store import DeviceId, Devices
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.types import BoolArray
from kwhatif.devices.allocator import Node, spent_counters
from kwhatif.devices.device_pools import Pool, Unit
from kwhatif.devices.inventory import Inventory


class Ledger:
    """State of the devices of an inventory.

    taken     bool[D]: given to one claim alone
    shared    bool[D]: shared by claims
    changed   rows of nodes that have more or less than before, oldest first
    """

    def __init__(self, inventory: Inventory, devices: Devices) -> None:
        self.inventory, self.devices = inventory, devices
        self.taken: BoolArray = np.zeros(len(inventory.units), np.bool_)
        self.shared: BoolArray = np.zeros(len(inventory.units), np.bool_)
        self.changed: list[int] = []
        for device in (*devices.taken, *devices.shares):
            self._look_at(device)
        self.changed.clear()
        self._seen = len(devices.journal)

    @classmethod
    def of(cls, cluster: Cluster) -> Ledger:
        """The ledger of a cluster, up to date."""
        inventory = Inventory.of(cluster)
        found = cluster.devices.own.get("ledger")
        if found is None or found.inventory is not inventory:
            found = cluster.devices.own["ledger"] = cls(inventory, cluster.devices)
        ledger = cast("Ledger", found)
        ledger.refresh()
        return ledger

    def refresh(self) -> None:
        """Catch up with the claims."""
        journal = self.devices.journal
        if self._seen < len(journal):
            for device in dict.fromkeys(journal[self._seen :]):
                self._look_at(device)
            self._seen = len(journal)

    def _look_at(self, device: DeviceId) -> None:
        taken, shared = device in self.devices.taken, device in self.devices.shares
        for number in self.inventory.numbers.get(device, ()):
            self.taken[number], self.shared[number] = taken, shared
            self.changed.extend(self.inventory.rows_of[number])

    def allocated(self, unit: Unit) -> bool:
        """Whether a device is in use, alone or together."""
        return bool(self.taken[unit.number] or self.shared[unit.number])

    def node(self, row: int) -> Node:
        """What an allocation on one node starts from."""
        pools = self.inventory.pools[row]
        units = [unit for pool in pools for unit in pool.units]
        consumed = self.devices.consumed
        return Node(
            pools,
            units,
            [p for p, pool in enumerate(pools) for _ in pool.units],
            [self.inventory.reaches(unit, row) for unit in units],
            [bool(self.taken[unit.number]) for unit in units],
            {place: consumed[unit.id] for place, unit in enumerate(units) if unit.id in consumed},
            {p: self.spent(pool) for p, pool in enumerate(pools) if pool.counters},
        )

    def spent(self, pool: Pool) -> dict[str, dict[str, int]]:
        """What is consumed of a pool's counters, in billionths."""
        return spent_counters((*pool.units, *pool.others), self.allocated)
