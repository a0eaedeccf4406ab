from __future__ import annotations

from typing import Any

import pytest

from kwhatif.errors import PolicyError
from kwhatif.policy import (
    EXTENSION_POINTS,
    PluginRef,
    default_configuration,
    expand,
    expand_all,
    load_configuration,
)
from kwhatif.policy.in_tree import in_tree
from kwhatif.policy.profile import FrozenMap, PluginSet, Profile, SchedulerConfiguration
from kwhatif.versions import features_of

HAS: dict[str, tuple[str, ...]] = {
    "Sort": ("queueSort",),
    "Sort2": ("queueSort",),
    "Bind": ("bind",),
    "Filter": ("preFilter", "filter"),
    "Score": ("preScore", "score"),
    "Norm": ("score",),
    "Both": ("filter", "score", "placementScore"),
    "Gen": ("placementGenerate",),
    "Gen2": ("placementGenerate",),
    "Nothing": (),
}
BASE = "Sort Bind"
OF_PROFILE = 'profile with scheduler name "default-scheduler"'


def profile(name: str = "default-scheduler", args: dict[str, Any] | None = None, **points: str) -> Profile:
    """``score="A=2 B -C"`` enables A with weight 2 and B, and disables C."""
    sets = {}
    for point in EXTENSION_POINTS:
        words = points.get(point, "").split()
        enabled = tuple(
            PluginRef(name, int(weight or 0))
            for name, _, weight in (word.partition("=") for word in words if not word.startswith("-"))
        )
        sets[point] = PluginSet(enabled, tuple(word[1:] for word in words if word.startswith("-")))
    return Profile(name, FrozenMap(sets), FrozenMap(args or {}))


def shown(refs: tuple[PluginRef, ...]) -> str:
    return " ".join(map(str, refs))


@pytest.mark.parametrize(
    ("points", "point", "expected"),
    [
        pytest.param({"multiPoint": f"{BASE} Both"}, "filter", "Both", id="a plugin goes wherever it fits"),
        pytest.param({"multiPoint": f"{BASE} Both=5"}, "score", "Both=5", id="with its weight where it scores"),
        pytest.param({"multiPoint": f"{BASE} Both=5"}, "placementScore", "Both=5", id="and rates placements"),
        pytest.param({"multiPoint": f"{BASE} Score Norm"}, "score", "Score=1 Norm=1", id="zero weighs one"),
        pytest.param({"multiPoint": f"{BASE} Score=-3"}, "score", "Score=-3", id="a negative weight stays"),
        pytest.param(
            {"multiPoint": f"{BASE} Both Score", "score": "-Both"},
            "score",
            "Score=1",
            id="disabled at one point",
        ),
        pytest.param({"multiPoint": f"{BASE} Both Score", "score": "-Both"}, "filter", "Both", id="but not at another"),
        pytest.param({"multiPoint": f"{BASE} Both Score", "score": "-*"}, "score", "", id="a star empties"),
        pytest.param(
            {"multiPoint": f"{BASE} Both Score", "score": "-* Norm=2"},
            "score",
            "Norm=2",
            id="but for its own",
        ),
        pytest.param(
            {"multiPoint": f"{BASE} Norm Score Both", "score": "Both Score"},
            "score",
            "Both=1 Score=1 Norm=1",
            id="what the point names comes first, in its order",
        ),
        pytest.param(
            {"multiPoint": f"{BASE} Score Both", "score": "Norm Both Score"},
            "score",
            "Both=1 Score=1 Norm=1",
            id="but only if multiPoint has it too; the rest comes last",
        ),
        pytest.param(
            {"multiPoint": f"{BASE} Score=2 Both=2", "score": "Both=7"},
            "score",
            "Both=7 Score=2",
            id="the point's weight goes before multiPoint's",
        ),
        pytest.param(
            {"multiPoint": f"{BASE} Score=2", "score": "Score"},
            "score",
            "Score=1",
            id="even when it is none",
        ),
        pytest.param(
            {"multiPoint": f"{BASE} Score", "score": "Score=4 -Score"},
            "score",
            "Score=4",
            id="enabled goes before disabled",
        ),
        pytest.param(
            {"queueSort": "Sort", "bind": "Bind", "filter": "Both Filter"},
            "filter",
            "Both Filter",
            id="without multiPoint the points speak for themselves",
        ),
        pytest.param(
            {"multiPoint": f"{BASE} Nothing"},
            "score",
            "",
            id="a plugin without extension points goes nowhere",
        ),
        pytest.param({"multiPoint": BASE, "filter": "Both=9"}, "filter", "Both", id="no weight where none counts"),
    ],
)
def test_expansion(points: dict[str, Any], point: str, expected: str) -> None:
    assert shown(expand(profile(**points), HAS.get)[point]) == expected


