"""Results of ``deschedule``."""

from __future__ import annotations

from typing import ClassVar

from kwhatif.results.base import Fidelity, Result, ResultStruct
from kwhatif.results.disruption import BudgetUse, PodVerdict
from kwhatif.results.outcome import Concluded, OutcomeResult
from kwhatif.results.place import FailedCreate, Placement, Refusal, ScaleUp


class DescheduledPod(ResultStruct, frozen=True, kw_only=True):
    """A pod that was evicted in a cycle: by which plugin of which profile, why, and what became of it.

    ``outcome``: ``moved`` to another node, ``returned`` to the same one, ``pending``, or ``gone`` where no controller
    makes it again. ``replacement`` is made in its place, ``lands_on`` is its node. ``again``: the next cycle evicts it,
    too.
    """

    cycle: int
    pod: str
    node: str
    profile: str
    plugin: str
    reason: str
    outcome: str
    owner: str = ""
    replacement: str = ""
    lands_on: str = ""
    again: bool = False


class RefusedEviction(ResultStruct, frozen=True, kw_only=True):
    """An attempt that came to nothing: by ``limit`` (``total``, ``node``, ``namespace``), or by a ``budget``."""

    cycle: int
    pod: str
    node: str
    profile: str
    plugin: str
    limit: str = ""
    budget: str = ""
    message: str = ""


class ProtectedPods(ResultStruct, frozen=True, kw_only=True):
    """The pods that a profile may not evict for one reason, as things were before the first cycle."""

    profile: str
    reason: str
    pods: tuple[str, ...]


class PluginOutcome(ResultStruct, frozen=True, kw_only=True):
    """What a plugin did in a cycle. ``error``: it failed; ``stopped``: why a utilization plugin did nothing."""

    cycle: int
    profile: str
    plugin: str
    evicted: int
    error: str = ""
    stopped: str = ""


class NodeBalance(ResultStruct, frozen=True, kw_only=True):
    """A node before the first cycle and after the last one: pods that run there and what they request, in percent.

    ``category`` is how the utilization plugin of the policy calls it, where there is one.
    """

    node: str
    pods_before: int
    pods_after: int
    cpu_before: float
    cpu_after: float
    memory_before: float
    memory_after: float
    category_before: str = ""
    category_after: str = ""

    @property
    def has_changed(self) -> bool:
        before = self.pods_before, self.cpu_before, self.memory_before
        return before != (self.pods_after, self.cpu_after, self.memory_after)


class Measure(ResultStruct, frozen=True, kw_only=True):
    """A number by which the cluster is judged, before the first cycle and after the last one."""

    name: str
    before: float
    after: float
    unit: str = ""


class Balance(ResultStruct, frozen=True, kw_only=True):
    """Whether evictions help: of each of the ``measures`` less is better, whichever of them a policy is after."""

    measures: tuple[Measure, ...]

    @property
    def better(self) -> tuple[Measure, ...]:
        return tuple(measure for measure in self.measures if measure.after < measure.before)

    @property
    def worse(self) -> tuple[Measure, ...]:
        return tuple(measure for measure in self.measures if measure.after > measure.before)


class RemovedNode(ResultStruct, frozen=True, kw_only=True):
    """A node that an autoscaler takes away in the end. ``empty``: no pods were left there but those of daemon sets and
    static ones; else they move. ``anyway``: it would go without the descheduler, too. ``cost`` is by month.
    """

    node: str
    group: str = ""
    empty: bool = False
    anyway: bool = False
    cost: float | None = None


class Thrash(ResultStruct, frozen=True, kw_only=True):
    """A pod that is moved forever: ``nodes`` in the order of its way, which begins anew after ``period`` cycles."""

    pod: str
    owner: str
    plugins: tuple[str, ...]
    nodes: tuple[str, ...]
    period: int


