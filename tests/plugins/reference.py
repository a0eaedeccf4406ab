"""The rules of four plugins once more, for one pod and one node at a time, with nothing but loops and dicts.

They look at API objects alone. Selectors are the only thing shared with the engine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from kwhatif.api.core import Namespace, Node, Pod, PodAffinityTerm, TopologySpreadConstraint
from kwhatif.api.selectors import RequiredNodeAffinity, Selector, find_untolerated_taints
from tests.builders import HOSTNAME

Labels = Mapping[str, str]


@dataclass(frozen=True)
class Place:
    """A node and the pods on it."""

    node: Node
    pods: list[Pod]

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def labels(self) -> Labels:
        return self.node.metadata.labels or {}


def labels_of(pod: Pod) -> Labels:
    return pod.metadata.labels or {}


# --- topology spread


def constraints_of(pod: Pod, action: str) -> list[TopologySpreadConstraint]:
    return [c for c in pod.spec.topology_spread_constraints or () if c.when_unsatisfiable == action]


def selector_of(constraint: TopologySpreadConstraint, pod: Pod) -> Selector:
    selector = Selector.from_label_selector(constraint.label_selector)
    same = {key: labels_of(pod)[key] for key in constraint.match_label_keys or () if key in labels_of(pod)}
    return selector.with_requirements(Selector.from_labels(same).requirements)


def may_count(place: Place, constraint: TopologySpreadConstraint, pod: Pod) -> bool:
    """The constraint's node inclusion policies."""
    affinity = RequiredNodeAffinity.from_pod_spec(pod.spec)
    if (constraint.node_affinity_policy or "Honor") == "Honor" and not affinity.matches(place.labels, place.name):
        return False
    if (constraint.node_taints_policy or "Ignore") == "Ignore":
        return True
    return not find_untolerated_taints(
        place.node.spec.taints or (),
        pod.spec.tolerations or (),
        ("NoSchedule", "NoExecute"),
        comparison_operators=False,
    )


def selected_on(place: Place, selector: Selector, pod: Pod) -> int:
    """The pods of a node that count, which those on their way out do not."""
    if selector.empty:
        return 0
    return sum(
        selector.matches(labels_of(other))
        for other in place.pods
        if other.metadata.namespace == pod.metadata.namespace and other.metadata.deletion_timestamp is None
    )


def spread_refusals(places: Sequence[Place], pod: Pod) -> dict[str, str]:
    """Node -> ``missing`` or ``crowded``."""
    constraints = constraints_of(pod, "DoNotSchedule")
    found: dict[str, str] = {}
    for constraint in constraints:
        selector, key = selector_of(constraint, pod), constraint.topology_key
        counts: dict[str, int] = {}
        for place in places:
            if all(c.topology_key in place.labels for c in constraints) and may_count(place, constraint, pod):
                domain = place.labels[key]
                counts[domain] = counts.get(domain, 0) + selected_on(place, selector, pod)
        least = min(counts.values(), default=0) if len(counts) >= (constraint.min_domains or 1) else 0
        itself = int(selector.matches(labels_of(pod)))
        for place in places:
            if place.name in found:
                continue
            if key not in place.labels:
                found[place.name] = "missing"
            elif counts.get(place.labels[key], 0) + itself - least > constraint.max_skew:
                found[place.name] = "crowded"
    return found


def spread_scores(places: Sequence[Place], feasible: Sequence[Place], pod: Pod) -> dict[str, int] | None:
    """Normalised scores of the feasible nodes, for a pod with wishes of its own; None without any."""
    constraints = constraints_of(pod, "ScheduleAnyway")
    if not constraints:
        return None
    scored = [p for p in feasible if all(c.topology_key in p.labels for c in constraints)]
    raw = dict.fromkeys((place.name for place in scored), 0.0)
    for constraint in constraints:
        selector, key = selector_of(constraint, pod), constraint.topology_key
        domains = {place.labels[key] for place in scored}
        weight = math.log((len(scored) if key == HOSTNAME else len(domains)) + 2)
        for place in scored:
            if key == HOSTNAME:
                count = selected_on(place, selector, pod)
            else:
                count = sum(
                    selected_on(other, selector, pod)
                    for other in places
                    if all(c.topology_key in other.labels for c in constraints)
                    and other.labels[key] == place.labels[key]
                    and may_count(other, constraint, pod)
                )
            raw[place.name] += count * weight + float(constraint.max_skew - 1)
    rounded = {name: math.floor(value + 0.5) for name, value in raw.items()}
    most, least = max(rounded.values(), default=0), min(rounded.values(), default=0)
    return {
        place.name: 0
        if place.name not in rounded
        else 100
        if most == 0
        else 100 * (most + least - rounded[place.name]) // most
        for place in feasible
    }


# --- affinity between pods


@dataclass(frozen=True)
class Term:
    key: str
    meets: Callable[[Pod], bool]
    weight: int = 0


