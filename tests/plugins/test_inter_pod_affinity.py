from __future__ import annotations

from typing import Any

import pytest

from kwhatif.api.core import Pod
from kwhatif.framework.interface import ClusterEvent, EventOccurrence
from kwhatif.framework.status import SKIP
from tests.asking import EVICTION_MIGHT_HELP, HOPELESS, details, pre_filter, refusals, refused, scores
from tests.asking import raw_scores as raw
from tests.builders import (
    HOSTNAME,
    ZONE,
    Json,
    cluster_of,
    namespace,
    node,
    plugin_of,
    pod,
    pods_like,
    pods_on,
    select,
)

NAME = "InterPodAffinity"
AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules"

# Two nodes in zone z0, one in z1, and one that nobody gave a zone.
NODES = [node("a0", zone="z0"), node("a1", zone="z0"), node("b", zone="z1"), node("lost")]
EVERYWHERE = {"a0", "a1", "b", "lost"}
NAMESPACES = [namespace("default"), namespace("blue", env="dev"), namespace("red", env="prod")]

WEB = {"app": "web"}
LIKE_WEB = pods_like(select(app="web"))
FRIENDS = select(role="friend")
WEB_ON_A0 = pod("web", on="a0", labels=WEB)


def like(selector: Json | None, by: str = ZONE, **more: Any) -> Json:
    return pods_like(selector, by, **more)


@pytest.mark.parametrize(
    ("near", "labels", "running", "fits"),
    [
        pytest.param([LIKE_WEB], None, [WEB_ON_A0], {"a0", "a1"}, id="all nodes of the domain are near enough"),
        pytest.param([like(select(app="web"), HOSTNAME)], None, [WEB_ON_A0], {"a0"}, id="a host is a domain, too"),
        pytest.param([LIKE_WEB], None, [], set(), id="nobody is there to be near to"),
        pytest.param(
            [LIKE_WEB], WEB, [], {"a0", "a1", "b"}, id="the first of a group may go wherever there is a domain"
        ),
        pytest.param([LIKE_WEB], WEB, [WEB_ON_A0], {"a0", "a1"}, id="the second may not"),
        pytest.param(
            [LIKE_WEB],
            WEB,
            [pod("web", on="lost", labels=WEB)],
            {"a0", "a1", "b"},
            id="a pod outside of all domains does not make a group",
        ),
        pytest.param(
            [LIKE_WEB, like(select(tier="x"), HOSTNAME)],
            None,
            [WEB_ON_A0, pod("tier", on="a0", labels={"tier": "x"})],
            set(),
            id="one pod has to be what all terms are about",
        ),
        pytest.param(
            [LIKE_WEB, like(select(tier="x"), HOSTNAME)],
            None,
            [pod("both", on="a0", labels={**WEB, "tier": "x"})],
            {"a0"},
            id="and near in every way",
        ),
        pytest.param(
            [LIKE_WEB, like(select(app="web"), "rack")],
            None,
            [WEB_ON_A0],
            set(),
            id="a node needs the labels of all terms",
        ),
        pytest.param(
            [LIKE_WEB],
            None,
            [pod("web", on="a0", labels=WEB, terminating=True)],
            {"a0", "a1"},
            id="pods on their way out still count",
        ),
        pytest.param([like(None)], WEB, [WEB_ON_A0], set(), id="no selector selects nobody"),
        pytest.param([like(select())], None, [pod("any", on="b")], {"b"}, id="an empty selector selects everybody"),
        pytest.param(
            [like(select("app NotIn db"))], None, [pod("any", on="b")], {"b"}, id="expressions work as in selectors"
        ),
    ],
)
def test_required_affinity(near: list[Json], labels: dict[str, str] | None, running: list[Pod], fits: set[str]) -> None:
    found = refusals(plugin_of(NAME), pod(near=near, labels=labels), cluster_of(NODES, running))
    assert found == dict.fromkeys(EVERYWHERE - fits, (HOPELESS, (AFFINITY,)))


