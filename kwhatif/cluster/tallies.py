"""The live tallies of a cluster, and which of them count which pods."""

from __future__ import annotations

from array import array
from collections.abc import Hashable

import numpy as np

from kwhatif.cluster.labels import SelectorIndex
from kwhatif.cluster.shape_table import ShapeTable
from kwhatif.cluster.shapes import PodShape, Selection
from kwhatif.cluster.tally import Tally, TallySpec
from kwhatif.cluster.terms import AffinityTerm
from kwhatif.cluster.types import IntpArray


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
        """Forget all tallies; who holds one must ask again."""
        self._by_key: dict[Hashable, Tally] = {}
        self._selecting: SelectorIndex[tuple[Tally, Selection, int]] = SelectorIndex()
        self._by_term: dict[AffinityTerm, list[tuple[Tally, int]]] = {}
        self._sharing: list[Tally] = []
        self._of_template: dict[int, list[tuple[Tally, int]]] = {}
        self._counting: dict[int, list[tuple[Tally, int]]] = {}

    def __len__(self) -> int:
        return len(self._by_key)

    def count(self, shape: PodShape, row: int, sign: int) -> None:
        """A pod came to (+1) or went from (-1) a node."""
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

    def of(self, spec: TallySpec) -> Tally:
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
            asked = ((tally, tally.spec.weight.of_template) for tally in self._sharing)
            shared = [(tally, weight) for tally, ask in asked if ask is not None and (weight := ask(shape))]
            self._of_template[shape.template] = shared
        own = [
            (tally, weight)
            for tally, selection, weight in self._selecting.selecting(shape.namespace, shape.labels)
            if not (selection.staying and shape.terminating)
        ]
        held = (found for term in shape.terms for found in self._by_term.get(term, ()))
        return [*shared, *held, *own]

    # --- copies

    def fork(self) -> Tallies:
        """The same pods without any tallies."""
        twin = Tallies(self._shapes, self._size)
        twin._pods, twin._rows = self._pods[:], self._rows[:]
        return twin

    def renumbered(self, place: IntpArray, size: int) -> Tallies:
        """The same pods on nodes with other numbers: intp[N], -1 for nodes that are gone and have no pods left."""
        twin = Tallies(self._shapes, size)
        rows = np.array(self._rows, np.intp)
        now = place[np.where(rows < 0, ~rows, rows)]
        twin._pods = array("q", np.array(self._pods, np.int64)[now >= 0].tobytes())
        twin._rows = array("q", np.where(rows < 0, ~now, now)[now >= 0].astype(np.int64).tobytes())
        return twin
