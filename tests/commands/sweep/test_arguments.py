"""Arguments of plugins as settings of a sweep, those of scheduler-plugins among them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

import kwhatif
from kwhatif.commands.sweep.points import points_of
from kwhatif.commands.sweep.policy_variant import apply_settings, describe_differences
from kwhatif.commands.sweep.space_document import Space, read_space
from kwhatif.policy.configuration_file import load_configuration
from kwhatif.scheduling.setup import Setup
from tests.builders import FEATURES
from tests.scheduler_plugin_builders import (
    Json,
    numa_cells,
    plain_node,
    plain_pod,
    policy_with,
    write_cluster,
    write_load,
)

WATCHED = {"watcherAddress": "http://load-watcher.example:2020"}


def space_of(**settings: Any) -> Space:
    return read_space({"apiVersion": "kwhatif.dev/v1", "kind": "SweepSpace", **settings})


def setup_of(plugin: str, args: Json) -> Setup:
    return Setup(load_configuration(policy_with(plugin, args), source="", features=FEATURES), FEATURES)


@pytest.mark.parametrize(
    ("plugin", "args", "field", "level", "found", "words"),
    [
        pytest.param(
            *("TargetLoadPacking", WATCHED, "targetUtilization", 70),
            *({"targetUtilization": 70}, "TargetLoadPacking targetUtilization 70"),
            id="a number",
        ),
        pytest.param(
            *("TargetLoadPacking", WATCHED, "targetUtilization", 40, {"targetUtilization": 40}, ""),
            id="the default differs in nothing",
        ),
        pytest.param(
            *("LoadVariationRiskBalancing", WATCHED, "safeVarianceMargin", 0.5),
            *({"safeVarianceMargin": 0.5}, "LoadVariationRiskBalancing safeVarianceMargin 0.5"),
            id="a number with a fraction",
        ),
        pytest.param(
            *("NodeResourceTopologyMatch", {}, "discardReservedNodes", True),
            *({"discardReservedNodes": True}, "NodeResourceTopologyMatch discardReservedNodes true"),
            id="a boolean",
        ),
        pytest.param(
            *("Coscheduling", {}, "permitWaitingTimeSeconds", 10),
            *({"permitWaitingTimeSeconds": 10}, "Coscheduling permitWaitingTimeSeconds 10"),
            id="how long gangs wait",
        ),
        pytest.param(
            *("InterPodAffinity", {}, "hardPodAffinityWeight", 50),
            *({"hardPodAffinityWeight": 50}, "InterPodAffinity hardPodAffinityWeight 50"),
            id="an argument of a plugin that every kube-scheduler has",
        ),
    ],
)
def test_a_policy_is_todays_but_for_an_argument(
    plugin: str, args: Json, field: str, level: Any, found: Json, words: str
) -> None:
    setup, space = setup_of(plugin, args), space_of(arguments={plugin: {field: [level]}})
    settings = {f"{plugin}.args.{field}": level}
    changed = apply_settings(setup, space, settings)
    told = msgspec.to_builtins(changed.configuration.profiles[0].args_of(plugin))
    assert {name: told[name] for name in found} == found
    assert describe_differences(setup, space)(settings) == words


def test_a_plugin_that_is_off_has_no_arguments_so_such_points_are_one() -> None:
    arguments = {"Peaks": {"WatcherAddress": ["http://a", "http://b"]}}
    points, repeated = points_of(space_of(arguments=arguments, plugins=["Peaks"]), None)
    assert (len(points), repeated) == (3, 1)
    assert {"Peaks.enabled": False} in points


def test_the_target_that_was_planted_is_the_best(tmp_path: Path) -> None:
    """One machine is busy, the other idle: only a high target has the busy one filled, and the other left empty."""
    load = write_load(tmp_path, n1=(50, 1), n2=(0, 1))
    cluster = write_cluster(
        tmp_path, plain_node("n1"), plain_node("n2"), plain_pod("there", "4", node="n1", memory="8Gi")
    )
    space = {"arguments": {"TargetLoadPacking": {"targetUtilization": [20, 80]}}, "weights": {"TargetLoadPacking": [9]}}
    result = kwhatif.sweep(
        plain_pod("new", "2"),
        space={"apiVersion": "kwhatif.dev/v1", "kind": "SweepSpace", **space},
        snapshot=cluster,
        policy=policy_with("TargetLoadPacking", WATCHED),
        load=load,
        workers=1,
    )
    by_target = {
        each.settings["TargetLoadPacking.args.targetUtilization"]: each.measures["nodesInUse"]
        for each in result.points
        if each.settings
    }
    assert by_target == {20: 2, 80: 1}
    assert result.points[result.best].settings["TargetLoadPacking.args.targetUtilization"] == 80
    matters = {each.setting: each.percent for each in result.influences if each.measure == "nodesInUse"}
    assert matters == {"TargetLoadPacking.args.targetUtilization": 100.0}


def test_a_strategy_of_cells_is_a_word_inside_an_object(tmp_path: Path) -> None:
    cells = numa_cells("n1", {"cpu": "8", "memory": "16Gi"}, {"cpu": "8", "memory": "16Gi"})
    cluster = write_cluster(tmp_path, plain_node("n1"), cells)
    fields = {"scoringStrategy.type": ["LeastAllocated", "MostAllocated", "LeastNUMANodes"]}
    space = {"apiVersion": "kwhatif.dev/v1", "kind": "SweepSpace", "arguments": {"NodeResourceTopologyMatch": fields}}
    policy = policy_with("NodeResourceTopologyMatch")
    result = kwhatif.sweep(plain_pod("new"), space=space, snapshot=cluster, policy=policy, workers=1)
    assert [each.policy for each in result.points] == [
        "today's",
        "NodeResourceTopologyMatch scoringStrategy.type MostAllocated",
        "NodeResourceTopologyMatch scoringStrategy.type LeastNUMANodes",
    ]
