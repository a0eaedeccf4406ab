"""The runner of one profile: its plugins by extension point, called in order, with their contracts checked.

Upstream: pkg/scheduler/framework/runtime/framework.go.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from msgspec.structs import replace

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.pod_group_states import GroupKey
from kwhatif.cluster.shapes import PodInfo, PodShape
from kwhatif.cluster.types import AnyArray, Int64Array
from kwhatif.errors import KwhatifError, PluginError
from kwhatif.framework.interface import HOOKS, MAX_SCORE, Plugin, PostFilterResult, Quorum, Scope, overrides
from kwhatif.framework.placement import Placement, PodGroupAssignments
from kwhatif.framework.resource_allocation import request_sums
from kwhatif.framework.signature import Signer
from kwhatif.framework.status import SKIP, Code, CycleEvaluation, Diagnosis, PermitWait, Rejection, Skip, Status
from kwhatif.results.outcome import PreemptionFailure

AnyPlugin = Plugin[Any, Any]
Binder = Callable[[PodInfo, str], Status | Skip | None]
"""Binds a pod to a node (None), refuses, or SKIPs to leave it to others."""

States = Mapping[str, object]
"""Plugin -> what its PreFilter made for one pod in one cycle, for the hooks past the choice of a node."""

MOST_PERMIT_SECONDS = 900.0
"""No permit plugin may hold a pod for longer, whatever it asks for."""


class Waits(dict[str, float]):
    """The permit plugins that want a pod to wait, and for how many seconds at most; ``reason`` is the last one's."""

    reason: str = ""


