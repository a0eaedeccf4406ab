from __future__ import annotations

from typing import Any

import pytest

from kwhatif.api.core import TopologySpreadConstraint
from kwhatif.errors import UsageError
from kwhatif.golang.parsing import Duration
from kwhatif.plugins.default_preemption import DefaultPreemptionArgs
from kwhatif.plugins.dynamic_resources import DynamicResourcesArgs
from kwhatif.plugins.inter_pod_affinity import InterPodAffinityArgs
from kwhatif.plugins.node_affinity import NodeAffinityArgs
from kwhatif.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocationArgs
from kwhatif.plugins.node_resources_fit import NodeResourcesFitArgs, RequestedToCapacityRatioParam, ScoringStrategy
from kwhatif.plugins.shared.node_resources import ResourceSpec, UtilizationShapePoint
from kwhatif.plugins.shared.spread_constraints import PodTopologySpreadArgs
from kwhatif.plugins.volume_binding import VolumeBindingArgs
from kwhatif.policy import EXTENSION_POINTS, PluginRef, default_configuration, load_configuration
from kwhatif.policy.defaults import default_args, default_plugins
from kwhatif.policy.in_tree import in_tree
from kwhatif.policy.structs import Plugins
from kwhatif.versions import DEFAULT_MINOR, LEGACY_MINOR, features_of

CPU, MEMORY = ResourceSpec(name="cpu", weight=1), ResourceSpec(name="memory", weight=1)


def v1(**fields: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        **fields,
    }


def args_of(plugin: str, args: Any) -> Any:
    document = v1(profiles=[{"pluginConfig": [{"name": plugin, "args": args}]}])
    return load_configuration(document, source="").profiles[0].args_of(plugin)


def test_without_a_file_there_is_one_profile_with_the_default_plugins() -> None:
    configuration = default_configuration()
    (profile,) = configuration.profiles
    assert profile.scheduler_name == "default-scheduler"
    assert tuple(profile.plugins) == EXTENSION_POINTS
    assert profile.plugins["multiPoint"].enabled == tuple(
        PluginRef(*pair)
        for pair in (
            ("SchedulingGates", 0),
            ("PrioritySort", 0),
            ("NodeUnschedulable", 0),
            ("NodeName", 0),
            ("TaintToleration", 3),
            ("NodeAffinity", 2),
            ("NodePorts", 0),
            ("NodeResourcesFit", 1),
            ("VolumeRestrictions", 0),
            ("NodeVolumeLimits", 0),
            ("VolumeBinding", 0),
            ("VolumeZone", 0),
            ("PodTopologySpread", 2),
            ("InterPodAffinity", 2),
            ("DynamicResources", 2),
            ("DefaultPreemption", 0),
            ("NodeResourcesBalancedAllocation", 1),
            ("ImageLocality", 1),
            ("DefaultBinder", 0),
            ("NodeDeclaredFeatures", 0),
        )
    )
    assert all(not plugins.enabled for point, plugins in profile.plugins.items() if point != "multiPoint")


def test_an_empty_configuration_is_the_default_one() -> None:
    assert load_configuration(v1(), source="") == default_configuration()
    assert load_configuration(v1(profiles=[]), source="") == default_configuration()
    assert load_configuration(v1(profiles=[{}]), source="") == default_configuration()
    assert load_configuration(None, source="") == default_configuration()


def test_the_numbers_of_a_configuration_that_says_nothing() -> None:
    configuration = default_configuration()
    assert configuration.parallelism == 16
    assert configuration.percentage_of_nodes_to_score == 0
    assert (configuration.pod_initial_backoff_seconds, configuration.pod_max_backoff_seconds) == (1, 10)
    assert configuration.profiles[0].percentage_of_nodes_to_score is None
    election, client = configuration.leader_election, configuration.client_connection
    assert election.leader_elect
    assert [str(d) for d in (election.lease_duration, election.renew_deadline, election.retry_period)] == [
        "15s",
        "10s",
        "2s",
    ]
    assert (election.resource_lock, election.resource_namespace, election.resource_name) == (
        "leases",
        "kube-system",
        "kube-scheduler",
    )
    assert (client.qps, client.burst, client.content_type) == (50, 100, "application/vnd.kubernetes.protobuf")


