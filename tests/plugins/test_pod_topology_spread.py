from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kwhatif.api.core import Pod
from kwhatif.cluster.node_view import change_of
from kwhatif.framework.interface import ClusterEvent, EventOccurrence
from kwhatif.framework.status import SKIP
from tests.asking import (
    EVICTION_MIGHT_HELP,
    HOPELESS,
    details,
    pre_filter,
    refusals,
    refused,
    rejections,
    scores,
)
from tests.asking import raw_scores as raw
from tests.builders import (
    HOSTNAME,
    ZONE,
    Json,
    cluster_of,
    node,
    plugin_of,
    pod,
    pods_on,
    scheduler_for,
    select,
    service,
    spread,
)

NAME = "PodTopologySpread"
TOO_MANY = "node(s) didn't match pod topology spread constraints"
MISSING = f"{TOO_MANY} (missing required label)"

WEB = {"app": "web"}
BY_ZONE = spread(select(app="web"))
BY_HOST = spread(select(app="web"), HOSTNAME)

# Two nodes in zone z0, one in z1, and one that nobody gave a zone.
NODES = [node("a0", zone="z0"), node("a1", zone="z0"), node("b", zone="z1"), node("lost")]
IN_ZONES = NODES[:3]


def web(*constraints: Json, **more: Any) -> Pod:
    return pod(**{"labels": WEB, "constraints": constraints, **more})


def running(a0: int = 0, a1: int = 0, b: int = 0, lost: int = 0, **more: Any) -> list[Pod]:
    counts = {"a0": a0, "a1": a1, "b": b, "lost": lost}
    return pods_on({name: count for name, count in counts.items() if count}, **{"labels": WEB, **more})


@pytest.mark.parametrize(
    ("constraints", "others", "refuses"),
    [
        pytest.param([BY_ZONE], [], set(), id="the first pod may go anywhere"),
        pytest.param([BY_ZONE], running(a0=1), {"a0", "a1"}, id="the second has to go to another zone"),
        pytest.param([BY_ZONE], running(a0=1, b=1), set(), id="the third may go anywhere again"),
        pytest.param([BY_ZONE], running(a0=1, a1=1), {"a0", "a1"}, id="the pods of all nodes of a zone count"),
        pytest.param([spread(select(app="web"), skew=2)], running(a0=1), set(), id="a wider skew allows two more"),
        pytest.param(
            [spread(select(app="web"), skew=2)], running(a0=2), {"a0", "a1"}, id="a wider skew does not allow three"
        ),
        pytest.param([BY_HOST], running(a0=1), {"a0"}, id="hosts are domains, too"),
        pytest.param(
            [BY_ZONE, BY_HOST],
            running(a0=1, b=1),
            {"a0", "b"},
            id="all constraints have to be met",
        ),
        pytest.param(
            [spread(select(app="db"))],
            running(a0=1, labels={"app": "db"}),
            set(),
            id="a pod that is not selected adds nothing itself",
        ),
        pytest.param(
            [spread(select(app="db"))],
            running(a0=2, labels={"app": "db"}),
            {"a0", "a1"},
            id="yet has to keep to the skew",
        ),
        pytest.param([BY_ZONE], running(a0=1, namespace="other"), set(), id="other namespaces do not count"),
        pytest.param([BY_ZONE], running(a0=1, terminating=True), set(), id="pods on their way out do not count"),
        pytest.param([spread(None)], running(a0=5), set(), id="no selector counts nobody"),
        pytest.param([spread(select())], running(a0=5), set(), id="nor does an empty one, as it happens"),
        pytest.param(
            [spread(select("app In web db"))], running(a0=1), {"a0", "a1"}, id="expressions work as in selectors"
        ),
        pytest.param(
            [spread(select(app="web"), hard=False)], running(a0=5), set(), id="what is only a wish refuses nobody"
        ),
        pytest.param(
            [spread(select(app="web"), min_domains=3)],
            running(a0=1, b=1),
            {"a0", "a1", "b"},
            id="too few zones count as if there were an empty one",
        ),
        pytest.param([spread(select(app="web"), min_domains=2)], running(a0=1, b=1), set(), id="enough zones do not"),
    ],
)
def test_filter(constraints: list[Json], others: list[Pod], refuses: set[str]) -> None:
    found = refusals(plugin_of(NAME), web(*constraints), cluster_of(IN_ZONES, others))
    assert found == dict.fromkeys(refuses, (EVICTION_MIGHT_HELP, (TOO_MANY,)))