@pytest.mark.parametrize(
    ("points", "problem"),
    [
        pytest.param({"multiPoint": f"{BASE} Who"}, 'PreFilterPlugin "Who" does not exist', id="unknown"),
        pytest.param(
            {"multiPoint": f"{BASE} Who", "preFilter": "-*", "filter": "-*"},
            'PostFilterPlugin "Who" does not exist',
            id="unknown, at the first point that is not switched off",
        ),
        pytest.param({"multiPoint": BASE, "score": "Who"}, 'ScorePlugin "Who" does not exist', id="at a point"),
        pytest.param(
            {"multiPoint": BASE, "score": "Filter"},
            'plugin "Filter" does not extend ScorePlugin plugin',
            id="a point that the plugin does not have",
        ),
        pytest.param(
            {"multiPoint": BASE, "score": "Score Score"},
            'plugin "Score" already registered as "ScorePlugin"',
            id="twice at a point",
        ),
        pytest.param(
            {"multiPoint": f"{BASE} Score Score"},
            'plugin "Score" already registered as "PreScorePlugin"',
            id="twice in multiPoint",
        ),
        pytest.param(
            {"multiPoint": "Bind"},
            f"only one queue sort plugin required for {OF_PROFILE}, but got 0",
            id="no queue sort",
        ),
        pytest.param(
            {"multiPoint": f"{BASE} Sort2"},
            f"only one queue sort plugin required for {OF_PROFILE}, but got 2",
            id="two queue sorts",
        ),
        pytest.param(
            {"multiPoint": "Sort"},
            f"at least one bind plugin is needed for {OF_PROFILE}",
            id="no bind",
        ),
        pytest.param(
            {"multiPoint": f"{BASE} Gen Gen2"},
            f"at most one placement generate plugin is allowed for {OF_PROFILE}",
            id="two generators",
        ),
        pytest.param(
            {"multiPoint": f"{BASE} Score={2**63 // 100}", "score": "Norm"},
            "score plugins: total score of Score plugins could overflow",
            id="weights that overflow",
        ),
        pytest.param(
            {"multiPoint": BASE, "placementScore": f"Both={2**63}"},
            "placement score plugins: total score of Score plugins could overflow",
            id="weights of placements that overflow",
        ),
    ],
)
def test_a_profile_that_cannot_be_set_up(points: dict[str, Any], problem: str) -> None:
    with pytest.raises(PolicyError) as caught:
        expand(profile(**points), HAS.get)
    start = "initializing profiles: creating profile for scheduler name default-scheduler: "
    assert str(caught.value) == start + problem


def test_implements_may_raise_for_what_it_does_not_know() -> None:
    with pytest.raises(PolicyError, match='PreFilterPlugin "Who" does not exist'):
        expand(profile(multiPoint=f"{BASE} Who"), HAS.__getitem__)


def test_every_point_but_multipoint_has_an_entry() -> None:
    expanded = expand(profile(multiPoint=BASE), HAS.get)
    assert tuple(expanded) == tuple(point for point in EXTENSION_POINTS if point != "multiPoint")


def test_the_default_profile_expands_to_upstreams_plugins() -> None:
    expanded = expand(default_configuration().profiles[0], in_tree(features_of()).points.get)
    assert {point: shown(refs) for point, refs in expanded.items()} == {
        "preEnqueue": "SchedulingGates DynamicResources DefaultPreemption",
        "queueSort": "PrioritySort",
        "preFilter": "NodeAffinity NodePorts NodeResourcesFit VolumeRestrictions NodeVolumeLimits "
        "VolumeBinding VolumeZone PodTopologySpread InterPodAffinity DynamicResources NodeDeclaredFeatures",
        "filter": "NodeUnschedulable NodeName TaintToleration NodeAffinity NodePorts NodeResourcesFit "
        "VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread InterPodAffinity "
        "DynamicResources NodeDeclaredFeatures",
        "postFilter": "DynamicResources DefaultPreemption",
        "preScore": "TaintToleration NodeAffinity NodeResourcesFit VolumeBinding PodTopologySpread "
        "InterPodAffinity NodeResourcesBalancedAllocation",
        "score": "TaintToleration=3 NodeAffinity=2 NodeResourcesFit=1 VolumeBinding=1 PodTopologySpread=2 "
        "InterPodAffinity=2 DynamicResources=2 NodeResourcesBalancedAllocation=1 ImageLocality=1",
        "reserve": "VolumeBinding DynamicResources",
        "permit": "",
        "preBind": "VolumeBinding DynamicResources",
        "bind": "DefaultBinder",
        "postBind": "",
        "placementGenerate": "",
        "placementScore": "NodeResourcesFit=1",
    }


# --- several profiles


def test_profiles_are_expanded_by_name() -> None:
    configuration = SchedulerConfiguration((profile("a", multiPoint=BASE), profile("b", multiPoint=f"{BASE} Both")))
    expanded = expand_all(configuration, HAS.get)
    assert [(name, shown(points["filter"])) for name, points in expanded.items()] == [
        ("a", ""),
        ("b", "Both"),
    ]


@pytest.mark.parametrize(
    ("second", "problem"),
    [
        (
            profile("b", multiPoint="Sort2 Bind"),
            'different queue sort plugins for profile "b": "Sort2", first: "Sort"',
        ),
        (
            profile("b", {"Sort": {"by": "name"}}, multiPoint=BASE),
            'different queue sort plugin args for profile "b"',
        ),
    ],
)
def test_profiles_that_sort_their_queue_differently_are_refused(second: Profile, problem: str) -> None:
    with pytest.raises(PolicyError) as caught:
        expand_all(SchedulerConfiguration((profile("a", multiPoint=BASE), second)), HAS.get)
    assert str(caught.value) == f"initializing profiles: {problem}"


def test_a_profile_as_users_write_it() -> None:
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "plugins": {
                    "multiPoint": {"disabled": [{"name": "ImageLocality"}]},
                    "score": {
                        "disabled": [{"name": "PodTopologySpread"}],
                        "enabled": [{"name": "NodeAffinity", "weight": 10}],
                    },
                }
            }
        ],
    }
    (only,) = load_configuration(document, source="").profiles
    expanded = expand(only, in_tree(features_of()).points.get)
    assert shown(expanded["score"]) == (
        "NodeAffinity=10 TaintToleration=3 NodeResourcesFit=1 VolumeBinding=1 InterPodAffinity=2 "
        "DynamicResources=2 NodeResourcesBalancedAllocation=1"
    )
    assert "PodTopologySpread" in shown(expanded["filter"])