def test_zero_durations_rates_and_empty_names_count_as_left_out() -> None:
    document = v1(
        leaderElection={"leaseDuration": "0s", "resourceName": "", "leaderElect": False},
        clientConnection={"qps": 0, "burst": 0, "contentType": ""},
    )
    configuration = load_configuration(document, source="")
    default = default_configuration()
    assert configuration.client_connection == default.client_connection
    assert configuration.leader_election.lease_duration == Duration.parse("15s")
    assert configuration.leader_election.resource_name == "kube-scheduler"
    assert not configuration.leader_election.leader_elect


@pytest.mark.parametrize(
    ("given", "profiling", "contention"),
    [
        ({}, True, True),
        ({"enableProfiling": False}, False, False),
        ({"enableContentionProfiling": False}, True, False),
        ({"enableProfiling": False, "enableContentionProfiling": True}, False, True),
    ],
)
def test_contention_profiling_follows_profiling(given: Any, profiling: bool, contention: bool) -> None:
    configuration = load_configuration(v1(**given), source="")
    assert (configuration.enable_profiling, configuration.enable_contention_profiling) == (
        profiling,
        contention,
    )


def test_several_profiles_get_no_default_name_but_each_gets_default_plugins() -> None:
    document = v1(profiles=[{"schedulerName": "a"}, {"schedulerName": "b", "percentageOfNodesToScore": 0}])
    first, second = load_configuration(document, source="").profiles
    assert first.plugins == second.plugins == default_configuration().profiles[0].plugins
    assert (first.percentage_of_nodes_to_score, second.percentage_of_nodes_to_score) == (None, 0)


@pytest.mark.parametrize(
    ("plugin", "given", "completed"),
    [
        ("DefaultPreemption", {}, DefaultPreemptionArgs()),
        (
            "DefaultPreemption",
            {"minCandidateNodesPercentage": 0},
            DefaultPreemptionArgs(min_candidate_nodes_percentage=0, min_candidate_nodes_absolute=100),
        ),
        ("InterPodAffinity", {}, InterPodAffinityArgs(hard_pod_affinity_weight=1)),
        (
            "InterPodAffinity",
            {"hardPodAffinityWeight": 0, "ignorePreferredTermsOfExistingPods": True},
            InterPodAffinityArgs(hard_pod_affinity_weight=0, ignore_preferred_terms_of_existing_pods=True),
        ),
        ("NodeAffinity", {}, NodeAffinityArgs()),
        ("NodeResourcesBalancedAllocation", {}, NodeResourcesBalancedAllocationArgs(resources=(CPU, MEMORY))),
        (
            "NodeResourcesBalancedAllocation",
            {"resources": [{"name": "example.com/gpu"}, {"name": "cpu", "weight": 0}]},
            NodeResourcesBalancedAllocationArgs(resources=(ResourceSpec(name="example.com/gpu", weight=1), CPU)),
        ),
        (
            "NodeResourcesFit",
            {"ignoredResources": ["example.com/gpu"]},
            NodeResourcesFitArgs(
                ignored_resources=("example.com/gpu",),
                scoring_strategy=ScoringStrategy(type="LeastAllocated", resources=(CPU, MEMORY)),
            ),
        ),
        (
            "NodeResourcesFit",
            {"scoringStrategy": {"type": "MostAllocated"}},
            NodeResourcesFitArgs(scoring_strategy=ScoringStrategy(type="MostAllocated", resources=(CPU, MEMORY))),
        ),
        (
            "NodeResourcesFit",
            {
                "scoringStrategy": {
                    "type": "RequestedToCapacityRatio",
                    "resources": [{"name": "cpu", "weight": 12}, {"name": "memory"}],
                    "requestedToCapacityRatio": {"shape": [{"utilization": 5, "score": 5}]},
                }
            },
            NodeResourcesFitArgs(
                scoring_strategy=ScoringStrategy(
                    type="RequestedToCapacityRatio",
                    resources=(ResourceSpec(name="cpu", weight=12), MEMORY),
                    requested_to_capacity_ratio=RequestedToCapacityRatioParam(
                        shape=(UtilizationShapePoint(utilization=5, score=5),)
                    ),
                )
            ),
        ),
        ("PodTopologySpread", {}, PodTopologySpreadArgs(defaulting_type="System")),
        (
            "PodTopologySpread",
            {
                "defaultingType": "List",
                "defaultConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}],
            },
            PodTopologySpreadArgs(
                defaulting_type="List",
                default_constraints=(
                    TopologySpreadConstraint(max_skew=1, topology_key="zone", when_unsatisfiable="ScheduleAnyway"),
                ),
            ),
        ),
        ("VolumeBinding", {}, VolumeBindingArgs(bind_timeout_seconds=600)),
        ("VolumeBinding", {"bindTimeoutSeconds": 0}, VolumeBindingArgs(bind_timeout_seconds=0)),
        (
            "DynamicResources",
            {},
            DynamicResourcesArgs(filter_timeout=Duration.parse("10s"), binding_timeout=Duration.parse("10m")),
        ),
        (
            "DynamicResources",
            {"filterTimeout": "0s"},
            DynamicResourcesArgs(filter_timeout=Duration(0), binding_timeout=Duration.parse("10m")),
        ),
    ],
)
def test_arguments_are_completed(plugin: str, given: Any, completed: Any) -> None:
    assert args_of(plugin, given) == completed
    assert (
        args_of(
            plugin,
            {**given, "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": f"{plugin}Args"},
        )
        == completed
    )


