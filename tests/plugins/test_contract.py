"""What every plugin promises, checked for each one that can be found, and for one from outside the tree."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import kwhatif.legacy.plugins
import kwhatif.plugins
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.node_view import NodeView, PodDelta, change_of
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import Int64Array
from kwhatif.framework.interface import HOOKS, MAX_SCORE, Handle, Plugin, Scope, extension_points, overrides
from kwhatif.framework.status import SKIP, PreFilterResult, Rejection, Skip, Status
from kwhatif.plugins.outoftree.coscheduling import Coscheduling
from kwhatif.plugins.outoftree.node_resource_topology_match import NodeResourceTopologyMatch
from kwhatif.plugins.outoftree.target_load_packing import TargetLoadPacking
from kwhatif.policy.in_tree import in_tree
from kwhatif.versions import LEGACY_MINOR, SUPPORTED_MINORS, features_of
from tests.asking import made
from tests.builders import (
    GPU,
    HOSTNAME,
    IN_TREE,
    LEGACY,
    OUT_OF_TREE,
    ZONE,
    Json,
    cluster_of,
    handle_for,
    node_term,
    pod,
    pods_like,
    select,
    spread,
)
from tests.storage_strategies import FIXED, Store, stores
from tests.strategies import GeneratedCluster, large_scenarios, scenarios

AnyPlugin = Plugin[Any, Any]


class ShortNames(Plugin[int, None]):
    """From outside the tree: names have a limit, quiet nodes a bonus."""

    name = "ShortNames"
    filter_scope = Scope.NODE
    score_scope = Scope.ROW

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> int | Skip:
        return 1 if pod.shape.labels else SKIP

    def filter(self, pod: PodInfo, nodes: NodeView, state: int) -> Iterator[Rejection]:
        long = np.array([len(name) > state and name > "k" for name in nodes.columns.names], np.bool_)
        yield Rejection(nodes.take_rows(long), "node(s) had a long name", unresolvable=True)

    def score(self, pod: PodInfo, nodes: NodeView, state: None) -> Int64Array:
        return MAX_SCORE // (1 + nodes.pod_count)


class OwnLoadPacking(TargetLoadPacking):
    """Somebody's own, on top of one of scheduler-plugins."""

    name = "OwnLoadPacking"


class OwnCells(NodeResourceTopologyMatch):
    name = "OwnCells"


class OwnGangs(Coscheduling):
    name = "OwnGangs"


DERIVED: tuple[type[AnyPlugin], ...] = (OwnLoadPacking, OwnCells, OwnGangs)


def found_plugins() -> list[type[AnyPlugin]]:
    """Every plugin class that a module of the package defines."""
    found: dict[str, type[AnyPlugin]] = {}
    modules = [
        *pkgutil.walk_packages(kwhatif.plugins.__path__, "kwhatif.plugins."),
        *pkgutil.walk_packages(kwhatif.legacy.plugins.__path__, "kwhatif.legacy.plugins."),
    ]
    for module in modules:
        for value in vars(importlib.import_module(module.name)).values():
            own = isinstance(value, type) and issubclass(value, Plugin) and value.__module__ == module.name
            if own and "name" in vars(value):  # without a name, it is what several plugins have in common
                found[value.__name__] = value
    return list(found.values())