def test_a_node_without_the_label_is_out_of_the_question() -> None:
    assert refusals(plugin_of(NAME), web(BY_ZONE), cluster_of(NODES)) == {"lost": (HOPELESS, (MISSING,))}


def test_the_first_constraint_that_is_not_met_is_the_reason() -> None:
    by_rack = spread(select(app="web"), "rack")
    nodes = [
        node("no-rack", zone="z0"),
        node("rack-1", zone="z0", labels={"rack": "1"}),
        node("rack-2", zone="z1", labels={"rack": "2"}),
    ]
    cluster, plugin = cluster_of(nodes, pods_on({"rack-1": 1}, labels=WEB)), plugin_of(NAME)
    crowded = (EVICTION_MIGHT_HELP, (TOO_MANY,))
    assert refusals(plugin, web(BY_ZONE, by_rack), cluster) == {"no-rack": crowded, "rack-1": crowded}
    assert refusals(plugin, web(by_rack, BY_ZONE), cluster) == {
        "no-rack": (HOPELESS, (MISSING,)),
        "rack-1": crowded,
    }


def test_nodes_that_lack_one_of_the_labels_are_counted_by_no_constraint() -> None:
    """The empty host without a zone does not make the least count of the hosts zero."""
    cluster = cluster_of(NODES, running(a0=1, a1=1, b=1))
    assert refused(plugin_of(NAME), web(BY_HOST), cluster) == {"a0", "a1", "b"}
    assert refused(plugin_of(NAME), web(BY_HOST, spread(select(app="x"))), cluster) == {"lost"}


SSD = {"disk": "ssd"}
POLICY_NODES = [
    node("plain", zone="z0", labels=SSD),
    node("full", zone="z1", labels=SSD),
    node("hdd", zone="z2"),
    node("tainted", zone="z3", labels=SSD, taints=["gone:NoExecute"]),
]
ON_ALL_BUT_THE_LAST_TWO = pods_on({"plain": 1, "full": 2}, labels=WEB)


@pytest.mark.parametrize(
    ("policies", "tolerations", "refuses"),
    [
        pytest.param({}, [], {"plain", "full"}, id="by default nodes with taints count"),
        pytest.param({"taints_policy": "Honor"}, [], {"full"}, id="unless taints are to be honoured"),
        pytest.param({"taints_policy": "Honor"}, ["gone"], {"plain", "full"}, id="and the pod does not tolerate them"),
        pytest.param(
            {"taints_policy": "Honor", "affinity_policy": "Ignore"},
            [],
            {"plain", "full"},
            id="nodes the pod does not select count if affinity is to be ignored",
        ),
    ],
)
def test_which_nodes_count(policies: dict[str, str], tolerations: list[str], refuses: set[str]) -> None:
    """The pod selects disk=ssd; one zone has only an hdd, one only a tainted node, both without pods."""
    waiting = web(
        spread(select(app="web"), **policies),  # type: ignore[arg-type]
        node_selector=SSD,
        tolerations=tolerations,
    )
    cluster = cluster_of(POLICY_NODES, ON_ALL_BUT_THE_LAST_TWO)
    assert refused(plugin_of(NAME), waiting, cluster) == refuses


