from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kwhatif.plugins.outoftree import out_of_tree_plugins
from kwhatif.policy import (
    EXTENSION_POINTS,
    as_document,
    as_json,
    as_yaml,
    default_configuration,
    load_configuration,
)
from kwhatif.policy.in_tree import in_tree
from kwhatif.snapshot.read.yaml_reader import read_yaml
from kwhatif.versions import features_of

GOLDEN = Path(__file__).parent / "golden"
HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def test_the_default_configuration_as_kube_scheduler_writes_it() -> None:
    assert as_yaml(default_configuration()) == (GOLDEN / "default.out.yaml").read_text()


def test_a_customised_configuration_as_kube_scheduler_writes_it() -> None:
    document = yaml.safe_load((GOLDEN / "custom.in.yaml").read_text())
    configuration = load_configuration(document, source="custom.in.yaml")
    assert as_yaml(configuration) == (GOLDEN / "custom.out.yaml").read_text()


def test_json_and_yaml_say_the_same() -> None:
    configuration = default_configuration()
    document = as_document(configuration)
    assert json.loads(as_json(configuration)) == document
    assert yaml.safe_load(as_yaml(configuration)) == document


def test_all_keys_are_sorted() -> None:
    def check(value: Any) -> None:
        if isinstance(value, dict):
            assert list(value) == sorted(value)
            value = list(value.values())
        if isinstance(value, list):
            for item in value:
                check(item)

    check(as_document(load_configuration(yaml.safe_load((GOLDEN / "custom.in.yaml").read_text()), source="")))


@pytest.mark.parametrize("text", ["y", "on", "1e3", "0x1F", "0o7", "1_0", "12:30", "~", "", "a: b", "*", "<<", "="])
def test_a_string_stays_a_string(text: str) -> None:
    config = [{"name": "Foo", "args": {"text": text}}]
    plugins = {"multiPoint": {"enabled": [{"name": "Foo"}]}}
    document = {**HEAD, "profiles": [{"plugins": plugins, "pluginConfig": config}]}
    (read,) = read_yaml(as_yaml(load_configuration(document, source="")).encode(), "out.yaml")
    foo = next(c for c in read.value["profiles"][0]["pluginConfig"] if c["name"] == "Foo")
    assert foo["args"] == {"text": text}


# --- what is rendered can be loaded again and is the same

