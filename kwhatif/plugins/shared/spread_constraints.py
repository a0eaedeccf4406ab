"""Topology spread constraints, the pod's own or the profile's defaults, with selectors compiled; and the arguments of
PodTopologySpread.

Upstream: plugins/podtopologyspread/common.go.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec.structs import replace

from kwhatif.api.core import TopologySpreadConstraint
from kwhatif.api.selectors import Selector
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.columns import EncodedColumn, NodeColumns
from kwhatif.cluster.shapes import PodInfo, PodShape, Selection
from kwhatif.cluster.tally import TallySpec, Weighing
from kwhatif.cluster.types import BoolArray
from kwhatif.framework.declaration import Args
from kwhatif.framework.interface import Dependency
from kwhatif.golang.field_validation import Path
from kwhatif.plugins.shared.node_resources import label_problems
from kwhatif.versions import Features

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"

SYSTEM_DEFAULTS = (
    TopologySpreadConstraint(max_skew=3, topology_key=HOSTNAME, when_unsatisfiable="ScheduleAnyway"),
    TopologySpreadConstraint(max_skew=5, topology_key=ZONE, when_unsatisfiable="ScheduleAnyway"),
)


def _owned_by(kind: str) -> Dependency:
    def matters(pod: PodInfo, cluster: Cluster) -> bool:
        controller = pod.shape.controller
        owned = kind == "Service" or (controller is not None and controller.kind == kind)
        return owned and not pod.shape.spec.topology_spread_constraints

    return Dependency("pods without constraints of their own are spread by it", matters)


OWNERS: Mapping[str, Dependency] = MappingProxyType(
    {kind: _owned_by(kind) for kind in ("ReplicaSet", "ReplicationController", "Service", "StatefulSet")}
)
"""The kinds whose selectors spread pods by default."""


class Constraint(msgspec.Struct, frozen=True):
    max_skew: int
    topology_key: str
    selector: Selector
    min_domains: int
    honor_affinity: bool
    honor_taints: bool

    def tally(self, shape: PodShape, cluster: Cluster, keys_present: BoolArray | None, features: Features) -> TallySpec:
        """Count the namespace's pods it selects, by domain, on the nodes that may be counted."""
        columns = cluster.columns
        eligible = np.ones(len(columns), np.bool_) if keys_present is None else keys_present.copy()
        affinity: Hashable = None
        taints: Hashable = None
        if self.honor_affinity and not shape.node_affinity.trivial:
            affinity = shape.node_affinity
            eligible &= columns.matching(shape.node_affinity)
        if self.honor_taints:
            codes, lists = columns.find_untolerated_taints(
                shape,
                ("NoSchedule", "NoExecute"),
                comparison_operators=features.taint_toleration_comparison_operators,
            )
            clean = np.array([not node_taints for node_taints in lists], np.bool_)
            taints = clean.tobytes()
            eligible &= clean[codes]
        selector, namespace = self.selector, shape.namespace
        key = ("spread", namespace, selector, self.topology_key, affinity, taints, eligible.tobytes())

        moves = Weighing(((Selection(selector, frozenset((namespace,))), 1),))
        return TallySpec(key, self._weighing_of(namespace), moves, self._domains(columns, keys_present), eligible)

    def _weighing_of(self, namespace: str) -> Weighing:
        """The namespace's pods it selects that are not terminating; none for a selector without requirements."""
        selection = Selection(self.selector, frozenset((namespace,)), staying=True)
        return Weighing(() if self.selector.empty else ((selection, 1),))

    def _domains(self, columns: NodeColumns, keys_present: BoolArray | None) -> EncodedColumn:
        """The label's column. Where nodes may lack it, upstream lumps those with the ones whose label is empty."""
        column = columns.label(self.topology_key)
        if keys_present is not None or "" not in column.values:
            return column
        return EncodedColumn(np.where(column.present, column.codes, column.values.index("")), column.values)

    def tally_by_node(self, shape: PodShape) -> TallySpec:
        """Count the namespace's pods it selects on each node, whether or not the node may be counted."""
        return TallySpec(("spread on node", shape.namespace, self.selector), self._weighing_of(shape.namespace))


