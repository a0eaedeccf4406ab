"""Every message of upstream's validation, each from a file that earns it; arguments have a file of their "
"own."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.errors import PolicyError
from kwhatif.golang.field_validation import aggregate
from kwhatif.policy import examine, load_configuration

GROUP = "kubescheduler.config.k8s.io"
NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
REMOVED = f'was invalid in version "{GROUP}/v1" (KubeSchedulerConfiguration is version "{GROUP}/v1")'


def problems(**fields: Any) -> list[str]:
    document = {"apiVersion": f"{GROUP}/v1", "kind": "KubeSchedulerConfiguration", **fields}
    return list(examine(document).problems)


# --- the configuration


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        (
            {"clientConnection": {"burst": -1}},
            "clientConnection.burst: Invalid value: -1: must be non-negative",
        ),
        (
            {"parallelism": 0},
            "parallelism: Invalid value: 0: should be an integer value greater than zero",
        ),
        (
            {"percentageOfNodesToScore": 101},
            "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]",
        ),
        (
            {"percentageOfNodesToScore": -1},
            "percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]",
        ),
        (
            {"podInitialBackoffSeconds": 0},
            "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0",
        ),
        (
            {"podInitialBackoffSeconds": 20},
            "podMaxBackoffSeconds: Invalid value: 10: must be greater than or equal to PodInitialBackoffSeconds",
        ),
        (
            {"leaderElection": {"leaseDuration": "-1s", "renewDeadline": "-2s"}},
            'leaderElection.leaseDuration: Invalid value: "-1s": must be greater than zero\n'
            'leaderElection.renewDeadline: Invalid value: "-2s": must be greater than zero',
        ),
        (
            {"leaderElection": {"retryPeriod": "-1ms"}},
            'leaderElection.retryPeriod: Invalid value: "-1ms": must be greater than zero',
        ),
        (
            {"leaderElection": {"renewDeadline": "15s"}},
            'leaderElection.leaseDuration: Invalid value: "15s": must be greater than `RenewDeadline`',
        ),
        (
            {"leaderElection": {"resourceLock": "endpoints"}},
            'leaderElection.resourceLock: Invalid value: "endpoints": resourceLock value must be "leases"',
        ),
        ({"leaderElection": {"leaderElect": False, "resourceLock": "endpoints", "retryPeriod": "-1s"}}, ""),
    ],
)
def test_the_configuration_itself(fields: dict[str, Any], problem: str) -> None:
    assert "\n".join(problems(**fields)) == problem


# --- profiles


def test_a_profile_needs_a_name_unless_it_is_alone() -> None:
    assert problems(profiles=[{"schedulerName": ""}]) == ["profiles[0].schedulerName: Required value"]
    assert problems(profiles=[{"schedulerName": "a"}, {}]) == ["profiles[1].schedulerName: Required value"]


def test_names_of_profiles_are_unique() -> None:
    # Upstream prints an empty object where it means the other profile.
    assert problems(profiles=[{"schedulerName": "a"}, {"schedulerName": "a"}]) == [
        "profiles[1].schedulerName: Duplicate value: {}"
    ]


def test_the_percentage_of_a_profile() -> None:
    assert problems(profiles=[{"percentageOfNodesToScore": 150}]) == [
        "profiles[0].percentageOfNodesToScore: Invalid value: 150: not in valid range [0-100]"
    ]


@pytest.mark.parametrize("name", ["AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"])
def test_plugins_that_v1_has_removed(name: str) -> None:
    profile = {
        "plugins": {
            "preFilter": {"enabled": [{"name": "A"}, {"name": name}]},
            "bind": {"enabled": [{"name": name}]},
        },
        "pluginConfig": [{"name": name, "args": {}}],
    }
    assert problems(profiles=[profile]) == [
        f'profiles[0].plugins.preFilter.enabled[1]: Invalid value: "{name}": {REMOVED}',
        f'profiles[0].plugins.bind.enabled[0]: Invalid value: "{name}": {REMOVED}',
        f'profiles[0].pluginConfig[0]: Invalid value: "{name}": {REMOVED}',
    ]


def test_removed_plugins_may_be_disabled_and_stand_in_multipoint() -> None:
    plugins = {
        "multiPoint": {"enabled": [{"name": "EBSLimits"}]},
        "filter": {"disabled": [{"name": "GCEPDLimits"}]},
    }
    assert problems(profiles=[{"plugins": plugins}]) == []


def test_a_plugin_is_configured_once() -> None:
    twice = [{"name": "NodeAffinity"}, {"name": "Foo"}, {"name": "NodeAffinity"}, {"name": "Foo"}]
    assert problems(profiles=[{"pluginConfig": twice}]) == [
        'profiles[0].pluginConfig[2]: Duplicate value: "NodeAffinity"',
        'profiles[0].pluginConfig[3]: Duplicate value: "Foo"',
    ]


def test_arguments_under_the_name_of_their_type_fit_no_plugin() -> None:
    config = [{"name": "NodeResourcesFitArgs", "args": {"b": "<&>", "a": [1, None, True]}}]
    assert problems(profiles=[{"pluginConfig": config}]) == [
        "profiles[0].pluginConfig[0].args: Invalid value: "
        r'{"a":[1,null,true],"b":"\u003c\u0026\u003e"}: has to match plugin args'
    ]
    assert problems(profiles=[{"pluginConfig": [{"name": "NodeResourcesFitArgs"}]}]) == [
        "profiles[0].pluginConfig[0].args: Invalid value: null: has to match plugin args"
    ]


def sorted_by(*names: str, args: Any = None) -> dict[str, Any]:
    config = [{"name": names[0], "args": args}] if args else []
    enabled = [{"name": name} for name in names]
    return {"plugins": {"queueSort": {"enabled": enabled}}, "pluginConfig": config}


def test_one_plugin_sorts_the_queue() -> None:
    assert problems(profiles=[sorted_by("A", "B")]) == [
        "profiles[0].plugins.queueSort.Enabled: Invalid value: 2: only one queue sort plugin can be enabled"
    ]


def test_all_profiles_sort_the_queue_with_the_same_plugin() -> None:
    profiles = [
        {"schedulerName": "a", **sorted_by("A")},
        {
            "schedulerName": "b",
            "plugins": {"queueSort": {"disabled": [{"name": "*"}], "enabled": [{"name": "B"}]}},
        },
        {"schedulerName": "c"},
    ]
    assert problems(profiles=profiles) == [
        'profiles[1].plugins.queueSort: Invalid value: {"Enabled":[{"Name":"B","Weight":0}],'
        '"Disabled":[{"Name":"*","Weight":0}]}: must be the same for all profiles',
        'profiles[2].plugins.queueSort: Invalid value: {"Enabled":null,"Disabled":null}: '
        "must be the same for all profiles",
    ]


def test_all_profiles_sort_the_queue_with_the_same_arguments() -> None:
    profiles = [
        {"schedulerName": "a", **sorted_by("A", args={"by": 1})},
        {"schedulerName": "b", **sorted_by("A", args={"by": 2})},
        {"schedulerName": "c", **sorted_by("A", args={"by": 1})},
    ]
    assert problems(profiles=profiles) == [
        'profiles[1].pluginConfig.args: Invalid value: {"by":2}: queueSort must be the same for all profiles'
    ]


# --- extenders


@pytest.mark.parametrize(
    ("extenders", "problem"),
    [
        (
            [{"prioritizeVerb": "rank"}],
            "extenders[0].weight: Invalid value: 0: must have a positive weight applied to it",
        ),
        ([{"weight": -1}], ""),
        (
            [{"bindVerb": "bind"}, {}, {"bindVerb": "bind"}],
            'extenders: Invalid value: "found 2 extenders implementing bind": only one extender can implement bind',
        ),
        (
            [{}, {"managedResources": [{"name": "cpu"}]}],
            'extenders[1].managedResources[0].name: Invalid value: "cpu": is an invalid extended resource name',
        ),
        (
            [{"managedResources": [{"name": "requests.example.com/a"}]}],
            'extenders[0].managedResources[0].name: Invalid value: "requests.example.com/a": '
            "is an invalid extended resource name",
        ),
        (
            [{"managedResources": [{"name": "example.com/"}]}],
            'extenders[0].managedResources[0].name: Invalid value: "example.com/": name part must be '
            "non-empty\n"
            f'extenders[0].managedResources[0].name: Invalid value: "example.com/": name part {NAME_RULE}',
        ),
        (
            [
                {"managedResources": [{"name": "example.com/a"}]},
                {"managedResources": [{"name": "example.com/b"}, {"name": "example.com/a"}]},
            ],
            'extenders[1].managedResources[1].name: Invalid value: "example.com/a": '
            "duplicate extender managed resource name",
        ),
    ],
)
def test_extenders(extenders: list[Any], problem: str) -> None:
    assert "\n".join(problems(extenders=extenders)) == problem


def test_extenders_cannot_take_resources_over_from_a_plugin_that_is_not_there() -> None:
    profile = {"plugins": {"multiPoint": {"disabled": [{"name": "NodeResourcesFit"}]}}}
    extender = {"managedResources": [{"name": "example.com/a", "ignoredByScheduler": True}]}
    assert problems(profiles=[profile], extenders=[extender]) == [
        "couldn't build extenders: can't find NodeResourcesFitArgs in plugin config"
    ]


# --- all together


def test_everything_wrong_is_reported_at_once_in_upstreams_order() -> None:
    document = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": [{"prioritizeVerb": "p"}],
        "podInitialBackoffSeconds": -1,
        "percentageOfNodesToScore": 200,
        "profiles": [{"schedulerName": ""}],
        "parallelism": -1,
        "clientConnection": {"burst": -1},
    }
    with pytest.raises(PolicyError) as caught:
        load_configuration(document, source="dir/scheduler.yaml")
    assert str(caught.value) == (
        "dir/scheduler.yaml: [clientConnection.burst: Invalid value: -1: must be non-negative, "
        "parallelism: Invalid value: -1: should be an integer value greater than zero, "
        "profiles[0].schedulerName: Required value, "
        "percentageOfNodesToScore: Invalid value: 200: not in valid range [0-100], "
        "podInitialBackoffSeconds: Invalid value: -1: must be greater than 0, "
        "extenders[0].weight: Invalid value: 0: must have a positive weight applied to it]"
    )


def test_an_error_is_said_once_and_alone_without_brackets() -> None:
    assert aggregate(["a", "a"]) == "a"
    assert aggregate(["a", "b", "a"]) == "[a, b]"
