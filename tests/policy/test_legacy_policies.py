"""What a Policy becomes: which plugins, in which order, with which weights; and what is refused, and how."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from kwhatif.errors import InputError, PolicyError
from kwhatif.legacy.policy_structs import (
    DEFAULT_PREDICATES,
    DEFAULT_PRIORITIES,
    EQUAL_PRIORITY,
    MANDATORY_PREDICATES,
    OLD_PREDICATES,
    OLD_PRIORITIES,
    PREDICATES,
    PRIORITIES,
)
from kwhatif.policy.configuration_file import examine, load_configuration
from kwhatif.policy.in_tree import in_tree
from kwhatif.policy.profile import Profile, SchedulerConfiguration
from kwhatif.policy.render import convert_configuration
from kwhatif.simulation.policy_file import read_policy
from kwhatif.versions import LEGACY_MINOR, features_of
from tests.builders import IN_TREE, LEGACY

OF_1_22 = features_of(LEGACY_MINOR)
Json = dict[str, Any]


def policy(**fields: Any) -> Json:
    return {"kind": "Policy", "apiVersion": "v1", **fields}


def named(*names: str) -> list[Json]:
    return [{"name": name} for name in names]


def weighed(**weights: int) -> list[Json]:
    return [{"name": name, "weight": weight} for name, weight in weights.items()]


def loaded(document: Json, minor: str = LEGACY_MINOR) -> SchedulerConfiguration:
    return load_configuration(document, source="", features=features_of(minor))


def profile_of(**fields: Any) -> Profile:
    (profile,) = loaded(policy(**fields)).profiles
    return profile


def at(profile: Profile, point: str) -> list[str]:
    return [str(ref) for ref in profile.plugins[point].enabled]


# --- predicates


def test_without_predicates_the_default_ones_hold_in_their_own_order() -> None:
    assert at(profile_of(), "filter") == [
        *("NodeUnschedulable", "NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity", "VolumeRestrictions"),
        *("TaintToleration", "EBSLimits", "GCEPDLimits", "NodeVolumeLimits", "AzureDiskLimits", "VolumeBinding"),
        *("VolumeZone", "PodTopologySpread", "InterPodAffinity"),
    ]


def test_two_predicates_stay_though_a_policy_has_an_empty_list() -> None:
    assert at(profile_of(predicates=[]), "filter") == ["NodeUnschedulable", "TaintToleration"]


def test_the_order_of_predicates_is_kube_schedulers_not_the_policys() -> None:
    profile = profile_of(predicates=named("MatchInterPodAffinity", "PodFitsPorts", "HostName"))
    assert at(profile, "filter") == [
        "NodeUnschedulable",
        "NodeName",
        "NodePorts",
        "TaintToleration",
        "InterPodAffinity",
    ]
    assert at(profile, "preFilter") == ["NodePorts", "InterPodAffinity"]


def test_an_argument_under_a_known_name_is_ignored_and_said_so() -> None:
    argument = {"labelsPresence": {"labels": ["zone"], "presence": True}}
    configuration = loaded(policy(predicates=[{"name": "CheckNodeLabelPresence", "argument": argument}]))
    assert configuration.profiles[0].args_of("NodeLabel").present_labels == ()
    assert "its argument is ignored, as by kube-scheduler" in configuration.warnings[0]


# --- priorities


def test_without_priorities_the_default_ones_hold() -> None:
    assert at(profile_of(), "score") == [
        *("NodeResourcesBalancedAllocation=1", "PodTopologySpread=2", "ImageLocality=1", "InterPodAffinity=1"),
        *("NodeResourcesLeastAllocated=1", "NodeAffinity=1", "NodePreferAvoidPods=10000", "TaintToleration=1"),
    ]


def test_with_an_empty_list_of_priorities_nothing_scores() -> None:
    profile = profile_of(priorities=[])
    assert at(profile, "score") == []
    assert at(profile_of(priorities=weighed(EqualPriority=3)), "score") == []


def test_the_first_by_name_of_two_priorities_gives_their_plugin_its_weight() -> None:
    profile = profile_of(priorities=weighed(SelectorSpreadPriority=7, EvenPodsSpreadPriority=2))
    assert at(profile, "score") == ["PodTopologySpread=2"]
    assert profile.args_of("PodTopologySpread").defaulting_type == "System"


def test_spreading_without_services_has_no_default_constraints() -> None:
    assert (
        profile_of(priorities=weighed(EvenPodsSpreadPriority=2)).args_of("PodTopologySpread").defaulting_type == "List"
    )
    assert profile_of(priorities=[]).args_of("PodTopologySpread").defaulting_type == "System"


def test_the_weight_of_hard_affinity_holds_only_where_affinity_scores() -> None:
    assert profile_of(hardPodAffinitySymmetricWeight=7).args_of("InterPodAffinity").hard_pod_affinity_weight == 7
    silent = profile_of(hardPodAffinitySymmetricWeight=7, priorities=[])
    assert silent.args_of("InterPodAffinity").hard_pod_affinity_weight == 1


def test_asking_every_predicate_is_remembered() -> None:
    assert loaded(policy(alwaysCheckAllPredicates=True)).all_filters
    assert not loaded(policy()).all_filters


# --- refusals

CUSTOM = {"labelPreference": {"label": "a", "presence": True}}
RATIO = {"requestedToCapacityRatioArguments": {"shape": [{"utilization": 0, "score": 0}]}}


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        (policy(predicates=named("Nonsense")), 'predicate type not found for "Nonsense"'),
        (policy(priorities=weighed(Nonsense=1)), 'priority type not found for "Nonsense"'),
        (
            policy(priorities=weighed(LeastRequestedPriority=0)),
            "priority LeastRequestedPriority should have a positive weight applied to it or it has overflown",
        ),
        (
            policy(hardPodAffinitySymmetricWeight=101),
            "hardPodAffinitySymmetricWeight: Invalid value: 101: not in valid range [0-100]",
        ),
        (
            policy(predicates=[{"name": "X", "argument": {}}]),
            "exactly 1 predicate argument is required, numArgs: 0, predicate X",
        ),
        (
            policy(
                priorities=[
                    {"name": "A", "weight": 1, "argument": CUSTOM},
                    {"name": "B", "weight": 2, "argument": CUSTOM},
                ]
            ),
            'LabelPreference  priority "B" has a different weight with "A"',
        ),
        (
            policy(priorities=[{"name": name, "weight": 1, "argument": RATIO} for name in ("A", "B")]),
            'priority "B" redeclares custom priority "RequestedToCapacityRatio", from: "A"',
        ),
        (policy(priorities=weighed(NodeLabel=1)), "priority NodeLabel has no arguments: kube-scheduler 1.22 crashes"),
        (policy(predicate=[]), 'strict decoding error: unknown field "predicate"'),
        (policy(predicates=[{"name": 3}]), "cannot unmarshal number into Go struct field PredicatePolicy.predicates"),
        (policy(extenders=[{"urlPrefix": "x", "httpTimeout": "5s"}]), "expected nanoseconds, as a number"),
        (
            policy(extenders=[{"urlPrefix": "x", "prioritizeVerb": "p"}]),
            "extenders[0].weight: Invalid value: 0: must have a positive weight applied to it",
        ),
    ],
)
def test_a_policy_is_refused_as_kube_scheduler_1_22_refuses_it(document: Json, problem: str) -> None:
    with pytest.raises(PolicyError, match=re.escape(problem)):
        loaded(document)


@pytest.mark.parametrize("name", sorted(OLD_PREDICATES))
def test_validation_refuses_names_that_1_22_no_longer_knew(name: str) -> None:
    outcome = examine(policy(predicates=named(name)), features=OF_1_22, accept_removed=False)
    assert outcome.problems == (f'predicate type not found for "{name}"',)


def test_a_newer_kube_scheduler_refuses_a_policy() -> None:
    outcome = examine(policy(), features=features_of("1.30"), accept_removed=False)
    assert outcome.error.startswith('no kind "Policy" is registered for version "v1"')
    assert "removed in Kubernetes 1.23" in outcome.error


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ({"policy": {"file": {"path": "/etc/policy.cfg"}}}, "the Policy is in a file or ConfigMap of its own"),
        ({"provider": "MyProvider"}, 'algorithm provider "MyProvider": known are ClusterAutoscalerProvider and'),
    ],
)
def test_an_algorithm_source_that_is_not_here_is_refused(source: Json, problem: str) -> None:
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1alpha1",
        "kind": "KubeSchedulerConfiguration",
        "algorithmSource": source,
    }
    with pytest.raises(PolicyError, match=problem):
        loaded(document)


# --- conversion


def test_what_a_conversion_cannot_keep_is_lost_and_named() -> None:
    argument = {"serviceAffinity": {"labels": ["rack"]}}
    document = policy(
        predicates=[*named("MaxEBSVolumeCount"), {"name": "Rack", "argument": argument}],
        priorities=weighed(NodePreferAvoidPodsPriority=1, LeastRequestedPriority=1, MostRequestedPriority=2),
    )
    conversion = convert_configuration(document, source="", features=features_of())
    assert [lost.partition(" is ")[0] for lost in conversion.lost] == [
        "ServiceAffinity",
        "EBSLimits",
        "NodeResourcesLeastAllocated",
        "NodePreferAvoidPods",
    ]
    assert loaded(document, "1.30").lost != conversion.lost  # EBSLimits still exists there


def test_required_labels_become_affinity_that_the_profile_adds() -> None:
    argument = {"labelsPresence": {"labels": ["rack"], "presence": False}}
    document = policy(predicates=[{"name": "NoRack", "argument": argument}], priorities=[])
    conversion = convert_configuration(document, source="", features=features_of())
    (profile,) = load_configuration(conversion.document, source="").profiles
    added = profile.args_of("NodeAffinity").added_affinity
    ((term,),) = [added.required_during_scheduling_ignored_during_execution.node_selector_terms]
    assert [(e.key, e.operator) for e in term.match_expressions] == [("rack", "DoesNotExist")]
    assert "NodeAffinity" in at(profile, "filter")


def test_a_conversion_for_1_22_is_refused() -> None:
    with pytest.raises(PolicyError, match=r"Kubernetes 1\.22 does not read v1"):
        convert_configuration(policy(), source="", features=OF_1_22)


# --- ConfigMaps


def config_map(tmp_path: Path, data: str) -> str:
    path = tmp_path / "map.yaml"
    path.write_text(f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m, namespace: ns}}\n{data}")
    return str(path)


POLICY_TEXT = '\'{"kind": "Policy", "apiVersion": "v1"}\''


@pytest.mark.parametrize("key", ["policy.cfg", "scheduler-config.yaml", "config.yaml", "whatever"])
def test_the_configuration_is_found_under_any_key(tmp_path: Path, key: str) -> None:
    document, source, warnings = read_policy(config_map(tmp_path, f"data: {{{key}: {POLICY_TEXT}, notes: hello}}"))
    assert document == policy()
    assert source.endswith(f"map.yaml (ConfigMap ns/m, {key})")
    assert warnings == ()


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ("data: {a: x, b: y}", "ConfigMap ns/m: no KubeSchedulerConfiguration or Policy under any key of data (a, b)"),
        ("", "no KubeSchedulerConfiguration or Policy under any key of data (it has none)"),
        (
            f"data: {{a: {POLICY_TEXT}, b: {POLICY_TEXT}}}",
            "2 scheduler configurations in ConfigMaps: a of ConfigMap ns/m, b of ConfigMap ns/m; give one of them",
        ),
        ("data: {a: 'kind: Policy\n\n  x: ['}", "(ConfigMap ns/m, a)"),
    ],
)
def test_a_config_map_that_does_not_hold_one_configuration_is_bad_input(
    tmp_path: Path, data: str, problem: str
) -> None:
    with pytest.raises(InputError, match=re.escape(problem)):
        read_policy(config_map(tmp_path, data))


# --- names


def test_every_name_leads_to_a_plugin_that_exists() -> None:
    uses = [use for group in PREDICATES.values() for use in group]
    points = in_tree(OF_1_22).points
    for use in (*uses, *PRIORITIES.values(), *OLD_PRIORITIES.values()):
        assert use.plugin in {**IN_TREE, **LEGACY}
        assert set(use.points) <= set(points[use.plugin]), use
    assert MANDATORY_PREDICATES < DEFAULT_PREDICATES < set(PREDICATES)
    assert set(DEFAULT_PRIORITIES) < set(PRIORITIES)
    assert {successor for successor, _ in OLD_PREDICATES.values()} <= set(PREDICATES)
    assert EQUAL_PRIORITY not in PRIORITIES