def test_pods_on_nodes_that_do_not_count_do_not_count_either() -> None:
    cluster = cluster_of(POLICY_NODES, pods_on({"plain": 1, "full": 1, "tainted": 1, "hdd": 3}, labels=WEB))
    assert refused(plugin_of(NAME), web(BY_ZONE, node_selector=SSD), cluster) == set()


def test_match_label_keys_compare_only_pods_of_the_same_revision() -> None:
    by_revision = spread(select(app="web"), match_label_keys=["revision", "absent"])
    others = [
        *pods_on({"a0": 2}, labels={**WEB, "revision": "1"}),
        *pods_on({"b": 1}, labels={**WEB, "revision": "2"}),
    ]
    plugin, cluster = plugin_of(NAME), cluster_of(IN_ZONES, others)
    assert refused(plugin, web(by_revision, labels={**WEB, "revision": "1"}), cluster) == {"a0", "a1"}
    assert refused(plugin, web(by_revision, labels={**WEB, "revision": "2"}), cluster) == {"b"}
    assert refused(plugin, web(by_revision), cluster) == {"a0", "a1"}


@pytest.mark.parametrize(
    ("selector", "terminating"),
    [
        pytest.param(select(app="web"), True, id="pods on their way out"),
        pytest.param(select(), False, id="pods that only an empty selector selects"),
    ],
)
def test_pods_that_were_not_counted_are_subtracted_when_they_leave(selector: Json, terminating: bool) -> None:
    """Upstream counts by one rule and moves by another, which preemption shows."""
    others = [*running(a0=1, terminating=terminating), pod("b-1", on="b", labels=WEB, terminating=terminating)]
    cluster = cluster_of(IN_ZONES, others)
    info = cluster.shapes.info(web(spread(selector)))
    plugin, row = plugin_of(NAME), cluster.columns.row("b")
    assert row is not None
    gone = change_of(cluster, np.array([row], np.intp), [list(cluster.pods_on[row])], -1)
    wider = change_of(cluster, np.array([row], np.intp), [list(cluster.pods_on[row]) * 2], 1)
    assert not any(r.where.any() for r in rejections(plugin, info, cluster, np.array([row]), gone))
    assert [r.reason for r in rejections(plugin, info, cluster, np.array([row]), wider) if r.where.any()] == [TOO_MANY]


def test_the_detail_shows_the_sum() -> None:
    cluster = cluster_of(NODES, running(a0=2, a1=1, b=1))
    plugin = plugin_of(NAME)
    assert details(plugin, web(BY_ZONE), cluster, "a1") == [
        f"{ZONE} z0 would have 4 of app=web, allowed at most 2 (the emptiest has 1, maxSkew 1)"
    ]
    assert details(plugin, web(BY_ZONE), cluster, "lost") == [f"node has no label {ZONE}"]


def test_without_hard_constraints_the_filter_is_skipped() -> None:
    plugin, cluster = plugin_of(NAME), cluster_of(NODES, [], [service("web", WEB)])
    for waiting in (pod(), web(), web(spread(select(app="web"), hard=False))):
        assert pre_filter(plugin, cluster.shapes.info(waiting), cluster) is SKIP


@pytest.mark.parametrize(
    ("waiting", "other", "helps"),
    [
        pytest.param(web(BY_ZONE), {"labels": WEB}, True, id="one of those it counts"),
        pytest.param(web(BY_ZONE), {"labels": {"app": "db"}}, False, id="one it does not count"),
        pytest.param(web(BY_ZONE), {"labels": WEB, "namespace": "other"}, False, id="one of another namespace"),
        pytest.param(web(spread(select(app="web"), hard=False)), {"labels": WEB}, False, id="where it only wishes"),
        pytest.param(web(BY_ZONE), None, False, id="nobody"),
    ],
)
def test_who_may_help_a_pod_that_waits_by_coming_or_going(
    waiting: Pod, other: dict[str, Any] | None, helps: bool
) -> None:
    cluster = cluster_of(IN_ZONES)
    about = None if other is None else cluster.shapes.info(pod("other", **other))
    for event in (ClusterEvent.POD_ADDED, ClusterEvent.POD_DELETED):
        hint = plugin_of(NAME).queueing_hints[event]
        assert hint(cluster.shapes.info(waiting), EventOccurrence(event, cluster, about)) is helps


