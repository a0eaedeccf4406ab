"""Statuses of plugins, rejections folded into one verdict a node, and the failure message.

Verdicts are values: a pod that does not fit is not an exception. The first plugin that rejects a node names it, and all
its reasons count; the message is a histogram of them. Upstream: kube-scheduler/framework/interface.go (Code, Status),
pkg/scheduler/framework/types.go (Diagnosis, FitError, NodeToStatus).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from itertools import chain
from typing import Any, Final, Protocol, TypeVar

import msgspec
import numpy as np
from msgspec import structs

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import BoolArray, Int16Array, Int64Array, IntpArray
from kwhatif.results.place import QuotaShortage

S = TypeVar("S")

EXTENDER = "Extender"
"""What upstream calls whatever an extender rejected: no plugin has this name."""


class Code(StrEnum):
    SUCCESS = "Success"
    ERROR = "Error"
    UNSCHEDULABLE = "Unschedulable"
    UNRESOLVABLE = "UnschedulableAndUnresolvable"


class Skip:
    """The plugin does not apply to this pod."""

    def __repr__(self) -> str:
        return "SKIP"


SKIP: Final = Skip()


@dataclass(frozen=True, slots=True)
class Status:
    """A refusal (or an error) with its reasons and, once the runner has filled it in, the plugin.

    ``detail`` is the arithmetic behind it, for people, and ``quota`` the one that leaves no room; these take no part in
    comparisons.
    """

    code: Code
    reasons: tuple[str, ...] = ()
    plugin: str = ""
    detail: str = field(default="", compare=False)
    quota: QuotaShortage | None = field(default=None, compare=False)

    @classmethod
    def unschedulable(cls, *reasons: str) -> Status:
        """Refused, though evicting pods might help."""
        return cls(Code.UNSCHEDULABLE, reasons)

    @classmethod
    def unresolvable(cls, *reasons: str) -> Status:
        """Refused, and evicting pods would not help."""
        return cls(Code.UNRESOLVABLE, reasons)

    @classmethod
    def error(cls, *reasons: str) -> Status:
        return cls(Code.ERROR, reasons)

    def with_detail(self, detail: str, quota: QuotaShortage | None = None) -> Status:
        """The same with the arithmetic behind it, and the quota that it is about."""
        return replace(self, detail=detail, quota=quota)

    @property
    def is_rejected(self) -> bool:
        return self.code in (Code.UNSCHEDULABLE, Code.UNRESOLVABLE)

    @property
    def message(self) -> str:
        return ", ".join(self.reasons)


class PermitWait(msgspec.Struct, frozen=True):
    """Permit's answer Wait: the pod is held for at most ``seconds``, with the reason."""

    seconds: float
    reason: str = ""


class PreFilterResult(msgspec.Struct, frozen=True):
    """PreFilter's result when only nodes of these names are eligible; ``state`` goes to Filter."""

    names: frozenset[str]
    state: object = None


class Rejection(msgspec.Struct, frozen=True, eq=False):
    """One reason, and the nodes of the view it holds for.

    where          bool[n]
    unresolvable   one answer for all of them, or bool[n]: evicting pods would not help there
    detail         place in the view -> the arithmetic behind the reason, for people
    short          place in the view -> how much of what the pod asks for is missing there, as a share
    error          not a verdict but an accident: a cycle that comes upon such a node ends there
    """

    where: BoolArray
    reason: str
    unresolvable: bool | BoolArray = False
    detail: Callable[[int], str] | None = None
    short: Callable[[int], float] | None = None
    error: bool = False


class Blocker(msgspec.Struct, frozen=True, eq=False):
    """One reason of one plugin, and the nodes it was the first to reject.

    where     bool[n], the nodes the reason holds for
    counted   bool[n], those of them that no earlier plugin had rejected
    """

    plugin: str
    rejection: Rejection
    where: BoolArray
    counted: BoolArray


