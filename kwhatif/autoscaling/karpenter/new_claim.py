"""A NodeClaim to be launched: requirements, the pods that will run on it, and the remaining instance types.

Upstream: pkg/controllers/provisioning/scheduling/nodeclaim.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import msgspec
import numpy as np
from msgspec.structs import replace

from kwhatif.api.quantity import Quantity
from kwhatif.autoscaling.karpenter import pod_data as amounts
from kwhatif.autoscaling.karpenter.catalogue import Catalogue, Offering, Reservations, Types
from kwhatif.autoscaling.karpenter.node_pool import NodeClaimTemplate
from kwhatif.autoscaling.karpenter.pod_data import Amounts, HostPorts, PodData, fits, total
from kwhatif.autoscaling.karpenter.requirements import (
    CAPACITY_TYPE,
    HOSTNAME,
    INSTANCE_TYPE,
    RESERVED,
    RESTRICTED,
    Requirement,
    Requirements,
    format_requirements,
    incompatible,
    merge_requirements,
)
from kwhatif.autoscaling.karpenter.state import explain_untolerated_taints
from kwhatif.autoscaling.karpenter.topology import Topology

MOST_TYPES = 600
"""How many instance types a NodeClaim names at most."""


_WHICH = "no instance type which"


class IncompatibleError(Exception):
    """Why a pod cannot go to a NodeClaim, in Karpenter's words, which are made when they are needed.

    ``by_pool``: the reasons of each NodePool that was tried. ``reserved``: only for want of reserved capacity.
    ``for_good``: whatever else happens in the round, pods of this shape never fit.
    """

    def __init__(
        self,
        *reasons: str | Callable[[], str],
        by_pool: Mapping[str, Sequence[str]] | None = None,
        reserved: bool = False,
        for_good: bool = False,
    ) -> None:
        super().__init__(*reasons)
        self.by_pool = by_pool or {}
        self._reasons = (*reasons, *(reason for said in self.by_pool.values() for reason in said))
        self.reserved = reserved
        self.for_good = for_good

    @cached_property
    def reasons(self) -> tuple[str, ...]:
        return tuple(reason if isinstance(reason, str) else reason() for reason in self._reasons)


class Daemons(msgspec.Struct, frozen=True):
    """The daemon pods of every machine of a NodePool: the sum of their requests, and their host ports."""

    quantities: Sequence[Mapping[str, Quantity]]
    requests: Amounts
    ports: HostPorts


class _Fit(msgspec.Struct, frozen=True):
    """The NodeClaim as it would be with one more pod."""

    requirements: Requirements
    types: Types
    requests: Amounts
    reserved: tuple[Offering, ...]


class RoundContext(msgspec.Struct, frozen=True):
    """What all NodeClaims of a round share. ``strict``: a pod that could have reserved capacity waits for it."""

    catalogue: Catalogue
    topology: Topology
    reservations: Reservations
    reserves: bool
    strict: bool


class NewClaim:
    """A NodeClaim while pods are added to it, with a hostname of its own."""

    def __init__(
        self, template: NodeClaimTemplate, world: RoundContext, daemons: Daemons, types: Types, hostname: str
    ) -> None:
        self.template = template
        self.pods: list[PodData] = []
        self.types = types
        self.requests = daemons.requests
        self.requirements = merge_requirements(
            template.requirements, Requirement.from_selector(HOSTNAME, "In", (hostname,))
        )
        self.lowered_minimum = False
        self.reserved: tuple[Offering, ...] = ()
        self._daemons = daemons
        self._world = world
        self._known = world.catalogue.known.labels
        self.hostname = hostname
        self._taints = template.pool.taints
        self._ports = daemons.ports.copy()
        self._never: set[int] = set()
        self._has_room: set[int] = set()
        self._roomiest: Amounts | None = None

    def add(
        self, pod_data: PodData, volume_requirements: Sequence[Requirements], *, relax_minimum: bool = False
    ) -> None:
        """Add the pod. Raises IncompatibleError if it does not fit."""
        fit = self._fit(pod_data, volume_requirements, relax_minimum=relax_minimum)
        if not self.pods:
            before = self.requirements
            self.lowered_minimum = any(
                (requirement.min_values or 0) > (fit.requirements[key].min_values or 0)
                for key, requirement in before.items()
                if requirement.min_values is not None and fit.requirements[key].min_values is not None
            )
        self.pods.append(pod_data)
        self.types, self.requests, self.requirements = fit.types, fit.requests, fit.requirements
        self._roomiest = None
        self._has_room.clear()
        topology = self._world.topology
        topology.register_host(self.hostname)
        topology.record(pod_data, self._taints, fit.requirements)
        self._ports.take(pod_data.key, pod_data.ports)
        self._world.reservations.hold(self.hostname, fit.reserved)
        self.reserved = fit.reserved

    def can_never_add(self, pod_data: PodData) -> bool:
        """Whether the pod certainly does not fit: pods of its shape never do, or it is too large by now."""
        if pod_data.shape in self._never:
            return True
        if pod_data.shape in self._has_room:
            return False
        if self._roomiest is None:
            self._roomiest = self._world.catalogue.roomiest(self.types)
        together = {name: amount + self.requests.get(name, 0) for name, amount in pod_data.requests.items()}
        if not fits(together, self._roomiest):
            self._never.add(pod_data.shape)
            return True
        self._has_room.add(pod_data.shape)
        return False

    def rule_out(self, pod_data: PodData) -> None:
        self._never.add(pod_data.shape)

    def _fit(self, pod_data: PodData, volume_requirements: Sequence[Requirements], *, relax_minimum: bool) -> _Fit:
        repelled = explain_untolerated_taints(self._taints, pod_data.tolerations)
        if repelled:
            raise IncompatibleError(*repelled, for_good=True)
        clash = self._ports.clash(pod_data.key, pod_data.ports)
        if clash:
            raise IncompatibleError(f"checking host port usage, {clash}", for_good=True)
        wrong = incompatible(self.requirements, pod_data.requirements, self._known)
        if wrong:
            raise IncompatibleError(f"incompatible requirements, {'; '.join(wrong)}", for_good=True)
        required = merge_requirements(self.requirements, *pod_data.requirements.values())
        problem: IncompatibleError | None = None
        for alternative in volume_requirements or (None,):
            try:
                return self._fit_at(pod_data, required, alternative, relax_minimum=relax_minimum)
            except IncompatibleError as error:
                problem = error
        assert problem is not None
        raise problem

    def _fit_at(
        self,
        pod_data: PodData,
        pod_requirements: Requirements,
        alternative: Requirements | None,
        *,
        relax_minimum: bool,
    ) -> _Fit:
        if alternative is not None:
            wrong = incompatible(pod_requirements, alternative, self._known)
            if wrong:
                raise IncompatibleError(f"incompatible volume requirements, {'; '.join(wrong)}")
            pod_requirements = merge_requirements(pod_requirements, *alternative.values())
        narrowed, complaint = self._world.topology.add_requirements(pod_data, self._taints, pod_requirements)
        if complaint:
            raise IncompatibleError(complaint)
        wrong = incompatible(pod_requirements, narrowed, self._known)
        if wrong:
            raise IncompatibleError(*wrong)
        requirements = merge_requirements(pod_requirements, *narrowed.values())
        requests = total((self.requests, pod_data.requests))
        types, minimum = filter_instance_types(
            self._world.catalogue,
            self.types,
            requirements,
            requests,
            relax_minimum=relax_minimum,
            quantities=(*self._daemons.quantities, pod_data.quantities),
        )
        requirements = {**requirements, **{k: replace(requirements[k], min_values=n) for k, n in minimum.items()}}
        return _Fit(requirements, types, requests, self._offerings_to_reserve(types, requirements))

    def _offerings_to_reserve(self, types: Types, requirements: Requirements) -> tuple[Offering, ...]:
        """The reservations that the machine might be launched from."""
        if not self._world.reserves:
            return ()
        offers = self._world.catalogue.reserved_offers(types, requirements)
        held = tuple(offer for offer in offers if self._world.reservations.may_hold(self.hostname, offer))
        if self._world.strict and not held:
            if offers:
                raise IncompatibleError(
                    "one or more instance types with compatible reserved offerings are available, but could not be "
                    "reserved",
                    reserved=True,
                )
            if self.reserved:
                raise IncompatibleError(
                    "satisfying updated nodeclaim constraints would remove all compatible reserved offering options",
                    reserved=True,
                )
        return held

    # --- once all pods have their places

    def finalize(self) -> None:
        """The NodeClaim as it would be created: without a hostname, on reserved capacity if any is held, its types by
        price.
        """
        requirements = {key: requirement for key, requirement in self.requirements.items() if key != HOSTNAME}
        if self.reserved:
            requirements[CAPACITY_TYPE] = Requirement.from_selector(CAPACITY_TYPE, "In", (RESERVED,))
            label = self._world.catalogue.reservation_labels[0]
            held = Requirement.from_selector(label, "In", {offering.reservation_id for offering in self.reserved})
            requirements = dict(merge_requirements(requirements, held))
        self.requirements = requirements
        self.types = self._world.catalogue.by_price(self.types, requirements)[:MOST_TYPES]

    def resolve_requirements(self) -> Requirements:
        """The requirements of the created NodeClaim: its types by name, and their capacity types."""
        catalogue = self._world.catalogue
        names = [catalogue.types[row].name for row in self.types]
        there = self.requirements.get(INSTANCE_TYPE)
        named = Requirement.from_selector(INSTANCE_TYPE, "In", names, there.min_values if there else None)
        requirements = merge_requirements(self.requirements, named)
        kinds = {offer.capacity_type for row in self.types for offer in catalogue.offers_of(int(row), requirements)}
        return (
            merge_requirements(requirements, Requirement.from_selector(CAPACITY_TYPE, "In", kinds))
            if kinds
            else requirements
        )

    def labels(self) -> Mapping[str, str]:
        """Its labels: the template's, and those with a single remaining value."""
        resolved = {
            key: requirement.sorted_values[0]
            for key, requirement in self.requirements.items()
            if key not in self._known
            and key not in RESTRICTED
            and requirement.operator == "In"
            and len(requirement.values) == 1
        }
        return {**self.template.labels, **resolved}


