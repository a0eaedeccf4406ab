"""How many nodes of a group some pods need: first-fit decreasing bin packing, with equivalent pods grouped.

Upstream: cluster-autoscaler/estimator (binpacking_estimator.go, decreasing_pod_orderer.go and the thresholds); for
equivalence core/scaleup/equivalence/groups.go, simulator/scheduling/similar_pods.go and PodSpecSemanticallyEqual in
utils/utils.go.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence

import msgspec
import numpy as np

from kwhatif.api.core import PodAffinityTerm
from kwhatif.api.quantity import plain_quantity
from kwhatif.api.selectors import Selector
from kwhatif.autoscaling.cluster_autoscaler.autoscaler_flags import Flags
from kwhatif.autoscaling.cluster_autoscaler.autoscaling_context import NodeGroup, is_of_daemon_set
from kwhatif.autoscaling.cluster_autoscaler.node_template import NodeTemplate
from kwhatif.autoscaling.cluster_autoscaler.simulated_cluster import SimulatedCluster
from kwhatif.cluster.pod_requests import amounts
from kwhatif.cluster.shapes import PodInfo, is_read
from kwhatif.cluster.types import BoolArray, Int64Array
from kwhatif.framework.status import Status
from kwhatif.plugins.pod_topology_spread import TOO_MANY
from kwhatif.plugins.shared.spread_constraints import HOSTNAME

_MOST_GROUPS = 10
"""Of one controller. Pods beyond those are alike only to themselves."""

_ENCODER = msgspec.msgpack.Encoder(enc_hook=plain_quantity)


class PodGroup(msgspec.Struct, eq=False):
    """Equivalent pods; ``refused`` says why each node group does not fit them, ``fitting`` which ones do."""

    pods: list[PodInfo]
    refused: dict[str, Status] = {}
    fitting: list[str] = []

    @property
    def example(self) -> PodInfo:
        return self.pods[0]


def pod_groups(pods: Iterable[PodInfo]) -> list[PodGroup]:
    """The groups in the order of their first pods."""
    groups: list[PodGroup] = []
    by_look: dict[Hashable, PodGroup] = {}
    of_controller: dict[str, int] = {}
    looks = PodEquivalence()
    for pod in pods:
        look = looks.key_of(pod)
        group = by_look.get(look) if look is not None else None
        if group is not None:
            group.pods.append(pod)
            continue
        groups.append(PodGroup([pod]))
        if look is not None and of_controller.get(look[0], 0) < _MOST_GROUPS:
            of_controller[look[0]] = of_controller.get(look[0], 0) + 1
            by_look[look] = groups[-1]
    return groups


class SimilarPods:
    """Remembers pods that found no node, so that similar ones need not be tried."""

    def __init__(self) -> None:
        self._looks = PodEquivalence()
        self._failed: dict[str, set[Hashable]] = {}

    def has_failed_before(self, pod: PodInfo) -> bool:
        look = self._looks.key_of(pod, daemons=True)
        return look is not None and look in self._failed.get(look[0], ())

    def record_failure(self, pod: PodInfo) -> None:
        look = self._looks.key_of(pod)
        if look is not None:
            known = self._failed.setdefault(look[0], set())
            if len(known) < _MOST_GROUPS:
                known.add(look)


class PodEquivalence:
    """Equivalence of pods, computed once a shape."""

    def __init__(self) -> None:
        self._of_shape: dict[int, tuple[str, frozenset[tuple[str, str]], bytes]] = {}

    def key_of(self, pod: PodInfo, *, daemons: bool = False) -> tuple[str, frozenset[tuple[str, str]], bytes] | None:
        """Controller, labels and spec; None for pods that are equivalent to no other, such as those of DaemonSets."""
        shape = pod.shape
        controller = shape.controller
        if controller is None or (not daemons and is_of_daemon_set(pod.pod)):
            return None
        look = self._of_shape.get(shape.index)
        if look is None:
            volumes = [volume for volume in shape.spec.volumes or () if is_read(volume)]
            spec = _ENCODER.encode(msgspec.structs.replace(shape.spec, volumes=volumes or None))
            look = self._of_shape[shape.index] = (controller.uid or "", frozenset(shape.labels.items()), spec)
        return look


_FIRST_ROWS = 16


def node_limit(flags: Flags, group: NodeGroup, similar: Sequence[NodeGroup], nodes: int) -> int:
    """The most nodes that one scale-up of a group may add to a cluster, by its number of nodes."""
    limit = group.room + sum(other.room for other in similar)
    if flags.max_nodes_per_scaleup:
        limit = min(limit, flags.max_nodes_per_scaleup)
    if flags.max_nodes_total:
        limit = min(limit, flags.max_nodes_total - nodes)
    return max(limit, 0)


class Estimator:
    """Packs pods on fresh nodes of one template, at most ``limit`` of them, beside the nodes that are there."""

    def __init__(self, simulated: SimulatedCluster, template: NodeTemplate, limit: int) -> None:
        self._template, self._limit = template, limit
        self._base = self._simulated = simulated
        self._made = 0
        self._asked = 0
        self._rows: list[int] = []
        self._used: set[str] = set()
        self._placed: list[PodInfo] = []

    def estimate(self, groups: Sequence[PodGroup], *, fast_path: bool = False) -> tuple[int, list[PodInfo]]:
        """How many nodes get pods, and the pods."""
        ordered = self._largest_first(groups)
        last = _best_for_fast_path(ordered, self._template) if fast_path else None
        if last is not None:
            ordered.append(ordered.pop(last))
        more = True
        for number, group in enumerate(ordered, 1):
            left = self._on_fresh_nodes(group.pods)
            if more:
                fast = last is not None and number == len(ordered)
                more = (self._multiply if fast else self._on_more_nodes)(left)
        return len(self._used), self._placed

    def _largest_first(self, groups: Sequence[PodGroup]) -> list[PodGroup]:
        allocatable = amounts(self._template.node.status.allocatable or {})

        def share(group: PodGroup) -> float:
            requests = group.example.shape.score_requests
            some = ((requests.get(name, 0), allocatable.get(name, 0)) for name in ("cpu", "memory"))
            return sum(amount / whole for amount, whole in some if whole > 0)

        return sorted(groups, key=share, reverse=True)

    # --- pods on nodes

    def _on_fresh_nodes(self, pods: Sequence[PodInfo]) -> list[PodInfo]:
        """Place pods on the nodes added so far, until one does not fit; returns the remaining pods."""
        if not self._rows:
            return list(pods)
        room = self._room(pods, self._rows)
        if room is not None:
            return self._deal_out(pods, room)
        fresh = self._fresh()
        for done, pod in enumerate(pods):
            row = self._simulated.search(pod, fresh)
            if row is None:
                return list(pods[done:])
            self._put(pod, row)
        return []

    def _deal_out(self, pods: Sequence[PodInfo], room: Int64Array) -> list[PodInfo]:
        """As ``_on_fresh_nodes``, for equivalent pods: successive searches go round the nodes that have room."""
        turns = self._simulated.search_order_of(self._rows)
        room = np.where(self._simulated.cluster.columns.unschedulable[self._rows], 0, room)[turns]
        # A node with room for three gets a pod in the first three rounds.
        rounds = [np.flatnonzero(room > k) for k in range(int(room.max(initial=0)))]
        order = np.concatenate(rounds)[: len(pods)] if rounds else np.zeros(0, np.intp)
        for place in np.unique(order).tolist():
            mine = [pods[k] for k in np.flatnonzero(order == place).tolist()]
            self._put_alike(mine, self._rows[turns[place]])
        if len(order):
            self._simulated.record_search(self._rows[turns[int(order[-1])]])
        return list(pods[len(order) :])

    def _room(self, pods: Sequence[PodInfo], rows: Sequence[int]) -> Int64Array | None:
        """How many more of these pods each of the nodes takes; None if they have to be tried one by one."""
        if any(pod.shape is not pods[0].shape for pod in pods):
            return None
        return self._simulated.room(pods[0], np.array(rows, np.intp), len(pods))

    def _on_more_nodes(self, pods: Sequence[PodInfo]) -> bool:
        """Place pods on the last node made, else on another one; False when no more nodes may be made."""
        if not pods:
            return True
        last = self._rows[-1:]
        room = self._room(pods, last)
        if room is None:
            return self._one_by_one(pods)
        left = list(pods)
        if last:
            left = self._fill(left, last[0], int(room[0]))
            if left and self._simulated.name(last[0]) not in self._used:
                return True
        count: int | None = None
        while left:
            if not self._may_make():
                return False
            row = self._make()
            if count is None:
                # Fresh nodes are all alike.
                space = self._room(left, [row])
                count = 0 if space is None else int(space[0])
            if not count:
                return True
            left = self._fill(left, row, count)
        return True

    def _fill(self, pods: list[PodInfo], row: int, room: int) -> list[PodInfo]:
        """Put as many of these pods on a node as there is room for; returns the others."""
        if room:
            self._put_alike(pods[:room], row)
        return pods[room:]

    def _one_by_one(self, pods: Sequence[PodInfo]) -> bool:
        for pod in pods:
            row = self._rows[-1] if self._rows else None
            if row is not None:
                if self._simulated.fits(pod, row):
                    self._put(pod, row)
                    continue
                if _spreads_over_hosts(pod) and self._is_crowded(pod, row):
                    everywhere = np.ones(len(self._simulated.cluster), np.bool_)
                    everywhere[row] = False
                    other = self._simulated.search(pod, everywhere)
                    if other is not None:
                        self._put(pod, other)
                        continue
                if self._simulated.name(row) not in self._used:
                    # It would not fit on another empty node either.
                    return True
            if not self._may_make():
                return False
            row = self._make()
            if not self._simulated.fits(pod, row):
                return True
            self._put(pod, row)
        return True

    def _is_crowded(self, pod: PodInfo, row: int) -> bool:
        """Whether topology spread is why a pod does not fit."""
        refusal = self._simulated.refusal(pod, row)
        return refusal is not None and TOO_MANY in refusal.reasons

    def _multiply(self, pods: Sequence[PodInfo]) -> bool:
        """Fill one node with equivalent pods, and assume that the other nodes hold as many."""
        if not pods:
            return True
        if not self._may_make():
            return False
        row = self._make()
        fitting = 0
        for pod in pods:
            if not self._simulated.fits(pod, row):
                break
            self._put(pod, row)
            fitting += 1
        if not fitting:
            return True
        for start in range(fitting, len(pods), fitting):
            if not self._may_make():
                return False
            self._used.add(f"{self._simulated.name(row)}-fake-{start}")
            self._placed += pods[start : start + fitting]
        return True

    def _put(self, pod: PodInfo, row: int) -> None:
        self._simulated.place(pod, row)
        self._used.add(self._simulated.name(row))
        self._placed.append(pod)

    def _put_alike(self, pods: Sequence[PodInfo], row: int) -> None:
        self._simulated.place_alike(pods, row)
        self._used.add(self._simulated.name(row))
        self._placed += pods

    # --- fresh nodes

    def _fresh(self) -> BoolArray:
        fresh = np.zeros(len(self._simulated.cluster), np.bool_)
        fresh[self._rows] = True
        return fresh

    def _may_make(self) -> bool:
        if self._asked >= self._limit:
            return False
        self._asked += 1
        return True

    def _make(self) -> int:
        name = fresh_name(self._template, self._made)
        row = self._simulated.cluster.columns.row(name)
        if row is None:
            names = [fresh_name(self._template, self._made + n) for n in range(max(_FIRST_ROWS, self._made))]
            self._simulated = self._simulated.with_room_for(self._template, names)
            row = self._simulated.cluster.columns.row(name)
            assert row is not None
        self._made += 1
        self._simulated.join(row, self._template.fresh(name)[1])
        self._rows.append(row)
        return row


def fresh_name(template: NodeTemplate, number: int) -> str:
    return f"{template.node.name}-e-{number}"


def likely_nodes(template: NodeTemplate, groups: Iterable[PodGroup], limit: int) -> int:
    """Roughly how many nodes the pods will need by their requests: preparing rows for more would cost time."""
    free = template.free
    requests: Counter[str] = Counter()
    for group in groups:
        for name, amount in group.example.shape.score_requests.items():
            requests[name] += amount * len(group.pods)
        requests["pods"] += len(group.pods)
    needed = max((amount / free[name] for name, amount in requests.items() if free.get(name, 0) > 0), default=0.0)
    return max(min(int(1.2 * needed) + _FIRST_ROWS, limit), 1)


def _spreads_over_hosts(pod: PodInfo) -> bool:
    constraints = pod.shape.spec.topology_spread_constraints or ()
    return any(constraint.topology_key == HOSTNAME for constraint in constraints)


def _best_for_fast_path(groups: Sequence[PodGroup], template: NodeTemplate) -> int | None:
    """The group that gains most when one of its nodes is packed and multiplied; None if that is right for none."""
    best, most = None, 0
    for place, group in enumerate(groups):
        nodes = max(_nodes_needed(group, template))
        saved = len(group.pods) - len(group.pods) // nodes if nodes else 0
        if saved >= most and _is_multipliable(group.example):
            best, most = place, saved
    return best


def _nodes_needed(group: PodGroup, template: NodeTemplate) -> Iterator[int]:
    """A lower bound of nodes, by the first container's requests and by host ports and anti-affinity to the own node."""
    spec, count = group.example.shape.spec, len(group.pods)
    yield 0
    for term in _anti_affinity(group.example):
        if term.topology_key == HOSTNAME and _selects(term, group.example):
            yield count
    requests = spec.containers[0].resources.requests if spec.containers and spec.containers[0].resources else None
    capacity = template.node.status.capacity or {}
    for name in ("cpu", "memory"):
        if requests is not None and name in requests and name in capacity:
            yield math.ceil(count * float(requests[name]) / float(capacity[name]))


def _is_multipliable(pod: PodInfo) -> bool:
    spread = pod.shape.spec.topology_spread_constraints
    return spread is None and all(term.topology_key == HOSTNAME for term in _anti_affinity(pod))


def _anti_affinity(pod: PodInfo) -> Sequence[PodAffinityTerm]:
    affinity = pod.shape.spec.affinity
    terms = affinity.pod_anti_affinity if affinity else None
    return (terms.required_during_scheduling_ignored_during_execution or ()) if terms else ()


def _selects(term: PodAffinityTerm, pod: PodInfo) -> bool:
    return term.label_selector is not None and Selector.from_label_selector(term.label_selector).matches(
        pod.shape.labels
    )
