from __future__ import annotations

from typing import Any

import pytest

from kwhatif.errors import PluginError, PolicyError
from kwhatif.policy.configuration_file import default_configuration, load_configuration
from kwhatif.scheduling.driver import Driver
from kwhatif.scheduling.setup import Setup
from kwhatif.versions import features_of
from tests.builders import FEATURES, Json, cluster_of, node, pod, profile_document
from tests.framework.plugins import AnyPlugin, made_up

ENABLES_MINE: Json = profile_document(plugins={"multiPoint": {"enabled": [{"name": "Mine"}]}})
MINE = made_up("Mine", filter=lambda *_: ())


def setup_of(document: Json | None, *plugins: type[AnyPlugin], **more: Any) -> Setup:
    return Setup(load_configuration(document, source=""), FEATURES, {p.name: p for p in plugins}, **more)


def test_every_plugin_of_the_default_profile_is_there() -> None:
    setup = setup_of(None)
    framework = setup.profile(setup.configuration.profiles[0]).framework
    assert [plugin.name for plugin in framework.filters][:4] == [
        "NodeUnschedulable",
        "NodeName",
        "TaintToleration",
        "NodeAffinity",
    ]
    assert {plugin.name: weight for plugin, weight in framework.scorers}["TaintToleration"] == 3
    assert setup.skipped == set()


def test_a_plugin_is_one_object_at_all_its_points_and_has_its_arguments() -> None:
    setup = setup_of(profile_document(args={"InterPodAffinity": {"hardPodAffinityWeight": 7}}))
    framework = setup.profile(setup.configuration.profiles[0]).framework
    (in_filter,) = [p for p in framework.filters if p.name == "InterPodAffinity"]
    (in_score,) = [p for p, _ in framework.scorers if p.name == "InterPodAffinity"]
    assert in_filter is in_score
    assert in_filter.handle.args.hard_pod_affinity_weight == 7


def test_a_plugin_from_outside_gets_plain_arguments() -> None:
    document = profile_document(args={"Mine": {"deep": [1]}}, plugins=ENABLES_MINE["profiles"][0]["plugins"])
    setup = setup_of(document, MINE)
    framework = setup.profile(setup.configuration.profiles[0]).framework
    (mine,) = [p for p in framework.all_plugins if p.name == "Mine"]
    assert mine.handle.args == {"deep": [1]}
    plain = setup_of(ENABLES_MINE, MINE)
    (mine,) = [p for p in plain.profile(plain.configuration.profiles[0]).framework.filters if p.name == "Mine"]
    assert mine.handle.args == {}


def test_a_plugin_that_nobody_provides_is_an_error() -> None:
    setup = setup_of(ENABLES_MINE)
    with pytest.raises(PolicyError, match="plugin Mine is enabled, but no plugin provides it"):
        setup.profile(setup.configuration.profiles[0])


def test_or_is_left_out_if_one_may() -> None:
    setup = setup_of(ENABLES_MINE, skip_unknown=True)
    framework = setup.profile(setup.configuration.profiles[0]).framework
    assert setup.skipped == {"Mine"}
    assert "Mine" not in {plugin.name for plugin in framework.all_plugins}


ELSEWHERE = {"enabled": [{"name": "Gang"}], "disabled": [{"name": "*"}]}


@pytest.mark.parametrize(
    ("plugins", "stand_ins"),
    [
        pytest.param({"score": {"enabled": [{"name": "Gang", "weight": 3}]}}, {}, id="at a point by name"),
        pytest.param({"queueSort": ELSEWHERE}, {"queueSort": "PrioritySort"}, id="where only it sorts the queue"),
        pytest.param({"bind": ELSEWHERE}, {"bind": "DefaultBinder"}, id="where only it binds"),
        pytest.param(
            {"multiPoint": {"enabled": [{"name": "Gang"}], "disabled": [{"name": "PrioritySort"}]}},
            {"queueSort": "PrioritySort"},
            id="where it sorts the queue through multiPoint",
        ),
        pytest.param(
            {"multiPoint": ELSEWHERE, "filter": {"enabled": [{"name": "NodeName"}]}},
            {"queueSort": "PrioritySort", "bind": "DefaultBinder"},
            id="where next to nothing is left",
        ),
    ],
)
def test_a_plugin_is_left_out_wherever_it_is_named(plugins: Json, stand_ins: dict[str, str]) -> None:
    document = profile_document(args={"Gang": {"permitWaitingTimeSeconds": 10}}, plugins=plugins)
    setup = setup_of(document, skip_unknown=True)
    framework = setup.profile(setup.configuration.profiles[0]).framework
    assert setup.skipped == {"Gang"}
    assert setup.stand_ins == stand_ins
    assert "Gang" not in {plugin.name for plugin in framework.all_plugins}
    assert {"PrioritySort", "DefaultBinder"} <= {plugin.name for plugin in framework.all_plugins}


