from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import PodInfo
from kwhatif.errors import PluginError, UsageError
from kwhatif.framework.evaluation import Evaluation
from kwhatif.framework.interface import PostFilterResult, Scope
from kwhatif.framework.runner import Framework
from kwhatif.framework.status import SKIP, Code, Diagnosis, PermitWait, PreFilterResult, Rejection, Status
from tests.builders import cluster_of, node, pod
from tests.framework.plugins import AnyPlugin, Diary, Hook, framework_of, made_up

NODES = [node("a"), node("b"), node("c")]


@pytest.fixture
def cluster() -> Cluster:
    return cluster_of(NODES)


@pytest.fixture
def info(cluster: Cluster) -> PodInfo:
    return cluster.shapes.info(pod("web"))


def rejecting(reason: str, *places: int, hopeless: bool = False) -> Hook:
    """A filter hook that refuses these of three nodes."""

    def hook(pod: PodInfo, nodes: NodeView, state: object) -> Iterator[Rejection]:
        where = np.isin(np.arange(3) if nodes.rows is None else nodes.rows, places)
        yield Rejection(where, reason, hopeless)

    return hook


def scoring(*scores: int) -> Hook:
    """A score hook for three nodes."""
    return lambda pod, nodes, state: nodes.take_rows(np.array(scores, np.int64))


def begun(framework: Framework, cluster: Cluster, info: PodInfo) -> Evaluation:
    evaluation = Evaluation(framework, cluster, info)
    evaluation.begin(info)
    return evaluation


# --- which plugins run where


def test_a_plugin_is_asked_only_for_hooks_it_has() -> None:
    framework = framework_of(
        [made_up("Filters", filter=rejecting("no")), made_up("Scores", score=scoring(1, 2, 3)), made_up("Idle")]
    )
    assert [plugin.name for plugin in framework.filters] == ["Filters"]
    assert [(plugin.name, weight) for plugin, weight in framework.scorers] == [("Scores", 1)]
    assert framework.pre_filters == []
    assert [plugin.name for plugin in framework.all_plugins] == ["Filters", "Scores"]


def test_each_extension_point_has_an_order_of_its_own() -> None:
    both = [made_up(name, filter=rejecting("no"), score=scoring(0, 0, 0)) for name in ("One", "Two")]
    framework = framework_of(both, points={"score": ["Two", "One"]})
    assert [plugin.name for plugin in framework.filters] == ["One", "Two"]
    assert [plugin.name for plugin, _ in framework.scorers] == ["Two", "One"]


# --- the queue


def test_the_first_refusal_keeps_a_pod_out_of_the_queue(info: PodInfo) -> None:
    diary = Diary()
    framework = framework_of(
        [
            made_up("Content", pre_enqueue=diary("content")),
            made_up("Strict", pre_enqueue=diary("strict", Status.unresolvable("not yet"))),
            made_up("Last", pre_enqueue=diary("last")),
        ]
    )
    assert framework.pre_enqueue(info) == Status(Code.UNRESOLVABLE, ("not yet",), "Strict")
    assert diary.entries == ["content", "strict"]


def test_the_queue_is_sorted_by_the_plugin_that_sorts_it(info: PodInfo) -> None:
    framework = framework_of([made_up("Sorter", queue_key=lambda pod, order: (pod.key, -order))])
    assert framework.queue_key(info, 3) == ("default/web", -3)


# --- filters


def test_the_first_plugin_in_order_names_the_node(cluster: Cluster, info: PodInfo) -> None:
    plugins = [
        made_up("Row", scope=Scope.ROW, filter=rejecting("row", 0, 1)),
        made_up("Cluster", scope=Scope.CLUSTER, filter=rejecting("cluster", 0, 1, 2)),
        made_up("Node", scope=Scope.NODE, filter=rejecting("node", 0, hopeless=True)),
    ]
    verdicts = begun(framework_of(plugins), cluster, info).verdicts(info)
    assert [verdicts.status(row) for row in range(3)] == [
        Status(Code.UNSCHEDULABLE, ("row",), "Row"),
        Status(Code.UNSCHEDULABLE, ("row",), "Row"),
        Status(Code.UNSCHEDULABLE, ("cluster",), "Cluster"),
    ]
    turned = framework_of(plugins[::-1])
    assert begun(turned, cluster, info).verdicts(info).status(0) == Status(Code.UNRESOLVABLE, ("node",), "Node")


@pytest.mark.parametrize("scope", list(Scope))
def test_prefilter_hands_its_state_to_filter_or_leaves_it_out(cluster: Cluster, info: PodInfo, scope: Scope) -> None:
    def filter_by_state(pod: PodInfo, nodes: NodeView, state: Any) -> Iterator[Rejection]:
        yield Rejection(np.full(nodes.size, state == "refuse"), "told so")

    for answer, passes in (("refuse", False), ("admit", True), (SKIP, True), (None, True)):
        plugin = made_up("Told", scope=scope, pre_filter=lambda *_, a=answer: a, filter=filter_by_state)
        assert begun(framework_of([plugin]), cluster, info).passing(info).tolist() == [passes] * 3


