"""What claims get on each node, kept up to date node by node.

Nodes whose devices are alike and alike in use have one answer; when devices change hands, only the nodes that can
reach them are asked again.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import msgspec
import numpy as np

from kwhatif.api.devices import ClaimSpec
from kwhatif.api.quantity import plain_quantity
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.types import BoolArray, IntpArray
from kwhatif.devices.allocator import Outcome, Search
from kwhatif.devices.inventory import Inventory
from kwhatif.devices.ledger import Ledger
from kwhatif.devices.plan import Plan

PLANS_AT_MOST = 1024
ANSWERS_AT_MOST = 64
MEMORY = 100_000
"""How many outcomes are remembered for one plan, and how many lists of claims are remembered at all."""

_encoder = msgspec.msgpack.Encoder(enc_hook=plain_quantity)


def plan_of(cluster: Cluster, specs: Sequence[ClaimSpec]) -> Plan:
    """The plan of some claims; claims spelt alike share one."""
    plans = Inventory.of(cluster).plans
    key = tuple(_encoder.encode(spec.devices) for spec in specs)
    found = plans.pop(key, None)
    if found is None:
        if len(plans) >= PLANS_AT_MOST:
            del plans[next(iter(plans))]
        found = Plan(Inventory.of(cluster), specs, cluster.devices.classes)
    plans[key] = found
    return found  # type: ignore[no-any-return]


class Answers:
    """Outcomes of one plan on the nodes of one cluster.

    fits    bool[N]: there is a solution
    fails   bool[N]: the search itself met a problem
    """

    def __init__(self, plan: Plan, ledger: Ledger) -> None:
        self.plan, self._ledger = plan, ledger
        size = len(ledger.inventory.layout)
        self.fits: BoolArray = np.zeros(size, np.bool_)
        self.fails: BoolArray = np.zeros(size, np.bool_)
        self.outcomes: list[Outcome] = [_NONE] * size
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
    def of(cls, cluster: Cluster, plan: Plan) -> Answers:
        """The answers for a cluster, up to date."""
        ledger = Ledger.of(cluster)
        kept: dict[int, Answers] = cluster.devices.own.setdefault("answers", {})
        found = kept.pop(id(plan), None)
        if found is None or found._ledger is not ledger:
            if len(kept) >= ANSWERS_AT_MOST:
                del kept[next(iter(kept))]
            found = cls(plan, ledger)
        else:
            found.refresh()
        kept[id(plan)] = found
        return found

    def refresh(self) -> None:
        """Ask again about nodes that have more or less than before."""
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
        others = tuple(self._ledger.allocated(unit) for pool in inventory.pools[row] for unit in pool.others)
        return int(inventory.layout[row]), state, used, others


_NONE = Outcome()