def test_what_only_kube_scheduler_may_refuse_stays_refused_without_them() -> None:
    document = profile_document(plugins={"bind": {"disabled": [{"name": "*"}]}})
    setup = setup_of(document, skip_unknown=True)
    with pytest.raises(PolicyError, match="at least one bind plugin is needed"):
        setup.profile(setup.configuration.profiles[0])


def test_all_plugins_that_nobody_provides_are_named_at_once() -> None:
    setup = setup_of(profile_document(plugins={"multiPoint": {"enabled": [{"name": "Mine"}, {"name": "Gang"}]}}))
    with pytest.raises(
        PolicyError, match="plugins Gang, Mine are enabled, but no plugin provides them: name them with"
    ):
        setup.profile(setup.configuration.profiles[0])


def test_what_kube_scheduler_of_1_35_has_for_groups_of_pods_is_left_out_and_told() -> None:
    features = features_of("1.35", {"AllAlpha": True})
    setup = Setup(default_configuration(features), features)
    framework = setup.profile(setup.configuration.profiles[0]).framework
    assert setup.skipped == {"GangScheduling"}
    assert not setup.skipped & {plugin.name for plugin in framework.all_plugins}


def test_the_plugins_for_groups_of_pods_are_on_with_their_gates_in_1_36() -> None:
    features = features_of("1.36", {"AllAlpha": True})
    setup = Setup(default_configuration(features), features)
    framework = setup.profile(setup.configuration.profiles[0]).framework
    assert setup.skipped == set()
    names = {plugin.name for plugin in framework.all_plugins}
    assert {"GangScheduling", "PodGroupPodsCount", "TopologyPlacementGenerator"} <= names


def test_a_plugin_that_cannot_be_made_is_named() -> None:
    def fail(self: AnyPlugin, handle: object) -> None:
        raise LookupError("no config")

    broken = made_up("Mine", filter=lambda *_: ())
    broken.__init__ = fail  # type: ignore[method-assign]
    setup = setup_of(ENABLES_MINE, broken)
    with pytest.raises(PluginError, match="plugin Mine: __init__: LookupError: no config"):
        setup.profile(setup.configuration.profiles[0])


def test_a_plugin_may_refuse_its_arguments_in_its_own_words() -> None:
    def refuse(self: AnyPlugin, handle: object) -> None:
        raise PolicyError("deep must be a number")

    strict = made_up("Mine", filter=lambda *_: ())
    strict.__init__ = refuse  # type: ignore[method-assign]
    setup = setup_of(ENABLES_MINE, strict)
    with pytest.raises(PolicyError, match=r"^deep must be a number$"):
        setup.profile(setup.configuration.profiles[0])


def test_a_scheduler_is_found_by_its_name() -> None:
    setup = setup_of(None)
    cluster = cluster_of([node("a")])
    driver = Driver(cluster, setup)
    assert driver.attempt(cluster.shapes.info(pod())).is_placed
    assert driver.scheduler("another") is None


@pytest.mark.parametrize(("all_nodes", "expected"), [(False, 30), (True, 100)])
def test_all_nodes_can_be_looked_at_whatever_the_profile_says(all_nodes: bool, expected: int) -> None:
    setup = setup_of(profile_document(percentage=30), all_nodes=all_nodes)
    assert setup.profile(setup.configuration.profiles[0]).percentage == expected
