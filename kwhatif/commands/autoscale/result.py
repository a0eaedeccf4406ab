"""Results of cluster-autoscaler: groups that grow, pods, and nodes that are removed."""

from __future__ import annotations

from typing import ClassVar

from kwhatif.results.base import Fidelity, ResultStruct
from kwhatif.results.outcome import Concluded
from kwhatif.results.place import Chance, FailedCreate, Refusal, ScaleUp


class GroupState(ResultStruct, frozen=True, kw_only=True):
    """A node group: ``size`` is what was asked of the cloud, ``nodes`` are there.

    ``template`` says what a fresh node is known from; nothing if it is not known. ``skipped`` is why the group was not
    considered for a scale-up. ``price`` is that of a node by the hour.
    """

    name: str
    size: int
    min: int
    max: int
    nodes: int
    template: str = ""
    skipped: str = ""
    price: float | None = None


class GrowthOption(ResultStruct, frozen=True, kw_only=True):
    """An expansion option: a group, the nodes it would add for these pods, and the ``similar`` groups that may share
    them.

    ``waste`` is the share of cpu and that of memory that would stay idle, together (0 to 2).
    """

    group: str
    nodes: int
    pods: tuple[str, ...]
    similar: tuple[str, ...] = ()
    waste: float
    chosen: bool


class Growth(ResultStruct, frozen=True, kw_only=True):
    """A group and the size it gets; ``cost`` is what the new nodes cost a month, where prices are known."""

    group: str
    size: int
    to: int
    max: int
    cost: float | None = None


class Rejection(ResultStruct, frozen=True, kw_only=True):
    """Why a group does not help a pod: the first plugin that rejects it on a fresh node, or why it was ``skipped``."""

    group: str
    plugin: str = ""
    reasons: tuple[str, ...]


class PodOutlook(ResultStruct, frozen=True, kw_only=True):
    """What becomes of a pod that has no node.

    ``outcome`` is ``placed`` (by the scheduler, on ``node``), ``existing`` (the autoscaler expects it on ``node``),
    ``triggered`` (a node of ``group`` is added for it), ``awaiting`` (another group will help, in a later loop),
    ``helpless`` (no group can help, by ``rejections``; ``message`` is that of the NotTriggerScaleUp event) or
    ``ignored`` (for what ``message`` says).
    """

    pod: str
    outcome: str
    node: str = ""
    group: str = ""
    message: str = ""
    rejections: tuple[Rejection, ...] = ()

    @property
    def good(self) -> bool:
        return self.outcome in ("placed", "existing", "triggered", "awaiting")


class NodeOutlook(ResultStruct, frozen=True, kw_only=True):
    """Whether a node would go: ``unneeded`` ones do, after ``after`` seconds, if their group and the limits allow.

    ``moves`` says where its pods go. ``utilization`` is that of ``resource``. ``reason`` is why it stays, ``pod`` and
    ``pod_reason`` the first pod that keeps it and by which rule; of an unneeded one it is what keeps it after that
    time. ``first`` nodes are deleted in the first loop after it, others in later ones.
    """

    node: str
    group: str
    unneeded: bool
    utilization: float | None = None
    resource: str = ""
    moves: dict[str, str]
    after: float | None = None
    first: bool = False
    reason: str = ""
    pod: str = ""
    pod_reason: str = ""


class QuietStep(ResultStruct, frozen=True, kw_only=True):
    """The state after ``time`` simulated seconds: the number of ``nodes``, and of pods ``waiting``."""

    time: int
    what: str
    nodes: int
    waiting: int


class PodsResult(Concluded, frozen=True, kw_only=True):
    """What one autoscaler would do, and what becomes of ``pods``."""

    rows: ClassVar[str] = "pods"


class AutoscaleResult(PodsResult, frozen=True, kw_only=True):
    """What the first loop of the autoscaler would do, and what growing leads to in the end.

    ``result`` is the loop's own word for it (``ScaleUpSuccessful``, ``ScaleUpNoOptionsAvailable``, ...), and ``plan``
    what it grows. ``scale_up`` has all nodes that are added until no pod is helped any more, and ``cost`` is what they
    cost a month, where all prices are known; ``saved`` is what the nodes that go cost now. ``nodes`` are those
    of scale-down, if that was asked, and ``uncounted`` the pods that their utilization leaves out. ``steps`` are what
    happens until nothing more does, if that was asked, and ``peak`` is the most nodes that there are at a time.
    """

    schema: ClassVar[str] = "autoscale-result"
    about: ClassVar[str] = "What cluster-autoscaler would do, by kwhatif autoscale"
    view: ClassVar[str] = "autoscale.text:VIEW"

    kind: str = "Autoscale"
    result: str
    expander: str
    groups: tuple[GroupState, ...]
    options: tuple[GrowthOption, ...] = ()
    plan: tuple[Growth, ...] = ()
    scale_up: ScaleUp | None = None
    cost: float | None = None
    saved: float | None = None
    pods: tuple[PodOutlook, ...] = ()
    nodes: tuple[NodeOutlook, ...] = ()
    uncounted: tuple[str, ...] = ()
    steps: tuple[QuietStep, ...] = ()
    peak: int | None = None
    chance: Chance
    refusals: tuple[Refusal, ...] = ()
    failed: tuple[FailedCreate, ...] = ()
    fidelity: Fidelity
