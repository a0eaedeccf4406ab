"""The allocator: the first solution in upstream's order of search, for some claims on one node.

Pools by driver and name, slices by name, devices as they are listed; requests one after the other, with backtracking.
State that upstream fails to restore when it backtracks is not restored here either, since it affects the outcome.
Upstream: dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from kwhatif.api.devices import RESULTS_AT_MOST
from kwhatif.api.quantity import Quantity
from kwhatif.bounds import charge
from kwhatif.devices.constraints import Constraint, consumption, enough_left
from kwhatif.devices.inventory import Pool, Unit
from kwhatif.devices.plan import Plan, RequestData
from kwhatif.devices.selectors import NO, YES

MOST_STEPS = 500_000
"""What upstream limits by time (filterTimeout, 10 s by default) is limited by steps of the search here."""

_STEP_COSTS = 10


class DevicePick(msgspec.Struct, frozen=True):
    """A device chosen for a request; ``place`` counts the devices of the node's pools."""

    place: int
    want: RequestData
    consumed: dict[str, Quantity] | None = None


class Problem(msgspec.Struct, frozen=True):
    """Why a node cannot even be searched. ``claim`` and ``place`` (of a device) or ``pool`` are filled in for a node.

    ``text`` has ``{claim}``, ``{device}`` and ``{pool}`` where their names go. A ``mild`` one concerns this node only.
    """

    text: str
    claim: int = 0
    place: int = -1
    pool: int = -1
    mild: bool = False


class AllocationOutcome(msgspec.Struct, frozen=True, eq=False):
    """The devices of each claim, or a problem, or neither: there is no solution."""

    picks: tuple[tuple[DevicePick, ...], ...] | None = None
    problem: Problem | None = None
    steps: int = 0


class _TooMany(Exception):
    """A claim would get more devices than it can have."""


class _Refused(Exception):
    def __init__(self, problem: Problem) -> None:
        self.problem = problem


class NodeDevices(msgspec.Struct):
    """What a search knows of a node.

    ``units`` are the devices of its pools, ``pool_of`` the place of each one's pool, ``reached`` whether each is for
    this node, ``taken`` whether each is in use; ``used`` is the shared capacity in use by place, ``spent`` what
    allocated devices consume of the counters of each pool, by its place.
    """

    pools: tuple[Pool, ...]
    units: list[Unit]
    pool_of: list[int]
    reached: list[bool]
    taken: list[bool]
    used: dict[int, dict[str, int]]
    spent: dict[int, dict[str, dict[str, int]]]

    @property
    def invalid_pool(self) -> tuple[int, Pool] | None:
        """The first invalid pool, and the place where its devices would begin."""
        start = 0
        for pool in self.pools:
            if pool.invalid:
                return start, pool
            start += len(pool.units)
        return None


Where = tuple[int, int, int]
"""Claim, request and alternative, by place."""


