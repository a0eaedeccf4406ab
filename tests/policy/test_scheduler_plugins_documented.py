"""Configurations as the documents of scheduler-plugins show them, written anew: they load, or are refused as upstream.

Of its manifests, READMEs and site at the commit of the recordings, 51 documents, 31 of them different: 43 load, and 8
name what is not there. Of 121 different ones that files of four repositories and documents of eleven others have, that
of August 2026 among them, 99 load, and 22 are refused for the reasons below.
"""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.errors import PolicyError
from kwhatif.policy import expand_all
from kwhatif.policy.configuration_file import load_configuration
from kwhatif.policy.in_tree import in_tree
from kwhatif.policy.profile import SchedulerConfiguration
from kwhatif.versions import features_of
from tests.builders import Json

FEATURES = features_of("1.35")
ALL = {"disabled": [{"name": "*"}]}


def enable(*names: str, **more: Any) -> Json:
    refs = [{"name": name, "weight": int(weight)} if weight else {"name": name} for name, _, weight in split(names)]
    return {"enabled": refs, **more}


def split(names: tuple[str, ...]) -> list[tuple[str, str, str]]:
    return [name.partition("=") for name in names]


def document(plugins: Json, version: str = "v1", **args: Json) -> Json:
    return {
        "apiVersion": f"kubescheduler.config.k8s.io/{version}",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"kubeconfig": "/etc/kubernetes/scheduler.conf"},
        "profiles": [
            {
                "schedulerName": "second-scheduler",
                "plugins": plugins,
                "pluginConfig": [{"name": name, "args": each} for name, each in args.items()],
            }
        ],
    }


def start(given: Json) -> SchedulerConfiguration:
    """What a scheduler with these plugins makes of it. Raises PolicyError where it does not start."""
    configuration = load_configuration(given, source="scheduler.yaml", features=FEATURES)
    expand_all(configuration, in_tree(FEATURES).points.get)
    return configuration


