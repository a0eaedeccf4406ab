"""Outcomes of allocation for each node, kept up to date row by row, and the ledger of devices in use.

Nodes with equal devices in equal states share one outcome; when devices change owners, only the nodes that can reach
them are searched again.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import cast

import msgspec
import numpy as np

from kwhatif.api.devices import ClaimSpec
from kwhatif.api.quantity import plain_quantity
from kwhatif.cluster.claim_store import DeviceId, Devices
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.types import BoolArray, IntpArray
from kwhatif.devices.allocator import AllocationOutcome, NodeDevices, Search, consumed_counters
from kwhatif.devices.inventory import Inventory, Pool, Unit
from kwhatif.devices.plan import Plan


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
    def for_cluster(cls, cluster: Cluster) -> Ledger:
        """The ledger of a cluster, up to date."""
        inventory = Inventory.for_cluster(cluster)
        entry = cluster.devices.own.get("ledger")
        if entry is None or entry.inventory is not inventory:
            entry = cluster.devices.own["ledger"] = cls(inventory, cluster.devices)
        ledger = cast("Ledger", entry)
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

    def is_allocated(self, unit: Unit) -> bool:
        """Whether a device is in use, alone or together."""
        return bool(self.taken[unit.number] or self.shared[unit.number])

    def node(self, row: int) -> NodeDevices:
        """What an allocation on one node starts from."""
        pools = self.inventory.pools[row]
        units = [unit for pool in pools for unit in pool.units]
        consumed = self.devices.consumed
        return NodeDevices(
            pools,
            units,
            [p for p, pool in enumerate(pools) for _ in pool.units],
            [self.inventory.reaches(unit, row) for unit in units],
            [bool(self.taken[unit.number]) for unit in units],
            {place: consumed[unit.id] for place, unit in enumerate(units) if unit.id in consumed},
            {p: self.consumed_counters_of(pool) for p, pool in enumerate(pools) if pool.counters},
        )

    def consumed_counters_of(self, pool: Pool) -> dict[str, dict[str, int]]:
        """What is consumed of a pool's counters, in billionths."""
        return consumed_counters((*pool.units, *pool.others), self.is_allocated)


PLANS_AT_MOST = 1024
ANSWERS_AT_MOST = 64
MEMORY = 100_000
"""How many outcomes are remembered for one plan, and how many lists of claims are remembered at all."""

_encoder = msgspec.msgpack.Encoder(enc_hook=plain_quantity)


def plan_of(cluster: Cluster, specs: Sequence[ClaimSpec]) -> Plan:
    """The plan of some claims; claims spelt alike share one."""
    plans = Inventory.for_cluster(cluster).plans
    key = tuple(_encoder.encode(spec.devices) for spec in specs)
    plan = plans.pop(key, None)
    if plan is None:
        if len(plans) >= PLANS_AT_MOST:
            del plans[next(iter(plans))]
        plan = Plan(Inventory.for_cluster(cluster), specs, cluster.devices.classes)
    plans[key] = plan
    return plan  # type: ignore[no-any-return]


class ClaimOutcomes:
    """Outcomes of one plan on the nodes of one cluster.

    fits    bool[N]: there is a solution
    fails   bool[N]: the search itself met a problem
    """

    def __init__(self, plan: Plan, ledger: Ledger) -> None:
        self.plan, self._ledger = plan, ledger
        size = len(ledger.inventory.layout)
        self.fits: BoolArray = np.zeros(size, np.bool_)
        self.fails: BoolArray = np.zeros(size, np.bool_)
        self.outcomes: list[AllocationOutcome] = [_NONE] * size
        inventory = ledger.inventory
        lonely = plan.plain[inventory.flat]
        # Of devices that are taken or free, and that is all, the bits say everything.
        self._simple = np.array(
            [
                bool(lonely[start:end].all())
                for start, end in zip(inventory.starts[:-1].tolist(), inventory.starts[1:].tolist(), strict=True)
            ],
            np.bool_,
        )
        self._seen = len(ledger.changed)
        self._ask(np.arange(size))

    @classmethod
    def for_plan(cls, cluster: Cluster, plan: Plan) -> ClaimOutcomes:
        """The outcomes for a cluster, up to date."""
        ledger = Ledger.for_cluster(cluster)
        kept: dict[int, ClaimOutcomes] = cluster.devices.own.setdefault("answers", {})
        outcomes = kept.pop(id(plan), None)
        if outcomes is None or outcomes._ledger is not ledger:
            if len(kept) >= ANSWERS_AT_MOST:
                del kept[next(iter(kept))]
            outcomes = cls(plan, ledger)
        else:
            outcomes.refresh()
        kept[id(plan)] = outcomes
        return outcomes

    def refresh(self) -> None:
        """Search again on nodes whose free devices changed."""
        changed = self._ledger.changed
        if self._seen < len(changed):
            rows = np.array(sorted(set(changed[self._seen :])), np.intp)
            self._seen = len(changed)
            self._ask(rows)

    def _ask(self, rows: IntpArray) -> None:
        plan, memory = self.plan, self.plan.outcomes
        if len(memory) > MEMORY:
            memory.clear()
        for row in rows.tolist():
            key = self._signature(row)
            outcome = memory.get(key)
            if outcome is None:
                outcome = memory[key] = Search(plan, self._ledger.node(row)).run()
            self.outcomes[row] = outcome
            self.fits[row] = outcome.picks is not None
            self.fails[row] = outcome.problem is not None

    def _signature(self, row: int) -> Hashable:
        inventory = self._ledger.inventory
        here = slice(inventory.starts[row], inventory.starts[row + 1])
        numbers = inventory.flat[here]
        state = (self.plan.marks[here] * 2 + self._ledger.taken[numbers]).tobytes()
        if self._simple[row]:
            return int(inventory.layout[row]), state
        consumed, units = self._ledger.devices.consumed, inventory.units
        used = tuple(
            (place, tuple(sorted(consumed.get(units[number].id, {}).items())))
            for place, number in enumerate(numbers.tolist())
            if self._ledger.shared[number]
        )
        others = tuple(self._ledger.is_allocated(unit) for pool in inventory.pools[row] for unit in pool.others)
        return int(inventory.layout[row]), state, used, others


_NONE = AllocationOutcome()