ARGUMENTS: dict[str, list[tuple[str, Json]]] = {
    "InterPodAffinity": [("heavy hard terms", {"hardPodAffinityWeight": 100})],
    "NodeAffinity": [
        (
            "added affinity",
            {
                "addedAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [node_term("disk NotIn hdd")]
                    },
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": 7, "preference": node_term("cores Exists")}
                    ],
                }
            },
        )
    ],
    "NodeLabel": [
        (
            "labels",
            {
                "presentLabels": ["disk"],
                "absentLabels": ["cores"],
                "presentLabelsPreference": ["cores", ZONE],
                "absentLabelsPreference": ["disk"],
            },
        )
    ],
    "NodeResourcesLeastAllocated": [("three resources", {"resources": [{"name": GPU, "weight": 2}, {"name": "cpu"}]})],
    "NodeResourcesMostAllocated": [
        ("two resources", {"resources": [{"name": "cpu", "weight": 1}, {"name": "memory"}]})
    ],
    "ServiceAffinity": [
        ("labels", {"affinityLabels": [ZONE, "disk"], "antiAffinityLabelsPreference": [ZONE, "disk", "cores"]})
    ],
    "NodeResourcesBalancedAllocation": [
        ("three resources", {"resources": [{"name": name, "weight": 1} for name in ("cpu", "memory", GPU)]})
    ],
    "NodeResourcesFit": [
        (
            "most allocated",
            {
                "ignoredResources": [GPU],
                "scoringStrategy": {
                    "type": "MostAllocated",
                    "resources": [{"name": "memory", "weight": 5}, {"name": GPU, "weight": 3}],
                },
            },
        ),
        (
            "requested to capacity",
            {
                "scoringStrategy": {
                    "type": "RequestedToCapacityRatio",
                    "resources": [{"name": "cpu", "weight": 2}, {"name": "ephemeral-storage", "weight": 1}],
                    "requestedToCapacityRatio": {
                        "shape": [{"utilization": 10, "score": 10}, {"utilization": 90, "score": 1}]
                    },
                }
            },
        ),
    ],
    "PodTopologySpread": [
        (
            "default constraints",
            {
                "defaultingType": "List",
                "defaultConstraints": [
                    {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"},
                    {"maxSkew": 2, "topologyKey": HOSTNAME, "whenUnsatisfiable": "ScheduleAnyway"},
                ],
            },
        )
    ],
}


REQUIRED: dict[str, Json] = {
    "NodeMetadata": {
        "metadataKey": "cores",
        "metadataSource": "Label",
        "metadataType": "Number",
        "scoringStrategy": "Highest",
    },
    "Peaks": {"WatcherAddress": "http://load-watcher:2020", "NodePowerModel": {"a": {"k0": 1, "k1": -2, "k2": -0.1}}},
    "RequestedToCapacityRatio": {
        "shape": [{"utilization": 0, "score": 0}, {"utilization": 80, "score": 10}],
        "resources": [{"name": "cpu", "weight": 3}, {"name": GPU, "weight": 500}],
    },
}
"""What plugins cannot do without."""

WEB = select(app="web")
DEMANDING = pod(
    "demanding",
    labels={"app": "web"},
    cpu="1",
    memory="1Gi",
    requests={GPU: "1"},
    image="app:v1",
    ports=["80"],
    nodes=[node_term("disk In ssd")],
    prefers_nodes=[(5, node_term("cores Gt 2"))],
    near=[pods_like(WEB)],
    far=[pods_like(WEB, HOSTNAME)],
    prefers_near=[(3, pods_like(WEB))],
    prefers_far=[(4, pods_like(WEB, HOSTNAME))],
    constraints=[spread(WEB), spread(WEB, HOSTNAME, hard=False), spread(WEB, hard=False)],
)


def create(plugin: type[AnyPlugin]) -> AnyPlugin:
    """The plugin with the arguments that it requires, else with its defaults."""
    try:
        return plugin(handle_for(plugin.name, REQUIRED.get(plugin.name)))
    except Exception as error:
        raise AssertionError(
            f"{plugin.name} cannot be created: {error}; arguments that it requires are named in REQUIRED"
        ) from error


def instances() -> list[Any]:
    """Every plugin with its default arguments, and with others where arguments change much."""
    found = [pytest.param(ShortNames(handle_for("ShortNames")), id="ShortNames from outside")]
    for derived in DERIVED:
        base = derived.__mro__[1].__name__
        found.append(pytest.param(derived(handle_for(base, REQUIRED.get(base))), id=f"{derived.name} on top of {base}"))
    for plugin in found_plugins():
        found.append(pytest.param(create(plugin), id=plugin.name))
        for what, args in ARGUMENTS.get(plugin.name, []):
            found.append(pytest.param(plugin(handle_for(plugin.name, args)), id=f"{plugin.name} with {what}"))
    return found


def with_storage(store: Store) -> GeneratedCluster:
    """Pods with claims: the first one waits, the others run on the first node."""
    waits, *others = store.pending
    runs = [replace(other, spec=replace(other.spec, node_name=store.nodes[0].name)) for other in others]
    return GeneratedCluster(store.nodes, runs, [waits], [*FIXED, *store.volumes, *store.claims])


SCENARIOS = scenarios(max_nodes=5, max_running=8) | stores().map(with_storage) | large_scenarios(120, 160)
PLUGINS = instances()
every_plugin = pytest.mark.parametrize("plugin", PLUGINS)
"""Given plugins outside of hypothesis: each runs all examples."""


