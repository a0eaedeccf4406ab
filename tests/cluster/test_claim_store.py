"""The ledger of devices: whatever happened to claims, it holds what they hold now."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.api.decode import convert
from kwhatif.api.devices import EXTENDED_CLAIM, Allocation, ResourceClaim
from kwhatif.api.kinds import Objects
from kwhatif.api.meta import ObjectMeta
from kwhatif.cluster.claim_store import DeviceId, Devices
from tests.builders import FEATURES, Json, features_with, pod
from tests.device_builders import DRIVER, claim, device_class

DEVICES = ("g0", "g1")
PODS = [pod("p0"), pod("p1")]


def stands_for(owner: Pod) -> ResourceClaim:
    """The claim behind a pod's extended resources."""
    reference = {"kind": "Pod", "name": owner.name, "uid": owner.metadata.uid, "controller": True}
    meta = {"name": owner.name, "namespace": "default", "annotations": {EXTENDED_CLAIM: "true"}}
    return replace(claim(), metadata=convert({**meta, "ownerReferences": [reference]}, ObjectMeta))


CLAIMS = {each.name: each for each in (claim("c0"), claim("c1"), stands_for(PODS[0]))}
"""As they are before anything is allocated to them; one has no uid."""


@st.composite
def allocations(draw: st.DrawFn) -> Allocation:
    """Up to three results: devices of their own, shares of one, and those that an administrator looks at."""
    results: list[Json] = []
    for _ in range(draw(st.integers(1, 3))):
        result: Json = {"request": "r", "driver": DRIVER, "pool": "a", "device": draw(st.sampled_from(DEVICES))}
        match draw(st.sampled_from(("own", "own", "share", "share", "looks"))):
            case "share":
                result["shareID"] = f"share-{len(results)}"
                amounts = draw(st.dictionaries(st.sampled_from(("memory", "cores")), st.integers(1, 3)))
                result["consumedCapacity"] = {name: str(amount) for name, amount in amounts.items()} or None
            case "looks":
                result["adminAccess"] = True
        results.append(result)
    return convert({"devices": {"results": results}}, Allocation)


Contents = tuple[Mapping[DeviceId, object], Mapping[DeviceId, object], Mapping[DeviceId, object]]


def held(claims: Iterable[ResourceClaim]) -> Contents:
    """What these claims take, share and consume (in billionths), added up from nothing."""
    taken, shares = defaultdict[DeviceId, list[str]](list), defaultdict[DeviceId, list[str]](list)
    consumed = defaultdict[DeviceId, Counter[str]](Counter)
    for each in claims:
        for result in (each.status.allocation and each.status.allocation.devices.results) or ():
            if not result.admin_access:
                (taken if result.share_id is None else shares)[result.id].append(each.key)
                for name, amount in (result.consumed_capacity or {}).items():
                    consumed[result.id][name] += amount.value() * 10**9
    ordered = [{at: sorted(keys) for at, keys in table.items()} for table in (taken, shares)]
    return ordered[0], ordered[1], dict(consumed)


def contents(ledger: Devices) -> Contents:
    """The same of a ledger."""
    taken, shares = ({at: sorted(keys) for at, keys in table.items()} for table in (ledger.taken, ledger.shares))
    return taken, shares, {at: +Counter(amounts) for at, amounts in ledger.consumed.items()}


@dataclass
class Story:
    """A ledger, and what it ought to hold."""

    ledger: Devices
    there: dict[str, ResourceClaim] = field(default_factory=dict)
    flying: dict[str, ResourceClaim] = field(default_factory=dict)

    def happens(self, data: st.DataObject) -> None:
        what = data.draw(st.sampled_from(("put", "put", "reserved", "removed", "taken off", "landed")))
        name = data.draw(st.sampled_from(sorted(CLAIMS)))
        some = self.there.get(name)
        match what:
            case "put":
                base = CLAIMS[name]
                allocation = data.draw(st.none() | allocations())
                self.there[name] = replace(base, status=replace(base.status, allocation=allocation))
                self.ledger.put(self.there[name])
            case "reserved" if some is not None:
                # The same allocation, another status.
                again = replace(some, status=replace(some.status, reserved_for=[]))
                self.there[name] = again
                self.ledger.put(again)
            case "removed" if some is not None:
                del self.there[name]
                self.ledger.remove((some.namespace, some.name))
            case "taken off" if some is not None and (some.identity) not in self.flying:
                off = replace(some, status=replace(some.status, allocation=data.draw(allocations())))
                self.flying[some.identity] = off
                self.ledger.add_pending_allocation(off)
            case "landed":
                landing = CLAIMS[name]
                self.ledger.remove_pending_allocation(landing)
                self.flying.pop(landing.identity, None)

    def is_told(self) -> None:
        """That the ledger holds what it ought to."""
        assert contents(self.ledger) == held([*self.there.values(), *self.flying.values()])
        assert [self.ledger.extended_claim(one) for one in PODS] == [self.there.get(one.name) for one in PODS]


def empty() -> Devices:
    objects = Objects()
    objects.add(device_class("gpu", extendedResourceName="example.com/gpu"))
    return Devices(objects, FEATURES)


@pytest.mark.long
@given(data=st.data())
def test_a_ledger_holds_what_the_claims_hold_now(data: st.DataObject) -> None:
    story = Story(empty())
    for _ in range(15):
        before, journal = contents(story.ledger), len(story.ledger.journal)
        story.happens(data)
        story.is_told()
        changed = {
            at
            for was, now in zip(before, contents(story.ledger), strict=True)
            for at in {*was, *now}
            if was.get(at) != now.get(at)
        }
        assert changed <= set(story.ledger.journal[journal:])


@pytest.mark.long
@given(data=st.data())
def test_a_fork_goes_its_own_way(data: st.DataObject) -> None:
    story = Story(empty())
    for _ in range(5):
        story.happens(data)
    twin = Story(story.ledger.fork(), dict(story.there), dict(story.flying))
    for _ in range(5):
        twin.happens(data)
    story.is_told()
    twin.is_told()


@pytest.mark.parametrize(
    ("sharing", "taken", "shared"),
    [
        pytest.param(True, [], ["default/c"], id="a share leaves room for others"),
        pytest.param(False, ["default/c"], [], id="which nobody knew before there were shares"),
    ],
)
def test_a_share(sharing: bool, taken: list[str], shared: list[str]) -> None:
    result = {"request": "r", "driver": DRIVER, "pool": "a", "device": "g0", "shareID": "s"}
    ledger = Devices(Objects(), features_with(dra_consumable_capacity=sharing))
    made = claim("c")
    allocation = convert({"devices": {"results": [result]}}, Allocation)
    ledger.put(replace(made, status=replace(made.status, allocation=allocation)))
    at = (DRIVER, "a", "g0")
    assert (list(ledger.taken.get(at, ())), list(ledger.shares.get(at, ()))) == (taken, shared)
    assert ledger.users(at) == ("default/c",)