def test_every_enabled_in_tree_plugin_with_arguments_gets_its_defaults() -> None:
    facts = in_tree(features_of())
    (profile,) = default_configuration().profiles
    enabled = {name for name, _ in facts.default_plugins}
    assert dict(profile.args) == {name: default_args(name, facts) for name in sorted(facts.arguments.keys() & enabled)}


def test_gates_that_are_off_leave_timeouts_out_and_a_gate_that_is_on_brings_a_shape() -> None:
    off = {"DRASchedulerFilterTimeout": False, "DRADeviceBindingConditions": False}
    facts = in_tree(features_of(gates={"StorageCapacityScoring": True, **off}))
    assert default_args("DynamicResources", facts) == DynamicResourcesArgs()
    volume_binding = default_args("VolumeBinding", facts)
    assert isinstance(volume_binding, VolumeBindingArgs)
    assert [(point.utilization, point.score) for point in volume_binding.shape or ()] == [(0, 10), (100, 0)]


def test_the_table_of_plugins_is_consistent() -> None:
    facts = in_tree(features_of())
    assert {name for name, _ in facts.default_plugins} <= set(facts.points)
    assert {point for points in facts.points.values() for point in points} <= set(EXTENSION_POINTS)
    assert facts.arguments.keys() <= facts.points.keys()
    assert Plugins.__struct_encode_fields__ == EXTENSION_POINTS
    assert len(default_plugins(facts).multi_point.enabled) == 20


def test_a_minor_that_is_not_supported_is_a_usage_error() -> None:
    with pytest.raises(
        UsageError, match=rf"Kubernetes 9\.9 is not supported; supported versions: 1\.29 to {DEFAULT_MINOR}"
    ):
        default_configuration(features_of("9.9"))


# --- formats that upstream has removed


@pytest.mark.parametrize(("version", "removed"), [("v1beta2", "1.28"), ("v1beta3", "1.29")])
def test_a_removed_format_is_read_as_v1_with_a_warning(version: str, removed: str) -> None:
    group = "kubescheduler.config.k8s.io"
    document = v1(
        apiVersion=f"{group}/{version}",
        profiles=[
            {
                "pluginConfig": [
                    {
                        "name": "NodeAffinity",
                        "args": {"apiVersion": f"{group}/{version}", "kind": "NodeAffinityArgs"},
                    }
                ]
            }
        ],
    )
    configuration = load_configuration(document, source="old.yaml")
    assert configuration == default_configuration()
    assert configuration.warnings[0] == (
        f"old.yaml: {group}/{version} was removed in Kubernetes {removed}, "
        f"so kube-scheduler {DEFAULT_MINOR} refuses this file; it is read as {group}/v1"
    )