class Verdicts:
    """Verdicts over n nodes.

    first          int16[n]: index into ``plugins`` of the first to reject, -1 where none does
    unresolvable   bool[n]: evicting pods would not help
    failed         bool[n]: what the first plugin said is an error

    With ``all_reasons`` those of later plugins count as well, and the verdict names no plugin.
    """

    def __init__(self, size: int, *, all_reasons: bool = False) -> None:
        self.all_reasons = all_reasons
        self.plugins: list[str] = []
        self.blockers: list[Blocker] = []
        self.first: Int16Array = np.full(size, -1, np.int16)
        self.unresolvable: BoolArray = np.zeros(size, np.bool_)
        self.failed: BoolArray = np.zeros(size, np.bool_)

    def take(self, plugin: str, rejections: Iterable[Rejection]) -> None:
        """Fold in what the next plugin in line says."""
        untouched: BoolArray | None = None
        index = len(self.plugins)
        self.plugins.append(plugin)
        for rejection in rejections:
            if not rejection.where.any():
                continue
            if untouched is None:
                untouched = self.first < 0
            fresh = rejection.where & untouched
            counted = rejection.where.copy() if self.all_reasons else fresh
            self.blockers.append(Blocker(plugin, rejection, rejection.where, counted))
            self.first[fresh] = index
            if rejection.unresolvable is not False:
                self.unresolvable |= counted & rejection.unresolvable
            if rejection.error:
                self.failed |= counted

    @property
    def feasible(self) -> BoolArray:
        """bool[n]: nodes that no plugin rejects."""
        return self.first < 0

    def status(self, place: int) -> Status | None:
        """The verdict on one node; None if it passed."""
        index = self.first[place]
        if index < 0:
            return None
        reasons = tuple(b.rejection.reason for b in self.blockers if b.counted[place])
        code = Code.UNRESOLVABLE if self.unresolvable[place] else Code.UNSCHEDULABLE
        if self.failed[place]:
            code = Code.ERROR
        return Status(code, reasons, "" if self.all_reasons else self.plugins[index])

    def histogram(self) -> dict[str, int]:
        """Reason -> number of nodes."""
        counts: dict[str, int] = {}
        for blocker in self.blockers:
            nodes = int(np.count_nonzero(blocker.counted))
            if nodes:
                reason = blocker.rejection.reason
                counts[reason] = counts.get(reason, 0) + nodes
        return counts

    def only_blocked_by(self) -> dict[str, list[int]]:
        """Plugin -> the nodes that this plugin rejects and no other does."""
        by_plugin: dict[str, set[int]] = {}
        for blocker in self.blockers:
            by_plugin.setdefault(blocker.plugin, set()).update(np.flatnonzero(blocker.where).tolist())
        counts = Counter(chain.from_iterable(by_plugin.values()))
        return {plugin: sorted(row for row in rows if counts[row] == 1) for plugin, rows in by_plugin.items()}

    def copy(self) -> Verdicts:
        """Verdicts that may be changed without changing these."""
        twin = Verdicts(len(self.first), all_reasons=self.all_reasons)
        twin.plugins = self.plugins.copy()
        twin.blockers = [structs.replace(blocker, counted=blocker.counted.copy()) for blocker in self.blockers]
        twin.first, twin.failed = self.first.copy(), self.failed.copy()
        twin.unresolvable = self.unresolvable.copy()
        return twin

    def forget(self, rows: IntpArray) -> None:
        """Drop the verdicts on nodes that were not evaluated; they then count as passed."""
        for blocker in self.blockers:
            blocker.counted[rows] = False
        self.first[rows] = -1
        self.unresolvable[rows] = False
        self.failed[rows] = False

    def overlay(self, rows: IntpArray, other: Verdicts) -> None:
        """Let ``other``'s verdicts, which are about ``rows``, take the place of ours there."""
        for blocker in self.blockers:
            blocker.counted[rows] = False
        size = len(self.first)
        for blocker in other.blockers:
            where, counted = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
            where[rows], counted[rows] = blocker.where, blocker.counted
            rejection = _spread(blocker.rejection, rows, where)
            self.blockers.append(Blocker(blocker.plugin, rejection, where, counted))
        shift = len(self.plugins)
        self.plugins.extend(other.plugins)
        self.first[rows] = np.where(other.first < 0, -1, other.first + shift)
        self.unresolvable[rows], self.failed[rows] = other.unresolvable, other.failed


def _spread(rejection: Rejection, rows: IntpArray, where: BoolArray) -> Rejection:
    """A rejection said of some rows, said of all nodes."""
    unresolvable = rejection.unresolvable
    if isinstance(unresolvable, np.ndarray):
        everywhere = np.zeros(len(where), np.bool_)
        everywhere[rows] = unresolvable
        unresolvable = everywhere
    detail, short = rejection.detail, rejection.short
    places = {int(row): place for place, row in enumerate(rows)}
    return Rejection(
        where,
        rejection.reason,
        unresolvable,
        None if detail is None else lambda row: detail(places[row]),
        None if short is None else lambda row: short(places[row]),
        rejection.error,
    )


def fit_message(nodes: int, histogram: dict[str, int], *, pre_filter: str = "", post_filter: str = "") -> str:
    """``0/3 nodes are available: 1 Insufficient cpu, 2 Too many pods. <what PostFilter said>``."""
    message = f"0/{nodes} nodes are available:"
    if pre_filter:
        message += f" {pre_filter}."
    elif histogram:
        message += f" {', '.join(sorted(f'{count} {reason}' for reason, count in histogram.items()))}."
    return f"{message} {post_filter}" if post_filter else message


