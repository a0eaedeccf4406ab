from __future__ import annotations

from typing import Any

import pytest

from kwhatif.framework.status import SKIP, PreFilterResult, Status
from tests.asking import HOPELESS, details, pre_filter, refusals, refused, scores
from tests.asking import raw_scores as raw
from tests.builders import Json, cluster_of, node, node_term, plugin_of, pod, profile_document, scheduler_for

PODS_OWN = "node(s) didn't match Pod's node affinity/selector"
ENFORCED = "node(s) didn't match scheduler-enforced node affinity"

NODES = [
    node("ssd", labels={"disk": "ssd", "cores": "8"}),
    node("hdd", labels={"disk": "hdd", "cores": "16"}),
    node("bare", labels={"cores": "many"}),
]


@pytest.mark.parametrize(
    ("terms", "fits"),
    [
        pytest.param([node_term("disk In ssd nvme")], {"ssd"}, id="In wants one of the values"),
        pytest.param([node_term("disk NotIn ssd")], {"hdd", "bare"}, id="NotIn admits nodes without the label"),
        pytest.param([node_term("disk Exists")], {"ssd", "hdd"}, id="Exists wants the label"),
        pytest.param([node_term("disk DoesNotExist")], {"bare"}, id="DoesNotExist wants it gone"),
        pytest.param([node_term("cores Gt 8")], {"hdd"}, id="Gt compares numbers and leaves words out"),
        pytest.param([node_term("cores Lt 16")], {"ssd"}, id="Lt, too"),
        pytest.param([node_term("disk Exists", "cores Gt 8")], {"hdd"}, id="a term wants all it says"),
        pytest.param(
            [node_term("disk In ssd"), node_term("disk DoesNotExist")],
            {"ssd", "bare"},
            id="of several terms one is enough",
        ),
        pytest.param([node_term(fields=["metadata.name In hdd"])], {"hdd"}, id="a field is the node's name"),
        pytest.param([node_term(fields=["metadata.name NotIn hdd"])], {"ssd", "bare"}, id="or is not the node's name"),
        pytest.param(
            [node_term("disk In ssd", fields=["metadata.name In hdd"])],
            set(),
            id="labels and fields have to agree",
        ),
        pytest.param([node_term()], set(), id="an empty term admits no node"),
        pytest.param([node_term(), node_term("disk In ssd")], {"ssd"}, id="but does not spoil the others"),
        pytest.param([], set(), id="no terms at all admit no node"),
        pytest.param([node_term("cores Gt some")], set(), id="a term that makes no sense admits no node"),
        pytest.param(
            [node_term("cores Gt some"), node_term("disk In hdd")],
            {"hdd"},
            id="and does not spoil the others either",
        ),
        pytest.param([node_term(fields=["spec.any In x"])], set(), id="no other field can be asked for"),
        pytest.param([node_term(fields=["metadata.name Exists"])], set(), id="nor can a field merely exist"),
    ],
)
def test_required_terms(terms: list[Json], fits: set[str]) -> None:
    found = refusals(plugin_of("NodeAffinity"), pod(nodes=terms), cluster_of(NODES))
    assert found == dict.fromkeys({"ssd", "hdd", "bare"} - fits, (HOPELESS, (PODS_OWN,)))


@pytest.mark.parametrize(
    ("kind", "fits"),
    [
        pytest.param({"node_selector": {"disk": "ssd"}}, {"ssd"}, id="a selector wants its labels"),
        pytest.param({"node_selector": {"disk": "ssd", "cores": "9"}}, set(), id="all of them"),
        pytest.param({"node_selector": {}}, {"ssd", "hdd", "bare"}, id="an empty one wants nothing"),
        pytest.param(
            {"node_selector": {"disk": "ssd"}, "nodes": [node_term("cores Gt 8")]},
            set(),
            id="selector and affinity have to agree",
        ),
    ],
)
def test_node_selectors(kind: dict[str, Any], fits: set[str]) -> None:
    found = refused(plugin_of("NodeAffinity"), pod(**kind), cluster_of(NODES))
    assert found == {"ssd", "hdd", "bare"} - fits


def named(*names: str) -> Json:
    return node_term(fields=[f"metadata.name In {name}" for name in names])