def terms_of(pod: Pod, which: str, namespaces: Iterable[Namespace], *, incoming: bool) -> tuple[list[Term], list[Term]]:
    """Required and preferred terms of a pod's ``pod_affinity`` or ``pod_anti_affinity``."""
    side = getattr(pod.spec.affinity, which, None) if pod.spec.affinity else None
    if side is None:
        return [], []
    known = {ns.name: ns.metadata.labels or {} for ns in namespaces}

    def compiled(term: PodAffinityTerm, weight: int = 0) -> Term:
        selector = Selector.from_label_selector(term.label_selector)
        of_namespaces = Selector.from_label_selector(term.namespace_selector)
        names = set(term.namespaces or ())
        if not names and term.namespace_selector is None:
            names.add(pod.metadata.namespace or "")
        if incoming:
            # Resolved to names once; what is left is asked of no labels at all.
            names |= {name for name, labels in known.items() if of_namespaces.matches(labels)}

        def meets(other: Pod) -> bool:
            home = other.metadata.namespace or ""
            labels = {} if incoming else known.get(home, {})
            return (home in names or of_namespaces.matches(labels)) and selector.matches(labels_of(other))

        return Term(term.topology_key, meets, weight)

    required = side.required_during_scheduling_ignored_during_execution or ()
    preferred = side.preferred_during_scheduling_ignored_during_execution or ()
    return [compiled(t) for t in required], [compiled(t.pod_affinity_term, t.weight) for t in preferred]


def together(place: Place, other: Place, key: str) -> bool:
    """Whether two nodes are in one domain."""
    return key in place.labels and place.labels[key] == other.labels.get(key)


def affinity_refusals(places: Sequence[Place], pod: Pod, namespaces: Sequence[Namespace]) -> dict[str, str]:
    """Node -> ``near``, ``far`` or ``existing``."""
    near, _ = terms_of(pod, "pod_affinity", namespaces, incoming=True)
    far, _ = terms_of(pod, "pod_anti_affinity", namespaces, incoming=True)
    friends = [(p, other) for p in places for other in p.pods if near and all(t.meets(other) for t in near)]
    alone = not any(term.key in place.labels for place, _ in friends for term in near)
    own_friend = bool(near) and all(term.meets(pod) for term in near)

    def near_enough(place: Place) -> bool:
        if not all(term.key in place.labels for term in near):
            return False
        if all(any(together(place, home, term.key) for home, _ in friends) for term in near):
            return True
        return alone and own_friend

    def too_near(place: Place) -> bool:
        return any(
            term.meets(other) and together(place, home, term.key)
            for term in far
            for home in places
            for other in home.pods
        )

    def unwelcome(place: Place) -> bool:
        return any(
            term.meets(pod) and together(place, home, term.key)
            for home in places
            for other in home.pods
            for term in terms_of(other, "pod_anti_affinity", namespaces, incoming=False)[0]
        )

    found = {}
    for place in places:
        if not near_enough(place):
            found[place.name] = "near"
        elif too_near(place):
            found[place.name] = "far"
        elif unwelcome(place):
            found[place.name] = "existing"
    return found


def affinity_sums(
    places: Sequence[Place], pod: Pod, namespaces: Sequence[Namespace], hard_weight: int
) -> dict[str, int]:
    """Node -> the sum of all wishes about it."""
    sums = dict.fromkeys((place.name for place in places), 0)
    for home in places:
        for other in home.pods:
            wishes: list[tuple[str, int]] = []
            for which, sign in (("pod_affinity", 1), ("pod_anti_affinity", -1)):
                own = terms_of(pod, which, namespaces, incoming=True)[1]
                required, preferred = terms_of(other, which, namespaces, incoming=False)
                wishes += [(t.key, sign * t.weight) for t in own if t.meets(other)]
                wishes += [(t.key, sign * t.weight) for t in preferred if t.meets(pod)]
                if sign > 0:
                    wishes += [(t.key, hard_weight) for t in required if t.meets(pod)]
            for key, weight in wishes:
                for place in places:
                    if together(place, home, key):
                        sums[place.name] += weight
    return sums


def affinity_scores(sums: Mapping[str, int]) -> dict[str, int]:
    most, least = max(sums.values()), min(sums.values())
    if most == least:
        return dict.fromkeys(sums, 0)
    return {name: int(100.0 * ((value - least) / float(most - least))) for name, value in sums.items()}


# --- resources


def least_allocated(requested: int, capacity: int) -> int:
    return 0 if requested > capacity else (capacity - requested) * 100 // capacity


def most_allocated(requested: int, capacity: int) -> int:
    return min(requested, capacity) * 100 // capacity


def weighted_mean(rate: Callable[[int, int], int], amounts: Iterable[tuple[int, int, int]]) -> int:
    """Over (requested, capacity, weight) of the resources a node has."""
    there = [(rate(requested, capacity), weight) for requested, capacity, weight in amounts if capacity]
    weights = sum(weight for _, weight in there)
    return sum(score * weight for score, weight in there) // weights if weights else 0


def balance(amounts: Iterable[tuple[int, int]]) -> int:
    """Over (requested, capacity) of the resources a node has."""
    shares = [min(requested / capacity, 1.0) for requested, capacity in amounts if capacity]
    deviation = 0.0
    if len(shares) == 2:
        deviation = abs((shares[0] - shares[1]) / 2)
    elif len(shares) > 2:
        total = 0.0
        for share in shares:
            total += share
        mean, squares = total / len(shares), 0.0
        for share in shares:
            squares += (share - mean) * (share - mean)
        deviation = math.sqrt(squares / len(shares))
    return int((1 - deviation) * 100.0)
