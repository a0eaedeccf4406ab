"""Node objects as columns: the only place that documents the axes.

Axis 0 of every array is the node, in the order of kube-scheduler's node tree, in which zones take turns; N is their
number. Resource matrices have the resources of a ``ResourceAxis`` as axis 1. Labels, taints, images and declared
features are dictionary-encoded: a code a node, and a short list of distinct values that selectors are evaluated on.
Upstream: pkg/scheduler/backend/cache/node_tree.go and component-helpers/node/topology.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import zip_longest
from random import Random

import msgspec
import numpy as np

from kwhatif.api.core import Node, Taint
from kwhatif.api.selectors import RequiredNodeAffinity, Requirement, TolerationIndex
from kwhatif.cluster.pod_requests import amounts
from kwhatif.cluster.shapes import PodShape
from kwhatif.cluster.types import BoolArray, Int64Array, IntpArray


class ResourceAxis:
    """Axis 1 of the matrices. It only ever grows, when a node or a pod comes that names a new resource.

    ``size`` is its length.
    """

    def __init__(self) -> None:
        self._index = {"cpu": 0, "memory": 1, "ephemeral-storage": 2}
        self.size = len(self._index)

    def __len__(self) -> int:
        return self.size

    def fork(self) -> ResourceAxis:
        twin = ResourceAxis()
        twin._index, twin.size = dict(self._index), self.size
        return twin

    @property
    def names(self) -> list[str]:
        """The resources in the order of their columns."""
        return list(self._index)

    def add(self, names: Iterable[str]) -> None:
        """See to it that these resources have columns."""
        for name in names:
            self._index.setdefault(name, len(self._index))
        self.size = len(self._index)

    def find(self, name: str) -> int | None:
        """The column of a resource, None for one that neither nodes nor pods have named."""
        return self._index.get(name)

    def column(self, name: str) -> int:
        """The column of a resource that a node or a pod has named. Raises KeyError for others."""
        return self._index[name]

    def columns(self, names: Iterable[str]) -> slice | IntpArray:
        """As ``column``, of many: a slice where they are the first ones in order, which indexes faster."""
        places = [self._index[name] for name in names]
        return slice(0, len(places)) if places == list(range(len(places))) else np.array(places, np.intp)

    def amounts(self, matrix: Int64Array, name: str) -> Int64Array:
        """int64[N]: one resource in an int64[N, R] matrix; zeros for one that neither nodes nor pods have named."""
        column = self._index.get(name)
        return np.zeros(len(matrix), np.int64) if column is None else matrix[:, column]


_BETA = "failure-domain.beta.kubernetes.io/"
_STABLE = "topology.kubernetes.io/"


def zone_key_of(node: Node) -> tuple[str, str]:
    """(region, zone) of a node; the deprecated labels win where both are there."""
    labels = node.metadata.labels or {}

    def read(name: str) -> str:
        return labels.get(_BETA + name, labels.get(_STABLE + name, ""))

    return read("region"), read("zone")


def scheduler_order(nodes: Sequence[Node]) -> list[int]:
    """Indices of ``nodes`` as the scheduler lists them: the first of each zone, then the second of each, ..."""
    by_zone: dict[tuple[str, str], list[int]] = {}
    for index, node in enumerate(nodes):
        by_zone.setdefault(zone_key_of(node), []).append(index)
    return [index for turn in zip_longest(*by_zone.values()) for index in turn if index is not None]


def _in_turns(rows: IntpArray, zones: IntpArray) -> IntpArray:
    """The rows of nodes, given as they joined, as the scheduler lists them; ``zones`` are the numbers of theirs."""
    by_zone = np.argsort(zones, kind="stable")
    _, begin, first = np.unique(zones[by_zone], return_index=True, return_inverse=True)
    turn = np.arange(len(rows)) - begin[first]
    # Zones take turns in the order in which their first nodes joined.
    in_turns: IntpArray = rows[by_zone[np.lexsort((by_zone[begin][first], turn))]]
    return in_turns


_MEMO_LIMIT = 4096


class EncodedColumn(msgspec.Struct, frozen=True, eq=False, dict=True):
    """A dictionary-encoded column: ``codes`` intp[N], -1 where a node has no value; ``values`` the distinct ones."""

    codes: IntpArray
    values: list[str]

    @property
    def present(self) -> BoolArray:
        """bool[N]: which nodes have a value at all."""
        return self.codes >= 0

    @cached_property
    def is_complete(self) -> bool:
        """Whether all nodes have a value."""
        return bool(self.present.all())

    def broadcast(self, answers: Sequence[bool], missing: bool) -> BoolArray:
        """bool[N] from one answer per distinct value and one for nodes without a value."""
        table = np.array([*answers, missing], np.bool_)
        return table[self.codes]


class ImageState(msgspec.Struct, frozen=True):
    """An image that nodes hold: its size in bytes as first reported, and the rows of the nodes as they joined."""

    size: int
    rows: IntpArray


class NodeColumns:
    """The immutable part of a cluster: its Node objects in the scheduler's order.

    given           list[Node] in the order in which they joined
    names           list[str], N long; ``row`` finds a name
    name_rank       intp[N], the place of each name in alphabetical order
    allocatable     int64[N, R], millicores for cpu, units for all else
    allowed_pods    int64[N]
    unschedulable   bool[N]
    """

    def __init__(self, nodes: Sequence[Node], resources: ResourceAxis) -> None:
        self._lay_out(nodes, resources, {})

    def along(self, resources: ResourceAxis) -> NodeColumns:
        """The same columns along an axis that begins with theirs; what is worked out of the nodes is shared."""
        twin = copy.copy(self)
        twin._resources = resources
        return twin

    def without_nodes(self, rows: Collection[int]) -> NodeColumns:
        """The columns of all other nodes; their amounts are not simulated again."""
        gone = {self.names[row] for row in rows}
        known = dict(zip(self.names, self._amounts, strict=True))
        others = object.__new__(NodeColumns)
        others._lay_out([node for node in self.given if node.name not in gone], self._resources, known)
        return others

    def with_nodes(self, nodes: Sequence[Node]) -> NodeColumns:
        """The columns of these and more nodes, whose rows come last, whatever their zones."""
        known = dict(zip(self.names, self._amounts, strict=True))
        wider = object.__new__(NodeColumns)
        wider._lay_out([*self.nodes, *nodes], self._resources, known, as_given=True)
        return wider

    def with_changed_nodes(self, nodes: Sequence[Node]) -> NodeColumns:
        """The columns of the same nodes, some of which have changed, in the rows in which they are."""
        changed = {node.name: node for node in nodes}
        known = {name: amounts for name, amounts in zip(self.names, self._amounts, strict=True) if name not in changed}
        others = object.__new__(NodeColumns)
        given = [changed.get(node.name, node) for node in (self.nodes if self._as_given else self.given)]
        others._lay_out(given, self._resources, known, as_given=self._as_given)
        before = [self.nodes[self._rows[node.name]] for node in nodes]
        if all(old.status.images == new.status.images for old, new in zip(before, nodes, strict=True)):
            others.images = self.images
        if all(old.metadata.labels == new.metadata.labels for old, new in zip(before, nodes, strict=True)):
            others._labels, others._rows_by_label = dict(self._labels), self._rows_by_label
        return others

    def _lay_out(
        self,
        nodes: Sequence[Node],
        resources: ResourceAxis,
        amounts_of: Mapping[str, tuple[dict[str, int], int]],
        *,
        as_given: bool = False,
    ) -> None:
        self.given = list(nodes)
        self._as_given = as_given
        self._order = range(len(self.given)) if as_given else scheduler_order(nodes)
        self.nodes = [self.given[place] for place in self._order]
        self.names = [node.name for node in self.nodes]
        self._rows = {name: row for row, name in enumerate(self.names)}
        self._resources = resources
        self._labels: dict[str, EncodedColumn] = {}
        self._memo: dict[Hashable, BoolArray] = {}
        size = len(self.nodes)
        self.name_rank = np.empty(size, np.intp)
        self.name_rank[sorted(range(size), key=self.names.__getitem__)] = np.arange(size)
        self.unschedulable = np.fromiter((bool(n.spec.unschedulable) for n in self.nodes), np.bool_, size)
        self._amounts = [amounts_of.get(node.name) or self._allocatable(node) for node in self.nodes]
        for requested, _ in self._amounts:
            resources.add(requested)
        self.allowed_pods = np.fromiter((pods for _, pods in self._amounts), np.int64, size)
        self._allocatable_matrix = self._matrix()

    def __len__(self) -> int:
        return len(self.nodes)

    def encode(self) -> None:
        """Encode what the first cycle would have to, as upstream does when nodes are added to its cache."""
        _ = self.taints, self.images, self.capacity_codes

    def row(self, name: str) -> int | None:
        """The row of the node called ``name``."""
        return self._rows.get(name)

    def shuffle(self, random: Random) -> IntpArray:
        """intp[N]: the rows as a scheduler lists the nodes that heard of them in any order."""
        places = np.random.Generator(np.random.PCG64(random.getrandbits(64))).permutation(len(self))
        return _in_turns(self._rows_as_given[places], self._zones_as_given[places])

    def order_of(self, there: BoolArray) -> IntpArray:
        """intp[n]: the rows of some nodes (bool[N]) as the scheduler would list them if there were no others."""
        if there.all():
            return np.arange(len(self))
        if self._as_given:
            return np.flatnonzero(there)
        rows, zones = self._rows_as_given, self._zones_as_given
        some = there[rows]
        return _in_turns(rows[some], zones[some])

    @cached_property
    def _rows_as_given(self) -> IntpArray:
        """intp[N]: the rows of the nodes as they joined."""
        rows = np.empty(len(self), np.intp)
        rows[self._order] = np.arange(len(self))
        return rows

    @cached_property
    def _zones_as_given(self) -> IntpArray:
        """intp[N]: the number of the zone of each node as they joined."""
        numbers: dict[tuple[str, str], int] = {}
        return np.fromiter((numbers.setdefault(zone_key_of(n), len(numbers)) for n in self.given), np.intp, len(self))

    @staticmethod
    def _allocatable(node: Node) -> tuple[dict[str, int], int]:
        quantities = node.status.for_pods
        pods = quantities.get("pods")
        return amounts(quantities), pods.value() if pods is not None else 0

    @property
    def allocatable(self) -> Int64Array:
        missing = len(self._resources) - self._allocatable_matrix.shape[1]
        if missing:
            # Pods have named resources that no node has.
            self._allocatable_matrix = np.pad(self._allocatable_matrix, ((0, 0), (0, missing)))
        return self._allocatable_matrix

    @cached_property
    def capacity_codes(self) -> IntpArray:
        """intp[N]: the same number for nodes with the same ``allocatable`` and ``allowed_pods``."""
        numbers: dict[bytes, int] = {}
        rows = bytes_of_rows(np.column_stack([self.allowed_pods, self._allocatable_matrix]))
        return np.fromiter((numbers.setdefault(row, len(numbers)) for row in rows), np.intp, len(self))

    def _matrix(self) -> Int64Array:
        """int64[N, R]: the amounts of all nodes, most of which name the same resources."""
        matrix = np.zeros((len(self.nodes), len(self._resources)), np.int64)
        naming: dict[tuple[str, ...], list[int]] = {}
        for row, (requested, _) in enumerate(self._amounts):
            naming.setdefault(tuple(requested), []).append(row)
        for names, rows in naming.items():
            columns = [self._resources.column(name) for name in names]
            matrix[np.ix_(rows, columns)] = [list(self._amounts[row][0].values()) for row in rows]
        return matrix

    def label(self, key: str) -> EncodedColumn:
        """The column of one label."""
        column = self._labels.get(key)
        if column is None:
            distinct: dict[str, int] = {}
            codes = np.full(len(self), -1, np.intp)
            rows = self._rows_by_label.get(key, [])
            values = ((self.nodes[row].metadata.labels or {})[key] for row in rows)
            codes[rows] = [distinct.setdefault(value, len(distinct)) for value in values]
            column = self._labels[key] = EncodedColumn(codes, list(distinct))
        return column

    @cached_property
    def _rows_by_label(self) -> dict[str, list[int]]:
        """By label, the nodes that have it."""
        by_label: dict[str, list[int]] = {}
        for row, node in enumerate(self.nodes):
            for key in node.metadata.labels or ():
                by_label.setdefault(key, []).append(row)
        return by_label

    @cached_property
    def name_column(self) -> EncodedColumn:
        """Node names as a column of their own, for ``matchFields``."""
        return EncodedColumn(np.arange(len(self.names), dtype=np.intp), self.names)

    def having(self, requirement: Requirement, *, field: bool = False) -> BoolArray:
        """bool[N]: which nodes' labels (or ``metadata.name``) meet the requirement."""

        def ask() -> BoolArray:
            if field and requirement.key != "metadata.name":
                return np.full(len(self), requirement.matches(""), np.bool_)
            column = self.name_column if field else self.label(requirement.key)
            answers = [requirement.matches(value) for value in column.values]
            return column.broadcast(answers, requirement.matches(None))

        return self._memoize((requirement, field), ask)

    def matching(self, affinity: RequiredNodeAffinity) -> BoolArray:
        """bool[N]: which nodes a required node affinity and node selector admit."""

        def ask() -> BoolArray:
            mask = np.ones(len(self), np.bool_)
            for requirement in affinity.labels:
                mask &= self.having(requirement)
            if affinity.terms is not None:
                any_term = np.zeros(len(self), np.bool_)
                for term in affinity.terms:
                    any_term |= self.matching_term(term.expressions, term.fields, broken=term.broken)
                mask &= any_term
            return mask

        return self._memoize(affinity, ask)

    def matching_term(
        self, expressions: Sequence[Requirement], fields: Sequence[Requirement], *, broken: bool = False
    ) -> BoolArray:
        """bool[N]: which nodes meet all requirements of one node selector term."""
        mask = np.full(len(self), not broken, np.bool_)
        for requirement in expressions:
            mask &= self.having(requirement)
        for requirement in fields:
            mask &= self.having(requirement, field=True)
        return mask

    @cached_property
    def taints(self) -> tuple[IntpArray, list[tuple[Taint, ...]]]:
        """intp[N] codes and the distinct lists of taints they stand for."""
        tainted = [(row, taints) for row, node in enumerate(self.nodes) if (taints := node.spec.taints)]
        lists: list[tuple[Taint, ...]] = [()] if len(tainted) < len(self) else []
        distinct: dict[tuple[tuple[str, str | None, str], ...], int] = {}
        codes = np.zeros(len(self), np.intp)
        for row, taints in tainted:
            code = distinct.setdefault(tuple([(t.key, t.value, t.effect) for t in taints]), len(lists))
            if code == len(lists):
                lists.append(tuple(taints))
            codes[row] = code
        return codes, lists

    def find_untolerated_taints(
        self, shape: PodShape, effects: tuple[str, ...], *, comparison_operators: bool
    ) -> tuple[IntpArray, list[list[Taint]]]:
        """intp[N] codes and, per code, the taints of these effects that the pod does not tolerate."""
        codes, lists = self.taints
        tolerations = TolerationIndex(shape.spec.tolerations or (), comparison_operators=comparison_operators)
        return codes, [
            [taint for taint in taints if taint.effect in effects and not tolerations.tolerates(taint)]
            for taints in lists
        ]

    @cached_property
    def images(self) -> dict[str, ImageState]:
        """Image name -> its state. As upstream, the size is the one the first node reported."""
        sizes: dict[str, int] = {}
        rows_of: dict[str, list[int]] = {}
        for row, images in enumerate([node.status.images or () for node in self.given]):
            for image in images:
                for name in image.names or ():
                    rows = rows_of.get(name)
                    if rows is None:
                        sizes[name], rows_of[name] = image.size_bytes or 0, [row]
                    else:
                        rows.append(row)
        place = self._rows_as_given
        # A node may name an image twice.
        return {name: ImageState(sizes[name], place[list(dict.fromkeys(rows))]) for name, rows in rows_of.items()}

    @cached_property
    def declared_features(self) -> list[frozenset[str]]:
        """What each node declares it can do, N long."""
        return [frozenset(node.status.declared_features or ()) for node in self.nodes]

    def _memoize(self, key: Hashable, ask: Callable[[], BoolArray]) -> BoolArray:
        answer = self._memo.get(key)
        if answer is None:
            if len(self._memo) >= _MEMO_LIMIT:
                self._memo.clear()
            answer = self._memo[key] = ask()
            answer.flags.writeable = False
        return answer


def bytes_of_rows(matrix: Int64Array) -> list[bytes]:
    """The rows of int64[n, m] as values that can be compared and looked up."""
    width = matrix.itemsize * matrix.shape[1]
    content = matrix.tobytes()
    return [content[start : start + width] for start in range(0, len(content), width)]