@pytest.mark.parametrize(
    ("terms", "names"),
    [
        pytest.param([named("a")], {"a"}, id="a term that names a node leaves that one"),
        pytest.param([named("a"), named("b")], {"a", "b"}, id="several terms leave all of theirs"),
        pytest.param([named("a b")], {"a", "b"}, id="two names in one field both stay, whatever Filter says"),
        pytest.param([named("a"), node_term("disk Exists")], None, id="a term without names leaves all"),
        pytest.param(
            [node_term("disk Exists", fields=["metadata.name In a"])],
            {"a"},
            id="labels besides the name are left to Filter",
        ),
        pytest.param([node_term(fields=["metadata.name NotIn a"])], None, id="NotIn does not narrow"),
        pytest.param([named("a", "b"), named("c")], {"c"}, id="a term that contradicts itself adds none"),
    ],
)
def test_prefilter_narrows_the_choice_to_named_nodes(terms: list[Json], names: set[str] | None) -> None:
    cluster = cluster_of(NODES)
    outcome = pre_filter(plugin_of("NodeAffinity"), cluster.shapes.info(pod(nodes=terms)), cluster)
    if names is None:
        assert not isinstance(outcome, PreFilterResult | Status)
    else:
        assert isinstance(outcome, PreFilterResult)
        assert outcome.names == names


def test_terms_that_name_no_common_node_refuse_the_pod_outright() -> None:
    cluster = cluster_of(NODES)
    outcome = pre_filter(plugin_of("NodeAffinity"), cluster.shapes.info(pod(nodes=[named("a", "b")])), cluster)
    assert outcome == Status.unresolvable("pod affinity terms conflict")


def test_a_pod_without_wishes_skips_the_filter_and_the_score() -> None:
    cluster, plugin = cluster_of(NODES), plugin_of("NodeAffinity")
    assert pre_filter(plugin, cluster.shapes.info(pod()), cluster) is SKIP
    assert scores(plugin, pod(), cluster) is SKIP


# --- the profile's own


def adding(required: list[Json] | None = None, preferred: list[tuple[int, Json]] | None = None) -> Json:
    affinity: Json = {}
    if required is not None:
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": required}
    if preferred is not None:
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": weight, "preference": term} for weight, term in preferred
        ]
    return {"addedAffinity": affinity}


def test_added_affinity_holds_for_pods_without_any() -> None:
    plugin = plugin_of("NodeAffinity", adding([node_term("disk Exists")]))
    assert refusals(plugin, pod(), cluster_of(NODES)) == {"bare": (HOPELESS, (ENFORCED,))}


def test_where_both_refuse_only_the_added_one_is_named() -> None:
    plugin = plugin_of("NodeAffinity", adding([node_term("disk Exists")]))
    assert refusals(plugin, pod(nodes=[node_term("disk In ssd")]), cluster_of(NODES)) == {
        "hdd": (HOPELESS, (PODS_OWN,)),
        "bare": (HOPELESS, (ENFORCED,)),
    }


# --- scores


@pytest.mark.parametrize(
    ("prefers", "weights", "normalised"),
    [
        pytest.param(
            [(30, node_term("disk In ssd")), (10, node_term("disk Exists"))],
            (40, 10, 0),
            (100, 25, 0),
            id="weights of all matching terms add up",
        ),
        pytest.param(
            [(3, node_term("disk Exists")), (4, node_term("cores Gt 8"))],
            (3, 7, 0),
            (42, 100, 0),
            id="shares of the best are truncated",
        ),
        pytest.param([(9, node_term("disk In none"))], (0, 0, 0), (0, 0, 0), id="nobody matches, all get 0"),
        pytest.param(
            [(9, node_term()), (1, node_term("disk In hdd"))],
            (0, 1, 0),
            (0, 100, 0),
            id="an empty preference matches nothing",
        ),
        pytest.param(
            [(5, node_term(fields=["metadata.name In bare"]))], (0, 0, 5), (0, 0, 100), id="names may be preferred"
        ),
        pytest.param(
            [(0, node_term("cores Gt some")), (2, node_term("disk In ssd"))],
            (2, 0, 0),
            (100, 0, 0),
            id="a preference without weight is not even read",
        ),
    ],
)
def test_preferences(prefers: list[tuple[int, Json]], weights: tuple[int, ...], normalised: tuple[int, ...]) -> None:
    cluster, plugin = cluster_of(NODES), plugin_of("NodeAffinity")
    names = ("ssd", "hdd", "bare")
    assert raw(plugin, pod(prefers_nodes=prefers), cluster) == dict(zip(names, weights, strict=True))
    assert scores(plugin, pod(prefers_nodes=prefers), cluster) == dict(zip(names, normalised, strict=True))