def filter_instance_types(
    catalogue: Catalogue,
    types: Types,
    requirements: Requirements,
    requests: Amounts,
    *,
    relax_minimum: bool,
    quantities: Sequence[Mapping[str, Quantity]] = (),
) -> tuple[Types, Mapping[str, int]]:
    """The types that meet the requirements, hold the requests and are offered, and the relaxed ``minValues``.

    Raises IncompatibleError if none is left.
    """
    suits, holds, offered = (
        mask[types]
        for mask in (
            catalogue.compatible(requirements),
            catalogue.fitting(requests),
            catalogue.find_offered(requirements),
        )
    )
    # The three masks are kept apart: which of them emptied the list is what the error says.
    left = types[suits & holds & offered]
    lacking = {
        key: count
        for key, requirement in requirements.items()
        if requirement.min_values is not None
        and len(left)
        and (count := catalogue.distinct(left, key)) < requirement.min_values
    }

    def make_reason(problem: str) -> Callable[[], str]:
        return lambda: (
            f"{problem}, requirements={format_requirements(requirements)}, "
            f"resources={amounts.format_amounts(quantities)}"
        )

    # ``minValues`` asks for a choice, not for a machine: where the policy is BestEffort the claim goes on without it.
    if lacking and not relax_minimum:
        keys = " ".join(sorted(lacking))
        raise IncompatibleError(make_reason(f"minValues requirement is not met for label(s) (label(s)=[{keys}])"))
    if not len(left):
        problem = _nothing_left(suits, holds, offered)
        raise IncompatibleError(make_reason(problem), for_good=problem == "no instance type has enough resources")
    return left, lacking


def _nothing_left(suits: np.ndarray, holds: np.ndarray, offered: np.ndarray) -> str:
    """Which criteria leave no type, alone or together."""
    met, room, offer = bool(suits.any()), bool(holds.any()), bool(offered.any())
    alone = [
        text
        for there, text in (
            (met, "met the scheduling requirements"),
            (room, "had enough resources"),
            (offer, "had a required offering"),
        )
        if not there
    ]
    if len(alone) > 1:
        return f"no instance type {' or '.join(alone)}"
    if not met:
        return "no instance type met all requirements"
    if not room:
        return "no instance type has enough resources"
    if not offer:
        return "no instance type has the required offering"
    if (suits & holds & ~offered).any():
        return f"{_WHICH} met the scheduling requirements and had enough resources, had a required offering"
    if (holds & offered & ~suits).any():
        return f"{_WHICH} had enough resources and the required offering met the scheduling requirements"
    if (suits & offered & ~holds).any():
        return f"{_WHICH} met the scheduling requirements and the required offering had the required resources"
    return "no instance type met the requirements/resources/offering tuple"