NETWORK = {"namespaces": ["default"]}
OVERHEAD = {**NETWORK, "weightsName": "UserDefined", "networkTopologyName": "net"}
WATCHER = {"watcherAddress": "http://load-watcher.example:2020"}
PROMETHEUS = {"metricProvider": {"type": "Prometheus", "address": "http://prometheus.example:9090", "token": "t"}}
MILLI = [{"name": "cpu", "weight": 1_000_000}, {"name": "memory", "weight": 1}]


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(
            document({"multiPoint": enable("Coscheduling"), "queueSort": enable("Coscheduling", **ALL)}),
            id="gangs by multiPoint",
        ),
        pytest.param(
            document(
                {
                    "queueSort": enable("Coscheduling", **ALL),
                    **{point: enable("Coscheduling") for point in ("preFilter", "postFilter", "permit", "reserve")},
                },
                Coscheduling={"permitWaitingTimeSeconds": 10},
            ),
            id="gangs point by point, with a time",
        ),
        pytest.param(
            document(
                {
                    "preFilter": enable("CapacityScheduling"),
                    "postFilter": enable("CapacityScheduling", **ALL),
                    "reserve": enable("CapacityScheduling"),
                }
            ),
            id="quotas preempt in the place of DefaultPreemption",
        ),
        pytest.param(
            document(
                {point: enable("NodeResourceTopologyMatch") for point in ("filter", "score")},
                NodeResourceTopologyMatch={"scoringStrategy": {"type": "LeastAllocated"}},
            ),
            id="cells by what they have left",
        ),
        pytest.param(
            document({point: enable("NodeResourceTopologyMatch") for point in ("preFilter", "filter", "score")}),
            id="cells at PreFilter, where nothing happens",
        ),
        pytest.param(
            document({"multiPoint": enable("NodeResourceTopologyMatch")}),
            id="cells at all points",
        ),
        pytest.param(
            document(
                {"multiPoint": enable("NodeResourceTopologyMatch")},
                NodeResourceTopologyMatch={
                    "cacheResyncPeriodSeconds": 5,
                    "cache": {"foreignPodsDetect": "OnlyExclusiveResources", "resyncMethod": "Autodetect"},
                    "scoringStrategy": {"type": "BalancedAllocation", "resources": MILLI},
                },
            ),
            id="cells with the cache and all its words",
        ),
        pytest.param(
            document(
                {"score": enable("NodeResourcesAllocatable=1000000", **ALL)},
                NodeResourcesAllocatable={"mode": "Least", "resources": MILLI},
            ),
            id="the smallest nodes first, with weights for bytes",
        ),
        pytest.param(
            document({"score": enable("TargetLoadPacking", **ALL)}, TargetLoadPacking={**WATCHER}),
            id="a target with a load-watcher",
        ),
        pytest.param(
            document(
                {"score": enable("TargetLoadPacking=10")},
                TargetLoadPacking={**PROMETHEUS, "defaultRequests": {"cpu": "2000m"}, "targetUtilization": 70},
            ),
            id="a target with Prometheus",
        ),
        pytest.param(
            document(
                {"score": enable("LoadVariationRiskBalancing")},
                LoadVariationRiskBalancing={**WATCHER, "safeVarianceMargin": 1, "safeVarianceSensitivity": 2},
            ),
            id="low and steady load",
        ),
        pytest.param(
            document(
                {"score": enable("LowRiskOverCommitment")},
                LowRiskOverCommitment={**WATCHER, "smoothingWindowSize": 5, "riskLimitWeights": {"cpu": 0.5}},
            ),
            id="risk of limits",
        ),
        pytest.param(
            document(
                {"preScore": ALL, "score": enable("Peaks", **ALL)},
                Peaks={"WatcherAddress": "http://w:2020", "NodePowerModel": {"a": {"k0": 1.5, "k1": 2, "k2": -0.1}}},
            ),
            id="power, with keys as its malformed tags have them",
        ),
        pytest.param(
            document(
                {"score": enable("Peaks")}, Peaks={"WatcherAddress": "http://w:2020", "NodePowerModel": {"a": None}}
            ),
            id="power without any figure is no power",
        ),
        pytest.param(
            document(
                {
                    "queueSort": enable("TopologicalSort", **ALL),
                    **{point: enable("NetworkOverhead") for point in ("preFilter", "filter")},
                    "score": enable(
                        "NetworkOverhead=5",
                        "NodeResourcesBalancedAllocation=1",
                        disabled=[{"name": "NodeResourcesFit"}],
                    ),
                },
                version="v1beta3",
                TopologicalSort=NETWORK,
                NetworkOverhead=OVERHEAD,
            ),
            id="workloads by their dependencies, in a format that went",
        ),
        pytest.param(document({"score": enable("PodState", **ALL)}), id="nodes that pods are leaving"),
        pytest.param(document({"queueSort": enable("QOSSort", **ALL)}), id="the queue by quality of service"),
        pytest.param(
            document(
                {"postFilter": enable("PreemptionToleration", disabled=[{"name": "DefaultPreemption"}])},
                PreemptionToleration={"minCandidateNodesPercentage": 10, "minCandidateNodesAbsolute": 100},
            ),
            id="preemption with tolerations",
        ),
        pytest.param(
            document(
                {"score": enable("SySched", **ALL)},
                SySched={"defaultProfileNamespace": "default", "defaultProfileName": "full-seccomp"},
            ),
            id="system calls",
        ),
        pytest.param(
            document(
                {"multiPoint": enable("NodeMetadata=10")},
                NodeMetadata={
                    "metadataKey": "cost",
                    "metadataSource": "Label",
                    "metadataType": "Number",
                    "scoringStrategy": "Lowest",
                },
            ),
            id="a number in a label",
        ),
    ],
)
def test_a_scheduler_with_these_plugins_starts(given: Json) -> None:
    plugins = start(given).profiles[0].plugins
    known = in_tree(FEATURES)
    assert any(ref.name in known.outside for found in plugins.values() for ref in found.enabled)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        pytest.param(
            document({"score": enable("NetworkOverhead=5", "BalancedAllocation=1")}),
            'ScorePlugin "BalancedAllocation" does not exist',
            id="a plugin of another name",
        ),
        pytest.param(
            document({"postFilter": enable("CrossNodePreemption", **ALL)}),
            'PostFilterPlugin "CrossNodePreemption" does not exist',
            id="a sample that is not built in",
        ),
        pytest.param(
            document(
                {"filter": enable("NodeResourceTopologyMatch")},
                NodeResourceTopologyMatch={"kubeconfigpath": "/etc/kubernetes/scheduler.conf"},
            ),
            'decoding args for plugin NodeResourceTopologyMatch: strict decoding error: unknown field "kubeconfigpath"',
            id="an argument that went with an older format",
        ),
        pytest.param(
            document({"multiPoint": enable("Coscheduling")}),
            "only one queue sort plugin required for profile with scheduler name",
            id="a second plugin that sorts the queue",
        ),
        pytest.param(
            document({"preBind": enable("NodeResourceTopologyMatch")}),
            'plugin "NodeResourceTopologyMatch" does not extend PreBindPlugin plugin',
            id="the plugin of the same name of another scheduler",
        ),
        pytest.param(
            document(
                {"filter": enable("NodeResourceTopologyMatch")}, NodeResourceTopologyMatch={"scoringStrategy": {}}
            ),
            'scoringStrategy.type: Invalid value: "": invalid ScoringStrategyType',
            id="a strategy without its type",
        ),
        pytest.param(
            document(
                {"score": enable("LoadVariationRiskBalancing")}, LoadVariationRiskBalancing={"safeVarianceMargin": "1"}
            ),
            "cannot unmarshal string into Go struct field LoadVariationRiskBalancingArgs.safeVarianceMargin",
            id="a number as a text",
        ),
        pytest.param(
            document({"score": enable("QOSSort")}),
            'plugin "QOSSort" does not extend ScorePlugin plugin',
            id="a plugin at a point that it has not",
        ),
    ],
)
def test_it_does_not_start_for_upstreams_reason(given: Json, reason: str) -> None:
    with pytest.raises(PolicyError) as caught:
        start(given)
    assert reason in str(caught.value)