def test_preferences_of_the_profile_count_beside_the_pods_own() -> None:
    plugin = plugin_of("NodeAffinity", adding(preferred=[(4, node_term("disk In hdd"))]))
    cluster = cluster_of(NODES)
    assert raw(plugin, pod(), cluster) == {"ssd": 0, "hdd": 4, "bare": 0}
    both = pod(prefers_nodes=[(2, node_term("disk Exists"))])
    assert raw(plugin, both, cluster) == {"ssd": 2, "hdd": 6, "bare": 0}


def test_scores_are_normalised_among_the_feasible_nodes_alone() -> None:
    waiting = pod(prefers_nodes=[(30, node_term("disk In ssd")), (10, node_term("disk Exists"))])
    assert scores(plugin_of("NodeAffinity"), waiting, cluster_of(NODES), among=["hdd", "bare"]) == {
        "hdd": 100,
        "bare": 0,
    }


# --- details


@pytest.mark.parametrize(
    ("kind", "node_name", "text"),
    [
        pytest.param(
            {"node_selector": {"disk": "ssd"}}, "hdd", "wants disk=ssd, node has disk=hdd", id="another value"
        ),
        pytest.param(
            {"node_selector": {"disk": "ssd"}}, "bare", "wants disk=ssd, node has no such label", id="no label"
        ),
        pytest.param(
            {"node_selector": {"disk": "ssd", "cores": "8"}},
            "hdd",
            "wants cores=8, node has cores=16; wants disk=ssd, node has disk=hdd",
            id="every label of a selector that is not met",
        ),
        pytest.param(
            {"nodes": [node_term("disk In ssd nvme", "cores Lt 9"), node_term("disk DoesNotExist")]},
            "hdd",
            "wants disk in (ssd,nvme), node has disk=hdd and wants cores < 9, node has cores=16"
            " or wants !disk, node has disk=hdd",
            id="what each term misses",
        ),
        pytest.param(
            {"nodes": [node_term(fields=["metadata.name NotIn hdd"])]},
            "hdd",
            "wants node metadata.name notin (hdd)",
            id="a name that is not wanted",
        ),
        pytest.param({"nodes": [node_term("cores Gt x")]}, "hdd", "unreadable term", id="a term without sense"),
        pytest.param(
            {"nodes": []},
            "hdd",
            "the required affinity has no terms, so it matches no node",
            id="no terms at all",
        ),
    ],
)
def test_details(kind: dict[str, Any], node_name: str, text: str) -> None:
    assert details(plugin_of("NodeAffinity"), pod(**kind), cluster_of(NODES), node_name) == [text]


def test_the_detail_of_added_affinity_points_at_the_profile() -> None:
    plugin = plugin_of("NodeAffinity", adding([node_term("disk Exists")]))
    assert details(plugin, pod(), cluster_of(NODES), "bare") == ["the profile's addedAffinity does not admit the node"]


# --- what a scheduler makes of it


@pytest.mark.parametrize(
    ("term", "problem"),
    [
        pytest.param(node_term("cores Gt some"), "the value must be an integer", id="no number"),
        pytest.param(node_term("cores Gt -1"), "'-1' is not a valid label value", id="a number no label can have"),
        pytest.param(node_term("disk Like ssd"), "'Like' is not a valid", id="an operator that does not exist"),
        pytest.param(node_term(fields=["metadata.name In a b"]), "must have one element", id="a field with two values"),
    ],
)
def test_a_preference_that_makes_no_sense_is_an_error_where_nodes_have_to_be_compared(term: Json, problem: str) -> None:
    waiting = pod(prefers_nodes=[(5, term), (2, node_term("disk In ssd"))])
    scheduler = scheduler_for(cluster_of(NODES))
    attempt = scheduler.decide(scheduler.cluster.shapes.info(waiting))
    assert not attempt.is_placed
    assert attempt.diagnosis is None
    assert attempt.message.startswith('running PreScore plugin "NodeAffinity": ')
    assert problem in attempt.message
    alone = scheduler_for(cluster_of(NODES[:1]))
    assert alone.decide(alone.cluster.shapes.info(waiting)).is_placed


def test_a_profile_without_its_prefilter_still_filters() -> None:
    config = profile_document(plugins={"preFilter": {"disabled": [{"name": "NodeAffinity"}]}})
    scheduler = scheduler_for(cluster_of(NODES), config)
    info = scheduler.cluster.shapes.info(pod(nodes=[node_term("disk In hdd", fields=["metadata.name In hdd"])]))
    attempt = scheduler.decide(info)
    assert attempt.row == scheduler.cluster.columns.row("hdd")
    assert attempt.evaluated == len(NODES)