class Search:
    """One search on one node."""

    def __init__(self, plan: Plan, node: NodeDevices) -> None:
        self._plan, self._node, self._left = plan, node, MOST_STEPS
        features = plan.features
        self._sharing = features.dra_consumable_capacity
        self._forward = features.devices_are_combined_once
        self._binding = features.binding_conditions
        self._kinds = plan.kinds
        self._broken = None if features.devices_of_incomplete_pools_are_refused else node.invalid_pool
        self._matches: dict[tuple[Where, int], bool] = {}
        self._all: dict[Where, list[int]] = {}
        self._constraints: list[list[Constraint]] = []
        self._allocating: dict[int, set[int]] = {}
        self._taking: dict[int, dict[str, int]] = {}
        self._available: dict[str, dict[str, dict[str, int]]] = {}
        self._consumed: dict[str, dict[str, dict[str, int]]] = {}
        self._results: list[list[DevicePick]] = [[] for _ in plan.claims]

    def run(self) -> AllocationOutcome:
        """The first solution. Raises InputError once all searches of a run have cost too much."""
        try:
            return self._solve()
        finally:
            charge(_STEP_COSTS * self._steps, "a search for devices")

    def _solve(self) -> AllocationOutcome:
        try:
            self._prepare()
            has_solution = self._next_claim(0)
        except _Refused as refused:
            return AllocationOutcome(problem=refused.problem, steps=self._steps)
        except _TooMany:
            return AllocationOutcome(problem=Problem("allocation max size exceeded"), steps=self._steps)
        if has_solution:
            return AllocationOutcome(tuple(map(tuple, self._results)), steps=self._steps)
        if (
            any(pool.invalid for pool in self._node.pools)
            and self._plan.features.devices_of_incomplete_pools_are_refused
        ):
            return AllocationOutcome(
                problem=Problem("invalid resource pools were encountered", mild=True), steps=self._steps
            )
        return AllocationOutcome(steps=self._steps)

    @property
    def _steps(self) -> int:
        return MOST_STEPS - self._left

    # --- before the search

    def _prepare(self) -> None:
        shifted = self._plan.features.alternatives_share_matches
        for c, claim in enumerate(self._plan.claims):
            least = 0
            for r, request in enumerate(claim.requests):
                counts = []
                for a, want in enumerate(request):
                    if want.problem:
                        raise _Refused(Problem(f"claim {{claim}}, {want.problem}", c))
                    # Upstream moved on to the next alternative only after it had looked for devices.
                    key = (c, r, max(a - 1, 0) if shifted else a)
                    if want.everything:
                        self._all[c, r, a] = self._find_all(key, want)
                    counts.append(self._count((c, r, a), want))
                least += min(counts)
            if least > RESULTS_AT_MOST:
                text = f"number of requested devices {least} exceeds the claim limit of {RESULTS_AT_MOST}"
                raise _Refused(Problem(f"claim {{claim}}: {text}", c))
            if claim.problem:
                raise _Refused(Problem(f"claim {{claim}}, {claim.problem}", c))
            self._constraints.append(claim.made_constraints(self._plan.features))
        self._matches.clear()

    def _count(self, where: Where, want: RequestData) -> int:
        return len(self._all[where]) if want.everything else want.count

    def _find_all(self, key: Where, want: RequestData) -> list[int]:
        selectable = []
        start = 0
        for number, pool in enumerate(self._node.pools):
            for state, why in ((pool.incomplete, "being updated"), (pool.invalid, "invalid")):
                if state:
                    text = f"asks for all devices, but resource pool {{pool}} is currently {why}"
                    raise _Refused(Problem(f"claim {{claim}}, request {want.name}: {text}", key[0], pool=number))
            places = range(start, start + len(pool.units))
            selectable += [p for p in places if self._selectable(key, want, p) and self._roomy(want, p)]
            start += len(pool.units)
        return selectable

    # --- what a request may have

    def _selectable(self, key: Where, want: RequestData, place: int) -> bool:
        unit = self._node.units[place]
        if not self._binding and unit.device.binding_conditions:
            return False
        selectable = self._matches.get((key, place))
        if selectable is None:
            assert want.selection is not None
            code = int(want.selection.codes[unit.number])
            if code not in (NO, YES):
                raise _Refused(Problem(want.selection.problem(code, "{claim}"), key[0]))
            selectable = self._matches[key, place] = code == YES and self._node.reached[place]
        return selectable

    def _roomy(self, want: RequestData, place: int) -> bool:
        if not self._sharing:
            return True
        device = self._node.units[place].device
        if not device.capacity and not want.capacity:
            return True
        used, taking = self._node.used.get(place, {}), self._taking.get(place, {})
        return bool(enough_left(device, want.capacity, used, taking))

    def _in_use(self, place: int) -> bool:
        return self._node.taken[place] or bool(self._allocating.get(place))

    # --- the search

    def _step(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise _Refused(Problem("node {node}: timed out trying to allocate devices"))

    def _next_claim(self, c: int) -> bool:
        self._step()
        return c >= len(self._plan.claims) or self._next_request(c, 0)

    def _next_request(self, c: int, r: int) -> bool:
        self._step()
        requests = self._plan.claims[c].requests
        if r >= len(requests):
            try:
                return self._next_claim(c + 1)
            except _TooMany:
                # Another choice for this claim may leave the next one a smaller alternative.
                return False
        if not requests[r][0].parent:
            return self._device((c, r, 0), 0, 0)
        exceeded = True
        for a in range(len(requests[r])):
            try:
                has_solution = self._device((c, r, a), 0, 0)
            except _TooMany:
                continue
            exceeded = False
            if has_solution:
                return True
        if exceeded:
            raise _TooMany
        return False

    def _device(self, where: Where, index: int, start: int) -> bool:
        """Find the request's ``index``-th device, from a place on, and then everything that comes after it."""
        self._step()
        c, r, a = where
        want = self._plan.claims[c].requests[r][a]
        everything = want.everything
        if everything and not self._all[where]:
            return False
        count = self._count(where, want)
        if index >= count:
            return self._next_request(c, r + 1)
        if len(self._results[c]) + count - index > RESULTS_AT_MOST:
            raise _TooMany
        if everything:
            return self._try(where, want, self._all[where][index], index, must=True)
        return self._any(where, want, index, start)

    def _any(self, where: Where, want: RequestData, index: int, start: int) -> bool:
        units, kinds, plain = self._node.units, self._kinds, self._plan.plain
        failed: set[int] = set()
        merge = not self._plan.distinct and not want.admin
        for place in range(start if self._forward else 0, len(units)):
            if self._broken is not None and place >= self._broken[0]:
                break
            if want.admin:
                if where[0] in self._allocating.get(place, ()):
                    continue
            elif self._in_use(place):
                continue
            if not self._selectable(where, want, place) or not self._roomy(want, place):
                continue
            number = units[place].number
            # A search that fails with a device fails with any equal one.
            kind = int(kinds[number]) if merge and plain[number] else -1
            if kind in failed:
                continue
            if self._try(where, want, place, index, must=False):
                return True
            if kind >= 0:
                failed.add(kind)
        if self._broken is not None:
            pool = self._broken[1]
            raise _Refused(Problem(f"pool {pool.id[1]} is invalid: {pool.invalid}"))
        return False

    def _try(self, where: Where, want: RequestData, place: int, index: int, *, must: bool) -> bool:
        undo = self._allocate(where, want, place, must=must)
        if undo is None:
            return False
        c, r, a = where
        following = where
        if must and a and self._plan.features.alternatives_share_matches:
            # Upstream forgot which alternative it was at after the first of "all" devices.
            following = (c, r, 0)
        try:
            if self._device(following, index + 1, place + 1):
                return True
        except _TooMany:
            undo()
            raise
        undo()
        return False

    def _allocate(self, where: Where, want: RequestData, place: int, *, must: bool) -> Callable[[], None] | None:
        """Take a device, if it can be had; what is returned gives it back."""
        c = where[0]
        unit = self._node.units[place]
        device, driver = unit.device, unit.id[0]
        shared = self._sharing and bool(device.allow_multiple_allocations)
        if not shared and want.admin and c in self._allocating.get(place, ()):
            return None
        if not want.admin and self._in_use(place):
            return None
        partitions = self._plan.features.dra_partitionable_devices
        counting = bool(device.consumes_counters)
        if counting and not partitions:
            return None
        in_use = shared and (place in self._node.used or place in self._taking)
        skip = in_use and self._plan.features.counters_belong_to_pools
        if counting and not skip and not self._count_in(place):
            return None
        if len(want.tainted) and want.tainted[unit.number]:
            return None
        request, alternative = (want.parent, want.name) if want.parent else (want.name, "")
        constraints = self._constraints[c]
        for i, constraint in enumerate(constraints):
            if not constraint.add(request, alternative, device, driver):
                if must:
                    text = "cannot add device {device} because a claim constraint would not be satisfied"
                    raise _Refused(Problem(f"claim {{claim}}, request {want.name}: {text}", c, place))
                for earlier in constraints[:i]:
                    earlier.remove(request, alternative)
                return None
        holders = self._allocating.setdefault(place, set())
        if not shared:
            holders.add(c)
        consumed: dict[str, Quantity] | None = None
        if self._sharing:
            if not self._roomy(want, place):
                return None
            if shared:
                consumed = consumption(device, want.capacity)
                self._take(place, consumed, 1)
        self._results[c].append(DevicePick(place, want, consumed))

        def undo() -> None:
            for constraint in constraints:
                constraint.remove(request, alternative)
            holders.discard(c)
            if consumed is not None:
                self._take(place, consumed, -1)
            elif partitions and counting:
                self._count_out(place)
            self._results[c].pop()

        return undo

    def _take(self, place: int, consumed: dict[str, Quantity], sign: int) -> None:
        amounts = self._taking.setdefault(place, {})
        for name, quantity in consumed.items():
            amounts[name] = amounts.get(name, 0) + sign * quantity.nano()
        if sign < 0 and not any(amounts.values()):
            del self._taking[place]

    # --- counters

    def _owner(self, place: int) -> str:
        """The owner of the counters that a device consumes: upstream keys them by the pool's name, which drivers may
        share.
        """
        if self._plan.features.counters_belong_to_pools:
            return self._node.pools[self._node.pool_of[place]].id[1]
        return self._node.units[place].slice.name

    def _count_in(self, place: int) -> bool:
        """Consume a device's counters, if what is left of all of the pool's allows it."""
        owner = self._owner(place)
        available = self._available.get(owner)
        if available is None:
            available = self._available[owner] = self._left_of_counters(place)
        consumed = self._consumed.setdefault(owner, {})
        _add(consumed, self._node.units[place], 1)
        for name, values in available.items():
            own = consumed.get(name, {})
            if any(value < own.get(counter, 0) for counter, value in values.items()):
                _add(consumed, self._node.units[place], -1)
                return False
        return True

    def _count_out(self, place: int) -> None:
        _add(self._consumed.setdefault(self._owner(place), {}), self._node.units[place], -1)

    def _left_of_counters(self, place: int) -> dict[str, dict[str, int]]:
        node = self._node
        if self._plan.features.counters_belong_to_pools:
            pool = node.pool_of[place]
            left = {name: dict(values) for name, values in node.pools[pool].counters.items()}
            for name, values in node.spent.get(pool, {}).items():
                for counter, value in values.items():
                    if counter in left.get(name, {}):
                        left[name][counter] -= value
            return left
        own = node.units[place].slice
        left = {
            one.name: {name: counter.value.nano() for name, counter in (one.counters or {}).items()}
            for one in own.spec.shared_counters or ()
        }
        for other, unit in enumerate(node.units):
            if unit.slice is own and node.taken[other]:
                _add(left, unit, -1, known=True)
        return left


def _add(counters: dict[str, dict[str, int]], unit: Unit, sign: int, *, known: bool = False) -> None:
    """Add what a device consumes; with ``known`` only to counters that are there."""
    for used in unit.device.consumes_counters or ():
        values = counters.get(used.counter_set) if known else counters.setdefault(used.counter_set, {})
        for name, counter in (used.counters or {}).items():
            if values is not None and (not known or name in values):
                values[name] = values.get(name, 0) + sign * counter.value.nano()


def consumed_counters(units: tuple[Unit, ...], allocated: Callable[[Unit], bool]) -> dict[str, dict[str, int]]:
    """What allocated devices of a pool consume of its counters."""
    counters: dict[str, dict[str, int]] = {}
    for unit in units:
        if unit.device.consumes_counters and allocated(unit):
            _add(counters, unit, 1)
    return counters