@pytest.mark.parametrize(
    ("term", "home", "meets"),
    [
        pytest.param(like(FRIENDS), "default", True, id="a term means its own namespace"),
        pytest.param(like(FRIENDS), "blue", False, id="and no other"),
        pytest.param(like(FRIENDS, namespaces=["blue"]), "blue", True, id="unless it names others"),
        pytest.param(like(FRIENDS, namespaces=["blue"]), "default", False, id="then no longer its own"),
        pytest.param(like(FRIENDS, namespace_selector=select(env="dev")), "blue", True, id="or selects some"),
        pytest.param(like(FRIENDS, namespace_selector=select(env="dev")), "red", False, id="not all"),
        pytest.param(like(FRIENDS, namespace_selector=select()), "red", True, id="or every one"),
        pytest.param(
            like(FRIENDS, namespaces=["red"], namespace_selector=select(env="dev")),
            "red",
            True,
            id="or does both",
        ),
        pytest.param(
            like(FRIENDS, namespace_selector=select("env NotIn prod")),
            "red",
            True,
            id="a selector that admits namespaces without labels admits every one",
        ),
        pytest.param(
            like(FRIENDS, namespace_selector=select("env DoesNotExist")), "red", True, id="however it says so"
        ),
    ],
)
def test_namespaces_of_the_pods_own_terms(term: Json, home: str, meets: bool) -> None:
    cluster = cluster_of(NODES, [pod("other", namespace=home, on="b", labels={"role": "friend"})], NAMESPACES)
    plugin = plugin_of(NAME)
    assert refused(plugin, pod(far=[term]), cluster) == ({"b"} if meets else set())
    assert refused(plugin, pod(near=[term]), cluster) == EVERYWHERE - ({"b"} if meets else set())


@pytest.mark.parametrize(
    ("term", "home", "meets"),
    [
        pytest.param(like(select()), "default", True, id="its own namespace"),
        pytest.param(like(select()), "red", False, id="not another one"),
        pytest.param(like(select(), namespaces=["red"]), "red", True, id="one it names"),
        pytest.param(like(select(), namespace_selector=select(env="dev")), "blue", True, id="one it selects"),
        pytest.param(
            like(select(), namespace_selector=select("env NotIn prod")),
            "red",
            False,
            id="here the namespace's labels are looked at",
        ),
        pytest.param(
            like(select(), namespace_selector=select("env NotIn prod")),
            "unheard-of",
            True,
            id="a namespace that is not there has none",
        ),
    ],
)
def test_namespaces_of_other_pods_terms(term: Json, home: str, meets: bool) -> None:
    cluster = cluster_of(NODES, [pod("grumpy", on="b", far=[term])], NAMESPACES)
    assert refused(plugin_of(NAME), pod(namespace=home), cluster) == ({"b"} if meets else set())


@pytest.mark.parametrize(
    ("far", "running", "refuses"),
    [
        pytest.param([LIKE_WEB], [WEB_ON_A0], {"a0", "a1"}, id="the whole domain is too near"),
        pytest.param([like(select(app="web"), HOSTNAME)], [WEB_ON_A0], {"a0"}, id="or the host alone"),
        pytest.param(
            [LIKE_WEB], [pod("web", on="lost", labels=WEB)], set(), id="who is in no domain is near to nobody"
        ),
        pytest.param([like(select(app="web"), "rack")], [WEB_ON_A0], set(), id="nor is a label nobody has"),
        pytest.param(
            [LIKE_WEB, like(select(tier="x"))],
            [WEB_ON_A0, pod("tier", on="b", labels={"tier": "x"})],
            {"a0", "a1", "b"},
            id="each term stands for itself",
        ),
        pytest.param(
            [LIKE_WEB],
            [pod("web", on="a0", labels=WEB, terminating=True)],
            {"a0", "a1"},
            id="pods on their way out still count",
        ),
        pytest.param([like(None)], [WEB_ON_A0], set(), id="no selector selects nobody"),
    ],
)
def test_required_anti_affinity(far: list[Json], running: list[Pod], refuses: set[str]) -> None:
    found = refusals(plugin_of(NAME), pod(far=far), cluster_of(NODES, running))
    assert found == dict.fromkeys(refuses, (EVICTION_MIGHT_HELP, (ANTI_AFFINITY,)))