class CycleEvaluation(Protocol):
    """The results of plugins in this cycle, and their verdicts on hypothetical nodes.

    It is an ``Evaluation``, of which plugins see no more than this. ``reached`` are the plugins whose PreFilter ran.
    """

    reached: frozenset[str]

    @property
    def depends_on_other_pods(self) -> bool:
        """Whether a filter reads the pods of other nodes."""

    @property
    def depends_on_sums_only(self) -> bool:
        """Whether filters look at nothing but what ``looks_of`` says of a node."""

    def looks_of(self, rows: IntpArray, /) -> Int64Array:
        """int64[n, m]: all that such filters see of nodes: they say the same of those where it is equal."""

    @property
    def ignores_labels_of_others(self) -> bool:
        """Whether filters do not tell other pods apart by their labels."""

    def pre_filter_state_of(self, plugin: Any, /) -> object:
        """The state that a plugin's PreFilter made for the pod; None where it made none."""

    def fits_after(self, pod: PodInfo, view: NodeView, /) -> BoolArray:
        """bool[n]: nodes that pass all filters after the view's change of pods."""

    def verdicts_on(self, pod: PodInfo, view: NodeView, /) -> Verdicts:
        """All filters' verdicts on a view as it is."""


class Diagnosis(msgspec.Struct, dict=True):
    """What is known when no node is left.

    ``considered`` are the rows that were looked at (all, or those PreFilter narrowed the choice to) and ``verdicts``
    are about all N nodes. ``refusal`` is PreFilter's, when it refused the pod outright. ``unknown_nodes`` are the
    messages of extenders about nodes that the cluster does not have.
    """

    cluster: Cluster
    evaluation: CycleEvaluation
    verdicts: Verdicts | None = None
    considered: IntpArray | None = None
    narrowed_by: tuple[str, ...] = ()
    refusal: Status | None = None
    unknown_nodes: tuple[str, ...] = ()

    def message(self, post_filter: str = "") -> str:
        """The text of the FailedScheduling event."""
        features = self.cluster.shapes.features
        if not features.post_filter_is_heard:
            post_filter = ""
        if self.refusal is not None and not features.pre_filter_speaks_once:
            everywhere = dict.fromkeys(self.refusal.reasons, self._size)
            return fit_message(self._size, everywhere, post_filter=post_filter)
        if self.refusal is not None:
            return fit_message(self._size, {}, pre_filter=self.refusal.message, post_filter=post_filter)
        assert self.verdicts is not None
        histogram = self._histogram()
        return fit_message(self._size, histogram, post_filter=post_filter)

    @cached_property
    def rejectors(self) -> frozenset[str]:
        """The plugins that rejected the pod, on whatever node; those of extenders left aside."""
        counts = self.cluster.shapes.features.narrowing_plugins_are_rejectors
        narrowing = self.narrowed_by if counts else ()
        if self.refusal is not None:
            return frozenset((self.refusal.plugin, *narrowing) if self.refusal.is_rejected else narrowing)
        assert self.verdicts is not None
        first = self.verdicts.first if self.considered is None else self.verdicts.first[self.considered]
        return frozenset((*(self.verdicts.plugins[k] for k in np.unique(first).tolist() if k >= 0), *narrowing))

    @property
    def _size(self) -> int:
        """The number of active nodes."""
        return len(self.cluster.node_order)

    def _histogram(self) -> dict[str, int]:
        assert self.verdicts is not None
        counts: dict[str, int] = {}
        for message in self.unknown_nodes:
            counts[message] = counts.get(message, 0) + 1
        if self.considered is None:
            for reason, nodes in self.verdicts.histogram().items():
                counts[reason] = counts.get(reason, 0) + nodes
            return counts
        for blocker in self.verdicts.blockers:
            nodes = int(np.count_nonzero(blocker.counted[self.considered]))
            if nodes:
                counts[blocker.rejection.reason] = counts.get(blocker.rejection.reason, 0) + nodes
        # Extenders may leave a node out without a reason.
        spoken = int(np.count_nonzero(self.verdicts.first[self.considered] >= 0)) + len(self.unknown_nodes)
        absent = self._size - spoken
        if absent > 0 and self.cluster.shapes.features.nodes_left_out_by_prefilter_are_counted:
            reason = f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(self.narrowed_by))}]"
            counts[reason] = counts.get(reason, 0) + absent
        return counts

    def status(self, row: int) -> Status | None:
        """The verdict on one node."""
        if self.refusal is not None:
            return self.refusal
        assert self.verdicts is not None
        if self.considered is not None and row not in self.considered:
            return Status.unresolvable("node(s) didn't satisfy plugin(s)")
        return self.verdicts.status(row) or Status.unresolvable()

    def preemptable(self) -> IntpArray:
        """Rows, in the scheduler's order, where evicting pods might help (upstream: NodesForStatusCode)."""
        if self.refusal is not None:
            hopeful = self.refusal.code is Code.UNSCHEDULABLE
            return self.cluster.node_order if hopeful else np.zeros(0, np.intp)
        assert self.verdicts is not None
        rows = self.cluster.node_order
        rows = rows[((self.verdicts.first >= 0) & ~self.verdicts.unresolvable)[rows]]
        return rows if self.considered is None else rows[np.isin(rows, self.considered)]
