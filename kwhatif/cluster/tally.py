"""Tallies: counts of pods by node and by topology domain that are kept up to date, and the set of those of a cluster.

A plugin that needs "how many pods matching this selector run in each zone?" registers a tally once. From then on
placing or removing a pod costs two additions instead of a walk over the cluster.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable
from functools import cached_property

import msgspec
import numpy as np

from kwhatif.cluster.columns import EncodedColumn
from kwhatif.cluster.labels import SelectorIndex
from kwhatif.cluster.shape_table import ShapeTable
from kwhatif.cluster.shapes import AffinityTerm, PodShape, Selection
from kwhatif.cluster.types import BoolArray, Int64Array, IntpArray


class Weighing(msgspec.Struct, frozen=True):
    """What a pod counts: the weights of all ``selections`` that admit it, those of all affinity ``terms`` that it has,
    and what its template counts.

    ``of_template`` must not look at labels: it is asked once for all pods of a template.
    """

    selections: tuple[tuple[Selection, int], ...] = ()
    terms: tuple[tuple[AffinityTerm, int], ...] = ()
    of_template: Callable[[PodShape], int] | None = None

    def of_shapes(self, shapes: ShapeTable, first: int = 0) -> Int64Array:
        """int64[T - first]: the weights of all shapes from the one numbered ``first`` on."""
        weights = np.zeros(len(shapes) - first, np.int64)
        for selection, weight in self.selections:
            weights += weight * shapes.select_shapes(selection, first)
        if self.terms:
            held = np.zeros(len(shapes.templates), np.int64)
            for term, weight in self.terms:
                np.add.at(held, shapes.holders(term), weight)
            weights += held[shapes.template_numbers(first)]
        if self.of_template is not None:
            templates, places = np.unique(shapes.template_numbers(first), return_inverse=True)
            shared = [self.of_template(shapes.templates[number]) for number in templates]
            weights += np.array(shared, np.int64)[places]
        return weights


class TallySpec(msgspec.Struct, frozen=True):
    """What to count: each pod adds its ``weight`` to its node and, where ``eligible``, to its domain.

    ``topology`` is the label column whose values are the domains; None counts by node only. Specs with equal
    ``key`` count the same. ``moved`` weighs pods that are only imagined to come or go, where upstream counts those by
    another rule. A domain is open while a ``founding`` node is there; those are the eligible ones by default.
    """

    key: Hashable
    weight: Weighing
    moved: Weighing | None = None
    topology: EncodedColumn | None = None
    eligible: BoolArray | None = None
    founding: BoolArray | None = None


class Tally:
    """Live counts.

    by_node     int64[N]
    by_domain   int64[D + 1], D distinct values of the topology label. The last place belongs to nodes without the
                label, is always 0, and is what their code -1 points to
    total       sum over domains (over nodes, without a topology)
    """

    def __init__(self, spec: TallySpec, shapes: ShapeTable, size: int) -> None:
        self.spec = spec
        self._shapes = shapes
        self._weights = np.zeros(0, np.int64)
        self._moved_weights = self._weights
        self.by_node = np.zeros(size, np.int64)
        self.total = 0
        topology = spec.topology
        self.by_domain = np.zeros(len(topology.values) + 1 if topology else 0, np.int64)
        self._domain_of: IntpArray | None = None
        if topology is not None:
            eligible = spec.eligible
            self._domain_of = topology.codes if eligible is None else np.where(eligible, topology.codes, -1)
        self._open: tuple[int, BoolArray] | None = None

    @property
    def weights(self) -> Int64Array:
        """int64[T]: the weight of every shape met so far."""
        self._weights = self._extend(self._weights, self.spec.weight)
        return self._weights

    @property
    def moved_weights(self) -> Int64Array:
        """int64[T]: the weight of every shape when a pod is only imagined to move."""
        if self.spec.moved is None:
            return self.weights
        self._moved_weights = self._extend(self._moved_weights, self.spec.moved)
        return self._moved_weights

    def _extend(self, weights: Int64Array, weighing: Weighing) -> Int64Array:
        known = len(weights)
        return (
            np.concatenate([weights, weighing.of_shapes(self._shapes, known)]) if known < len(self._shapes) else weights
        )

    def add(self, row: int, amount: int) -> None:
        """Count ``amount`` more (or less) on a node."""
        self.by_node[row] += amount
        if self._domain_of is None:
            self.total += amount
        elif (domain := self._domain_of.item(row)) >= 0:
            self.by_domain[domain] += amount
            self.total += amount

    def fill(self, rows: IntpArray, amounts: Int64Array) -> None:
        """Count the pods that are there already: intp[n] their rows, int64[n] what they count."""
        np.add.at(self.by_node, rows, amounts)
        counted = self.by_node * self.eligible_nodes
        self.total = int(counted.sum())
        if self._domain_of is not None:
            np.add.at(self.by_domain, self._domain_of, counted)

    @cached_property
    def eligible_nodes(self) -> Int64Array:
        """int64[N]: 1 where a pod of the node counts towards a domain, else 0."""
        if self._domain_of is None:
            return np.ones(len(self.by_node), np.int64)
        return (self._domain_of >= 0).astype(np.int64)

    def open_domains(self, active: BoolArray, membership_version: int) -> BoolArray:
        """bool[D + 1]: domains with at least one founding node which is ``active`` (bool[N]).

        They are computed again when ``membership_version`` has changed.
        """
        if self._open is None or self._open[0] != membership_version:
            mask, topology, founding = np.zeros(len(self.by_domain), np.bool_), self.spec.topology, self.spec.founding
            founding = self.spec.eligible if founding is None else founding
            if topology is not None:
                mask[topology.codes[active if founding is None else active & founding]] = True
                mask[-1] = False
            self._open = membership_version, mask
        return self._open[1]


class Tallies:
    """Tallies by key, and a log of the pods that came and went, from which new ones are filled.

    The tallies that a shape's labels concern are looked up by these labels, so that pods with a label of their own
    cost no more the more tallies or pods there are.
    """

    def __init__(self, shapes: ShapeTable, size: int) -> None:
        self._shapes, self._size = shapes, size
        # Of each pod that came or went, its shape and its node: the row, or ~row for one that went.
        self._pods, self._rows = array("q"), array("q")
        self.clear()

    def clear(self) -> None:
        """Drop all tallies, which holders have to request again."""
        self._by_key: dict[Hashable, Tally] = {}
        self._selecting: SelectorIndex[tuple[Tally, Selection, int]] = SelectorIndex()
        self._by_term: dict[AffinityTerm, list[tuple[Tally, int]]] = {}
        self._sharing: list[Tally] = []
        self._of_template: dict[int, list[tuple[Tally, int]]] = {}
        self._counting: dict[int, list[tuple[Tally, int]]] = {}

    def __len__(self) -> int:
        return len(self._by_key)

    def count(self, shape: PodShape, row: int, sign: int) -> None:
        """A pod was added to (+1) or removed from (-1) a node."""
        self._pods.append(shape.index)
        self._rows.append(row if sign > 0 else ~row)
        if self._by_key:
            self._add(shape, row, sign)

    def _add(self, shape: PodShape, row: int, sign: int) -> None:
        counting = self._counting.get(shape.index)
        if counting is None:
            counting = self._counting[shape.index] = self._that_count(shape)
        for tally, weight in counting:
            tally.add(row, sign * weight)

    @property
    def mark(self) -> int:
        """How much has happened so far, for ``back_to``."""
        return len(self._pods)

    def back_to(self, mark: int) -> None:
        """Undo all comings and goings since a ``mark``."""
        if self._by_key:
            shapes = self._shapes.shapes
            for index, row in zip(self._pods[mark:], self._rows[mark:], strict=True):
                self._add(shapes[index], row if row >= 0 else ~row, -1 if row >= 0 else 1)
        del self._pods[mark:], self._rows[mark:]

    def tally_for(self, spec: TallySpec) -> Tally:
        """The live tally of ``spec``, made when it is new."""
        tally = self._by_key.get(spec.key)
        if tally is None:
            tally = self._by_key[spec.key] = Tally(spec, self._shapes, self._size)
            of_shapes = tally.weights
            weights = of_shapes[np.array(self._pods, np.intp)]
            some = np.flatnonzero(weights)
            rows = np.array(self._rows, np.intp)[some]
            tally.fill(np.where(rows < 0, ~rows, rows), np.where(rows < 0, -weights[some], weights[some]))
            for selection, weight in spec.weight.selections:
                self._selecting.add(selection.selector, selection.namespaces, (tally, selection, weight))
            for term, weight in spec.weight.terms:
                self._by_term.setdefault(term, []).append((tally, weight))
            if spec.weight.of_template is not None:
                self._sharing.append(tally)
                self._of_template.clear()
            for index in np.flatnonzero(of_shapes).tolist():
                if index in self._counting:
                    self._counting[index].append((tally, int(of_shapes[index])))
        return tally

    def _that_count(self, shape: PodShape) -> list[tuple[Tally, int]]:
        """The tallies that count pods of a shape, and how much."""
        shared = self._of_template.get(shape.template)
        if shared is None:
            weights = ((tally, tally.spec.weight.of_template) for tally in self._sharing)
            shared = [(tally, weight) for tally, ask in weights if ask is not None and (weight := ask(shape))]
            self._of_template[shape.template] = shared
        own = [
            (tally, weight)
            for tally, selection, weight in self._selecting.selecting(shape.namespace, shape.labels)
            if not (selection.staying and shape.terminating)
        ]
        held = (tally_row for term in shape.terms for tally_row in self._by_term.get(term, ()))
        return [*shared, *held, *own]

    # --- copies

    def fork(self, shapes: ShapeTable) -> Tallies:
        """The same pods without any tallies; ``shapes`` are the same, or a copy."""
        twin = Tallies(shapes, self._size)
        twin._pods, twin._rows = self._pods[:], self._rows[:]
        return twin

    def renumber(self, place: IntpArray, size: int) -> Tallies:
        """The same pods on nodes with other numbers: intp[N], -1 for nodes that are gone and have no pods left."""
        twin = Tallies(self._shapes, size)
        rows = np.array(self._rows, np.intp)
        now = place[np.where(rows < 0, ~rows, rows)]
        twin._pods = array("q", np.array(self._pods, np.int64)[now >= 0].tobytes())
        twin._rows = array("q", np.where(rows < 0, ~now, now)[now >= 0].astype(np.int64).tobytes())
        return twin