# Those of scheduler-plugins without arguments are refused: some have no defaults.
NAMES = [*(name for name in in_tree(features_of()).points if name not in out_of_tree_plugins()), "Foo", "Bar"]
INT32 = st.integers(-(2**31), 2**31 - 1)
WORDS = st.text(max_size=8)
RESOURCES = st.sampled_from(["cpu", "memory", "example.com/gpu", "ephemeral-storage"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | WORDS | st.floats(-1e6, 1e6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)


def optional(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=fields)


def specs(most: int) -> st.SearchStrategy[Any]:
    return st.lists(
        st.fixed_dictionaries({"name": RESOURCES}, optional={"weight": st.integers(0, most)}),
        max_size=3,
        unique_by=lambda spec: spec["name"],
    )


def points() -> st.SearchStrategy[Any]:
    shape = st.dictionaries(st.integers(0, 100), st.integers(0, 10), min_size=1, max_size=4)
    return shape.map(lambda d: [{"utilization": x, "score": d[x]} for x in sorted(d)])


PLUGIN_SETS = optional(
    enabled=st.lists(
        st.fixed_dictionaries({"name": st.sampled_from(NAMES)}, optional={"weight": INT32}),
        max_size=4,
        unique_by=lambda plugin: plugin["name"],
    ),
    disabled=st.lists(st.fixed_dictionaries({"name": st.sampled_from([*NAMES, "*"])}), max_size=3),
)
TERMS = st.fixed_dictionaries(
    {
        "matchExpressions": st.lists(
            st.fixed_dictionaries(
                {
                    "key": st.sampled_from(["zone", "example.com/pool"]),
                    "operator": st.sampled_from(["In", "NotIn"]),
                    "values": st.lists(st.sampled_from(["a", "b", "on", "1"]), min_size=1, max_size=2),
                }
            ),
            max_size=2,
        )
    }
)
DURATIONS = st.integers(1_000_000_000, 2**62).map(lambda ns: f"{ns}ns")
ARGS: dict[str, st.SearchStrategy[Any]] = {
    "DefaultPreemption": optional(
        minCandidateNodesPercentage=st.integers(0, 100), minCandidateNodesAbsolute=st.integers(1, 2**31 - 1)
    ),
    "DynamicResources": optional(filterTimeout=DURATIONS | st.just("0s"), bindingTimeout=DURATIONS),
    "InterPodAffinity": optional(
        hardPodAffinityWeight=st.integers(0, 100), ignorePreferredTermsOfExistingPods=st.booleans()
    ),
    "NodeAffinity": optional(
        addedAffinity=optional(
            requiredDuringSchedulingIgnoredDuringExecution=optional(nodeSelectorTerms=st.lists(TERMS, max_size=2)),
            preferredDuringSchedulingIgnoredDuringExecution=st.lists(
                st.fixed_dictionaries({"weight": st.integers(0, 100), "preference": TERMS}), max_size=2
            ),
        )
    ),
    "NodeResourcesBalancedAllocation": optional(resources=specs(1)),
    "NodeResourcesFit": optional(
        ignoredResources=st.lists(RESOURCES, max_size=2),
        ignoredResourceGroups=st.lists(st.just("example.com"), max_size=1),
        scoringStrategy=st.fixed_dictionaries(
            {"type": st.sampled_from(["LeastAllocated", "MostAllocated"])}, optional={"resources": specs(100)}
        )
        | st.fixed_dictionaries(
            {
                "type": st.just("RequestedToCapacityRatio"),
                "requestedToCapacityRatio": st.fixed_dictionaries({"shape": points()}),
            }
        ),
    ),
    "PodTopologySpread": st.fixed_dictionaries(
        {"defaultingType": st.just("List")},
        optional={
            "defaultConstraints": st.lists(
                st.fixed_dictionaries(
                    {
                        "maxSkew": st.integers(1, 2**31 - 1),
                        "topologyKey": st.sampled_from(["zone", "host"]),
                        "whenUnsatisfiable": st.sampled_from(["DoNotSchedule", "ScheduleAnyway"]),
                    },
                    optional={"minDomains": st.integers(1, 9), "nodeTaintsPolicy": st.just("Honor")},
                ),
                max_size=2,
                unique_by=lambda constraint: (constraint["topologyKey"], constraint["whenUnsatisfiable"]),
            )
        },
    ),
    "VolumeBinding": optional(bindTimeoutSeconds=st.integers(0, 2**63 - 1)),
    "Foo": JSON,
}
CONFIGS = st.sampled_from(sorted(ARGS)).flatmap(
    lambda name: st.fixed_dictionaries({"name": st.just(name), "args": ARGS[name]})
)
PROFILES = st.fixed_dictionaries(
    {},
    optional={
        "percentageOfNodesToScore": st.integers(0, 100),
        # A common queue sort is checked across profiles, so it is left to multiPoint.
        "plugins": st.dictionaries(
            st.sampled_from([point for point in EXTENSION_POINTS if point != "queueSort"]),
            PLUGIN_SETS,
            max_size=4,
        ),
        "pluginConfig": st.lists(CONFIGS, max_size=4, unique_by=lambda config: config["name"]),
    },
)
EXTENDERS = st.fixed_dictionaries(
    {"urlPrefix": WORDS},
    optional={
        "filterVerb": WORDS,
        "weight": st.integers(1, 2**63 - 1),
        "httpTimeout": DURATIONS,
        "enableHTTPS": st.booleans(),
        "tlsConfig": optional(insecure=st.booleans(), caData=st.sampled_from(["", "AAEC"])),
        "managedResources": st.just([{"name": "example.com/fpga"}]),
    },
)
DOCUMENTS = st.fixed_dictionaries(
    {key: st.just(value) for key, value in HEAD.items()},
    optional={
        "parallelism": st.integers(1, 2**31 - 1),
        "percentageOfNodesToScore": st.integers(0, 100),
        "podInitialBackoffSeconds": st.integers(1, 10),
        "podMaxBackoffSeconds": st.integers(10, 2**63 - 1),
        "enableProfiling": st.booleans(),
        "enableContentionProfiling": st.booleans(),
        "delayCacheUntilActive": st.booleans(),
        "leaderElection": optional(leaderElect=st.booleans(), retryPeriod=DURATIONS, resourceName=WORDS),
        "clientConnection": optional(
            kubeconfig=WORDS, qps=st.floats(0, 1e6, width=32), burst=st.integers(0, 2**31 - 1)
        ),
        "extenders": st.lists(EXTENDERS, max_size=1),
        "profiles": st.lists(PROFILES, max_size=2).map(
            lambda profiles: [{**profile, "schedulerName": f"s{i}"} for i, profile in enumerate(profiles)]
        ),
    },
)


# A whole configuration takes a while to make up, the more so on a busy machine.
LAW = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@LAW
@given(DOCUMENTS)
def test_rendering_and_loading_again_gives_an_equal_configuration(document: dict[str, Any]) -> None:
    configuration = load_configuration(document, source="in.yaml")
    again = load_configuration(as_document(configuration), source="out.yaml")
    assert again == configuration
    assert hash(again.profiles) == hash(configuration.profiles)
    assert as_document(again) == as_document(configuration)


@pytest.mark.long
@LAW
@given(DOCUMENTS)
def test_the_printed_yaml_is_read_back_as_it_was(document: dict[str, Any]) -> None:
    configuration = load_configuration(document, source="in.yaml")
    (read,) = read_yaml(as_yaml(configuration).encode(), "out.yaml")
    assert load_configuration(read.value, source="out.yaml") == configuration


@LAW
@given(DOCUMENTS)
def test_loading_leaves_the_document_as_it_was(document: dict[str, Any]) -> None:
    before = json.dumps(document)
    load_configuration(document, source="in.yaml")
    assert json.dumps(document) == before


def test_no_two_profiles_share_mutable_arguments() -> None:
    given_args = {"list": [1]}
    profile = {
        "plugins": {"score": {"enabled": [{"name": "Foo"}]}},
        "pluginConfig": [{"name": "Foo", "args": given_args}],
    }
    document = {**HEAD, "profiles": [{**profile, "schedulerName": name} for name in "ab"]}
    first, second = load_configuration(document, source="").profiles
    first.args_of("Foo")["list"].append(2)
    assert first.args_of("Foo") == second.args_of("Foo") == given_args == {"list": [1]}