# --- defaults

LISTED: Json = {
    "defaultingType": "List",
    "defaultConstraints": [
        {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"},
        {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"},
    ],
}


@pytest.mark.parametrize(
    ("waiting", "refuses"),
    [
        pytest.param(web(), {"a0", "a1"}, id="hold for pods of a service"),
        pytest.param(pod(labels={"app": "db"}), set(), id="not for pods without one"),
        pytest.param(web(namespace="other"), set(), id="a service of another namespace is none"),
        pytest.param(web(spread(select(app="web"), hard=False)), set(), id="nor for pods with constraints of any kind"),
    ],
)
def test_listed_default_constraints(waiting: Pod, refuses: set[str]) -> None:
    cluster = cluster_of(IN_ZONES, running(a0=1), [service("web", WEB)])
    assert refused(plugin_of(NAME, LISTED), waiting, cluster) == refuses


# --- scores

SOFT_ZONE = spread(select(app="web"), hard=False)
SOFT_HOST = spread(select(app="web"), HOSTNAME, hard=False)


# A count weighs ln(domains + 2): 1.386 for two of them, 1.609 for three; maxSkew - 1 is added; then it is rounded.
@pytest.mark.parametrize(
    ("constraints", "others", "sums", "normalised"),
    [
        pytest.param([SOFT_ZONE], [], (0, 0, 0), (100, 100, 100), id="no pods, all perfect"),
        pytest.param(
            [SOFT_ZONE],
            running(a0=2, a1=1, b=1),
            (4, 4, 1),
            (25, 25, 100),
            id="the emptier the zone, the better",
        ),
        pytest.param([SOFT_HOST], running(a0=2, a1=1), (3, 2, 0), (0, 33, 100), id="hosts are counted one by one"),
        pytest.param(
            [SOFT_ZONE, SOFT_HOST],
            running(a0=2, b=1),
            (6, 3, 3),  # 2.77 + 3.22, 2.77, 1.39 + 1.61
            (50, 100, 100),
            id="constraints add up before they are rounded",
        ),
        pytest.param(
            [spread(select(app="web"), hard=False, skew=4)],
            running(a0=2),
            (6, 6, 3),
            (50, 50, 100),
            id="the skew is added to every node's",
        ),
        pytest.param(
            [SOFT_ZONE], running(a0=1, terminating=True), (0, 0, 0), (100, 100, 100), id="leavers do not count"
        ),
        pytest.param([SOFT_ZONE], running(a0=1, namespace="other"), (0, 0, 0), (100, 100, 100), id="strangers do not"),
    ],
)
def test_scores(constraints: list[Json], others: list[Pod], sums: tuple[int, ...], normalised: tuple[int, ...]) -> None:
    cluster, plugin = cluster_of(IN_ZONES, others), plugin_of(NAME)
    names = ("a0", "a1", "b")
    assert raw(plugin, web(*constraints), cluster) == dict(zip(names, sums, strict=True))
    assert scores(plugin, web(*constraints), cluster) == dict(zip(names, normalised, strict=True))


def test_nodes_without_the_label_are_worth_nothing() -> None:
    cluster, plugin = cluster_of(NODES, running(b=1)), plugin_of(NAME)
    assert scores(plugin, web(SOFT_ZONE), cluster) == {"a0": 100, "a1": 100, "b": 0, "lost": 0}
    assert scores(plugin, web(SOFT_ZONE), cluster, among=["lost"]) == {"lost": 0}


def test_pods_of_the_whole_zone_count_but_only_zones_of_feasible_nodes_are_domains() -> None:
    """One zone left: its three pods weigh ln(3) each."""
    cluster, plugin = cluster_of(IN_ZONES, running(a0=3, b=1)), plugin_of(NAME)
    assert raw(plugin, web(SOFT_ZONE), cluster, among=["a1"]) == {"a1": 3}
    assert raw(plugin, web(SOFT_ZONE), cluster) == {"a0": 4, "a1": 4, "b": 1}


def test_policies_hold_for_zones_and_not_for_hosts() -> None:
    cluster, plugin = cluster_of(POLICY_NODES, pods_on({"hdd": 3}, labels=WEB)), plugin_of(NAME)
    chosen = {"node_selector": SSD}
    assert raw(plugin, web(SOFT_ZONE, **chosen), cluster, among=["hdd", "plain"]) == {"hdd": 0, "plain": 0}
    assert raw(plugin, web(SOFT_HOST, **chosen), cluster, among=["hdd", "plain"]) == {"hdd": 4, "plain": 0}


def test_the_systems_defaults_count_a_missing_zone_as_one_more() -> None:
    """Hosts with skew 3 and zones with skew 5. Nodes without a zone are scored by their host alone."""
    cluster = cluster_of(
        [node("a", zone="z0"), node("b", zone="z1"), node("lost")],
        pods_on({"a": 3, "lost": 2}, labels=WEB),
        [service("web", WEB)],
    )
    plugin = plugin_of(NAME)
    # With ln(5) for hosts and for zones: 4.83 + 2 + 4.83 + 4, 2 + 4, 3.22 + 2.
    assert raw(plugin, web(), cluster) == {"a": 16, "b": 6, "lost": 5}
    assert scores(plugin, web(), cluster) == {"a": 31, "b": 93, "lost": 100}


def test_listed_defaults_leave_nodes_without_the_label_out() -> None:
    cluster = cluster_of(NODES, running(b=1), [service("web", WEB)])
    found = scores(plugin_of(NAME, LISTED), web(), cluster)
    assert found == {"a0": 100, "a1": 100, "b": 0, "lost": 0}


def test_without_wishes_the_score_is_skipped() -> None:
    plugin, cluster = plugin_of(NAME), cluster_of(NODES)
    assert scores(plugin, web(), cluster) is SKIP
    assert scores(plugin, web(BY_ZONE), cluster_of(NODES, [], [service("web", WEB)])) is SKIP


def test_to_the_systems_defaults_an_empty_zone_and_no_zone_are_one_and_the_same() -> None:
    cluster = cluster_of(
        [node("empty", zone=""), node("b", zone="z1"), node("lost")],
        pods_on({"lost": 2}, labels=WEB),
        [service("web", WEB)],
    )
    # ln(5) for three hosts, ln(4) for two zones: 2 + 2.77 + 4 with the pods of ``lost``, 2 + 4, 3.22 + 2.
    assert raw(plugin_of(NAME), web(), cluster) == {"empty": 9, "b": 6, "lost": 5}


@pytest.mark.parametrize(
    ("skew", "fits"),
    [
        pytest.param(1, False, id="one too many"),
        pytest.param(2, True, id="just even enough"),
    ],
)
def test_a_zone_that_fills_up_with_nominated_pods_is_measured_against_the_next_emptiest(skew: int, fits: bool) -> None:
    nodes = [node("a", zone="z0"), node("b", zone="z1"), node("c", zone="z2")]
    cluster = cluster_of(nodes, pods_on({"a": 1, "b": 3, "c": 5}, labels=WEB))
    for place in range(3):
        cluster.nominate(cluster.shapes.info(pod(f"promised{place}", labels=WEB, priority=5)), "a")
    # With those who were promised a place, zone z0 has four pods and z1 is the emptiest with three.
    attempt = scheduler_for(cluster).attempt(cluster.shapes.info(web(spread(select(app="web"), skew=skew))))
    assert attempt.row == (cluster.columns.row("a") if fits else None)
