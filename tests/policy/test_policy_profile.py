from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

import kwhatif.policy
from kwhatif.policy import PluginRef, default_configuration, load_configuration
from kwhatif.policy.profile import FrozenMap, PluginSet, Profile


def configured(**fields: Any) -> Any:
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return load_configuration({**head, **fields}, source="")


def test_a_profile_is_a_value() -> None:
    first, second = default_configuration().profiles[0], default_configuration().profiles[0]
    assert first is not second
    assert first == second
    assert len({first, second}) == 1
    with pytest.raises(AttributeError):
        first.scheduler_name = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        first.plugins["score"] = PluginSet()  # type: ignore[index]


def test_profiles_differ_by_name_plugins_arguments_and_percentage() -> None:
    profile = default_configuration().profiles[0]
    weighted = configured(
        profiles=[{"plugins": {"score": {"enabled": [{"name": "NodeAffinity", "weight": 9}]}}}]
    ).profiles[0]
    argued = configured(
        profiles=[{"pluginConfig": [{"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 2}}]}]
    ).profiles[0]
    variants = {
        profile,
        structs.replace(profile, scheduler_name="b"),
        structs.replace(profile, percentage_of_nodes_to_score=0),
        weighted,
        argued,
    }
    assert len(variants) == 5


def test_a_configuration_is_compared_without_its_warnings() -> None:
    configuration = default_configuration()
    assert replace(configuration, warnings=("careful",)) == configuration
    assert len({replace(configuration, warnings=("careful",)), configuration}) == 1


def test_profiles_are_found_by_the_name_that_pods_use() -> None:
    configuration = configured(
        percentageOfNodesToScore=40,
        profiles=[{"schedulerName": "a"}, {"schedulerName": "b", "percentageOfNodesToScore": 0}],
    )
    a, b = configuration.profiles
    assert configuration.profile_for("a") is a
    assert configuration.profile_for("b") is b
    assert configuration.profile_for("c") is None
    assert configuration.profile_for(None) is None
    assert (configuration.percentage_for(a), configuration.percentage_for(b)) == (40, 0)


def test_a_profile_prints_what_is_on_and_off() -> None:
    sets = {
        "score": PluginSet((PluginRef("A", 2), PluginRef("B")), ("*",)),
        "filter": PluginSet(),
        "multiPoint": PluginSet((PluginRef("C"),)),
    }
    profile = Profile("mine", FrozenMap(sets), FrozenMap({}))
    assert str(profile) == "mine (score: A=2, B, -*; multiPoint: C)"
    assert "scheduler_name='mine'" in repr(profile)


def test_arguments_of_foreign_plugins_are_plain_json_and_handed_out_as_copies() -> None:
    (profile,) = configured(
        profiles=[
            {
                "plugins": {"score": {"enabled": [{"name": "Foo"}]}},
                "pluginConfig": [{"name": "Foo", "args": {"b": [1.5, None], "a": {True: "x"}}}],
            }
        ]
    ).profiles
    args = profile.args_of("Foo")
    assert args == {"a": {"true": "x"}, "b": [1.5, None]}
    args["b"].clear()
    assert profile.args_of("Foo") == {"a": {"true": "x"}, "b": [1.5, None]}
    assert profile.args_of("NodeName") is None


def test_the_public_names_are_these() -> None:
    assert kwhatif.policy.__all__ == [
        "EXTENSION_POINTS",
        "Examination",
        "PluginRef",
        "PluginSet",
        "Profile",
        "SchedulerConfiguration",
        "as_document",
        "as_json",
        "as_yaml",
        "default_configuration",
        "examine",
        "expand",
        "expand_all",
        "load_configuration",
    ]
    assert all(hasattr(kwhatif.policy, name) for name in kwhatif.policy.__all__)