@pytest.mark.parametrize(
    ("answers", "refusal", "narrowed"),
    [
        pytest.param([None, None], None, None, id="nobody objects"),
        pytest.param([PreFilterResult(frozenset("ab")), None], None, [0, 1], id="one narrows the choice"),
        pytest.param(
            [PreFilterResult(frozenset("ab")), PreFilterResult(frozenset("bc"))],
            None,
            [1],
            id="two leave what both admit",
        ),
        pytest.param([PreFilterResult(frozenset("az"))], None, [0], id="nodes that are not there do not count"),
        pytest.param([PreFilterResult(frozenset("z"))], None, [], id="even if none is left"),
        pytest.param(
            [PreFilterResult(frozenset())],
            Status(Code.UNRESOLVABLE, ("node(s) didn't satisfy plugin P0",)),
            None,
            id="one may leave no name at all",
        ),
        pytest.param(
            [PreFilterResult(frozenset("a")), PreFilterResult(frozenset("b"))],
            Status(Code.UNRESOLVABLE, ("node(s) didn't satisfy plugin(s) [P0 P1] simultaneously",)),
            None,
            id="or two together",
        ),
        pytest.param(
            [Status.unschedulable("later"), None],
            Status(Code.UNSCHEDULABLE, ("later",), "P0"),
            None,
            id="a refusal stands",
        ),
        pytest.param(
            [Status.unschedulable("later"), Status.unresolvable("never"), Status.unschedulable("unheard")],
            Status(Code.UNRESOLVABLE, ("never",), "P1"),
            None,
            id="until a stronger one ends it",
        ),
        pytest.param(
            [Status.unschedulable("later"), Status.unschedulable("later still")],
            Status(Code.UNSCHEDULABLE, ("later still",), "P1"),
            None,
            id="the last of equal ones is told",
        ),
    ],
)
def test_what_prefilter_plugins_say_together(
    cluster: Cluster, info: PodInfo, answers: list[Any], refusal: Status | None, narrowed: list[int] | None
) -> None:
    plugins = [made_up(f"P{i}", pre_filter=lambda *_, a=answer: a) for i, answer in enumerate(answers)]
    evaluation = begun(framework_of(plugins), cluster, info)
    assert evaluation.refusal == refusal
    if refusal is None:
        assert (evaluation.narrowed is None) == (narrowed is None)
        assert narrowed is None or (evaluation.narrowed is not None and evaluation.narrowed.tolist() == narrowed)


@pytest.mark.parametrize("scope", list(Scope))
def test_the_filter_of_a_plugin_that_refused_is_not_asked(cluster: Cluster, info: PodInfo, scope: Scope) -> None:
    diary = Diary()
    plugin = made_up("No", scope=scope, pre_filter=lambda *_: Status.unschedulable("no"), filter=diary("filter", ()))
    evaluation = begun(framework_of([plugin]), cluster, info)
    assert evaluation.refusal == Status(Code.UNSCHEDULABLE, ("no",), "No")
    assert evaluation.verdicts(info).feasible.all()
    assert diary.entries == []


# --- scores