def test_v1beta2_had_other_weights_and_more_fields_which_are_named() -> None:
    document = v1(
        apiVersion="kubescheduler.config.k8s.io/v1beta2",
        healthzBindAddress="0.0.0.0:10251",
        metricsBindAddress="0.0.0.0:10251",
    )
    _, weights, healthz, metrics = load_configuration(document, source="").warnings
    assert weights == (
        f"the default plugins are those of Kubernetes {DEFAULT_MINOR}, not of v1beta2: "
        "InterPodAffinity weighs 2 instead of 1, "
        "NodeAffinity weighs 2 instead of 1, TaintToleration weighs 3 instead of 1"
    )
    assert healthz == "healthzBindAddress is ignored: it does not bear on scheduling"
    assert metrics == "metricsBindAddress is ignored: it does not bear on scheduling"


def test_v1beta2_is_what_1_22_reads() -> None:
    document = v1(apiVersion="kubescheduler.config.k8s.io/v1beta2")
    assert load_configuration(document, source="", features=features_of(LEGACY_MINOR)).warnings == ()


# --- what decides nothing


def test_arguments_without_effect_are_dropped_with_a_warning() -> None:
    document = v1(
        profiles=[
            {
                "plugins": {"multiPoint": {"disabled": [{"name": "ImageLocality"}, {"name": "NodeAffinity"}]}},
                "pluginConfig": [
                    {"name": "NodeAffinity", "args": {}},
                    {"name": "Nobody", "args": {"a": 1}},
                    {"name": "NodeName", "args": {"a": 1}},
                ],
            }
        ]
    )
    configuration = load_configuration(document, source="s.yaml")
    assert configuration.warnings == (
        "s.yaml: profiles[0].pluginConfig[0] has no effect: plugin NodeAffinity is not enabled in profile "
        "default-scheduler",
        "s.yaml: profiles[0].pluginConfig[1] has no effect: plugin Nobody is not enabled in profile default-scheduler",
        "s.yaml: profiles[0].pluginConfig[2] has no effect: plugin NodeName takes no arguments",
    )
    (profile,) = configuration.profiles
    assert profile.args_of("NodeAffinity") is None
    assert profile.args_of("Nobody") is None


# --- extenders


def test_resources_that_extenders_take_over_replace_the_ignored_ones_in_every_profile() -> None:
    document = v1(
        profiles=[
            {
                "schedulerName": "a",
                "pluginConfig": [{"name": "NodeResourcesFit", "args": {"ignoredResources": ["example.com/old"]}}],
            },
            {"schedulerName": "b"},
        ],
        extenders=[
            {
                "urlPrefix": "http://one",
                "managedResources": [
                    {"name": "example.com/a", "ignoredByScheduler": True},
                    {"name": "example.com/b"},
                ],
            },
            {
                "urlPrefix": "http://two",
                "httpTimeout": "1s",
                "managedResources": [{"name": "example.com/c", "ignoredByScheduler": True}],
            },
        ],
    )
    configuration = load_configuration(document, source="")
    for profile in configuration.profiles:
        assert profile.args_of("NodeResourcesFit").ignored_resources == ("example.com/a", "example.com/c")
    assert [str(extender.http_timeout) for extender in configuration.extenders] == ["5s", "1s"]
    assert configuration.warnings == ()


def test_extenders_that_ignore_nothing_leave_the_arguments_alone() -> None:
    document = v1(
        profiles=[{"pluginConfig": [{"name": "NodeResourcesFit", "args": {"ignoredResources": ["example.com/old"]}}]}],
        extenders=[{"urlPrefix": "http://one", "managedResources": [{"name": "example.com/a"}]}],
    )
    (profile,) = load_configuration(document, source="").profiles
    assert profile.args_of("NodeResourcesFit").ignored_resources == ("example.com/old",)
