"""The extension points, in the order in which a pod meets them, and the events by which waiting pods are requeued.

A plugin subclasses ``Plugin`` and overrides only the hooks it needs; a hook that is overridden is an extension point
the plugin has. Arrays of a view are read-only. In ``events_to_register`` a plugin names events, each with a queueing
hint for one waiting pod: could this event change the plugin's verdict? Upstream: kube-scheduler/framework/interface.go;
EventsToRegister and QueueingHintFn of each plugin, and pkg/scheduler/framework/events.go.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from enum import Enum, StrEnum
from functools import cache
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import msgspec

from kwhatif.api.core import Node, Pod
from kwhatif.api.devices import ResourceClaim
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.pod_group_states import GroupKey
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import Int64Array
from kwhatif.framework.declaration import Declaration
from kwhatif.framework.placement import Placement, PodGroupAssignments
from kwhatif.framework.status import Code, Diagnosis, PermitWait, PreFilterResult, Rejection, Skip, Status
from kwhatif.framework.victim_rules import VictimRules
from kwhatif.results.outcome import PreemptionFailure
from kwhatif.versions import Features


class ClusterEvent(StrEnum):
    POD_ADDED = "AssignedPodAdd"
    POD_DELETED = "AssignedPodDelete"
    VOLUME_CHANGED = "PersistentVolumeUpdate"
    CLAIM_CHANGED = "PersistentVolumeClaimUpdate"
    DEVICES_FREED = "ResourceClaimDeallocated"
    DEVICE_CLAIM_CHANGED = "ResourceClaimUpdate"


class EventOccurrence(msgspec.Struct, frozen=True):
    """An event and the pod it concerns; for a claim, its namespace and name. An ``unbound`` pod was only nominated."""

    event: ClusterEvent
    cluster: Cluster
    pod: PodInfo | None = None
    claim: tuple[str, str] | None = None
    unbound: bool = False

    @property
    def affects_topology(self) -> bool:
        """Whether the pod counts for plugins that look at other pods in a topology."""
        return not self.unbound or self.cluster.shapes.features.lost_nominations_concern_affinity


QueueingHint = Callable[[PodInfo, EventOccurrence], bool]
"""Whether an event might let a waiting pod fit."""


def always(waiting: PodInfo, happening: EventOccurrence) -> bool:
    """A queueing hint for which every event may help."""
    return True


ALL_EVENTS: Mapping[ClusterEvent, QueueingHint] = dict.fromkeys(ClusterEvent, always)
"""For plugins that do not say: any event has the pod tried again."""


MAX_SCORE = 100

F = TypeVar("F")
P = TypeVar("P")


Suggestion = tuple[str, Pod | Node | ResourceClaim]
"""A single change in words, and what is changed as it then is."""


class Dependency(msgspec.Struct, frozen=True):
    """How a plugin uses the objects of a kind, in words, and for which pods."""

    use: str
    matters: Callable[[PodInfo, Cluster], bool] = lambda pod, cluster: True


class Scope(Enum):
    """What a plugin's result for a node depends on, besides the pod."""

    NODE = "the Node object alone"
    ROW = "the Node object and the pods on it"
    CLUSTER = "anything"


class PostFilterResult(msgspec.Struct, frozen=True):
    """``nominated`` names the node that is to get room; ``victims`` leave it.

    ``criterion`` says what made it the best of so many ``candidates``. Without one, ``preemption`` is why the plugin
    makes no room; empty for one that never does. ``keeps_nomination`` says whether
    an earlier nomination of the pod stands (upstream: ModeNoop) or is void. ``at_once``: victims are deleted within the
    cycle, and lesser nominations to the node are void in any case.
    """

    status: Status | None
    nominated: str = ""
    victims: tuple[PodInfo, ...] = ()
    criterion: str = ""
    candidates: int = 0
    preemption: PreemptionFailure = ""
    keeps_nomination: bool = True
    at_once: bool = False


class Preempt(Protocol):
    """Searches victims: pods of lower priority on as many nodes as ``args`` allow, or those that ``rules`` name."""

    def __call__(
        self, pod: PodInfo, diagnosis: Diagnosis, args: Any, rules: VictimRules | None = None, /
    ) -> PostFilterResult: ...


