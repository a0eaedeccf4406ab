"""Policies of the descheduler that it would not start with, and what it says."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.descheduling.policy_reading import DeschedulerPolicyError, read_policy

HEAD = {"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy"}


def profile(plugin: str = "RemoveDuplicates", args: Any = None, point: str = "balance", **more: Any) -> dict[str, Any]:
    config = [{"name": plugin, "args": args or {}}]
    return {
        **HEAD,
        "profiles": [{"name": "p", "pluginConfig": config, "plugins": {point: {"enabled": [plugin]}}}],
        **more,
    }


def evictor(**args: Any) -> dict[str, Any]:
    return {**HEAD, "profiles": [{"name": "p", "pluginConfig": [{"name": "DefaultEvictor", "args": args}]}]}


REFUSED = {
    "a field that nobody knows": (profile(limit=3), 'strict decoding error: unknown field "limit"'),
    "an argument that nobody knows": (profile(args={"namespace": {}}), 'unknown field "namespace"'),
    "extension points in camel case": (
        {**HEAD, "profiles": [{"name": "p", "plugins": {"preEvictionFilter": {}}}]},
        'unknown field "profiles[0].plugins.preEvictionFilter"',
    ),
    "a version that is read no more": (
        {**HEAD, "apiVersion": "descheduler/v1alpha1"},
        "is no longer read by the descheduler",
    ),
    "another kind": ({"apiVersion": "v1", "kind": "ConfigMap"}, "expected apiVersion descheduler/v1alpha2"),
    "a negative limit": ({**HEAD, "maxNoOfPodsToEvictTotal": -1}, "cannot unmarshal number -1 into Go field"),
    "a text for a number": ({**HEAD, "maxNoOfPodsToEvictTotal": "3"}, "cannot unmarshal string into Go struct field"),
    "a plugin that there is not": (
        {**HEAD, "profiles": [{"name": "p", "pluginConfig": [{"name": "Tidy"}]}]},
        "in profile p: plugin Tidy in pluginConfig not registered",
    ),
    "a plugin at the wrong point": (
        profile(point="deschedule"),
        "configures deschedule extension point of non-existing plugins: map[RemoveDuplicates:{}]",
    ),
    "a plugin without its entry": (
        {**HEAD, "profiles": [{"name": "p", "plugins": {"balance": {"enabled": ["RemoveDuplicates"]}}}]},
        'unable to build RemoveDuplicates plugin: unable to find "RemoveDuplicates" plugin config',
    ),
    "both lists of namespaces": (
        profile(args={"namespaces": {"include": ["a"], "exclude": ["b"]}}),
        "only one of Include/Exclude namespaces can be set",
    ),
    "no lifetime": (profile("PodLifeTime", point="deschedule"), "MaxPodLifeTimeSeconds not set"),
    "a state that there is not": (
        profile("PodLifeTime", {"maxPodLifeTimeSeconds": 1, "states": ["Sleeping"]}, "deschedule"),
        "states must be one of [ContainerCreating CrashLoopBackOff",
    ),
    "thresholds above their targets": (
        profile("LowNodeUtilization", {"thresholds": {"cpu": 60}, "targetThresholds": {"cpu": 50}}),
        "thresholds' cpu percentage is greater than targetThresholds'",
    ),
    "thresholds of other resources": (
        profile("LowNodeUtilization", {"thresholds": {"cpu": 20}, "targetThresholds": {"memory": 50}}),
        "configured different resources",
    ),
    "a threshold beyond all": (
        profile("HighNodeUtilization", {"thresholds": {"cpu": 101}}),
        "cpu threshold not in [0, 100] range",
    ),
    "old and new protections": (
        evictor(evictDaemonSetPods=True, podProtections={"extraEnabled": ["PodsWithPVC"]}),
        "cannot use Deprecated fields alongside",
    ),
    "a class that there is not": (
        evictor(priorityThreshold={"name": "gold"}),
        'priorityclasses.scheduling.k8s.io "gold" not found',
    ),
    "a threshold for critical pods": (
        evictor(priorityThreshold={"value": 2_000_000_001}),
        "priority threshold can't be greater than 2000000000",
    ),
    "Prometheus without an address": (
        {**HEAD, "metricsProviders": [{"source": "Prometheus", "prometheus": {}}]},
        "prometheus URL is required when prometheus is enabled",
    ),
    "a selector of nodes that nobody can parse": ({**HEAD, "nodeSelector": "a in"}, "expected"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_policy_is_refused(name: str) -> None:
    document, words = REFUSED[name]
    with pytest.raises(DeschedulerPolicyError) as refused:
        read_policy(document, {})
    assert words in refused.value.problem


def test_defaults_are_those_of_the_program() -> None:
    (found,) = read_policy(evictor(), {}).profiles
    assert found.threshold == 2_000_000_000
    assert found.evictor.protections == [
        *("PodsWithLocalStorage", "DaemonSetPods", "SystemCriticalPods", "FailedBarePods"),
    ]


def test_new_protections_replace_the_flags_altogether() -> None:
    chosen = {"defaultDisabled": ["DaemonSetPods"], "extraEnabled": ["PodsWithPVC"]}
    (found,) = read_policy(evictor(podProtections=chosen), {}).profiles
    assert found.evictor.protections == [
        *("PodsWithLocalStorage", "SystemCriticalPods", "FailedBarePods", "PodsWithPVC"),
    ]


def test_a_threshold_may_be_the_name_of_a_class() -> None:
    (found,) = read_policy(evictor(priorityThreshold={"name": "gold"}), {"gold": 1000}).profiles
    assert found.threshold == 1000
