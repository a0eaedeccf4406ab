"""Broken files: each is refused with one line that has the file, the place and upstream's words."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.errors import PolicyError
from kwhatif.policy import examine, load_configuration

GROUP = "kubescheduler.config.k8s.io"
SCHEME = 'in scheme "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme/scheme.go:29"'
TYPE_META = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'


def v1(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/v1", "kind": "KubeSchedulerConfiguration", **fields}


def args(plugin: str, args: Any) -> dict[str, Any]:
    return v1(profiles=[{"pluginConfig": [{"name": plugin, "args": args}]}])


def go(what: str, where: str, kind: str) -> str:
    return f"json: cannot unmarshal {what} into Go struct field {where} of type {kind}"


BROKEN: list[tuple[str, Any, str]] = [
    # --- not a configuration at all
    (
        "a list",
        [1],
        "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type " + TYPE_META,
    ),
    (
        "a word",
        "hello",
        "couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type " + TYPE_META,
    ),
    ("an empty object", {}, "Object 'Kind' is missing in '{}'"),
    (
        "no kind",
        {"apiVersion": f"{GROUP}/v1"},
        f"""Object 'Kind' is missing in '{{"apiVersion":"{GROUP}/v1"}}'""",
    ),
    (
        "no apiVersion",
        {"kind": "KubeSchedulerConfiguration"},
        """Object 'apiVersion' is missing in '{"kind":"KubeSchedulerConfiguration"}'""",
    ),
    (
        "a group without version",
        {"kind": "KubeSchedulerConfiguration", "apiVersion": f"{GROUP}/", "profiles": []},
        f"""Object 'apiVersion' is missing in '{{"apiVersion":"{GROUP}/","kind":"""
        """"KubeSchedulerConfigurati...'""",
    ),
    (
        "an apiVersion that is a number",
        {"kind": "KubeSchedulerConfiguration", "apiVersion": 1},
        "couldn't get version/kind; json parse error: " + go("number", ".apiVersion", "string"),
    ),
    (
        "a kind that is true",
        {"kind": True, "apiVersion": f"{GROUP}/v1"},
        "couldn't get version/kind; json parse error: " + go("bool", ".kind", "string"),
    ),
    (
        "an apiVersion with two slashes",
        {"kind": "KubeSchedulerConfiguration", "apiVersion": "a/b/c"},
        "unexpected GroupVersion string: a/b/c",
    ),
    (
        "an unknown version",
        v1(apiVersion=f"{GROUP}/v2"),
        f'no kind "KubeSchedulerConfiguration" is registered for version "{GROUP}/v2" {SCHEME}',
    ),
    (
        "a version that never was",
        v1(apiVersion=f"{GROUP}/v1beta9"),
        f'no kind "KubeSchedulerConfiguration" is registered for version "{GROUP}/v1beta9" {SCHEME}',
    ),
    (
        "another group",
        v1(apiVersion="componentconfig/v1alpha1"),
        f'no kind "KubeSchedulerConfiguration" is registered for version "componentconfig/v1alpha1" {SCHEME}',
    ),
    (
        "a Policy of a version that never was",
        {"kind": "Policy", "apiVersion": "v2"},
        f'no kind "Policy" is registered for version "v2" {SCHEME}',
    ),
    (
        "a plugin's arguments in place of a configuration",
        {"kind": "NodeAffinityArgs", "apiVersion": f"{GROUP}/v1"},
        f"couldn't decode as KubeSchedulerConfiguration, got {GROUP}/v1, Kind=NodeAffinityArgs: ",
    ),
    # --- wrong types
    (
        "a word for a number",
        v1(parallelism="16"),
        "parallelism: " + go("string", "KubeSchedulerConfiguration.parallelism", "int32"),
    ),
    (
        "a number too large for 32 bits",
        v1(parallelism=2**31),
        "parallelism: " + go("number 2147483648", "KubeSchedulerConfiguration.parallelism", "int32"),
    ),
    (
        "a number too large for 64 bits",
        v1(podMaxBackoffSeconds=2**63),
        "podMaxBackoffSeconds: "
        + go("number 9223372036854775808", "KubeSchedulerConfiguration.podMaxBackoffSeconds", "int64"),
    ),
    (
        "a fraction for a whole number",
        v1(percentageOfNodesToScore=12.5),
        "percentageOfNodesToScore: "
        + go("number 12.5", "KubeSchedulerConfiguration.percentageOfNodesToScore", "int32"),
    ),
    (
        "true for a number",
        v1(podInitialBackoffSeconds=True),
        "podInitialBackoffSeconds: " + go("bool", "KubeSchedulerConfiguration.podInitialBackoffSeconds", "int64"),
    ),
    (
        "a word for a truth value inside an inlined struct",
        v1(enableProfiling="yes"),
        "enableProfiling: " + go("string", "KubeSchedulerConfiguration.DebuggingConfiguration.enableProfiling", "bool"),
    ),
    (
        "a number for a scheduler name",
        v1(profiles=[{}, {"schedulerName": 5}]),
        "profiles[1].schedulerName: " + go("number", "KubeSchedulerProfile.profiles.schedulerName", "string"),
    ),
    (
        "an object for the profiles",
        v1(profiles={"schedulerName": "a"}),
        "profiles: " + go("object", "KubeSchedulerConfiguration.profiles", "[]v1.KubeSchedulerProfile"),
    ),
    (
        "a word for a profile",
        v1(profiles=["default-scheduler"]),
        "profiles[0]: " + go("string", "KubeSchedulerConfiguration.profiles", "v1.KubeSchedulerProfile"),
    ),
    (
        "an object for the plugin config",
        v1(profiles=[{"pluginConfig": {"name": "NodeAffinity"}}]),
        "profiles[0].pluginConfig: " + go("object", "KubeSchedulerProfile.profiles.pluginConfig", "[]v1.PluginConfig"),
    ),
    (
        "a list for an extension point",
        v1(profiles=[{"plugins": {"score": ["NodeAffinity"]}}]),
        "profiles[0].plugins.score: " + go("array", "Plugins.profiles.plugins.score", "v1.PluginSet"),
    ),
    (
        "a word for an enabled plugin",
        v1(profiles=[{"plugins": {"score": {"enabled": ["NodeAffinity"]}}}]),
        "profiles[0].plugins.score.enabled[0]: "
        + go("string", "PluginSet.profiles.plugins.score.enabled", "v1.Plugin"),
    ),
    (
        "a fraction for a weight",
        v1(profiles=[{"plugins": {"score": {"enabled": [{}, {"name": "B", "weight": 0.5}]}}}]),
        "profiles[0].plugins.score.enabled[1].weight: "
        + go("number 0.5", "Plugin.profiles.plugins.score.enabled.weight", "int32"),
    ),
    (
        "a word for a rate",
        v1(clientConnection={"qps": "fast"}),
        "clientConnection.qps: " + go("string", "ClientConnectionConfiguration.clientConnection.qps", "float32"),
    ),
    (
        "a rate that 32 bits cannot hold",
        v1(clientConnection={"qps": 1e39}),
        "clientConnection.qps: " + go("number 1e+39", "ClientConnectionConfiguration.clientConnection.qps", "float32"),
    ),
    (
        "seconds for a duration",
        v1(leaderElection={"leaseDuration": 15}),
        "leaderElection.leaseDuration: "
        + go("number", "LeaderElectionConfiguration.leaderElection.leaseDuration", "string"),
    ),
    (
        "a duration without unit",
        v1(leaderElection={"renewDeadline": "10"}),
        'leaderElection.renewDeadline: time: missing unit in duration "10"',
    ),
    (
        "a bad duration, which goes before an earlier bad type",
        v1(clientConnection="none", extenders=[{"httpTimeout": "soon"}]),
        'extenders[0].httpTimeout: time: invalid duration "soon"',
    ),
    (
        "certificates that are not base64",
        v1(extenders=[{"tlsConfig": {"caData": "%%%"}}]),
        "extenders[0].tlsConfig.caData: illegal base64 data",
    ),
    (
        "a key that is null",
        v1(clientConnection={None: 1}),
        "clientConnection: unsupported map key: None",
    ),
    (
        "the first of several bad types, in the order of keys",
        v1(podMaxBackoffSeconds="x", parallelism="y"),
        "parallelism: " + go("string", "KubeSchedulerConfiguration.parallelism", "int32"),
    ),
    # --- unknown fields
    ("an unknown field", v1(foo=1), 'strict decoding error: unknown field "foo"'),
    ("a field in the wrong case", v1(Parallelism=1), 'strict decoding error: unknown field "Parallelism"'),
    (
        "a field that v1beta2 had",
        v1(healthzBindAddress="0.0.0.0:10251"),
        'strict decoding error: unknown field "healthzBindAddress"',
    ),
    (
        "unknown fields all over",
        v1(zeta=1, alpha={"deep": 1}, profiles=[{}, {"plugins": {"Score": {}, "filter": {"on": []}}}]),
        'strict decoding error: unknown field "alpha", unknown field "profiles[1].plugins.Score", '
        'unknown field "profiles[1].plugins.filter.on", unknown field "zeta"',
    ),
    (
        "an unknown field with a quote in it",
        v1(**{'a"b': 1}),
        r'strict decoding error: unknown field "a\"b"',
    ),
    # --- arguments of plugins
    (
        "a word for arguments",
        args("NodeAffinity", "none"),
        "decoding .profiles[0].pluginConfig[0]: decoding args for plugin NodeAffinity: "
        "couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type " + TYPE_META,
    ),
    (
        "arguments of a kind nobody knows",
        args("NodeAffinity", {"kind": "Foo"}),
        "decoding .profiles[0].pluginConfig[0]: decoding args for plugin NodeAffinity: "
        f'no kind "Foo" is registered for version "{GROUP}/v1" {SCHEME}',
    ),
    (
        "arguments of an old version",
        args("NodeAffinity", {"apiVersion": f"{GROUP}/v1beta3"}),
        "decoding .profiles[0].pluginConfig[0]: decoding args for plugin NodeAffinity: "
        f'no kind "NodeAffinityArgs" is registered for version "{GROUP}/v1beta3" {SCHEME}'
        f" (removed in Kubernetes 1.29; {GROUP}/v1 has the same fields)",
    ),
    (
        "another plugin's arguments",
        args("DefaultPreemption", {"kind": "InterPodAffinityArgs"}),
        "decoding .profiles[0].pluginConfig[0]: args for plugin DefaultPreemption were not of type "
        f"DefaultPreemptionArgs.{GROUP}, got InterPodAffinityArgs.{GROUP}",
    ),
    (
        "a wrong type deep in arguments",
        args("NodeResourcesFit", {"scoringStrategy": {"resources": [{"name": "cpu"}, {"weight": "1"}]}}),
        "profiles[0].pluginConfig[0].args.scoringStrategy.resources[1].weight: "
        "decoding .profiles[0].pluginConfig[0]: decoding args for plugin NodeResourcesFit: "
        + go("string", "ResourceSpec.scoringStrategy.resources.weight", "int64"),
    ),
    (
        "a number for a strategy",
        args("NodeResourcesFit", {"scoringStrategy": {"type": 1}}),
        "profiles[0].pluginConfig[0].args.scoringStrategy.type: "
        "decoding .profiles[0].pluginConfig[0]: decoding args for plugin NodeResourcesFit: "
        + go("number", "ScoringStrategy.scoringStrategy.type", "v1.ScoringStrategyType"),
    ),
    (
        "a word for a skew",
        args("PodTopologySpread", {"defaultConstraints": [{"maxSkew": "1"}]}),
        "profiles[0].pluginConfig[0].args.defaultConstraints[0].maxSkew: "
        "decoding .profiles[0].pluginConfig[0]: decoding args for plugin PodTopologySpread: "
        + go("string", "TopologySpreadConstraint.defaultConstraints.maxSkew", "int32"),
    ),
    (
        "a word for an operator's values",
        args(
            "NodeAffinity",
            {
                "addedAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [{"matchExpressions": [{"values": "a"}]}]
                    }
                }
            },
        ),
        "profiles[0].pluginConfig[0].args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution"
        ".nodeSelectorTerms[0].matchExpressions[0].values: "
        "decoding .profiles[0].pluginConfig[0]: decoding args for plugin NodeAffinity: "
        + go(
            "string",
            "NodeSelectorRequirement.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution"
            ".nodeSelectorTerms.matchExpressions.values",
            "[]string",
        ),
    ),
    (
        "unknown fields in arguments",
        args("NodeResourcesFit", {"scoringStrategy": {"resources": [{"Name": "cpu", "Weight": 1}]}}),
        "strict decoding error: decoding .profiles[0].pluginConfig[0]: strict decoding error: "
        "decoding args for plugin NodeResourcesFit: strict decoding error: "
        'unknown field "scoringStrategy.resources[0].Name", '
        'unknown field "scoringStrategy.resources[0].Weight"',
    ),
    (
        "unknown fields inside and outside of arguments",
        {**args("NodeAffinity", {"foo": 1}), "bar": 2},
        'strict decoding error: unknown field "bar", decoding .profiles[0].pluginConfig[0]: strict decoding '
        'error: decoding args for plugin NodeAffinity: strict decoding error: unknown field "foo"',
    ),
]


