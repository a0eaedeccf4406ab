"""The dry run of preemption: which pods of lower priority would have to leave each possible node.

All candidate nodes are tried at once: first every lower-priority pod is removed hypothetically, then pods are reprieved
one position at a time, the most important first, wherever the preemptor still fits.

Upstream: DryRunPreemption in pkg/scheduler/framework/preemption/preemption.go and SelectVictimsOnNode in
plugins/defaultpreemption/default_preemption.go.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from kwhatif.cluster.columns import bytes_of_rows
from kwhatif.cluster.node_view import NodeView, PodDelta, nominated_pods
from kwhatif.cluster.shapes import NEVER_STARTED, PodInfo
from kwhatif.cluster.types import BoolArray, IntpArray
from kwhatif.framework.status import Diagnosis, Status, fit_message
from kwhatif.framework.victim_rules import VictimRules
from kwhatif.scheduling.preemption_candidates import (
    PRIORITY_SHIFT,
    Candidates,
    DryRunCache,
    Victims,
    VictimTable,
    by_importance,
)
from kwhatif.scheduling.ruled_search import RuledSearch

if TYPE_CHECKING:
    from kwhatif.scheduling.extenders.extender_cycle import Extenders

NO_VICTIMS = "No preemption victims found for incoming pod"
NOT_HELPFUL = "Preemption is not helpful for scheduling"
_AT_ONCE = 512
"""So many changes of a node are looked at together, or one of each node."""
_PADDING = 8


def wanted_candidates(nodes: int, args: Any) -> int:
    """How many candidates are enough (upstream: calculateNumCandidates)."""
    share = nodes * int(args.min_candidate_nodes_percentage) // 100
    return min(max(share, int(args.min_candidate_nodes_absolute)), nodes)


class VictimSearch:
    """The dry run for one pod.

    ``failures`` is a histogram of reasons over the ``failed`` nodes seen so far; ``errors`` are by row. Nodes of which
    it was known before what they come to, from those ``tried`` for an earlier pod, are in neither.
    """

    def __init__(
        self,
        pod: PodInfo,
        diagnosis: Diagnosis,
        table: VictimTable,
        tried: DryRunCache | None = None,
        rules: VictimRules | None = None,
    ) -> None:
        self._pod = pod
        self._diagnosis = diagnosis
        self.cluster = self._cluster = diagnosis.cluster
        self._evaluation = diagnosis.evaluation
        self._table = table
        self._tried = DryRunCache(self._evaluation, self._cluster) if tried is None else tried
        self._nominated = nominated_pods(diagnosis.cluster, pod)
        self.failures: dict[str, int] = {}
        self.failed = 0
        self.errors: dict[int, str] = {}
        self._ruled = None if rules is None else RuledSearch(pod, rules, table)

    def run(self, args: Any, random: Random | None = None) -> Candidates:
        """Candidates among the nodes where evicting pods might help, as many as ``args`` want (None: all).

        It begins at the first of these nodes, or with ``random`` at any. Candidates without budget violations come
        first; the search goes on until there is at least one such.
        """
        rows = self._diagnosis.preemptable()
        if random is not None and len(rows):
            rows = np.roll(rows, -random.randrange(len(rows)))
        # Of nodes where others are nominated it depends on these, and is not kept.
        promised = self._nominated.rows.tolist()
        self._tried.forget(promised)
        candidate_rows = self._find(rows, len(rows) + 1 if args is None else wanted_candidates(len(rows), args))
        candidates = self._tried.candidates_on(candidate_rows)
        self._tried.forget(promised)
        return candidates

    def _find(self, rows: IntpArray, enough: int) -> IntpArray:
        """The rows of the candidates."""
        candidates = rows[:0]
        rows = self._tried.drop_hopeless(rows)
        if self._ruled is None:
            # Mostly nobody of lower priority is there, which takes no table of pods to know.
            lower = self._table.lowest_priorities(rows) < self._pod.priority
            if not lower.all():
                self._fail(NO_VICTIMS, len(rows) - int(np.count_nonzero(lower)))
                rows = rows[lower]
        first, missing = 0, enough
        while first < len(rows):
            step = max(missing, 64)
            tried = rows[first : first + step]
            unknown = self._tried.find_unknown(tried)
            if len(unknown):
                self._tried.keep(unknown, self._candidates_on(unknown))
            candidates = np.concatenate([candidates, self._tried.find_candidates(tried)])
            first += step
            clean = self._tried.breaks_no_budget(candidates)
            without = int(np.count_nonzero(clean))
            missing = enough - min(without, enough) - min(len(candidates) - without, enough)
            if missing <= 0 and without:
                total = np.minimum(clean.cumsum(), enough) + np.minimum((~clean).cumsum(), enough)
                done = np.logical_or.accumulate(clean) & (total >= enough)
                candidates = candidates[: done.argmax() + 1]
                break
        clean = self._tried.breaks_no_budget(candidates)
        return candidates if clean.all() else np.concatenate([candidates[clean][:enough], candidates[~clean][:enough]])

    def refusal(self) -> Status:
        """Why no node is a candidate."""
        errors = self.errors if self._ruled is None else {**self._ruled.errors, **self.errors}
        if errors:
            in_order = (errors.get(row, "") for row in self._cluster.node_order.tolist())
            texts = list(dict.fromkeys(text for text in in_order if text))
            return Status.error(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
        return Status.unschedulable(self.message())

    def message(self) -> str:
        """Why no node is a candidate, as far as there are statuses."""
        histogram = dict(self.failures)
        size = len(self._cluster.node_order)
        absent = size - self.failed
        if absent:
            histogram[NOT_HELPFUL] = histogram.get(NOT_HELPFUL, 0) + absent
        return fit_message(size, histogram)

    def _candidates_on(self, rows: IntpArray) -> Candidates | None:
        """Candidates among ``rows``, in their order; None for none."""
        shapes, there = self._table.shapes_on(rows)
        priorities = self._cluster.shapes.priorities
        if self._ruled is None:
            victims = there & (priorities[shapes] < self._pod.priority)
        else:
            victims = self._ruled.possible(rows, there)
        possible = victims.any(axis=1)
        if self._ruled is not None and not possible.all():
            for row in rows[~possible].tolist():
                self._fail(self._ruled.describe_no_victims(self._cluster.columns.names[row]), 1)
            rows, shapes, victims = rows[possible], shapes[possible], victims[possible]
        if not len(rows):
            return None
        violating = self._violating(rows, shapes, victims)
        looks = self._find_looks(rows, shapes, violating)
        if looks is None:
            fits, would_do, gone = self._select_victims(rows, shapes, victims, violating)
        else:
            fits, gone = self._recall_victims(looks, rows, shapes, victims, violating)
            would_do = np.flatnonzero(fits)
        if not fits.all():
            out = np.flatnonzero(~fits)
            self._explain(rows[out], self._without(rows[out], shapes[out], victims[out]))
        rows, shapes, gone, violating = rows[would_do], shapes[would_do], gone[would_do], violating[would_do]
        if self._ruled is not None and len(rows):
            violating &= ~self._ruled.uncounted
            clean = self._ruled.clean
            rows, shapes, gone, violating = rows[clean], shapes[clean], gone[clean], violating[clean]
        needed = gone.any(axis=1)
        if not needed.all():
            # The pod fits there as it is, which only a PreFilter that speaks for Filter leads to.
            names = self._cluster.columns.names
            self.errors |= {
                row: f'expected at least one victim pod on node "{names[row]}"' for row in rows[~needed].tolist()
            }
            rows, shapes, gone, violating = rows[needed], shapes[needed], gone[needed], violating[needed]
        return self._measure(rows, shapes, gone, violating) if len(rows) else None

    def _select_victims(
        self, rows: IntpArray, shapes: IntpArray, victims: BoolArray, violating: BoolArray
    ) -> tuple[BoolArray, IntpArray, BoolArray]:
        """bool[n]: where the pod fits with all possible victims gone; intp[]: the places of the candidates among these;
        bool[n, P]: who has to go there.
        """
        change = self._without(rows, shapes, victims)
        fits = self._fits(rows, change)
        places = np.flatnonzero(fits)
        if self._ruled is not None and len(places):
            refused = self._ruled.begin(rows[places], victims[places])
            for reason in refused.values():
                self._fail(reason, 1)
            places = np.delete(places, list(refused))
        gone = np.zeros_like(victims)
        if len(places):
            gone[places] = self._reprieve(rows[places], change.part(places), victims[places], violating[places])
        return fits, places, gone

    def _find_looks(self, rows: IntpArray, shapes: IntpArray, violating: BoolArray) -> list[bytes] | None:
        """All that matters of each node; None where more does, and of what it comes to nothing is kept by look."""
        if self._ruled is not None or len(self._nominated.rows) or not self._evaluation.depends_on_sums_only:
            return None
        size, width = shapes.shape
        # Padded, so that it does not matter how many pods other nodes have.
        pods = np.full((size, 2, -(-width // _PADDING) * _PADDING), -1, np.int64)
        templates = self._cluster.shapes.template_numbers()[shapes]
        pods[:, 0, :width] = np.where(np.arange(width) < self._cluster.pod_count[rows][:, None], templates, -1)
        pods[:, 1, :width] = violating
        return bytes_of_rows(np.concatenate([self._evaluation.looks_of(rows), pods.reshape(size, -1)], axis=1))

    def _recall_victims(
        self, looks: list[bytes], rows: IntpArray, shapes: IntpArray, victims: BoolArray, violating: BoolArray
    ) -> tuple[BoolArray, BoolArray]:
        """The first and the last of ``_select_victims``, worked out once for all nodes that look alike."""
        known, numbers = self._tried.victims_by_look, {look: number for number, look in enumerate(dict.fromkeys(looks))}
        new = {look: place for place, look in enumerate(looks) if look not in known}
        if new:
            some = np.array(list(new.values()), np.intp)
            fits, _, gone = self._select_victims(rows[some], shapes[some], victims[some], violating[some])
            for look, fit, mine in zip(new, fits.tolist(), gone, strict=True):
                known[look] = mine if fit else None
        fits, gone = np.zeros(len(numbers), np.bool_), np.zeros((len(numbers), victims.shape[1]), np.bool_)
        for look, number in numbers.items():
            if (mine := known[look]) is not None:
                fits[number], gone[number, : len(mine)] = True, mine[: victims.shape[1]]
        places = np.array([numbers[look] for look in looks], np.intp)
        return fits[places], gone[places]

    def _measure(self, rows: IntpArray, shapes: IntpArray, victims: BoolArray, violating: BoolArray) -> Candidates:
        priority = np.where(victims, self._cluster.shapes.priorities[shapes], np.iinfo(np.int64).min)
        top = counts_most = priority.max(axis=1)
        if self._cluster.shapes.features.first_victim_counts_most:
            breaking = victims & violating
            first = np.where(breaking.any(axis=1), breaking.argmax(axis=1), victims.argmax(axis=1))
            counts_most = priority[np.arange(len(rows)), first]
        starts = self._table.starts(rows, victims.shape[1])
        broken = victims & violating
        measures = np.empty((len(rows), 5), np.int64)
        measures[:, 0], measures[:, 1] = broken.sum(axis=1), counts_most
        measures[:, 2] = np.where(victims, priority + PRIORITY_SHIFT, 0).sum(axis=1)
        measures[:, 3] = victims.sum(axis=1)
        measures[:, 4] = np.where(priority == top[:, None], starts, NEVER_STARTED).min(axis=1)
        return Candidates(rows, measures, victims, broken)

    def claim(self, candidates: Candidates, place: int) -> Victims:
        """The victims on one candidate."""
        victims = self.victims(int(candidates.rows[place]), candidates.gone[place], candidates.broken[place])
        return Victims(tuple(victims), int(candidates.violations[place]))

    def ask_extenders(self, extenders: Extenders, candidates: Candidates) -> dict[str, Victims] | Status:
        """The candidates that extenders leave, by node."""
        names = self._cluster.columns.names
        claims = {names[row]: self.claim(candidates, place) for place, row in enumerate(candidates.rows.tolist())}
        return extenders.preempt(self._pod, self._cluster, claims)

    def victims(self, row: int, victims: BoolArray, broken: BoolArray) -> list[PodInfo]:
        """The victims on one node, the most important first."""
        pods = self._table.pods(row)
        columns = np.flatnonzero(victims)
        first = [pods[c] for c in columns if broken[c]]
        rest = [pods[c] for c in columns if not broken[c]]
        return by_importance([*first, *rest]) if first and rest else [*first, *rest]

    def _without(self, rows: IntpArray, shapes: IntpArray, victims: BoolArray) -> PodDelta:
        """All possible victims removed."""
        change = PodDelta(self._cluster.shapes, shapes, -victims.astype(np.int64))
        if self._pod.shape.ports:
            ports = self._cluster.ports[rows].copy()
            for place, k in np.argwhere(victims):
                self._set_ports(ports, int(place), int(shapes[place, k]), used=False)
            change.ports = ports
        return change

    def _set_ports(self, ports: BoolArray, place: int, shape: int, *, used: bool) -> None:
        wanted = self._cluster.shapes.shapes[shape].ports
        if wanted:
            ports[place, self._cluster.port_columns(wanted)] = used

    def _fits(self, rows: IntpArray, change: PodDelta) -> BoolArray:
        """bool[n]: where the pod fits after the change, also with the pods nominated there."""
        fits = self._evaluation.fits_after(self._pod, NodeView(self._cluster, rows, change))
        both, places = self._with_nominated(rows, change)
        if len(places):
            view = NodeView(self._cluster, rows[places], both)
            fits[places] &= self._evaluation.fits_after(self._pod, view)
        return fits

    def _with_nominated(self, rows: IntpArray, change: PodDelta) -> tuple[PodDelta, IntpArray]:
        """The change with nominated pods added, for the places that have some."""
        places, there = self._nominated.places_of(rows)
        if not len(places):
            return change, places
        part, come = change.part(places), self._nominated.change.part(there)
        both = part.beside(come)
        both.ports = part.ports
        if come.ports is not None:
            mine = part.ports if part.ports is not None else self._cluster.ports[rows[places]]
            both.ports = come.ports
            both.ports[:, : mine.shape[1]] = mine
            for place, nominated in enumerate(there.tolist()):
                for info in self._nominated.pods[nominated]:
                    self._set_ports(both.ports, place, info.shape.index, used=True)
        return both, places

    def _reprieve(self, rows: IntpArray, change: PodDelta, victims: BoolArray, violating: BoolArray) -> BoolArray:
        """bool[n, P]: pods that must go for good. Those whose budget would break are tried first.

        Of few nodes, several pods are put back at once, each as if those before it stayed. It holds up to the first
        with which the pod does not fit any more; and then not with those that look like it either.
        """
        gone = victims.copy()
        size = victims.shape[1]
        order = np.argsort(np.where(victims, np.where(violating, 0, 1), 2) * size + np.arange(size), axis=1)
        left, turn = victims.sum(axis=1), np.zeros(len(rows), np.intp)
        one_by_one = self._ruled is not None or change.ports is not None
        looks = np.take_along_axis(self._looks(change.shapes), order, axis=1)
        while len(places := np.flatnonzero(turn < left)):
            first, missing = turn[places], (left - turn)[places]
            width = 1 if one_by_one else max(1, min(int(missing.max()), _AT_ONCE // len(places)))
            next_ones = np.minimum(first[:, None] + np.arange(width), size - 1)
            columns = order[places[:, None], next_ones]
            stay = self._count_staying(rows, change, places, columns)
            tried = np.minimum(missing, width)
            stay = np.minimum(stay, tried)
            for k in range(int(stay.max())):
                some = stay > k
                gone[places[some], columns[some, k]] = False
                change.move(self._cluster.shapes, places[some], columns[some, k], +1)
                self._hold_ports(change, places[some], columns[some, k])
            turn[places] += stay
            failed = places[stay < tried]
            turn[failed] = turn[failed] + 1 if one_by_one else _skip_alike(looks[failed], turn[failed])
        return gone

    def _count_staying(self, rows: IntpArray, change: PodDelta, places: IntpArray, columns: IntpArray) -> IntpArray:
        """intp[m]: how many of the pods in ``columns`` intp[m, w] of ``places`` intp[m] may come back."""
        with_them = change.come_back(self._cluster.shapes, places, columns)
        pods = np.repeat(places, columns.shape[1])
        self._hold_ports(with_them, np.arange(len(pods)), columns.reshape(-1))
        fits = self._fits(rows[pods], with_them)
        if self._ruled is not None:
            fits = self._ruled.judge(places, columns[:, 0], fits)
        staying: IntpArray = np.logical_and.accumulate(fits.reshape(columns.shape), axis=1).sum(axis=1)
        return staying

    def _looks(self, shapes: IntpArray) -> IntpArray:
        """The same number for pods that no filter tells apart, by their shapes intp[n, P]."""
        blind = self._evaluation.ignores_labels_of_others
        return self._cluster.shapes.template_numbers()[shapes] if blind else shapes

    def _hold_ports(self, change: PodDelta, places: IntpArray, columns: IntpArray) -> None:
        if change.ports is not None:
            for place, column in zip(places.tolist(), columns.tolist(), strict=True):
                self._set_ports(change.ports, place, int(change.shapes[place, column]), used=True)

    def _violating(self, rows: IntpArray, shapes: IntpArray, victims: BoolArray) -> BoolArray:
        """bool[n, P]: possible victims whose eviction violates a budget, counted most important first."""
        budgets = self._table.budgets
        if not budgets:
            return np.zeros(victims.shape, np.bool_)
        return budgets.find_broken(shapes, victims, lambda place: self._table.pods(int(rows[place])))

    def _explain(self, rows: IntpArray, change: PodDelta) -> None:
        """Count why the pod does not fit there even without any possible victim."""
        evaluation, view = self._evaluation, NodeView(self._cluster, rows, change)
        verdicts = evaluation.verdicts_on(self._pod, view)
        both, places = self._with_nominated(rows, change)
        if len(places):
            with_them = evaluation.verdicts_on(self._pod, NodeView(self._cluster, rows[places], both))
            worse = ~with_them.feasible
            kept = NodeView(self._cluster, rows[places[worse]], both.part(worse))
            verdicts.overlay(places[worse], evaluation.verdicts_on(self._pod, kept))
        for place in np.flatnonzero(verdicts.failed).tolist():
            status = verdicts.status(place)
            self.errors[int(rows[place])] = "" if status is None else status.message
        for reason, count in verdicts.histogram().items():
            self._fail(reason, count, nodes=0)
        self.failed += len(rows)

    def _fail(self, reason: str, count: int, nodes: int | None = None) -> None:
        self.failures[reason] = self.failures.get(reason, 0) + count
        self.failed += count if nodes is None else nodes


def _skip_alike(looks: IntpArray, turn: IntpArray) -> IntpArray:
    """intp[n]: where in each row of ``looks`` intp[n, P] the next one after ``turn`` intp[n] differs from that one."""
    size = looks.shape[1]
    others = looks != np.take_along_axis(looks, turn[:, None], axis=1)
    others &= np.arange(size) > turn[:, None]
    first: IntpArray = np.where(others.any(axis=1), others.argmax(axis=1), size)
    return first