def having(hook: str, *scopes: Scope) -> pytest.MarkDecorator:
    """Only the plugins that implement a hook, of these scopes (filter's or score's, all of them unless told)."""
    some = []
    for parameter in PLUGINS:
        plugin = parameter.values[0]
        if overrides(type(plugin), hook) and (not scopes or getattr(plugin, f"{hook}_scope") in scopes):
            some.append(parameter)
    return pytest.mark.parametrize("plugin", some)


# --- asking


def begin(plugin: AnyPlugin, pod: PodInfo, cluster: Cluster) -> Any:
    """PreFilter's state for Filter, or SKIP when Filter would not run."""
    if not overrides(type(plugin), "pre_filter"):
        return None
    outcome = plugin.pre_filter(pod, cluster)
    if isinstance(outcome, Status):
        return SKIP
    return outcome.state if isinstance(outcome, PreFilterResult) else outcome


def verdict(plugin: AnyPlugin, pod: PodInfo, view: NodeView, state: object) -> list[tuple[Any, ...]]:
    """What Filter says of each node of a view: reasons with their codes, in order."""
    found: list[list[tuple[str, bool]]] = [[] for _ in range(view.size)]
    for rejection in plugin.filter(pod, view, state):
        hopeless = np.broadcast_to(rejection.unresolvable, view.size)
        for place in np.flatnonzero(rejection.where):
            found[place].append((rejection.reason, bool(hopeless[place])))
    return [tuple(reasons) for reasons in found]


def filtered(
    plugin: AnyPlugin,
    pod: PodInfo,
    cluster: Cluster,
    rows: list[int] | None = None,
    change: PodDelta | None = None,
) -> list[tuple[Any, ...]]:
    state = begin(plugin, pod, cluster)
    where = None if rows is None else np.array(rows, np.intp)
    view = NodeView(cluster, where, change)
    return [()] * view.size if state is SKIP else verdict(plugin, pod, view, state)


def scored(
    plugin: AnyPlugin, pod: PodInfo, cluster: Cluster, rows: list[int] | None = None
) -> tuple[Int64Array, Int64Array] | None:
    """Raw and normalised scores; None when PreScore skips."""
    view = NodeView(cluster, None if rows is None else np.array(rows, np.intp))
    state = made(plugin, pod, cluster)
    if overrides(type(plugin), "pre_score"):
        state = plugin.pre_score(pod, view, state)
    if isinstance(state, Skip):
        return None
    raw = plugin.score(pod, view, state)
    if not overrides(type(plugin), "normalize"):
        return raw, raw
    kept = raw.copy()
    normalized = plugin.normalize(pod, view, state, raw)
    assert np.array_equal(raw, kept), "raw scores are not to be written over"
    return raw, normalized


def parts_of(thing: object) -> Iterable[object]:
    """What a container, or an object of ``kwhatif.cluster``, holds."""
    if isinstance(thing, dict):
        return thing.values()
    if isinstance(thing, list | tuple):
        return thing
    if not type(thing).__module__.startswith("kwhatif.cluster"):
        return ()
    if isinstance(thing, msgspec.Struct):
        cached = getattr(thing, "__dict__", {})
        return [*cached.values(), *(getattr(thing, name) for name in thing.__struct_fields__)]
    if hasattr(thing, "__dict__"):
        return list(vars(thing).values())
    return [getattr(thing, name) for name in getattr(type(thing), "__slots__", ()) if hasattr(thing, name)]


def arrays_of(thing: object, seen: set[int]) -> Iterator[np.ndarray]:
    """All arrays that can be reached from a cluster."""
    if isinstance(thing, np.ndarray):
        yield thing
    elif id(thing) not in seen:
        seen.add(id(thing))
        for part in parts_of(thing):
            yield from arrays_of(part, seen)


@contextmanager
def read_only(cluster: Cluster) -> Iterator[None]:
    """Nobody may write to the cluster's arrays, nor have written to them by other ways when this ends."""
    arrays = [array for array in arrays_of(cluster, set()) if array.flags.writeable]
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    try:
        yield
    finally:
        # Views may be written to no sooner than what they are views of.
        for array in sorted(arrays, key=lambda array: array.base is not None):
            array.flags.writeable = True
    for array, copy in zip(arrays, before, strict=True):
        assert np.array_equal(array, copy)