@pytest.mark.parametrize(
    ("labels", "refuses"),
    [
        pytest.param(WEB, {"a0", "a1"}, id="those it does not want near"),
        pytest.param({"app": "db"}, set(), id="nobody else"),
        pytest.param(None, set(), id="least of all pods without labels"),
    ],
)
def test_a_pod_that_runs_keeps_others_out_of_its_domain(labels: dict[str, str] | None, refuses: set[str]) -> None:
    cluster = cluster_of(NODES, [pod("grumpy", on="a1", far=[LIKE_WEB])])
    found = refusals(plugin_of(NAME), pod(labels=labels), cluster)
    assert found == dict.fromkeys(refuses, (EVICTION_MIGHT_HELP, (EXISTING,)))


def test_a_node_is_refused_for_one_reason_at_a_time() -> None:
    running = [
        pod("web", on="a0", labels=WEB),
        pod("grumpy-a", on="a0", far=[LIKE_WEB]),
        pod("db", on="b", labels={"app": "db"}),
        pod("grumpy-b", on="b", far=[LIKE_WEB]),
    ]
    waiting = pod(labels=WEB, near=[like(select("app Exists"))], far=[like(select(app="db"))])
    assert refusals(plugin_of(NAME), waiting, cluster_of(NODES, running)) == {
        "lost": (HOPELESS, (AFFINITY,)),
        "b": (EVICTION_MIGHT_HELP, (ANTI_AFFINITY,)),
        "a0": (EVICTION_MIGHT_HELP, (EXISTING,)),
        "a1": (EVICTION_MIGHT_HELP, (EXISTING,)),
    }


def test_where_nobody_has_a_say_the_filter_is_skipped() -> None:
    plugin = plugin_of(NAME)
    elsewhere = pod("elsewhere", on="lost", far=[LIKE_WEB])
    for running in ([], [WEB_ON_A0], [elsewhere]):
        cluster = cluster_of(NODES, running)
        assert pre_filter(plugin, cluster.shapes.info(pod(labels=WEB)), cluster) is SKIP


def test_anti_affinity_of_pods_that_only_wait_is_not_heard_of() -> None:
    plugin, cluster = plugin_of(NAME), cluster_of(NODES)
    grumpy = cluster.shapes.info(pod("grumpy", far=[LIKE_WEB]))
    web = cluster.shapes.info(pod(labels=WEB))
    assert pre_filter(plugin, web, cluster) is SKIP
    cluster.assume(grumpy, 0)
    assert pre_filter(plugin, web, cluster) is not SKIP
    cluster.forget(grumpy.uid)
    assert pre_filter(plugin, web, cluster) is SKIP


# --- details


@pytest.mark.parametrize(
    ("kind", "running", "place", "texts"),
    [
        pytest.param(
            {"near": [LIKE_WEB]},
            [WEB_ON_A0],
            "b",
            [f"no pod matching app=web in {ZONE} z1"],
            id="whom it misses",
        ),
        pytest.param(
            {"near": [LIKE_WEB]}, [WEB_ON_A0], "lost", [f"node has no label {ZONE}"], id="what the node lacks"
        ),
        pytest.param(
            {"near": [LIKE_WEB, like(select("tier In x y"), HOSTNAME)]},
            [],
            "b",
            [f"no pod matching app=web in {ZONE} z1; no pod matching tier in (x,y) in {HOSTNAME} b"],
            id="term by term",
        ),
        pytest.param(
            {"far": [LIKE_WEB]},
            [WEB_ON_A0],
            "a1",
            [f"1 pod it must not be near in {ZONE} z0"],
            id="whom it has to avoid",
        ),
        pytest.param(
            {"far": [LIKE_WEB]},
            pods_on({"a0": 2, "a1": 1}, labels=WEB),
            "a1",
            [f"3 pods it must not be near in {ZONE} z0"],
            id="how many",
        ),
        pytest.param(
            {"labels": WEB},
            [pod("grumpy", on="a0", far=[LIKE_WEB])],
            "a1",
            [f"1 pod it must not be near in {ZONE} z0"],
            id="who avoids it",
        ),
    ],
)
def test_details(kind: dict[str, Any], running: list[Pod], place: str, texts: list[str]) -> None:
    assert details(plugin_of(NAME), pod(**kind), cluster_of(NODES, running), place) == texts