class DescheduleResult(Concluded, frozen=True, kw_only=True):
    """Cycles of the descheduler, each followed by the scheduler.

    It is good if every evicted pod finds a node and is left alone there by the next cycle, and no plugin fails.
    ``cycles`` were run and followed; ``quiet`` says whether the cycle after them evicts no pod. ``next_evictions`` are
    those of that cycle. ``empty_nodes`` have no pods left but those of daemon sets and static ones. ``helped`` are pods
    that waited for a node before, and have one now. ``balance`` is there if anybody was evicted, and ``removed_nodes``
    if autoscalers were asked.
    """

    rows: ClassVar[str] = "pods"
    schema: ClassVar[str] = "deschedule-result"
    about: ClassVar[str] = "What the descheduler evicts and what follows, by kwhatif deschedule"
    view: ClassVar[str] = "deschedule.text:VIEW"

    kind: str = "Deschedule"
    policy: str
    cycles: int
    interval: float
    skipped: bool = False
    pods: tuple[DescheduledPod, ...] = ()
    refused: tuple[RefusedEviction, ...] = ()
    plugins: tuple[PluginOutcome, ...] = ()
    protected: tuple[ProtectedPods, ...] = ()
    nodes: tuple[NodeBalance, ...] = ()
    empty_nodes: tuple[str, ...] = ()
    placements: tuple[Placement, ...] = ()
    helped: tuple[str, ...] = ()
    budgets: tuple[BudgetUse, ...] = ()
    quiet: bool = True
    next_evictions: tuple[str, ...] = ()
    thrash: tuple[Thrash, ...] = ()
    balance: Balance | None = None
    removed_nodes: tuple[RemovedNode, ...] = ()
    scale_up: ScaleUp | None = None
    refusals: tuple[Refusal, ...] = ()
    failed: tuple[FailedCreate, ...] = ()
    fidelity: Fidelity

    @property
    def pending(self) -> tuple[Placement, ...]:
        """Pods recreated that find no node in the end."""
        return tuple(
            placement for placement in self.placements if not placement.good and placement.outcome != "preempted"
        )

    @property
    def lacks_nodes(self) -> bool:
        return any(placement.outcome == "unschedulable" for placement in self.placements)

    @property
    def evicted_again(self) -> tuple[str, ...]:
        """Pods that the cycle after their eviction evicts again."""
        return tuple(dict.fromkeys(pod.pod for pod in self.pods if pod.again))

    @property
    def broken_plugins(self) -> tuple[PluginOutcome, ...]:
        """Plugins that failed in a cycle."""
        return tuple(plugin for plugin in self.plugins if plugin.error)


class EvictionDifference(ResultStruct, frozen=True, kw_only=True):
    """A pod that only one side evicts, or each by another plugin or with another end; empty texts: it is left alone."""

    pod: str
    node: str
    plugin_a: str = ""
    plugin_b: str = ""
    lands_on_a: str = ""
    lands_on_b: str = ""


class DescheduleDiff(OutcomeResult, frozen=True, kw_only=True):
    """Both sides, and the pods of the first cycle with which they do not do the same. It is good if nothing differs."""

    rows: ClassVar[str] = "pods"
    schema: ClassVar[str] = "deschedule-diff"
    about: ClassVar[str] = "What two policies of the descheduler differ in, by kwhatif diff --deschedule"
    view: ClassVar[str] = "deschedule.text:DIFF_VIEW"

    kind: str = "DescheduleDiff"
    a: DescheduleResult
    b: DescheduleResult
    pods: tuple[EvictionDifference, ...] = ()

    @property
    def fidelities(self) -> tuple[Fidelity, ...]:
        return (self.a.fidelity, self.b.fidelity)

    @property
    def differs(self) -> bool:
        a, b = self.a, self.b
        return bool(self.pods) or (len(a.pods), a.quiet, len(a.thrash)) != (len(b.pods), b.quiet, len(b.thrash))


class PodDescheduled(ResultStruct, frozen=True, kw_only=True):
    """A pod, its node, and what the plugins make of it in the order in which they run.

    ``outside`` says why it is none of the cycle's business at all.
    """

    pod: str
    node: str
    evicted: bool
    outside: str = ""
    verdicts: tuple[PodVerdict, ...] = ()


class DescheduleExplained(Result, frozen=True, kw_only=True):
    """Why the next cycle of the descheduler evicts these pods, or leaves them."""

    schema: ClassVar[str] = "deschedule-explained"
    about: ClassVar[str] = "Why the descheduler evicts pods or leaves them, by kwhatif explain --deschedule"
    view: ClassVar[str] = "deschedule.text:EXPLAINED_VIEW"

    kind: str = "DescheduleExplained"
    policy: str
    pods: tuple[PodDescheduled, ...]
    fidelity: Fidelity

    @property
    def exit_code(self) -> int:
        """0 if none of them is evicted."""
        return 1 if any(pod.evicted for pod in self.pods) else 0