class Quorum(msgspec.Struct, frozen=True):
    """A group (``namespace/name``) that ``needs`` so many pods with a node before any of them is bound.

    ``assigned`` have one now, and ``most`` had one at the same time. A pod waits for the others for so many
    ``seconds``. ``lacking`` is why a pod of the group found no node, the last one that did not.
    """

    group: str
    needs: int
    assigned: int
    most: int
    seconds: float
    lacking: str = ""


class WaitingPod(msgspec.Struct):
    """A pod held by permit plugins since a moment of simulated time: plugin -> seconds it is willing to wait."""

    pod: PodInfo
    node: str
    since: float
    waits: dict[str, float]
    denied: Status | None = None

    def allow(self, plugin: str) -> None:
        """A plugin approves; the pod is bound once all have."""
        self.waits.pop(plugin, None)

    def reject(self, plugin: str, reason: str) -> None:
        """A plugin rejects the pod, unless that is decided already."""
        if self.denied is None and self.waits:
            self.denied = Status(Code.UNSCHEDULABLE, (reason,), plugin)

    @property
    def deadline(self) -> float:
        """When the first plugin's timeout ends."""
        return self.since + min(self.waits.values(), default=0.0)


class Handle(msgspec.Struct):
    """What a plugin may use of the scheduler it runs in.

    ``args`` are the plugin's own arguments: a typed struct for in-tree plugins, else a plain mapping. ``preempt``
    looks for victims on behalf of a PostFilter plugin, ``preempt_for_group`` does for a group of pods. ``waiting`` are
    the pods that permit plugins hold, by uid. ``cluster`` is the one whose pods are scheduled, for hooks that are not
    given it. ``profiles`` are the names of all schedulers of the process. ``activate`` takes uids of pods, which are
    tried as soon as possible, whatever their backoff, if they wait in the queue (upstream: PodsToActivate). ``clock``
    tells the moment, in seconds.
    """

    features: Features
    args: Any
    preempt: Preempt
    waiting: dict[str, WaitingPod] = {}
    cluster: Cluster | None = None
    preempt_for_group: Callable[[Any], Any] | None = None
    profiles: Collection[str] = ()
    activate: Callable[[Collection[str]], None] = lambda uids: None
    clock: Callable[[], float] = lambda: 0.0