# --- who is there


def test_the_package_holds_the_plugins_of_the_registry_and_no_others() -> None:
    assert {plugin.name: plugin for plugin in found_plugins()} == {**IN_TREE, **OUT_OF_TREE, **LEGACY}


@pytest.mark.parametrize("plugin", [pytest.param(plugin, id=plugin.name) for plugin in found_plugins()])
def test_a_plugin_is_named_as_its_class_and_has_the_extension_points_of_upstream(
    plugin: type[AnyPlugin],
) -> None:
    assert plugin.name == plugin.__name__
    of_minors = (in_tree(features_of(minor)).points for minor in (*reversed(SUPPORTED_MINORS), LEGACY_MINOR))
    upstream = next(points[plugin.name] for points in of_minors if plugin.name in points)
    assert extension_points(plugin) == {point for point in upstream if point in HOOKS}


@every_plugin
def test_a_plugin_keeps_its_handle(plugin: AnyPlugin) -> None:
    assert isinstance(plugin.handle, Handle)


# --- filters

few = settings(max_examples=settings().max_examples // 5)


@having("filter")
@few
@given(scenario=SCENARIOS)
def test_masks_are_booleans_one_for_each_node(plugin: AnyPlugin, scenario: GeneratedCluster) -> None:
    cluster = scenario.cluster()
    info = cluster.shapes.info(scenario.pending[0])
    state = begin(plugin, info, cluster)
    for rows in (None, np.array([len(cluster) - 1], np.intp), np.zeros(0, np.intp)):
        view = NodeView(cluster, rows)
        for rejection in () if state is SKIP else plugin.filter(info, view, state):
            assert rejection.where.dtype == np.bool_
            assert rejection.where.shape == (view.size,)
            assert np.shape(rejection.unresolvable) in ((), (view.size,))
            assert rejection.reason
            for place in np.flatnonzero(rejection.where):
                assert rejection.detail is None or rejection.detail(int(place))


@having("filter", Scope.NODE, Scope.ROW)
@few
@given(scenario=SCENARIOS, data=st.data())
def test_scopes_node_and_row_say_the_same_of_a_node_whichever_others_are_asked_about(
    plugin: AnyPlugin, scenario: GeneratedCluster, data: st.DataObject
) -> None:
    cluster = scenario.cluster()
    rows = data.draw(st.lists(st.sampled_from(range(len(cluster))), unique=True))
    info = cluster.shapes.info(scenario.pending[0])
    everywhere = filtered(plugin, info, cluster)
    assert filtered(plugin, info, cluster, rows) == [everywhere[row] for row in rows]


@having("filter")
@few
@given(scenario=SCENARIOS)
def test_a_change_of_nothing_changes_no_answer(plugin: AnyPlugin, scenario: GeneratedCluster) -> None:
    cluster = scenario.cluster()
    info = cluster.shapes.info(scenario.pending[0])
    rows = list(range(len(cluster)))
    nobody = change_of(cluster, np.array(rows, np.intp), [[] for _ in rows], 1)
    still = PodDelta(cluster.shapes, np.zeros((len(rows), 2), np.intp), np.zeros((len(rows), 2), np.int64))
    for change in (nobody, still):
        assert filtered(plugin, info, cluster, rows, change) == filtered(plugin, info, cluster)


@having("filter", Scope.ROW, Scope.CLUSTER)
@few
@given(scenario=SCENARIOS, data=st.data())
def test_pods_imagined_away_are_as_good_as_gone(
    plugin: AnyPlugin, scenario: GeneratedCluster, data: st.DataObject
) -> None:
    """Row by row: each row imagines its own pods away and all others in place."""
    cluster = scenario.cluster()
    info = cluster.shapes.info(scenario.pending[0])
    rows = data.draw(st.lists(st.sampled_from(range(len(cluster))), min_size=1, unique=True))
    gone = [
        data.draw(st.lists(st.sampled_from(cluster.pods_on[row]), unique_by=lambda leaver: leaver.uid))
        if cluster.pods_on[row]
        else []
        for row in rows
    ]
    change = change_of(cluster, np.array(rows, np.intp), gone, -1)
    imagined = filtered(plugin, info, cluster, rows, change)
    for place, row in enumerate(rows):
        twin = cluster.fork()
        for leaver in gone[place]:
            twin.forget(leaver.uid)
        assert imagined[place] == filtered(plugin, info, twin, [row])[0]


@having("filter", Scope.ROW, Scope.CLUSTER)
@few
@given(scenario=SCENARIOS, data=st.data())
def test_pods_imagined_to_come_are_as_good_as_there(
    plugin: AnyPlugin, scenario: GeneratedCluster, data: st.DataObject
) -> None:
    """As for nominated pods, unless PreFilter found nothing to say before they came."""
    cluster = scenario.cluster()
    info, *others = [cluster.shapes.info(pending) for pending in scenario.pending]
    row = data.draw(st.sampled_from(range(len(cluster))))
    change = change_of(cluster, np.array([row], np.intp), [others], 1)
    imagined = filtered(plugin, info, cluster, [row], change)
    twin = cluster.fork()
    for comer in others:
        twin.assume(comer, row)
    if begin(plugin, info, cluster) is SKIP:
        assert imagined == [()]
    else:
        assert imagined == filtered(plugin, info, twin, [row])


# --- scores


@having("score")
@few
@given(scenario=SCENARIOS)
def test_scores_are_integers_one_for_each_node_and_normalised_ones_in_range(
    plugin: AnyPlugin, scenario: GeneratedCluster
) -> None:
    cluster = scenario.cluster()
    for pending in scenario.pending:
        found = scored(plugin, cluster.shapes.info(pending), cluster)
        if found is None:
            continue
        for scores in found:
            assert scores.dtype == np.int64
            assert scores.shape == (len(cluster),)
        assert found[1].min() >= 0
        assert found[1].max() <= MAX_SCORE


@having("score", Scope.NODE, Scope.ROW)
@few
@given(scenario=SCENARIOS, data=st.data())
def test_scopes_node_and_row_score_a_node_alike_whichever_others_are_scored(
    plugin: AnyPlugin, scenario: GeneratedCluster, data: st.DataObject
) -> None:
    cluster = scenario.cluster()
    rows = data.draw(st.lists(st.sampled_from(range(len(cluster))), min_size=1, unique=True))
    info = cluster.shapes.info(scenario.pending[0])
    everywhere, some = scored(plugin, info, cluster), scored(plugin, info, cluster, rows)
    assert (everywhere is None) == (some is None)
    if everywhere is not None and some is not None:
        assert some[0].tolist() == everywhere[0][rows].tolist()


@having("describe_score")
@few
@given(scenario=SCENARIOS)
def test_the_arithmetic_of_a_score_is_told_of_every_node(plugin: AnyPlugin, scenario: GeneratedCluster) -> None:
    cluster = scenario.cluster()
    info, view = cluster.shapes.info(scenario.pending[0]), NodeView(cluster, None)
    state = made(plugin, info, cluster)
    if overrides(type(plugin), "pre_score"):
        state = plugin.pre_score(info, view, state)
    if isinstance(state, Skip):
        return
    with read_only(cluster):
        told = [plugin.describe_score(info, view, place, state) for place in range(view.size)]
    assert all(told)
    assert all("\n" not in text for text in told)


# --- both


@every_plugin
@few
@given(scenario=SCENARIOS)
def test_a_plugin_writes_to_nothing_it_is_shown(plugin: AnyPlugin, scenario: GeneratedCluster) -> None:
    cluster = scenario.cluster()
    filters, scores = overrides(type(plugin), "filter"), overrides(type(plugin), "score")
    for pending in scenario.pending:
        info = cluster.shapes.info(pending)
        before = filtered(plugin, info, cluster) if filters else None
        first = scored(plugin, info, cluster) if scores else None
        with read_only(cluster):
            assert (filtered(plugin, info, cluster) if filters else None) == before
            again = scored(plugin, info, cluster) if scores else None
        assert (first is None) == (again is None)
        assert np.array_equal(first or (), again or ())


regardless_of_order = pytest.mark.parametrize(
    "plugin", [parameter for parameter in PLUGINS if parameter.values[0].name != "ServiceAffinity"]
)
"""ServiceAffinity goes by the first node that has a pod like the one in question."""


@regardless_of_order
@few
@given(scenario=SCENARIOS, data=st.data())
def test_the_order_of_the_nodes_does_not_matter(
    plugin: AnyPlugin, scenario: GeneratedCluster, data: st.DataObject
) -> None:
    nodes = data.draw(st.permutations(scenario.nodes))
    answers = []
    for cluster in (scenario.cluster(), cluster_of(nodes, scenario.running, scenario.objects)):
        info = cluster.shapes.info(scenario.pending[0])
        names = cluster.columns.names
        answer: dict[str, Any] = {}
        if overrides(type(plugin), "filter"):
            answer = dict(zip(names, filtered(plugin, info, cluster), strict=True))
        if overrides(type(plugin), "score"):
            found = scored(plugin, info, cluster)
            for name, *scores in zip(names, *found, strict=True) if found is not None else ():
                answer[f"score of {name}"] = scores
        answers.append(answer)
    assert answers[0] == answers[1]


@pytest.mark.parametrize("plugin", [p for p in PLUGINS if not p.values[0].depends_on_labels])
@few
@given(scenario=SCENARIOS)
def test_a_plugin_that_reads_no_labels_says_the_same_of_pods_that_differ_in_nothing_else(
    plugin: AnyPlugin, scenario: GeneratedCluster
) -> None:
    cluster, waiting = scenario.cluster(), scenario.pending[0]
    renamed = replace(waiting.metadata, labels={"app": "b", "else": "where"})
    one, other = (cluster.shapes.info(pod) for pod in (waiting, replace(waiting, metadata=renamed)))
    assert one.shape.template == other.shape.template
    assert plugin.applies_to(one) == plugin.applies_to(other)
    assert plugin.scopes(one) == plugin.scopes(other)
    if overrides(type(plugin), "filter") and plugin.filter_scope is not Scope.CLUSTER:
        assert filtered(plugin, one, cluster) == filtered(plugin, other, cluster)
    if overrides(type(plugin), "score") and plugin.score_scope is not Scope.CLUSTER:
        np.testing.assert_equal(scored(plugin, one, cluster), scored(plugin, other, cluster))


CHOOSY = [parameter for parameter in PLUGINS if overrides(type(parameter.values[0]), "applies_to")]
BY_NAME_ONLY = pod("by-name-only", spec={"volumes": [{"name": "kube-api-access-x7k2p", "projected": {}}]})


def test_some_plugins_concern_only_some_pods() -> None:
    names = {"DynamicResources", "GangScheduling", "NodeVolumeLimits", "SchedulingGates"}
    names |= {"VolumeBinding", "VolumeRestrictions", "VolumeZone"}
    names |= {"Coscheduling", "NetworkOverhead", "OwnGangs"}
    assert {parameter.values[0].name for parameter in CHOOSY} == names


@pytest.mark.parametrize("plugin", CHOOSY)
@few
@given(scenario=SCENARIOS)
def test_a_plugin_that_pods_do_not_concern_would_let_them_through(
    plugin: AnyPlugin, scenario: GeneratedCluster
) -> None:
    cluster = scenario.cluster()
    strangers = [
        info for each in (pod("plain"), BY_NAME_ONLY) if not plugin.applies_to(info := cluster.shapes.info(each))
    ]
    assert len(strangers) == 2, "the plainest pods"
    others = map(cluster.shapes.info, scenario.pending)
    for info in (*strangers, *(info for info in others if not plugin.applies_to(info))):
        for hook in ("pre_enqueue", "reserve", "pre_bind"):
            if overrides(type(plugin), hook):
                node = [] if hook == "pre_enqueue" else [cluster.columns.names[0], None]
                assert getattr(plugin, hook)(info, *node) is None
        if overrides(type(plugin), "pre_filter"):
            assert plugin.pre_filter(info, cluster) is SKIP
        if overrides(type(plugin), "score"):
            found = scored(plugin, info, cluster)
            assert found is None or not found[1].any()


@every_plugin
def test_a_cluster_without_nodes_has_no_answers_and_no_accidents(plugin: AnyPlugin) -> None:
    cluster = cluster_of([])
    for pending in (pod("plain"), DEMANDING):
        info = cluster.shapes.info(pending)
        if overrides(type(plugin), "filter"):
            assert filtered(plugin, info, cluster) == []
        if overrides(type(plugin), "score"):
            found = scored(plugin, info, cluster)
            assert found is None or all(scores.shape == (0,) for scores in found)