@pytest.mark.parametrize(("document", "problem"), [pytest.param(d, p, id=i) for i, d, p in BROKEN])
def test_a_broken_file_is_refused_in_one_clear_line(document: Any, problem: str) -> None:
    with pytest.raises(PolicyError) as caught:
        load_configuration(document, source="scheduler.yaml")
    assert str(caught.value) == f"scheduler.yaml: {problem}"
    assert "\n" not in str(caught.value)


def test_each_unknown_field_is_a_line_of_its_own_among_the_problems() -> None:
    assert examine(v1(one=1, two=2)).problems == (
        'strict decoding error: unknown field "one"',
        'strict decoding error: unknown field "two"',
    )


def test_null_is_the_same_as_absent() -> None:
    document = v1(
        parallelism=None,
        profiles=[{"schedulerName": None, "plugins": {"score": {"enabled": None}}, "pluginConfig": None}],
        leaderElection={"leaseDuration": None, "leaderElect": None},
    )
    assert load_configuration(document, source="") == load_configuration(v1(), source="")


def test_a_null_in_a_list_is_an_empty_element() -> None:
    assert examine(v1(profiles=[{"schedulerName": "a"}, None])).problems == (
        "profiles[1].schedulerName: Required value",
    )


def test_whole_numbers_may_be_written_as_fractions_as_in_yaml() -> None:
    assert load_configuration(v1(parallelism=4.0), source="").parallelism == 4


def test_keys_that_yaml_reads_as_numbers_or_booleans_are_names() -> None:
    assert examine(v1(clientConnection={2: 1, 1.5: 1, True: 1})).problems == (
        'strict decoding error: unknown field "clientConnection.1.5"',
        'strict decoding error: unknown field "clientConnection.2"',
        'strict decoding error: unknown field "clientConnection.true"',
    )


@pytest.mark.parametrize("version", ["v1beta2", "v1beta3"])
def test_a_removed_format_is_refused_when_asked_to_be_strict(version: str) -> None:
    problems = examine(v1(apiVersion=f"{GROUP}/{version}"), accept_removed=False).problems
    assert len(problems) == 1
    assert problems[0].startswith(
        f'no kind "KubeSchedulerConfiguration" is registered for version "{GROUP}/{version}" {SCHEME}'
    )
