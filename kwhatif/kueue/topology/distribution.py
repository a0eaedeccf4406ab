"""Which domains the pods go to: best fit where domains are asked for, least free capacity where nothing is.

Upstream: sortedDomains, findLevelWithFitDomains and updateCountsToMinimumGeneric in
pkg/cache/scheduler/tas_flavor_snapshot.go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kwhatif.kueue.topology.tree import Domain


@dataclass(frozen=True, slots=True)
class Want:
    """So many pods in slices of ``size``, and leaders; ``unconstrained`` takes the least free capacity first."""

    pods: int
    leaders: int
    size: int
    unconstrained: bool


def sort_domains(domains: Sequence[Domain], *, unconstrained: bool) -> list[Domain]:
    sign = 1 if unconstrained else -1
    return sorted(domains, key=lambda domain: (sign * domain.slices, domain.pods, domain.values))


def _best_fit(domains: Sequence[Domain], needed: int, leaders: int, count: Callable[[Domain], int]) -> Domain:
    """The first domain with the fewest that are enough; the first of all if none has enough."""
    best: Domain | None = None
    for domain in domains:
        if domain.leaders < leaders or count(domain) < needed:
            continue
        if best is None or count(domain) < count(best):
            best = domain
    return domains[0] if best is None else best


def best_fit_for_slices(domains: Sequence[Domain], needed: int, leaders: int) -> Domain:
    return _best_fit(domains, needed, leaders, _slices_with_leader if leaders > 0 else _slices)


def _best_fit_for_pods(domains: Sequence[Domain], needed: int, leaders: int) -> Domain:
    return _best_fit(domains, needed, leaders, _pods_with_leader if leaders > 0 else _pods)


def _slices(domain: Domain) -> int:
    return domain.slices


def _slices_with_leader(domain: Domain) -> int:
    return domain.slices_with_leader


def _pods(domain: Domain) -> int:
    return domain.pods


def _pods_with_leader(domain: Domain) -> int:
    return domain.pods_with_leader


def put_leader_first(domains: list[Domain], want: Want, *, in_slices: bool) -> list[Domain]:
    """The domain for the leader at the front: the first one in which it costs no more than there is to spare."""
    if not want.leaders or len(domains) < 2:
        return domains
    needed = want.pods // want.size if in_slices else want.pods
    there = sum(domain.slices if in_slices else domain.pods for domain in domains)
    for index, domain in enumerate(domains):
        if domain.leaders < want.leaders:
            continue
        cost = domain.slices - domain.slices_with_leader if in_slices else domain.pods - domain.pods_with_leader
        if there - cost >= needed:
            return domains if not index else [domain, *domains[:index], *domains[index + 1 :]]
    return domains


def distribute(domains: list[Domain], want: Want, *, in_slices: bool) -> list[Domain]:
    """Give the pods to as few of the domains as can be; none where they do not fit, which the search excludes."""
    domains = put_leader_first(domains, want, in_slices=in_slices)
    rest = want.pods // want.size if in_slices else want.pods
    leaders = want.leaders
    chosen = []
    for index, domain in enumerate(domains):
        others = domains[index:]
        if leaders > 0:
            taken, rest, leaders, complete = _give_with_leader(domain, others, rest, leaders, want, in_slices=in_slices)
            chosen.append(taken)
            if complete:
                return chosen
            continue
        size = want.size if in_slices else 1
        count, find = (_slices, best_fit_for_slices) if in_slices else (_pods, _best_fit_for_pods)
        if not want.unconstrained and count(domain) >= rest:
            domain = find(others, rest, 0)
        domain.leaders = 0
        given = min(count(domain), rest)
        last = count(domain) >= rest
        if in_slices and last:
            domain.slices = rest
        domain.pods = given * size
        chosen.append(domain)
        rest -= given
        if last:
            return chosen
    return []


def _give_with_leader(
    domain: Domain, others: list[Domain], rest: int, leaders: int, want: Want, *, in_slices: bool
) -> tuple[Domain, int, int, bool]:
    """One domain's part while leaders are left: the domain, what is left of pods and leaders, and whether all is done.

    Upstream: consumeWithLeadersGeneric.
    """
    count = _slices_with_leader if in_slices else _pods_with_leader
    size = want.size if in_slices else 1
    if not want.unconstrained and count(domain) >= rest and domain.leaders >= leaders:
        domain = (best_fit_for_slices if in_slices else _best_fit_for_pods)(others, rest, leaders)
    if count(domain) >= rest and domain.leaders >= leaders:
        if in_slices:
            domain.slices = rest
        domain.leaders = leaders
        domain.pods = rest * size
        return domain, 0, 0, True
    given = min(count(domain), rest)
    if in_slices:
        domain.slices_with_leader = domain.slices = given
    else:
        domain.pods_with_leader = given
    domain.leaders = min(domain.leaders, leaders)
    domain.pods = given * size
    return domain, rest - given, leaders - domain.leaders, False
