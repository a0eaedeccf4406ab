"""Explanations of failed allocations on a node, in numbers: how many devices there are, and why each cannot be used."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from kwhatif.api.devices import ResourceClaim
from kwhatif.devices.allocator import Search
from kwhatif.devices.claim_outcomes import Ledger
from kwhatif.devices.constraints import attribute_of, shortage
from kwhatif.devices.inventory import Unit
from kwhatif.devices.plan import ClaimPlan, Plan, RequestData
from kwhatif.devices.selectors import YES

NAMED = 3
"""How many claims with devices are named; the others are counted."""
_PATH = re.compile(r"device\.(?:attributes|capacity)\[['\"][^'\"]*['\"]\]\.")


def shorten_expression(expression: str) -> str:
    """A selector without the paths that every selector has: ``model == 'h100'``."""
    return " ".join(_PATH.sub("", expression).split())


def describe_shortages(plan: Plan, ledger: Ledger, row: int, claims: Sequence[ResourceClaim]) -> str:
    """What each request is short of on a node that has no solution; claims that could be had are left out."""
    said = []
    for number, (claim, own) in enumerate(zip(claims, plan.claims, strict=True)):
        if not _alone(plan, number, ledger, row):
            text = "; ".join(_of_claim(own, ledger, row))
            said.append(f"{_name_claim(claim)}: {text}")
    if not said:
        said = [f"{' and '.join(map(_name_claim, claims))}: each could be had, but not all of them"]
    pools = ledger.inventory.pools[row]
    said += [f"pool {pool.name} lacks slices" for pool in pools if pool.incomplete]
    said += [f"pool {pool.name} is invalid: {pool.invalid}" for pool in pools if pool.invalid]
    return "; ".join(said)


def _name_claim(claim: ResourceClaim) -> str:
    return "extended resources" if claim.name.startswith("<") else f"claim {claim.name}"


def _alone(plan: Plan, number: int, ledger: Ledger, row: int) -> bool:
    """Whether a claim could be had if it were the only one."""
    return Search(plan.only(number), ledger.node(row)).run().picks is not None


def _of_claim(claim: ClaimPlan, ledger: Ledger, row: int) -> Iterator[str]:
    units = _units(ledger, row)
    enough = True
    for request in claim.requests:
        shortages, short = [], True
        for want in request:
            text, left = _of_want(want, units, ledger)
            shortages.append(text)
            short = short and left < (1 if want.everything else want.count)
        if short:
            enough = False
            yield " or ".join(shortages)
    if enough:
        yield from _of_constraints(claim, units, ledger)


def count_free_devices(want: RequestData, ledger: Ledger, row: int) -> int:
    """How many devices of a node are free for a request, one at a time."""
    return _of_want(want, _units(ledger, row), ledger)[1]


def _units(ledger: Ledger, row: int) -> list[Unit]:
    return [unit for pool in ledger.inventory.pools[row] for unit in pool.units]


def _of_want(want: RequestData, units: list[Unit], ledger: Ledger) -> tuple[str, int]:
    """``r0 wants 2 of class gpu: 4 devices, 1 in use by default/train-0, 1 left``, and how many are left."""
    assert want.selection is not None
    asked = "all" if want.everything else str(want.count)
    of_class = want.selection.of_class
    candidates = [unit for unit in units if of_class[unit.number]]
    parts = [_devices(len(candidates))]
    users: Counter[str] = Counter()
    failing: Counter[int] = Counter()
    lost: Counter[str] = Counter()
    left = 0
    for unit in candidates:
        number = unit.number
        if ledger.taken[number] and not want.admin:
            users.update(ledger.devices.users(unit.id)[:1])
        elif want.selection.codes[number] != YES:
            failing[int(want.selection.stopped[number])] += 1
        elif want.tainted[number]:
            lost["tainted"] += 1
        else:
            why = _shortage(want, unit, ledger)
            lost[why] += 1 if why else 0
            left += not why
    if users:
        names = sorted(users)
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        parts.append(f"{users.total()} in use by {', '.join(names[:NAMED])}{more}")
    for place, count in sorted(failing.items()):
        selector = want.selection.selectors[place]
        lack = "lacks" if count == 1 else "lack"
        parts.append(f"{count} {lack} {shorten_expression(selector.expression.text)} (selector #{selector.place})")
    parts += [f"{count} {why}" for why, count in sorted(lost.items()) if count]
    parts.append(f"{left} left")
    return f"{want.full_name} wants {asked} of class {want.class_name}: {', '.join(parts)}", left


def _devices(count: int) -> str:
    return "1 device" if count == 1 else f"{count or 'no'} devices"


def _shortage(want: RequestData, unit: Unit, ledger: Ledger) -> str:
    """Which counter or capacity is too small for a device that is free otherwise."""
    device = unit.device
    used = ledger.devices.consumed.get(unit.id, {})
    if ledger.inventory.features.dra_consumable_capacity:
        if any(name not in (device.capacity or {}) for name in want.capacity or {}):
            return "without the capacity asked for"
        short = shortage(device, want.capacity, used)
        if short:
            return f"short of {', '.join(sorted(short))}"
    if not device.consumes_counters:
        return ""
    row = ledger.inventory.rows_of[unit.number][0]
    for pool in ledger.inventory.pools[row]:
        if pool.id != unit.id[:2]:
            continue
        spent = ledger.consumed_counters_of(pool)
        for consumed in device.consumes_counters:
            have = pool.counters.get(consumed.counter_set, {})
            gone = spent.get(consumed.counter_set, {})
            for name, counter in sorted((consumed.counters or {}).items()):
                if have.get(name, 0) - gone.get(name, 0) < counter.value.nano():
                    return f"short of counter {consumed.counter_set}/{name}"
    return ""


def _of_constraints(claim: ClaimPlan, units: list[Unit], ledger: Ledger) -> Iterator[str]:
    """Each request could be had by itself: a constraint is in the way, or the requests are in each other's."""
    for kind, name, names in claim.constraints:
        values: Counter[str] = Counter()
        wanted = 0
        for request in claim.requests:
            want = request[0]
            if names and not {want.parent or want.name, want.full_name} & names:
                continue
            wanted += want.count
            assert want.selection is not None
            for unit in units:
                if not ledger.taken[unit.number] and want.selection.codes[unit.number] == YES:
                    attribute = attribute_of(unit.device, unit.id[0], name)
                    shown = "none" if attribute is None or attribute.scalar is None else str(attribute.scalar[1])
                    values[shown] += 1
        spread = ", ".join(f"{count} with {value}" for value, count in sorted(values.items()))
        need = "the same" if kind == "match" else "different"
        yield f"{wanted} must have {need} {name}: {spread or 'no device left'}"
    if not claim.constraints:
        yield "its requests want the same devices"