# --- what may help a pod that waits


@pytest.mark.parametrize(
    ("kind", "other", "event", "helps"),
    [
        pytest.param({"near": [LIKE_WEB]}, {"labels": WEB}, ClusterEvent.POD_ADDED, True, id="a friend comes"),
        pytest.param({"near": [LIKE_WEB]}, {}, ClusterEvent.POD_ADDED, False, id="a stranger comes"),
        pytest.param({"far": [LIKE_WEB]}, {"labels": WEB}, ClusterEvent.POD_ADDED, False, id="an enemy comes"),
        pytest.param({"far": [LIKE_WEB]}, {"labels": WEB}, ClusterEvent.POD_DELETED, True, id="an enemy goes"),
        pytest.param({"far": [LIKE_WEB]}, {}, ClusterEvent.POD_DELETED, False, id="a stranger goes"),
        pytest.param(
            {"labels": WEB}, {"far": [LIKE_WEB]}, ClusterEvent.POD_DELETED, True, id="somebody unfriendly goes"
        ),
        pytest.param({"near": [LIKE_WEB]}, None, ClusterEvent.POD_DELETED, False, id="nobody goes"),
    ],
)
def test_hints(kind: dict[str, Any], other: dict[str, Any] | None, event: ClusterEvent, helps: bool) -> None:
    cluster = cluster_of(NODES)
    about = None if other is None else cluster.shapes.info(pod("other", **other))
    happening = EventOccurrence(event, cluster, about)
    assert plugin_of(NAME).queueing_hints[event](cluster.shapes.info(pod(**kind)), happening) is helps


# --- scores

LIKE_DB = like(select(app="db"))


@pytest.mark.parametrize(
    ("kind", "running", "sums", "normalised"),
    [
        pytest.param(
            {"prefers_near": [(10, LIKE_WEB)]},
            pods_on({"a0": 2, "b": 1}, labels=WEB),
            (20, 20, 10, 0),
            (100, 100, 50, 0),
            id="every pod in the domain adds the weight",
        ),
        pytest.param(
            {"prefers_far": [(10, LIKE_WEB)]},
            pods_on({"a0": 2, "b": 1}, labels=WEB),
            (-20, -20, -10, 0),
            (0, 0, 50, 100),
            id="or takes it away",
        ),
        pytest.param(
            {"prefers_near": [(10, LIKE_WEB), (5, like(select(app="web"), HOSTNAME))]},
            pods_on({"a0": 1}, labels=WEB),
            (15, 10, 0, 0),
            (100, 66, 0, 0),
            id="topologies add up, shares are truncated",
        ),
        pytest.param(
            {"prefers_near": [(10, LIKE_WEB)], "prefers_far": [(10, LIKE_WEB)]},
            pods_on({"a0": 1}, labels=WEB),
            (0, 0, 0, 0),
            (0, 0, 0, 0),
            id="wishes may cancel out",
        ),
        pytest.param(
            {"labels": WEB},
            [pod("friend", on="b", prefers_near=[(7, LIKE_WEB)])],
            (0, 0, 7, 0),
            (0, 0, 100, 0),
            id="pods that run have wishes, too",
        ),
        pytest.param(
            {"labels": WEB},
            [pod("loner", on="b", prefers_far=[(7, LIKE_WEB)])],
            (0, 0, -7, 0),
            (100, 100, 0, 100),
            id="and dislikes",
        ),
        pytest.param(
            {"labels": WEB},
            [pod("bound", on="b", near=[LIKE_WEB])],
            (0, 0, 1, 0),
            (0, 0, 100, 0),
            id="what they require counts one",
        ),
        pytest.param(
            {"labels": WEB, "prefers_near": [(2, LIKE_DB)]},
            [pod("db", on="b", labels={"app": "db"}, prefers_near=[(3, LIKE_WEB)], near=[LIKE_WEB])],
            (0, 0, 6, 0),
            (0, 0, 100, 0),
            id="mutual wishes add up",
        ),
        pytest.param(
            {"prefers_near": [(10, LIKE_WEB)]},
            [pod("web", on="lost", labels=WEB)],
            (0, 0, 0, 0),
            (0, 0, 0, 0),
            id="outside of all domains nobody counts",
        ),
    ],
)
def test_scores(kind: dict[str, Any], running: list[Pod], sums: tuple[int, ...], normalised: tuple[int, ...]) -> None:
    cluster, plugin = cluster_of(NODES, running), plugin_of(NAME)
    names = ("a0", "a1", "b", "lost")
    assert raw(plugin, pod(**kind), cluster) == dict(zip(names, sums, strict=True))
    assert scores(plugin, pod(**kind), cluster) == dict(zip(names, normalised, strict=True))