def test_scores_are_normalised_weighed_and_added(cluster: Cluster, info: PodInfo) -> None:
    plugins = [
        made_up("Plain", score=scoring(10, 20, 30)),
        made_up("Halved", score=scoring(200, 100, 0), normalize=lambda pod, nodes, state, raw: raw // 2),
        made_up("Absent", pre_score=lambda *_: SKIP, score=scoring(1, 1, 1)),
    ]
    framework = framework_of(plugins, {"Plain": 3})
    evaluation = begun(framework, cluster, info)
    rows = np.array([0, 2], np.intp)
    plain, halved = evaluation.scores(info, rows)
    assert (plain.plugin, plain.weight, plain.weighted_score.tolist()) == ("Plain", 3, [30, 90])
    assert (halved.raw.tolist(), halved.normalized.tolist()) == ([200, 0], [100, 0])
    assert evaluation.totals(info, rows).tolist() == [130, 90]


@pytest.mark.parametrize("scope", list(Scope))
@pytest.mark.parametrize(
    ("scores", "worst"), [((0, 101, 5), 101), ((-1, 50, 100), -1)], ids=["too much", "less than nothing"]
)
def test_scores_out_of_range_name_the_plugin(
    cluster: Cluster, info: PodInfo, scope: Scope, scores: tuple[int, ...], worst: int
) -> None:
    framework = framework_of([made_up("Wild", scope=scope, score=scoring(*scores))])
    text = f"plugin Wild: score: returns an invalid score {worst}, it should be in the range of \\[0, 100\\]"
    with pytest.raises(PluginError, match=text):
        begun(framework, cluster, info).totals(info, np.arange(3))


def test_normalized_scores_are_whole_numbers_one_for_each_node(cluster: Cluster, info: PodInfo) -> None:
    halved = made_up("Halved", score=scoring(200, 100, 0), normalize=lambda pod, nodes, state, raw: raw / 2)
    text = "plugin Halved: normalize: returns float64\\[3\\], it should be int64\\[3\\]"
    with pytest.raises(PluginError, match=text):
        begun(framework_of([halved]), cluster, info).totals(info, np.arange(3))


def test_normalising_may_bring_scores_into_range(cluster: Cluster, info: PodInfo) -> None:
    tame = made_up("Tame", score=scoring(-500, 0, 500), normalize=lambda pod, nodes, state, raw: raw // 10 + 50)
    assert begun(framework_of([tame]), cluster, info).totals(info, np.arange(3)).tolist() == [0, 50, 100]


# --- whose business a pod is


def test_a_plugin_is_asked_once_a_shape_whether_it_concerns_it_and_if_not_it_is_left_alone(
    cluster: Cluster, info: PodInfo
) -> None:
    diary = Diary()
    hooks = ("pre_enqueue", "pre_filter", "filter", "pre_score", "score", "reserve", "unreserve", "pre_bind")
    plugin = made_up(
        "Choosy", scope=Scope.CLUSTER, applies_to=diary("asked", False), **{hook: diary(hook) for hook in hooks}
    )
    framework = framework_of([plugin, made_up("Other", reserve=diary("other"))])
    for _ in range(2):
        assert framework.pre_enqueue(info) is None
        evaluation = begun(framework, cluster, info)
        assert evaluation.passing(info).all()
        assert evaluation.verdicts(info).feasible.all()
        assert not evaluation.totals(info, np.arange(3)).any()
        assert framework.reserve(info, "a", {}) is None
        framework.unreserve(info, "a", {})
        assert framework.bind(info, "a", {}) is None
    assert diary.entries == ["asked", "other", "other"]


# --- accidents


def failing(*_: object) -> Any:
    raise LookupError("lost it")


HOOK_CALLS: dict[str, Any] = {
    "pre_enqueue": lambda f, c, i: f.pre_enqueue(i),
    "queue_key": lambda f, c, i: f.queue_key(i, 0),
    "pre_filter": lambda f, c, i: begun(f, c, i),
    "filter": lambda f, c, i: begun(f, c, i).passing(i),
    "post_filter": lambda f, c, i: f.post_filter(i, Diagnosis(c, begun(f, c, i))),
    "pre_score": lambda f, c, i: begun(f, c, i).totals(i, np.arange(3)),
    "score": lambda f, c, i: begun(f, c, i).totals(i, np.arange(3)),
    "normalize": lambda f, c, i: begun(f, c, i).totals(i, np.arange(3)),
    "reserve": lambda f, c, i: f.reserve(i, "a", {}),
    "unreserve": lambda f, c, i: f.unreserve(i, "a", {}),
    "permit": lambda f, c, i: f.permit(i, "a", {}),
    "pre_bind": lambda f, c, i: f.bind(i, "a", {}),
    "bind": lambda f, c, i: f.bind(i, "a", {}),
    "post_bind": lambda f, c, i: f.bind(i, "a", {}),
}


@pytest.mark.parametrize("hook", HOOK_CALLS)
@pytest.mark.parametrize("scope", list(Scope))
def test_a_hook_that_fails_is_named_with_plugin_and_pod(
    cluster: Cluster, info: PodInfo, hook: str, scope: Scope
) -> None:
    rest = {"score": scoring(1, 2, 3)} if hook in ("pre_score", "normalize") else {}
    framework = framework_of([made_up("Clumsy", scope=scope, **{**rest, hook: failing})])
    with pytest.raises(PluginError) as caught:
        HOOK_CALLS[hook](framework, cluster, info)
    assert str(caught.value) == f"plugin Clumsy: {hook} for pod default/web: LookupError: lost it"
    assert isinstance(caught.value.__cause__, LookupError)


def test_errors_that_say_enough_pass_as_they_are(cluster: Cluster, info: PodInfo) -> None:
    def explains(*_: object) -> Any:
        raise UsageError("no such file")

    framework = framework_of([made_up("Clear", pre_enqueue=explains, filter=explains)])
    with pytest.raises(UsageError, match="no such file"):
        framework.pre_enqueue(info)
    with pytest.raises(UsageError, match="no such file"):
        begun(framework, cluster, info).passing(info)


# --- making room


@pytest.mark.parametrize(
    ("answers", "asked", "expected"),
    [
        pytest.param(
            [Status.unschedulable("one"), Status.unschedulable("two")],
            2,
            PostFilterResult(Status(Code.UNSCHEDULABLE, ("one", "two")), preemption="not tried"),
            id="refusals add up",
        ),
        pytest.param(
            [Status.unschedulable("one"), None], 2, PostFilterResult(None, "a"), id="a success ends the search"
        ),
        pytest.param(
            [Status.unresolvable("stop"), None],
            1,
            PostFilterResult(Status.unresolvable("stop"), "a"),
            id="so does despair",
        ),
        pytest.param(
            [Status.error("broken"), None], 1, PostFilterResult(Status.error("broken"), "a"), id="and an error"
        ),
        pytest.param(
            [],
            0,
            PostFilterResult(Status(Code.UNSCHEDULABLE), preemption="not tried", keeps_nomination=False),
            id="nobody to ask",
        ),
    ],
)
def test_making_room(
    cluster: Cluster, info: PodInfo, answers: list[Status | None], asked: int, expected: PostFilterResult
) -> None:
    diary = Diary()
    plugins = [
        made_up(f"P{i}", post_filter=diary(f"P{i}", PostFilterResult(answer, "a"))) for i, answer in enumerate(answers)
    ]
    framework = framework_of(plugins)
    diagnosis = Diagnosis(cluster, begun(framework, cluster, info))
    assert framework.post_filter(info, diagnosis) == expected
    assert len(diary.entries) == asked


# --- reserving, permitting, binding


def test_a_refused_reservation_gives_everything_back_in_reverse(info: PodInfo) -> None:
    diary = Diary()

    def reserving(name: str, answer: Status | None = None) -> type[AnyPlugin]:
        return made_up(name, reserve=diary(f"reserve {name}", answer), unreserve=diary(f"unreserve {name}"))

    framework = framework_of(
        [
            reserving("One"),
            made_up("Half", reserve=diary("reserve Half")),
            reserving("Two", Status.unschedulable("taken")),
            reserving("Three"),
        ]
    )
    assert framework.reserve(info, "a", {}) == Status(Code.UNSCHEDULABLE, ("taken",), "Two")
    assert diary.entries == [
        "reserve One",
        "reserve Half",
        "reserve Two",
        "unreserve Three",
        "unreserve Two",
        "unreserve One",
    ]


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        pytest.param([None, None], None, id="all approve"),
        pytest.param([PermitWait(5), None], {"P0": 5.0}, id="one wants to wait"),
        pytest.param([PermitWait(5), PermitWait(2)], {"P0": 5.0, "P1": 2.0}, id="two want to wait"),
        pytest.param([PermitWait(7200)], {"P0": 900.0}, id="nobody waits for more than a quarter of an hour"),
        pytest.param(
            [PermitWait(5), Status.unschedulable("no")],
            Status(Code.UNSCHEDULABLE, ("no",), "P1"),
            id="a denial ends the wait",
        ),
        pytest.param(
            [Status.unschedulable("no"), Status.unschedulable("no, too")],
            Status(Code.UNSCHEDULABLE, ("no",), "P0"),
            id="the first denial counts",
        ),
    ],
)
def test_permits(info: PodInfo, answers: list[Any], expected: object) -> None:
    plugins = [made_up(f"P{i}", permit=lambda *_, a=answer: a) for i, answer in enumerate(answers)]
    assert framework_of(plugins).permit(info, "a", {}) == expected