class ConstraintSource:
    """The constraints of pods under one profile."""

    def __init__(self, args: Any, features: Features) -> None:
        self.system_defaulted = args.defaulting_type == "System"
        self._defaults: Sequence[TopologySpreadConstraint] = (
            SYSTEM_DEFAULTS if self.system_defaulted else tuple(args.default_constraints or ())
        )
        self._features = features

    @property
    def has_defaults(self) -> bool:
        """Whether there are constraints for pods that have none of their own."""
        return bool(self._defaults)

    def compile_key(self, shape: PodShape, cluster: Cluster, when_unsatisfiable: str) -> Hashable:
        """What the constraints of pods of one template depend on besides: equal values, equal constraints."""
        own = shape.spec.topology_spread_constraints
        if not own:
            wanted = any(constraint.when_unsatisfiable == when_unsatisfiable for constraint in self._defaults)
            return cluster.owners.default_selector(shape) if wanted else None
        return tuple(shape.labels.get(key) for constraint in own for key in constraint.match_label_keys or ())

    def has_constraints(self, shape: PodShape, cluster: Cluster) -> bool:
        """Whether ``constraints_of`` has any, whatever their ``whenUnsatisfiable``."""
        if shape.spec.topology_spread_constraints:
            return True
        return bool(self._defaults) and not cluster.owners.default_selector(shape).empty

    def constraints_of(self, shape: PodShape, cluster: Cluster, when_unsatisfiable: str) -> tuple[Constraint, ...]:
        """The pod's constraints with this ``whenUnsatisfiable``; the defaults if it has none of its own."""
        own = shape.spec.topology_spread_constraints
        if own:
            return self._compile(own, shape, when_unsatisfiable)
        defaults = self._compile(self._defaults, shape, when_unsatisfiable)
        if not defaults:
            return ()
        selector = cluster.owners.default_selector(shape)
        if selector.empty:
            return ()
        return tuple(replace(constraint, selector=selector) for constraint in defaults)

    def _compile(
        self, constraints: Sequence[TopologySpreadConstraint], shape: PodShape, when_unsatisfiable: str
    ) -> tuple[Constraint, ...]:
        policies = self._features.node_inclusion_policy_in_pod_topology_spread
        return tuple(
            Constraint(
                c.max_skew,
                c.topology_key,
                self._selector(c, shape),
                c.min_domains if c.min_domains is not None and self._features.min_domains_in_pod_topology_spread else 1,
                honor_affinity=not policies or (c.node_affinity_policy or "Honor") == "Honor",
                honor_taints=policies and c.node_taints_policy == "Honor",
            )
            for c in constraints
            if c.when_unsatisfiable == when_unsatisfiable
        )

    def _selector(self, constraint: TopologySpreadConstraint, shape: PodShape) -> Selector:
        selector = Selector.from_label_selector(constraint.label_selector)
        if self._features.match_label_keys_in_pod_topology_spread:
            keys = constraint.match_label_keys or ()
            same = {key: shape.labels[key] for key in keys if key in shape.labels}
            selector = selector.with_requirements(Selector.from_labels(same).requirements)
        return selector


def in_whole_domains(spec: TallySpec) -> TallySpec:
    """The same count over the pods on all nodes of each domain to which at least one counted node belongs."""
    assert spec.topology is not None
    assert spec.eligible is not None
    codes = spec.topology.codes
    met = np.zeros(len(spec.topology.values) + 1, np.bool_)
    met[codes[spec.eligible]] = True
    met[-1] = False
    return replace(spec, key=("whole domains", spec.key), eligible=met[codes], founding=spec.eligible)


def all_keys_present(constraints: Sequence[Constraint], cluster: Cluster) -> BoolArray:
    """bool[N]: nodes that carry the topology labels of all constraints."""
    present: BoolArray = np.ones(len(cluster), np.bool_)
    for constraint in constraints:
        present &= cluster.columns.label(constraint.topology_key).present
    return present


SYSTEM_DEFAULTING = "System"
LIST_DEFAULTING = "List"
_TYPES = (SYSTEM_DEFAULTING, LIST_DEFAULTING)
_TYPE = msgspec.Meta(extra={"go": "v1.PodTopologySpreadConstraintsDefaulting", "words": _TYPES})
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")


class PodTopologySpreadArgs(Args):
    """``default_constraints`` are for pods that have none, with ``defaulting_type`` List."""

    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    defaulting_type: Annotated[str, _TYPE] = SYSTEM_DEFAULTING


def spread_problems(path: Path, args: PodTopologySpreadArgs) -> Iterator[str]:
    """Every reason to refuse the arguments."""
    kind, at = args.defaulting_type, path.child("defaultingType")
    if kind not in _TYPES:
        yield at.not_supported(kind, _TYPES)
    elif kind == SYSTEM_DEFAULTING and args.default_constraints:
        yield at.invalid(kind, "when .defaultConstraints are not empty")
    seen = set()
    for index, constraint in enumerate(args.default_constraints):
        at = path.child("defaultConstraints").index(index)
        yield from _constraint(at, constraint)
        pair = (constraint.topology_key, constraint.when_unsatisfiable)
        if pair in seen:
            yield at.duplicate(f"{{{pair[0]}, {pair[1]}}}")
        seen.add(pair)


def _constraint(path: Path, constraint: TopologySpreadConstraint) -> Iterator[str]:
    if constraint.max_skew <= 0:
        yield path.child("maxSkew").invalid(constraint.max_skew, "not in valid range (0, inf)")
    at = path.child("topologyKey")
    if constraint.topology_key:
        yield from label_problems(at, constraint.topology_key)
    else:
        yield at.required("can not be empty")
    when_unsatisfiable, at = constraint.when_unsatisfiable, path.child("whenUnsatisfiable")
    if not when_unsatisfiable:
        yield at.required("can not be empty")
    elif when_unsatisfiable not in _ACTIONS:
        yield at.not_supported(when_unsatisfiable, _ACTIONS)
    if constraint.label_selector is not None:
        problem = "constraint must not define a selector, as they deduced for each pod"
        yield path.child("labelSelector").forbidden(problem)
