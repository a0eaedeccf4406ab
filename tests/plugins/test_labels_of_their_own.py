"""Pods with a label of their own, as those of a StatefulSet have, come, are told to go and leave again.

Whatever has become of the counts of plugins by then, they are those of somebody who starts over and looks at every pod.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.api.core import Namespace, Pod
from kwhatif.cluster.cluster import Cluster
from kwhatif.framework.interface import Plugin
from kwhatif.framework.status import Skip
from tests.asking import raw_scores, refusals, scores
from tests.builders import HOSTNAME, ZONE, Json, cluster_of, namespace, node, plugin_of, pod, pods_like, select, spread
from tests.plugins import reference
from tests.plugins.reference import Place
from tests.plugins.test_reference import REASONS

pytestmark = pytest.mark.long

NODES = [node("a", zone="z0"), node("b", zone="z1"), node("c", zone="z1"), node("lost")]
NAMESPACES = [namespace("default"), namespace("other", team="blue")]
OWN = "statefulset.kubernetes.io/pod-name"

Labels = dict[str, str]
LABELS = st.fixed_dictionaries({}, optional={"app": st.sampled_from(["a", "b"]), "tier": st.sampled_from(["x", "y"])})
SELECTORS = st.sampled_from(
    [
        select(app="a"),
        select(app="b", tier="x"),
        select("app In a b"),
        select("tier NotIn x"),
        select("app Exists"),
        select("tier DoesNotExist"),
        select(**{OWN: "p1"}),
        select(f"{OWN} NotIn p0 p2", app="a"),
        select(f"{OWN} Exists"),
        select(),
        None,
    ]
)
KEYS = st.lists(st.sampled_from(["app", "tier", OWN]), max_size=2, unique=True)
TERMS = st.tuples(
    st.builds(
        pods_like,
        SELECTORS,
        st.sampled_from([ZONE, HOSTNAME]),
        namespaces=st.sampled_from([(), (), ("other",)]),
        namespace_selector=st.sampled_from([None, None, select(team="blue"), select("team NotIn blue"), select()]),
    ),
    KEYS,
    KEYS,
)
CONSTRAINTS = st.builds(
    spread,
    SELECTORS.filter(bool),
    st.sampled_from([ZONE, HOSTNAME]),
    skew=st.sampled_from([1, 2]),
    hard=st.booleans(),
    match_label_keys=KEYS,
)


def merged(term: tuple[Json, list[str], list[str]], labels: Labels) -> Json:
    """The term as the API server stores it: keys to match, or not to, have become expressions with the pod's values."""
    given, match, mismatch = term
    if given["labelSelector"] is None:
        return given
    more = [{"key": key, "operator": "In", "values": [labels[key]]} for key in match if key in labels]
    more += [{"key": key, "operator": "NotIn", "values": [labels[key]]} for key in mismatch if key in labels]
    expressions = [*given["labelSelector"].get("matchExpressions", ()), *more]
    return given | {"labelSelector": given["labelSelector"] | {"matchExpressions": expressions}}


@st.composite
def templates(draw: st.DrawFn) -> Json:
    """What pods of one template have in common; terms are yet to be merged with a pod's labels."""
    return {
        "namespace": draw(st.sampled_from(["default", "default", "other"])),
        "labels": draw(LABELS),
        **{kind: draw(st.lists(TERMS, max_size=2)) for kind in ("near", "far")},
        **{kind: draw(st.lists(st.tuples(st.sampled_from([1, 50]), TERMS), max_size=2)) for kind in _WISHES},
        "spread_over": draw(st.lists(CONSTRAINTS, max_size=2)),
    }


_WISHES = ("prefers_near", "prefers_far")


def made(template: Json, name: str) -> Pod:
    labels = {**template["labels"], OWN: name}
    terms: Json = {kind: [merged(term, labels) for term in template[kind]] for kind in ("near", "far")}
    terms |= {kind: [(weight, merged(term, labels)) for weight, term in template[kind]] for kind in _WISHES}
    return pod(name, namespace=template["namespace"], labels=labels, constraints=template["spread_over"], **terms)


def places_of(cluster: Cluster) -> list[Place]:
    pods_on = {
        name: [info.pod for info in infos] for name, infos in zip(cluster.columns.names, cluster.pods_on, strict=True)
    }
    return [Place(one, pods_on[one.name]) for one in NODES]


def said(plugin: Plugin[Any, Any], waiting: Pod, cluster: Cluster) -> dict[str, str]:
    return {name: reasons[0] for name, (_, reasons) in refusals(plugin, waiting, cluster).items()}


@given(st.lists(templates(), min_size=1, max_size=3), st.sampled_from([0, 7]), st.data())
def test_counts_are_those_of_starting_over(some: list[Json], hard_weight: int, data: st.DataObject) -> None:
    cluster = cluster_of(NODES, [], NAMESPACES)
    affinity = plugin_of("InterPodAffinity", {"hardPodAffinityWeight": hard_weight})
    spreading = plugin_of("PodTopologySpread", {"defaultingType": "List"})
    namespaces = [one for one in NAMESPACES if isinstance(one, Namespace)]
    for step in range(data.draw(st.integers(2, 8))):
        running = sorted((info for info, _ in cluster.pods()), key=lambda info: info.uid)
        waiting = made(data.draw(st.sampled_from(some)), f"p{step}")
        places = places_of(cluster)
        assert said(affinity, waiting, cluster) == {
            name: REASONS[why] for name, why in reference.affinity_refusals(places, waiting, namespaces).items()
        }
        assert said(spreading, waiting, cluster) == {
            name: REASONS[why] for name, why in reference.spread_refusals(places, waiting).items()
        }
        sums = reference.affinity_sums(places, waiting, namespaces, hard_weight)
        found = raw_scores(affinity, waiting, cluster)
        assert (found == sums) if not isinstance(found, Skip) else not any(sums.values())
        wished = reference.spread_scores(places, places, waiting)
        assert wished is None or scores(spreading, waiting, cluster) == wished
        match data.draw(st.sampled_from(["come", "come", "told to go", "leave"])):
            case "told to go" if running:
                cluster.mark_terminating(data.draw(st.sampled_from(running)).uid)
            case "leave" if running:
                cluster.forget(data.draw(st.sampled_from(running)).uid)
            case _:
                cluster.assume(cluster.shapes.info(waiting), data.draw(st.integers(0, len(cluster) - 1)))