class Framework:
    """Plugins of one profile, by extension point, and how each hook is run.

    ``plugins`` maps each extension point to its plugins in order; ``weights`` a score plugin's name to its weight.
    ``unprepared`` is the error that every pod meets under a profile whose filters miss their own PreFilter. With
    ``all_filters`` no filter is left out on a node because another one has rejected it.
    """

    def __init__(
        self,
        profile_name: str,
        plugins: Mapping[str, Sequence[AnyPlugin]],
        weights: Mapping[str, int],
        *,
        all_filters: bool = False,
        placement_weights: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        self.profile_name = profile_name
        self.all_filters = all_filters
        self._at = {point: [p for p in plugins.get(point, ()) if _acts(p, point)] for point in HOOKS}
        self.pre_filters = self._at["preFilter"]
        prepared = {plugin.name for plugin in self.pre_filters}
        failing = [p for p in plugins.get("filter", ()) if p.needs_pre_filter and p.name not in prepared]
        self.filters = [plugin for plugin in self._at["filter"] if plugin not in failing]
        self.unprepared = _report_missing_pre_filter(failing[0]) if failing else None
        self.scorers = [(plugin, weights[plugin.name]) for plugin in self._at["score"]]
        self._placement_weights = placement_weights
        self._choosy = [plugin for plugin in self.all_plugins if overrides(type(plugin), "applies_to")]
        self._turns: dict[frozenset[str], _ActivePlugins] = {}
        self._turns_of: dict[int, _ActivePlugins] = {}
        self._last_turns: tuple[PodShape | None, _ActivePlugins] = (
            None,
            _ActivePlugins(frozenset(), dict.fromkeys(HOOKS, ())),
        )
        self._labels_matter = any(plugin.depends_on_labels and _speaks_once(plugin) for plugin in self.all_plugins)
        self._pre_scored = frozenset(plugin.name for plugin in self._at["preScore"])
        # Without their PreScore some have an error to tell.
        self.may_be_silent = [
            plugin
            for plugin in self.all_plugins
            if overrides(type(plugin), "never_filters_or_scores")
            and (plugin.name in self._pre_scored or not plugin.needs_pre_score)
        ]

    def filters_only(self) -> Framework:
        """The same plugins, limited to the filters."""
        filtering = {point: self._at[point] for point in ("preFilter", "filter")}
        return Framework(self.profile_name, filtering, {}, all_filters=self.all_filters)

    def signer(self) -> Signer:
        """Signs pods by the plugins that filter and score."""
        points = ("preFilter", "filter", "preScore", "score")
        return Signer({plugin.name: plugin for point in points for plugin in self._at[point]}.values())

    def request_sums(self, *, scored: bool) -> int:
        """How often one cycle adds up the pod's requests upstream."""
        return request_sums(self.all_plugins, self._at["preScore"] if scored else ())

    @property
    def all_plugins(self) -> list[AnyPlugin]:
        """Every plugin once, sorted by name."""
        return [p for _, p in sorted({p.name: p for at in self._at.values() for p in at}.items())]

    @cached_property
    def is_in_tree(self) -> bool:
        """Whether all plugins are those of kube-scheduler, modelled here."""
        return all(type(plugin).__module__.startswith("kwhatif.plugins.") for plugin in self.all_plugins)

    @cached_property
    def forgets(self) -> bool:
        """Whether no plugin remembers what happened, as far as is known of those from outside."""
        return self.is_in_tree and not any(plugin.remembers for plugin in self.all_plugins)

    def attach(self, cluster: Cluster) -> None:
        """Give the plugins the cluster they work for."""
        for plugin in self.all_plugins:
            plugin.handle.cluster = cluster
        self._turns_of.clear()
        self._last_turns = None, self._last_turns[1]

    def shape_key(self, shape: PodShape) -> int:
        """A number that is equal for shapes which plugins of scope NODE and ROW cannot tell apart."""
        return shape.index if self._labels_matter else shape.template

    def active_plugins(self, pod: PodInfo) -> _ActivePlugins:
        """The plugins that apply to pods like this one."""
        last, turns = self._last_turns
        if last is not pod.shape:
            turns = self._find_active_plugins(pod)
            self._last_turns = pod.shape, turns
        return turns

    def _find_active_plugins(self, pod: PodInfo) -> _ActivePlugins:
        alike = self.shape_key(pod.shape)
        turns = self._turns_of.get(alike)
        if turns is None:
            idle = frozenset([plugin.name for plugin in self._choosy if not plugin.applies_to(pod)])
            turns = self._turns.get(idle)
            if turns is None:
                turns = self._turns[idle] = _ActivePlugins(idle, self._at)
            self._turns_of[alike] = turns
        return turns

    # --- the queue

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """The first refusal to let the pod into the queue."""
        for plugin in self.active_plugins(pod).pre_enqueue:
            status: Status | None = _call(plugin, "pre_enqueue", pod, pod)
            if status is not None:
                return _name_plugin(status, plugin)
        return None

    @property
    def orders_by_heap(self) -> bool:
        """Whether the queue's order depends on the operations of its heap."""
        return any(plugin.orders_by_heap for plugin in self._at["queueSort"][:1])

    def queue_key(self, pod: PodInfo, order: int) -> Any:
        plugin = self._at["queueSort"][0]
        return _call(plugin, "queue_key", pod, pod, order)

    # --- filters and scores

    def run_pre_filter(self, plugin: AnyPlugin, pod: PodInfo, cluster: Cluster) -> object:
        outcome = _call(plugin, "pre_filter", pod, pod, cluster)
        return _name_plugin(outcome, plugin, "PreFilter") if isinstance(outcome, Status) else outcome

    def run_filter(self, plugin: AnyPlugin, pod: PodInfo, view: NodeView, state: object) -> Iterator[Rejection]:
        try:
            for rejection in plugin.filter(pod, view, state):
                where = rejection.where
                if where.shape != (view.size,) or where.dtype != np.bool_:
                    raise TypeError(f"a rejection is of {_format_array(where)}, it should be of bool[{view.size}]")
                if rejection.error:
                    text = f'running "{plugin.name}" filter plugin: {rejection.reason}'
                    rejection = replace(rejection, reason=text)
                yield rejection
        except KwhatifError:
            raise
        except Exception as error:
            raise _blame(plugin, "filter", pod, error) from error

    def run_pre_score(self, plugin: AnyPlugin, pod: PodInfo, view: NodeView, state: object) -> object:
        """The plugin's state for Score, SKIP or an error; its PreFilter state, if it has no PreScore."""
        if plugin.name not in self._pre_scored:
            if plugin.needs_pre_score:
                text = f'running Score plugins: plugin "{plugin.name}" failed with: its PreScore was not run'
                return Status(Code.ERROR, (text,), plugin.name)
            if not overrides(type(plugin), "pre_score"):
                return state
        outcome = _call(plugin, "pre_score", pod, pod, view, state)
        if isinstance(outcome, Status):
            # It is too late for a verdict on the pod: whatever the plugin calls it, it is an error.
            return _name_plugin(Status(Code.ERROR, outcome.reasons), plugin, "PreScore")
        return outcome

    def run_score(self, plugin: AnyPlugin, pod: PodInfo, view: NodeView, state: object) -> Int64Array:
        return _one_each(plugin, "score", _call(plugin, "score", pod, pod, view, state), view)

    def describe_score(self, plugin: AnyPlugin, pod: PodInfo, view: NodeView, state: object, place: int) -> str:
        """The arithmetic behind a plugin's score of one place of the view."""
        return str(_call(plugin, "describe_score", pod, pod, view, place, state))

    def run_normalize(
        self, plugin: AnyPlugin, pod: PodInfo, view: NodeView, state: object, raw: Int64Array
    ) -> Int64Array:
        """Scores from 0 to 100; those of a plugin without ``normalize`` as they are."""
        if overrides(type(plugin), "normalize"):
            raw = _one_each(plugin, "normalize", _call(plugin, "normalize", pod, pod, view, state, raw), view)
        return self.check_scores(plugin, raw)

    @staticmethod
    def check_scores(plugin: AnyPlugin, scores: Int64Array) -> Int64Array:
        """The scores, if they are in range."""
        # Without their sign, negative ones are too large as well, so that one look is enough.
        if len(scores) and scores.view(np.uint64).item(scores.view(np.uint64).argmax()) > MAX_SCORE:
            worst = scores.min() if scores.min() < 0 else scores.max()
            raise PluginError(
                plugin.name,
                "score",
                f"returns an invalid score {worst}, it should be in the range of [0, {MAX_SCORE}] after normalizing",
            )
        return scores

    def post_filter(self, pod: PodInfo, diagnosis: Diagnosis) -> PostFilterResult:
        """Call PostFilter plugins in turn; their refusals are joined to one message."""
        reasons: list[str] = []
        keeps = bool(self._at["postFilter"])
        preemption: PreemptionFailure = "not tried"
        for plugin in self._at["postFilter"]:
            result: PostFilterResult = _call(
                plugin, "post_filter", pod, pod, diagnosis, diagnosis.evaluation.pre_filter_state_of(plugin)
            )
            if result.status is None or result.status.code in (Code.UNRESOLVABLE, Code.ERROR):
                return result
            reasons.extend(result.status.reasons)
            keeps &= result.keeps_nomination
            preemption = result.preemption or preemption
        return PostFilterResult(
            Status(Code.UNSCHEDULABLE, tuple(reasons)), preemption=preemption, keeps_nomination=keeps
        )

    def may_make_room(self, pod: PodInfo) -> bool:
        """Whether a PostFilter plugin might change anything for a pod like this one, were no node left for it."""
        idle = self.active_plugins(pod).idle
        return any(plugin.name not in idle and plugin.may_make_room(pod) for plugin in self._at["postFilter"])

    # --- groups of pods

    def generate_placements(self, key: GroupKey, cluster: Cluster, parent: Placement) -> list[Placement] | Status:
        """The placements that a group is tried in, the parent itself if no plugin generates any; or why none."""
        for plugin in self._at["placementGenerate"]:
            placements: list[Placement] | Status = plugin.generate_placements(key, cluster, parent)
            if isinstance(placements, Status):
                return _name_plugin(placements, plugin)
            return placements or Status(Code.UNSCHEDULABLE, ("no feasible placements found",), plugin.name)
        return [parent]

    def score_placements(
        self, candidates: Sequence[PodGroupAssignments], cluster: Cluster
    ) -> dict[str, list[int]] | Status:
        """Plugin -> its normalised score times its weight, of each candidate; or the error of one of them."""
        by_plugin = {}
        for plugin in self._at["placementScore"]:
            scores: list[int] | Status = [plugin.score_placement(candidate, cluster) for candidate in candidates]
            if overrides(type(plugin), "normalize_placement_scores"):
                assert isinstance(scores, list)
                scores = plugin.normalize_placement_scores(scores)
            if isinstance(scores, Status):
                return scores
            by_plugin[plugin.name] = [score * self._placement_weights.get(plugin.name, 1) for score in scores]
        return by_plugin

    def pod_group_post_filter(self, preemptor: Any) -> Any:
        """The result of the first plugin that makes room for groups as a whole; None if there is none."""
        for plugin in self._at["postFilter"]:
            if overrides(type(plugin), "pod_group_post_filter"):
                return plugin.pod_group_post_filter(preemptor)
        return None

    # --- binding

    def states(self, pod: PodInfo, evaluation: CycleEvaluation) -> States:
        """The states for the hooks below, to be kept for as long as one of them may be called."""
        return {plugin.name: evaluation.pre_filter_state_of(plugin) for plugin in self.active_plugins(pod).stateful}

    def reserve(self, pod: PodInfo, node: str, states: States) -> Status | None:
        """Reserve at all plugins; on a refusal everything is given back and the refusal returned."""
        for plugin in self.active_plugins(pod).reserve:
            status: Status | None = _call(plugin, "reserve", pod, pod, node, states.get(plugin.name))
            if status is not None:
                self.unreserve(pod, node, states)
                return _name_plugin(status, plugin, "Reserve")
        return None

    def unreserve(self, pod: PodInfo, node: str, states: States) -> None:
        """Give back all reservations, the last plugin first."""
        for plugin in self.active_plugins(pod).unreserve:
            _call(plugin, "unreserve", pod, pod, node, states.get(plugin.name))

    def permit(self, pod: PodInfo, node: str, states: States) -> Status | Waits | None:
        """None to go on, a refusal, or the plugins that want to wait and for how many seconds at most."""
        if not self._at["permit"]:
            return None
        waits = Waits()
        for plugin in self._at["permit"]:
            answer = _call(plugin, "permit", pod, pod, node, states.get(plugin.name))
            if isinstance(answer, PermitWait):
                waits[plugin.name] = min(answer.seconds, MOST_PERMIT_SECONDS)
                waits.reason = answer.reason
            elif answer is not None:
                return _name_plugin(answer, plugin, "Permit")
        return waits or None

    @property
    def has_quorums(self) -> bool:
        """Whether a Permit plugin has pods wait for their siblings."""
        return any(overrides(type(plugin), "quorum_of") for plugin in self._at["permit"])

    def quorum_of(self, pod: PodInfo) -> Quorum | None:
        """The group for whose pods a Permit plugin has this one wait, the first plugin's."""
        quorums = (_call(plugin, "quorum_of", pod, pod) for plugin in self._at["permit"])
        return next((quorum for quorum in quorums if quorum is not None), None)

    def bind(self, pod: PodInfo, node: str, states: States, before: Binder | None = None) -> Status | None:
        """PreBind, Bind and PostBind. A pod that ``before`` binds is not offered to the Bind plugins."""
        for plugin in self.active_plugins(pod).pre_bind:
            status: Status | None = _call(plugin, "pre_bind", pod, pod, node, states.get(plugin.name))
            if status is not None:
                return _name_plugin(status, plugin, "PreBind")
        outside = SKIP if before is None else before(pod, node)
        if isinstance(outside, Status):
            return outside
        for plugin in self._at["bind"] if isinstance(outside, Skip) else ():
            answer = _call(plugin, "bind", pod, pod, node, states.get(plugin.name))
            if isinstance(answer, Skip):
                continue
            if answer is not None:
                return _name_plugin(answer, plugin, "Bind")
            break
        for plugin in self._at["postBind"]:
            _call(plugin, "post_bind", pod, pod, node, states.get(plugin.name))
        return None


class _ActivePlugins:
    """The plugins that are called for pods to which the ``idle`` ones do not apply."""

    def __init__(self, idle: frozenset[str], at: Mapping[str, Sequence[AnyPlugin]]) -> None:
        def left(point: str, hook: str) -> tuple[AnyPlugin, ...]:
            return tuple(plugin for plugin in at[point] if plugin.name not in idle and overrides(type(plugin), hook))

        self.idle = idle
        self.pre_enqueue = left("preEnqueue", "pre_enqueue")
        self.reserve = left("reserve", "reserve")
        self.unreserve = left("reserve", "unreserve")[::-1]
        self.pre_bind = left("preBind", "pre_bind")
        later = {*self.reserve, *self.unreserve, *self.pre_bind, *at["permit"], *at["bind"], *at["postBind"]}
        self.stateful = tuple(plugin for plugin in left("preFilter", "pre_filter") if plugin in later)


def _acts(plugin: AnyPlugin, point: str) -> bool:
    """Whether the plugin does anything at the point, rather than only having it upstream."""
    if point == "reserve":
        return overrides(type(plugin), "reserve") or overrides(type(plugin), "unreserve")
    return overrides(type(plugin), HOOKS[point])


def _speaks_once(plugin: AnyPlugin) -> bool:
    """Whether one of its results is shared by all pods that look alike."""
    looks_at_nodes = {plugin.filter_scope, plugin.score_scope} != {Scope.CLUSTER}
    return looks_at_nodes or overrides(type(plugin), "applies_to") or overrides(type(plugin), "scopes")


def _report_missing_pre_filter(plugin: AnyPlugin) -> Status:
    return Status(Code.ERROR, (f'running "{plugin.name}" filter plugin: its PreFilter was not run',), plugin.name)


def _name_plugin(status: Status, plugin: AnyPlugin, point: str = "") -> Status:
    """The status with its plugin; the message of an error says at which extension point it happened, too."""
    reasons = status.reasons
    if point and not status.is_rejected:
        reasons = (f'running {point} plugin "{plugin.name}": {status.message}',)
    return dataclasses.replace(status, reasons=reasons, plugin=plugin.name)


def _call(plugin: AnyPlugin, hook: str, pod: PodInfo, *arguments: object) -> Any:
    """Run a hook; what it raises names plugin, hook and pod."""
    try:
        return getattr(plugin, hook)(*arguments)
    except KwhatifError:
        raise
    except Exception as error:
        raise _blame(plugin, hook, pod, error) from error


def _blame(plugin: AnyPlugin, hook: str, pod: PodInfo, error: Exception) -> PluginError:
    return PluginError(plugin.name, hook, f"{type(error).__name__}: {error}", pod=pod.key)


def _one_each(plugin: AnyPlugin, hook: str, scores: Int64Array, view: NodeView) -> Int64Array:
    if scores.shape != (view.size,) or scores.dtype != np.int64:
        raise PluginError(plugin.name, hook, f"returns {_format_array(scores)}, it should be int64[{view.size}]")
    return scores


def _format_array(array: AnyArray) -> str:
    """``float64[3, 2]``."""
    return f"{array.dtype}[{', '.join(map(str, array.shape))}]"
