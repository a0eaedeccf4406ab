"""Counts of pods by node and by topology domain that keep themselves up to date.

A plugin that asks "how many pods matching this selector run in each zone?" registers a tally once. From then on
placing or removing a pod costs two additions instead of a walk over the cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kwhatif.cluster.columns import Coded
from kwhatif.cluster.shape_table import ShapeTable
from kwhatif.cluster.shapes import PodShape, Selection
from kwhatif.cluster.terms import AffinityTerm
from kwhatif.cluster.types import BoolArray, Int64Array, IntpArray


@dataclass(frozen=True)
class Weighing:
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
            weights += weight * shapes.selected(selection, first)
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


@dataclass(frozen=True)
class TallySpec:
    """What to count: each pod adds its ``weight`` to its node and, where ``eligible``, to its domain.

    ``topology`` is the label column whose values are the domains; None counts by node only. Specs with equal
    ``key`` count the same. ``moved`` weighs pods that are only imagined to come or go, where upstream counts those by
    another rule. A domain is open while a ``founding`` node is there; those are the eligible ones, if not told.
    """

    key: Hashable
    weight: Weighing
    moved: Weighing | None = None
    topology: Coded | None = None
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
        self._weights = self._extended(self._weights, self.spec.weight)
        return self._weights

    @property
    def moved_weights(self) -> Int64Array:
        """int64[T]: the weight of every shape when a pod is only imagined to move."""
        if self.spec.moved is None:
            return self.weights
        self._moved_weights = self._extended(self._moved_weights, self.spec.moved)
        return self._moved_weights

    def _extended(self, weights: Int64Array, weighing: Weighing) -> Int64Array:
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
        counted = self.by_node * self.counted
        self.total = int(counted.sum())
        if self._domain_of is not None:
            np.add.at(self.by_domain, self._domain_of, counted)

    @cached_property
    def counted(self) -> Int64Array:
        """int64[N]: 1 where a pod of the node counts towards a domain, else 0."""
        if self._domain_of is None:
            return np.ones(len(self.by_node), np.int64)
        return (self._domain_of >= 0).astype(np.int64)

    def open_domains(self, there: BoolArray, comings: int) -> BoolArray:
        """bool[D + 1]: domains that at least one founding node which is ``there`` (bool[N]) belongs to.

        It is worked out again when the number of ``comings`` is another one.
        """
        if self._open is None or self._open[0] != comings:
            found, topology, founding = np.zeros(len(self.by_domain), np.bool_), self.spec.topology, self.spec.founding
            founding = self.spec.eligible if founding is None else founding
            if topology is not None:
                found[topology.codes[there if founding is None else there & founding]] = True
                found[-1] = False
            self._open = comings, found
        return self._open[1]