class Plugin(Declaration, Generic[F, P]):
    """Base of all plugins. F is the state that PreFilter makes, P the one that PreScore hands to Score.

    Every hook after PreFilter gets the plugin's own F of the same pod and cycle: None if it made none, or let SKIP.
    Without a PreScore, Score gets it as well.

    Scope NODE and ROW promise that the pod's own part (PreFilter, PreScore) looks at nothing but the pod and
    Node objects, so it is asked once for all pods that look alike; CLUSTER plugins are asked for every pod.
    """

    filter_scope: ClassVar[Scope] = Scope.CLUSTER
    score_scope: ClassVar[Scope] = Scope.CLUSTER
    dependencies: ClassVar[Mapping[str, Dependency]] = MappingProxyType({})
    """Kinds besides Node and Pod that its answers depend on: where one is missing, the fidelity report says so."""
    offline_points: ClassVar[Collection[str]] = ()
    """Extension points the upstream plugin has where there is nothing to do offline."""

    depends_on_labels: ClassVar[bool] = True
    """Whether what it says once for pods that look alike may depend on their labels.

    That is what it answers with scope NODE or ROW, ``applies_to`` and ``scopes``. If no plugin of a profile reads them
    there, all pods of one template share these answers, whatever labels they have of their own.
    """

    depends_on_node_count: ClassVar[bool] = False
    """Its score has scope NODE and yet depends on which nodes there are: it is computed again when one is added or
    removed.
    """
    depends_on_sums_only: ClassVar[bool] = False
    """With scope ROW it looks at nothing but a node's capacity, the number of its pods and what they ask for in all."""
    depends_on_other_pods: ClassVar[bool] = False
    """Its filter asks where other pods are: of a cluster without pods it says nothing that lasts."""
    orders_by_heap: ClassVar[bool] = False
    """Keys of its queue change while pods are in it, or their comparison is no total order: the heap's operations
    decide.
    """
    remembers: ClassVar[bool] = False
    """It remembers what happened, beside what the cluster shows: a cluster that went back does not undo that."""
    needs_pre_filter: bool = False
    needs_pre_score: ClassVar[bool] = False
    """Its Filter or Score fails under a profile that leaves its PreFilter or PreScore out."""

    events_to_register: ClassVar[Mapping[ClusterEvent, QueueingHint]] = ALL_EVENTS
    """What may let a pod fit that this plugin rejected, and for which pods."""

    @classmethod
    def points(cls, features: Features) -> Collection[str]:
        return extension_points(cls)

    def __init__(self, handle: Handle) -> None:
        self.handle = handle

    def applies_to(self, pod: PodInfo) -> bool:
        """Whether the plugin does anything for pods of this shape; called once for all of them.

        False promises that PreEnqueue, Reserve and PreBind let them through, that PreFilter and PreScore skip them (or
        that all scores are 0), and that they hold no reservations, so that none of these is called.
        """
        return True

    def cache_key(self, pod: PodInfo) -> Hashable:
        """What the plugin reads of a pod at scope NODE and ROW.

        Its results are shared by pods with equal keys; unless it is overridden, by those of one template.
        """
        return pod.shape.index if self.depends_on_labels else pod.shape.template

    def never_filters_or_scores(self, pod: PodInfo, cluster: Cluster) -> bool:
        """Whether PreFilter and PreScore skip pods of this shape wherever pods run, so that Filter and Score are not
        called.

        It is called with scope CLUSTER, and again once the cluster has met a new template, which may concern such pods.
        """
        return False

    def scopes(self, pod: PodInfo) -> tuple[Scope, Scope]:
        """``filter_scope`` and ``score_scope`` for pods of this shape, which may be narrower than for others."""
        return self.filter_scope, self.score_scope

    @property
    def queueing_hints(self) -> Mapping[ClusterEvent, QueueingHint]:
        """``events_to_register``, or hints that need the plugin's own arguments."""
        return self.events_to_register

    def sign_pod(self, pod: PodInfo) -> Mapping[str, object] | None:
        """All that Filter and Score read of a pod, by upstream's names for it (``framework/signature.py``); None if
        they read more than the pod and the nodes. Pods of a profile with a plugin that does not sign have no signature,
        and get no node hints.
        """
        raise NotImplementedError

    def suggestions(self, pod: PodInfo, cluster: Cluster, rows: Sequence[int]) -> Iterator[Suggestion]:
        """Changes with which the plugin might accept the pod on one of these nodes, which it alone rejects.

        Where it keeps the pod out of the queue, there are no nodes.
        """
        return iter(())

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """Refuse a pod before it enters the queue."""
        raise NotImplementedError

    def queue_key(self, pod: PodInfo, order: int) -> Any:
        """Sort key of a pod in the queue; ``order`` counts pods as they came."""
        raise NotImplementedError

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> F | PreFilterResult | Skip | Status | None:
        """Look at the pod once; the returned state goes to Filter, SKIP leaves Filter out, a Status refuses the pod."""
        raise NotImplementedError

    def filter(self, pod: PodInfo, nodes: NodeView, state: F) -> Iterator[Rejection]:
        """The nodes of the view that reject the pod, reason by reason."""
        raise NotImplementedError

    def post_filter(self, pod: PodInfo, diagnosis: Diagnosis, state: F | None) -> PostFilterResult:
        """No node fits: make room, or say why not."""
        raise NotImplementedError

    def may_make_room(self, pod: PodInfo) -> bool:
        """Whether PostFilter might change anything for a pod like this one; False promises that it does not now."""
        return True

    def pre_score(self, pod: PodInfo, nodes: NodeView, state: F | None) -> P | Skip | Status:
        """Look at the pod and the feasible nodes once; SKIP leaves Score out, a Status is an error.

        Where the score is computed once a shape and the filter for every pod, there is no state.
        """
        raise NotImplementedError

    def score(self, pod: PodInfo, nodes: NodeView, state: P) -> Int64Array:
        """int64[n]: a raw score per node of the view."""
        raise NotImplementedError

    def describe_score(self, pod: PodInfo, nodes: NodeView, place: int, state: P) -> str:
        """The arithmetic behind the raw score of one place of the view, for people; nothing where there is none."""
        return ""

    def normalize(self, pod: PodInfo, nodes: NodeView, state: P, scores: Int64Array) -> Int64Array:
        """int64[n]: raw scores of the same nodes brought to 0..100."""
        raise NotImplementedError

    def reserve(self, pod: PodInfo, node: str, state: F | None) -> Status | None:
        """Claim what the pod needs on the chosen node; a Status undoes all reservations."""
        raise NotImplementedError

    def unreserve(self, pod: PodInfo, node: str, state: F | None) -> None:
        """Give back what ``reserve`` claimed; also called when ``reserve`` itself refused."""
        raise NotImplementedError

    def permit(self, pod: PodInfo, node: str, state: F | None) -> Status | PermitWait | None:
        """Approve (None), deny, or hold the pod for a while."""
        raise NotImplementedError

    def quorum_of(self, pod: PodInfo) -> Quorum | None:
        """The group for whose pods Permit has this one wait; None if there is none."""
        return None

    def pre_bind(self, pod: PodInfo, node: str, state: F | None) -> Status | None:
        """The last step before the pod is bound; a Status undoes everything."""
        raise NotImplementedError

    def bind(self, pod: PodInfo, node: str, state: F | None) -> Status | Skip | None:
        """Bind the pod, or SKIP to leave it to the next binder."""
        raise NotImplementedError

    def post_bind(self, pod: PodInfo, node: str, state: F | None) -> None:
        """Informs the plugin that the pod is bound."""
        raise NotImplementedError

    # --- groups of pods

    def generate_placements(self, key: GroupKey, cluster: Cluster, parent: Placement) -> list[Placement] | Status:
        """The parts of a placement that a group is to be tried in, in order; an error keeps all its pods back."""
        raise NotImplementedError

    def score_placement(self, assignments: PodGroupAssignments, cluster: Cluster) -> int:
        """How good it would be if these members of a group got nodes in this placement."""
        raise NotImplementedError

    def normalize_placement_scores(self, scores: Sequence[int]) -> list[int] | Status:
        """Scores of the same group's placements brought to 0..100."""
        raise NotImplementedError

    def pod_group_post_filter(self, preemptor: Any) -> Any:
        """A group as a whole finds no nodes: make room for it, or say why not.

        Both are of ``scheduling/pod_group_preemption.py``. It has no extension point of its own: a plugin that
        implements it acts at postFilter.
        """
        raise NotImplementedError


HOOKS: Mapping[str, str] = {
    "preEnqueue": "pre_enqueue",
    "queueSort": "queue_key",
    "preFilter": "pre_filter",
    "filter": "filter",
    "postFilter": "post_filter",
    "preScore": "pre_score",
    "score": "score",
    "reserve": "reserve",
    "permit": "permit",
    "preBind": "pre_bind",
    "bind": "bind",
    "postBind": "post_bind",
    "placementGenerate": "generate_placements",
    "placementScore": "score_placement",
}
"""Extension point -> the hook that implements it."""


def extension_points(plugin: type[Plugin[Any, Any]]) -> frozenset[str]:
    """The extension points a plugin class has."""
    key: Any = plugin  # mypy takes the hash of instances for that of the class
    return _extension_points(key)


@cache
def _extension_points(plugin: Any) -> frozenset[str]:
    points = {point for point, hook in HOOKS.items() if overrides(plugin, hook)}
    if overrides(plugin, "unreserve"):
        points.add("reserve")
    return frozenset({*points, *plugin.offline_points})


def overrides(plugin: type[Plugin[Any, Any]], hook: str) -> bool:
    """Whether a plugin class implements a hook itself."""
    return getattr(plugin, hook) is not getattr(Plugin, hook)
