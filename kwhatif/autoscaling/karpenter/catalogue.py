"""The cloud provider's instance types with their offerings, as columns, and the reservations that new machines hold.

Axis T is the type, in the cloud's order; axis O the offering, type by type. What a requirement leaves of either is
computed once per distinct requirement. Upstream: pkg/cloudprovider/types.go, and
pkg/controllers/provisioning/scheduling/reservationmanager.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Literal

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from kwhatif.api.core import ResourceList
from kwhatif.api.document_numbers import Count, Price
from kwhatif.autoscaling.karpenter.pod_data import Amounts, amounts, subtract
from kwhatif.autoscaling.karpenter.requirements import (
    CAPACITY_TYPE,
    INSTANCE_TYPE,
    RESERVED,
    ZONE,
    ZONE_ID,
    Requirement,
    Requirements,
    WellKnown,
    agree,
    merge_requirements,
    of_labels,
    reservation_labels,
)

Types = NDArray[np.intp]
"""Rows of types that are left, in the cloud's order unless something else is said."""
Mask = NDArray[np.bool_]


class _Part(msgspec.Struct, rename="camel", frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A part of the document InstanceTypes."""


class FeatureGates(_Part, frozen=True, kw_only=True):
    """Karpenter's own, as far as they matter here."""

    reserved_capacity: bool = msgspec.field(default=True, name="ReservedCapacity")
    spot_to_spot: bool = msgspec.field(default=False, name="SpotToSpotConsolidation")


class KarpenterOptions(_Part, frozen=True, kw_only=True):
    """How Karpenter was started, as far as that decides anything here."""

    preference_policy: Literal["Respect", "Ignore"] = "Respect"
    min_values_policy: Literal["Strict", "BestEffort"] = "Strict"
    feature_gates: FeatureGates = FeatureGates()

    @property
    def ignores_preferences(self) -> bool:
        return self.preference_policy == "Ignore"

    @property
    def best_effort_minimum(self) -> bool:
        return self.min_values_policy == "BestEffort"


class Offering(_Part, frozen=True, kw_only=True):
    """A type in a zone. What a reservation holds has its ``reservationId`` and how many machines are left of it.

    ``reservationType`` is AWS's: ``default`` or ``capacity-block``. ``zoneId`` is what AWS calls the zone everywhere.
    """

    zone: Annotated[str, Meta(min_length=1)]
    capacity_type: Literal["on-demand", "spot", "reserved"]
    price: Annotated[Price, Meta(description="Price of a machine, per hour.")]
    available: bool = True
    reservation_id: str = ""
    reservation_capacity: Count = 0
    reservation_type: Literal["default", "capacity-block"] = "default"
    zone_id: str = ""


class InstanceType(_Part, frozen=True, kw_only=True, dict=True):
    """An instance type. ``overhead`` is what it does not leave for pods."""

    name: Annotated[str, Meta(min_length=1)]
    labels: dict[str, str] = {}
    capacity: ResourceList
    overhead: ResourceList = {}
    offerings: list[Offering] = []

    @cached_property
    def allocatable(self) -> Amounts:
        """What is left for pods; huge pages are taken off the memory."""
        capacity = amounts(self.capacity)
        left = subtract(capacity, amounts(self.overhead))
        for name, amount in capacity.items():
            if name.startswith("hugepages-"):
                left["memory"] = max(left.get("memory", 0) - amount, 0)
        return left

    @cached_property
    def requirements(self) -> Requirements:
        """Its labels and name, and the zones and capacity types of what is available."""
        there = [offering for offering in self.offerings if offering.available]
        ids = {offering.zone_id for offering in there if offering.zone_id}
        return merge_requirements(
            of_labels(self.labels),
            Requirement.from_selector(INSTANCE_TYPE, "In", (self.name,)),
            Requirement.from_selector(ZONE, "In", {offering.zone for offering in there}),
            Requirement.from_selector(CAPACITY_TYPE, "In", {offering.capacity_type for offering in there}),
            *((Requirement.from_selector(ZONE_ID, "In", ids),) if ids else ()),
        )


_MOST = 2**63 - 1


def _within(amount: int, most: int) -> int:
    """An amount as columns hold it, clipped to more than any machine has."""
    return max(-most, min(amount, most))


class Catalogue:
    """All instance types of a cloud, as columns."""

    def __init__(self, types: Sequence[InstanceType]) -> None:
        self.types = tuple(types)
        self.offerings = tuple(offering for type_ in self.types for offering in type_.offerings)
        owners = [row for row, type_ in enumerate(self.types) for _ in type_.offerings]
        self._labels = frozenset(label for type_ in self.types for label in type_.labels)
        self.reservation_labels = reservation_labels(self._labels)
        """That of a reservation's name, and where the cloud has one, that of its type."""
        self.requirements = {offering: self._requirements_of(offering) for offering in self.offerings}
        self._labels_of_offerings = tuple(
            dict.fromkeys(key for requirement in self.requirements.values() for key in requirement)
        )
        self._owner: Types = np.array(owners, dtype=np.intp)
        self._available: Mask = np.array([offering.available for offering in self.offerings], dtype=bool)
        self._price = np.array([offering.price for offering in self.offerings], dtype=np.float64)
        self._resources = sorted({name for type_ in self.types for name in type_.capacity})
        self._column = {name: place for place, name in enumerate(self._resources)}
        self._allocatable = self._table([type_.allocatable for type_ in self.types])
        self._capacity = self._table([amounts(type_.capacity) for type_ in self.types])
        self._broken: Mask = np.asarray((self._allocatable < 0).any(axis=1), dtype=bool)
        self.known = WellKnown.from_labels(self._labels)
        self._suiting: dict[Requirement, Mask] = {}
        self._offering: dict[Requirement, Mask] = {}
        self._offered: dict[tuple[Requirement | None, ...], tuple[Mask, Mask]] = {}

    def labels_of(self, offering: Offering) -> dict[str, str]:
        """The labels that a machine has because it was launched from an offering."""
        values = (offering.reservation_id, offering.reservation_type) if offering.reservation_id else ()
        zone_id = {ZONE_ID: offering.zone_id} if offering.zone_id else {}
        return {
            ZONE: offering.zone,
            CAPACITY_TYPE: offering.capacity_type,
            **dict(zip(self.reservation_labels, values, strict=False)),
            **zone_id,
        }

    def _requirements_of(self, offering: Offering) -> Requirements:
        labels = self.labels_of(offering)
        absent = [key for key in self.reservation_labels if key not in labels]
        return merge_requirements(
            of_labels(labels), *(Requirement.from_selector(key, "DoesNotExist", ()) for key in absent)
        )

    def _table(self, rows: Sequence[Amounts]) -> NDArray[np.int64]:
        table = np.zeros((len(rows), len(self._resources)), dtype=np.int64)
        for row, named in enumerate(rows):
            for name, amount in named.items():
                if name in self._column:
                    table[row, self._column[name]] = _within(amount, _MOST - 1)
        return table

    def rows(self, names: Iterable[str] | None) -> Types:
        """Types by name, all of them if None."""
        if names is None:
            return np.arange(len(self.types), dtype=np.intp)
        wanted = set(names)
        return np.array([row for row, type_ in enumerate(self.types) if type_.name in wanted], dtype=np.intp)

    # --- what is left

    def compatible(self, requirements: Requirements) -> Mask:
        """bool[T]: types whose labels do not conflict with the requirements."""
        compatible = np.ones(len(self.types), dtype=bool)
        for requirement in requirements.values():
            compatible &= self._mask(requirement)
        return compatible

    def _mask(self, requirement: Requirement) -> Mask:
        mask = self._suiting.get(requirement)
        if mask is None:
            key = requirement.key
            # A label that some types have, the others are known not to have; and so is one that the cloud always tells.
            defined = key in self._labels or self.known.is_of_types(key)
            without = Requirement.from_selector(key, "DoesNotExist") if defined else None
            of_types = (type_.requirements.get(key, without) for type_ in self.types)
            mask = np.array([own is None or agree(own, requirement) for own in of_types], dtype=bool)
            self._suiting[requirement] = mask
        return mask

    def fitting(self, requests: Amounts) -> Mask:
        """bool[T]: types that hold the requests."""
        requested = np.zeros(len(self._resources), dtype=np.int64)
        for name, amount in requests.items():
            if name in self._column:
                requested[self._column[name]] = _within(amount, _MOST)
            elif amount > 0:
                return np.zeros(len(self.types), dtype=bool)
        return np.asarray((self._allocatable >= requested).all(axis=1) & ~self._broken, dtype=bool)

    def roomiest(self, types: Types) -> Amounts:
        """The largest allocatable amount of any of these types, resource by resource."""
        most = self._allocatable[types].max(axis=0) if len(types) else np.zeros(len(self._resources), dtype=np.int64)
        return dict(zip(self._resources, most.tolist(), strict=True))

    def find_offered(self, requirements: Requirements) -> Mask:
        """bool[T]: types with an available offering that meets the requirements."""
        return self._offers(requirements)[1]

    def suitable(self, requirements: Requirements) -> Mask:
        """bool[O]: available offerings that meet the requirements."""
        return self._offers(requirements)[0]

    def _offers(self, requirements: Requirements) -> tuple[Mask, Mask]:
        required = tuple(requirements.get(key) for key in self._labels_of_offerings)
        offered = self._offered.get(required)
        if offered is None:
            offers = self._available.copy()
            for requirement in required:
                if requirement is not None:
                    offers &= self._offering_mask(requirement)
            types = np.zeros(len(self.types), dtype=bool)
            types[self._owner[offers]] = True
            offered = self._offered[required] = (offers, types)
        return offered

    def _offering_mask(self, requirement: Requirement) -> Mask:
        mask = self._offering.get(requirement)
        if mask is None:
            of_offerings = (self.requirements[offering].get(requirement.key) for offering in self.offerings)
            mask = np.array([own is None or agree(requirement, own) for own in of_offerings], dtype=bool)
            self._offering[requirement] = mask
        return mask

    def within(self, types: Types, limits: Amounts) -> Types:
        """Those of the types whose capacity exceeds none of the limits."""
        keep = np.ones(len(types), dtype=bool)
        for name, limit in limits.items():
            column = self._column.get(name)
            keep &= (self._capacity[types, column] if column is not None else np.zeros(len(types))) <= limit
        return types[keep]

    def largest(self, types: Types) -> Amounts:
        """The greatest capacity of any of the types, resource by resource."""
        return dict(zip(self._resources, self._capacity[types].max(axis=0).tolist(), strict=True))

    def distinct(self, types: Types, key: str) -> int:
        """How many values the types have for a label, together."""
        values: set[str] = set()
        for row in types:
            requirement = self.types[row].requirements.get(key)
            values.update(requirement.values if requirement else ())
        return len(values)

    # --- prices

    def by_price(self, types: Types, requirements: Requirements) -> Types:
        """The types in the order of their cheapest offerings that meet the requirements; equals stay in order."""
        cheapest = np.full(len(self.types), np.inf)
        offers = self.suitable(requirements)
        np.minimum.at(cheapest, self._owner[offers], self._price[offers])
        return types[np.argsort(cheapest[types], kind="stable")]

    def offers_of(self, row: int, requirements: Requirements) -> list[Offering]:
        """The available offerings of a type that meet the requirements, in their order."""
        places = np.flatnonzero((self._owner == row) & self.suitable(requirements))
        return [self.offerings[place] for place in places]

    def cheapest(self, types: Types, requirements: Requirements) -> tuple[int, Offering] | None:
        """The cheapest available offering of the types that meets the requirements, with its type."""
        if not len(types):
            return None
        first = int(self.by_price(types, requirements)[0])
        offers = self.offers_of(first, requirements)
        return (first, min(offers, key=lambda offer: offer.price)) if offers else None

    def reservations(self, types: Iterable[int]) -> dict[str, int]:
        """Reservation -> how many machines it still has, the minimum over the offerings of the types."""
        machines: dict[str, int] = {}
        for row in types:
            for offering in self.types[row].offerings:
                if offering.capacity_type == RESERVED:
                    left = offering.reservation_capacity
                    machines[offering.reservation_id] = min(machines.get(offering.reservation_id, left), left)
        return machines

    def reserved_offers(self, types: Types, requirements: Requirements) -> list[Offering]:
        """Reserved offerings of the types that are available and meet the requirements, type by type."""
        if not self._has_reserved:
            return []
        suitable = self.suitable(requirements)
        wanted = set(types.tolist())
        return [
            self.offerings[place]
            for place in np.flatnonzero(suitable)
            if self.offerings[place].capacity_type == RESERVED and int(self._owner[place]) in wanted
        ]

    @cached_property
    def _has_reserved(self) -> bool:
        return any(offering.capacity_type == RESERVED for offering in self.offerings)


class Reservations:
    """How many machines each reservation has left, and which new machines hold it."""

    def __init__(self, capacity: Mapping[str, int]) -> None:
        self._left = dict(capacity)
        self._held: dict[str, set[str]] = {}

    def may_hold(self, hostname: str, offering: Offering) -> bool:
        return offering.reservation_id in self._held.get(hostname, ()) or self._left[offering.reservation_id] > 0

    def hold(self, hostname: str, offerings: Iterable[Offering]) -> None:
        """Hold these reservations for a machine, and release the others that it held."""
        held = self._held.setdefault(hostname, set())
        wanted = {offering.reservation_id for offering in offerings}
        for reservation in wanted - held:
            self._left[reservation] -= 1
        for reservation in held - wanted:
            self._left[reservation] += 1
        self._held[hostname] = wanted