@pytest.mark.parametrize(
    ("answers", "expected", "entries"),
    [
        pytest.param({}, None, ["pre", "first", "post"], id="the first binder binds"),
        pytest.param({"first": SKIP}, None, ["pre", "first", "second", "post"], id="or leaves it to the next"),
        pytest.param(
            {"pre": Status.error("no volume")},
            Status(Code.ERROR, ('running PreBind plugin "Pre": no volume',), "Pre"),
            ["pre"],
            id="PreBind may fail",
        ),
        pytest.param(
            {"first": Status.error("no server")},
            Status(Code.ERROR, ('running Bind plugin "First": no server',), "First"),
            ["pre", "first"],
            id="so may a binder",
        ),
        pytest.param(
            {"pre": Status.unschedulable("no room")},
            Status(Code.UNSCHEDULABLE, ("no room",), "Pre"),
            ["pre"],
            id="a refusal is no failure",
        ),
    ],
)
def test_binding(info: PodInfo, answers: dict[str, Any], expected: Status | None, entries: list[str]) -> None:
    diary = Diary()
    framework = framework_of(
        [
            made_up("Pre", pre_bind=diary("pre", answers.get("pre"))),
            made_up("First", bind=diary("first", answers.get("first"))),
            made_up("Second", bind=diary("second")),
            made_up("Post", post_bind=diary("post")),
        ]
    )
    assert framework.bind(info, "a", {}) == expected
    assert diary.entries == entries