@pytest.mark.parametrize(
    ("term", "home", "meets"),
    [
        pytest.param(like(select()), "default", True, id="its own namespace"),
        pytest.param(like(select()), "blue", False, id="no other"),
        pytest.param(like(select(), namespace_selector=select(env="dev")), "blue", True, id="one it selects"),
        pytest.param(
            like(select(), namespace_selector=select("env NotIn prod")), "red", True, id="any, asked for no labels"
        ),
    ],
)
def test_namespaces_of_preferred_terms(term: Json, home: str, meets: bool) -> None:
    cluster = cluster_of(NODES, [pod("other", namespace=home, on="b")], NAMESPACES)
    found = raw(plugin_of(NAME), pod(prefers_near=[(5, term)]), cluster)
    assert isinstance(found, dict)
    assert found["b"] == (5 if meets else 0)


@pytest.mark.parametrize(
    ("weight", "expected"), [(0, None), (1, 1), (40, 40)], ids=["not at all", "by default", "as configured"]
)
def test_required_terms_of_others_weigh(weight: int, expected: int | None) -> None:
    cluster = cluster_of(NODES, [pod("bound", on="b", near=[LIKE_WEB])])
    found = raw(plugin_of(NAME, {"hardPodAffinityWeight": weight}), pod(labels=WEB), cluster)
    if expected is None:
        assert found is SKIP
    else:
        assert found == {"a0": 0, "a1": 0, "b": expected, "lost": 0}


def test_wishes_of_others_can_be_ignored_for_pods_without_any() -> None:
    cluster = cluster_of(NODES, [pod("friend", on="b", prefers_near=[(7, LIKE_WEB)])])
    plugin = plugin_of(NAME, {"ignorePreferredTermsOfExistingPods": True})
    assert raw(plugin, pod(labels=WEB), cluster) is SKIP
    found = raw(plugin, pod(labels=WEB, prefers_far=[(1, LIKE_DB)]), cluster)
    assert found == {"a0": 0, "a1": 0, "b": 7, "lost": 0}


def test_where_nobody_has_wishes_the_score_is_skipped() -> None:
    assert scores(plugin_of(NAME), pod(labels=WEB), cluster_of(NODES, [WEB_ON_A0])) is SKIP


def test_scores_are_normalised_among_the_feasible_nodes_alone() -> None:
    cluster = cluster_of(NODES, pods_on({"a0": 3, "b": 1}, labels=WEB))
    waiting = pod(prefers_near=[(1, LIKE_WEB)])
    assert scores(plugin_of(NAME), waiting, cluster, among=["a0", "b"]) == {"a0": 100, "b": 0}
