"""What each admission plugin makes of a pod or a claim."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kwhatif.admission.pipeline import DEFAULT_PLUGINS, NOT_MODELLED, PLUGINS
from kwhatif.errors import UsageError
from tests.admission.objects import (
    asking,
    claim,
    created,
    in_cluster,
    limit_range,
    make,
    pod,
    refused,
    server,
    trail,
)

Json = dict[str, Any]

GPU = {"key": "example.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


def priority_class(name: str, value: int, **fields: Any) -> Json:
    return in_cluster("PriorityClass", name, "scheduling.k8s.io/v1", value=value, **fields)


def runtime_class(name: str, **fields: Any) -> Json:
    return in_cluster("RuntimeClass", name, "node.k8s.io/v1", handler=name, **fields)


def namespace(**annotations: str) -> Json:
    made = in_cluster("Namespace", "default")
    made["metadata"]["annotations"] = {f"scheduler.alpha.kubernetes.io/{k}": v for k, v in annotations.items()}
    return made


# --- namespaces


def test_nothing_is_created_in_a_namespace_that_is_not_there() -> None:
    system = {**pod(), "metadata": {**pod()["metadata"], "namespace": "kube-system"}}
    assert created(server(in_cluster("Namespace", "other")), system)
    assert refused(server(in_cluster("Namespace", "other")), pod()) == 'namespaces "default" not found'


def test_a_world_that_never_saw_a_namespace_lets_everything_in() -> None:
    assert created(server(), pod())


def test_nothing_new_comes_into_a_namespace_that_goes_away() -> None:
    leaving = in_cluster("Namespace", "default", status={"phase": "Terminating"})
    assert refused(server(leaving), pod()) == (
        'pods "p" is forbidden: unable to create new content in namespace default because it is being terminated'
    )


# --- priority


def test_the_lowest_of_several_global_defaults_counts() -> None:
    api = server(priority_class("a", 5, globalDefault=True), priority_class("b", 3, globalDefault=True))
    assert created(api, pod())["spec"]["priorityClassName"] == "b"


def test_without_classes_a_pod_has_priority_zero_and_preempts() -> None:
    spec = created(server(), pod())["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    assert "priorityClassName" not in spec


def test_the_system_classes_need_not_be_in_the_snapshot() -> None:
    spec = created(server(), pod(priorityClassName="system-cluster-critical"))["spec"]
    assert spec["priority"] == 2_000_000_000


def test_a_class_of_a_world_without_any_is_said_to_be_unknown() -> None:
    assert trail(server(), pod(priorityClassName="high"))[0] == (
        "Priority: spec.priorityClassName: no PriorityClass is known: high counts as priority 0"
    )


def test_a_preemption_policy_that_contradicts_the_class_is_refused() -> None:
    api = server(priority_class("high", 5))
    assert refused(api, pod(priorityClassName="high", preemptionPolicy="Never")).endswith(
        "the string value of PreemptionPolicy (Never) must not be provided in pod spec; "
        "priority admission controller computed PreemptLowerPriority from the given PriorityClass name"
    )


def test_a_second_global_default_is_refused() -> None:
    api = server(priority_class("a", 5, globalDefault=True))
    assert refused(api, priority_class("b", 3, globalDefault=True)) == (
        'priorityclasses.scheduling.k8s.io "b" is forbidden: '
        "PriorityClass a is already marked as default. Only one default can exist"
    )


# --- limit ranges

LIMITS: list[tuple[str, Json, Json, str]] = [
    (
        "a pod that names no limit",
        {"type": "Pod", "max": {"cpu": "2"}},
        pod(),
        "maximum cpu usage per Pod is 2.  No limit is specified",
    ),
    (
        "a pod that names no request",
        {"type": "Pod", "min": {"memory": "1Gi"}},
        pod(),
        "minimum memory usage per Pod is 1Gi.  No request is specified",
    ),
    (
        "a ratio without a limit",
        {"type": "Pod", "maxLimitRequestRatio": {"cpu": "2"}},
        pod(containers=[asking({"cpu": "1"})]),
        "cpu max limit to request ratio per Pod is 2, but no limit is specified or limit is 0",
    ),
    (
        "a pod whose sidecar is too much",
        {"type": "Pod", "max": {"cpu": "2"}},
        pod(
            containers=[asking(None, {"cpu": "1500m"})],
            initContainers=[{**asking(None, {"cpu": "1"}, "s"), "restartPolicy": "Always"}],
        ),
        "maximum cpu usage per Pod is 2, but limit is 2500m",
    ),
    (
        "a claim that is too small",
        {"type": "PersistentVolumeClaim", "min": {"storage": "2Gi"}},
        claim(),
        "minimum storage usage per PersistentVolumeClaim is 2Gi, but request is 1Gi",
    ),
    (
        "a claim that is too large",
        {"type": "PersistentVolumeClaim", "max": {"storage": "500Mi"}},
        claim(),
        "maximum storage usage per PersistentVolumeClaim is 500Mi, but request is 1Gi",
    ),
]


@pytest.mark.parametrize(("limit", "obj", "why"), [row[1:] for row in LIMITS], ids=[row[0] for row in LIMITS])
def test_limits(limit: Json, obj: Json, why: str) -> None:
    assert refused(server(limit_range(limit)), obj).endswith(f" is forbidden: {why}")


DEFAULTS: list[tuple[str, Json, Json]] = [
    ("a maximum is a default limit", {"max": {"cpu": "2"}}, {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}),
    ("a minimum is a default request", {"min": {"cpu": "1"}}, {"requests": {"cpu": "1"}}),
    (
        "a default limit is a default request, even above a minimum",
        {"min": {"cpu": "1"}, "default": {"cpu": "2"}},
        {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}},
    ),
]


@pytest.mark.parametrize(("limit", "expected"), [row[1:] for row in DEFAULTS], ids=[row[0] for row in DEFAULTS])
def test_a_limit_range_that_says_little(limit: Json, expected: Json) -> None:
    api = server(limit_range({"type": "Container", **limit}))
    assert created(api, pod())["spec"]["containers"][0]["resources"] == expected


def test_each_default_of_a_limit_range_is_said() -> None:
    api = server(limit_range({"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "500m"}}))
    assert trail(api, pod())[:2] == [
        "LimitRanger: spec.containers[0].resources.limits: cpu=1 from LimitRange lr",
        "LimitRanger: spec.containers[0].resources.requests: cpu=500m from LimitRange lr",
    ]


# --- runtime classes


def test_an_overhead_like_that_of_the_class_may_be_given() -> None:
    api = server(runtime_class("kata", overhead={"podFixed": {"cpu": "250m"}}))
    assert created(api, pod(runtimeClassName="kata", overhead={"cpu": "0.25"}))["spec"]["overhead"] == {"cpu": "250m"}


def test_another_overhead_than_that_of_the_class_is_refused() -> None:
    api = server(runtime_class("kata", overhead={"podFixed": {"cpu": "250m"}}))
    assert refused(api, pod(runtimeClassName="kata", overhead={"cpu": "1"})).endswith(
        "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
    )


def test_a_class_of_a_world_without_runtime_classes_is_said_to_be_unknown() -> None:
    assert "RuntimeClass: spec.runtimeClassName: no RuntimeClass is known: " in "\n".join(
        trail(server(), pod(runtimeClassName="kata"))
    )


def test_a_narrower_toleration_gives_way_to_that_of_the_class() -> None:
    wide = {"key": "kata", "operator": "Exists"}
    api = server(runtime_class("kata", scheduling={"tolerations": [wide]}))
    narrow = {"key": "kata", "operator": "Exists", "effect": "NoSchedule"}
    spec = created(api, pod(runtimeClassName="kata", tolerations=[narrow]))["spec"]
    assert [t for t in spec["tolerations"] if t["key"] == "kata"] == [wide]


# --- storage classes, nodes


def storage_class(name: str, made: str = "", **annotations: str) -> Json:
    found = in_cluster("StorageClass", name, "storage.k8s.io/v1", provisioner="x")
    found["metadata"] |= {"creationTimestamp": made, "annotations": annotations}
    return found


DEFAULT_CLASS = {"storageclass.kubernetes.io/is-default-class": "true"}


def test_the_newest_default_class_is_taken() -> None:
    api = server(
        storage_class("old", "2024-01-01T00:00:00Z", **DEFAULT_CLASS),
        storage_class("new", "2025-01-01T00:00:00Z", **DEFAULT_CLASS),
        storage_class("none", "2026-01-01T00:00:00Z"),
    )
    assert created(api, claim())["spec"]["storageClassName"] == "new"


def test_an_empty_class_is_a_class() -> None:
    api = server(storage_class("standard", **DEFAULT_CLASS))
    assert created(api, claim(storageClassName=""))["spec"]["storageClassName"] == ""


def test_a_pod_that_names_its_node_gets_its_zone() -> None:
    node = in_cluster("Node", "n1")
    node["metadata"]["labels"] = {"topology.kubernetes.io/zone": "a", "disk": "ssd"}
    assert created(server(node), pod(nodeName="n1"))["metadata"]["labels"] == {"topology.kubernetes.io/zone": "a"}
    assert created(server(node), pod(nodeName="n2"))


# --- off by default


def test_who_asks_for_a_device_tolerates_its_taint_if_that_is_on() -> None:
    asks = pod(containers=[asking({"example.com/gpu": "1"}, {"example.com/gpu": "1"})])
    assert GPU in created(server(plugins=("ExtendedResourceToleration",)), asks)["spec"]["tolerations"]
    assert GPU not in created(server(), asks)["spec"]["tolerations"]


def test_a_namespace_selects_nodes_for_its_pods_if_that_is_on() -> None:
    home = namespace(**{"node-selector": "disk=ssd,zone=a"})
    api = server(home, plugins=("PodNodeSelector",))
    assert created(api, pod(nodeSelector={"zone": "a"}))["spec"]["nodeSelector"] == {"disk": "ssd", "zone": "a"}
    assert refused(api, pod("q", nodeSelector={"zone": "b"})) == (
        'pods "q" is forbidden: pod node label selector conflicts with its namespace node label selector'
    )


def test_a_namespace_gives_tolerations_to_its_pods_if_that_is_on() -> None:
    home = namespace(defaultTolerations=json.dumps([GPU]))
    api = server(home, plugins=("PodTolerationRestriction",))
    assert created(api, pod())["spec"]["tolerations"] == [GPU]
    pressure = {"key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"}
    assert created(api, pod("q", containers=[asking({"cpu": "1"})]))["spec"]["tolerations"] == [GPU, pressure]


def test_a_namespace_forbids_tolerations_if_that_is_on() -> None:
    api = server(namespace(tolerationsWhitelist=json.dumps([GPU])), plugins=("PodTolerationRestriction",))
    assert created(api, pod(tolerations=[GPU]))
    assert refused(api, pod("q", tolerations=[{"operator": "Exists"}])).endswith(
        "conflict with its namespace whitelist"
    )


def test_the_plugins_that_are_off_by_default() -> None:
    assert {plugin.name for plugin in PLUGINS} - set(DEFAULT_PLUGINS) == {
        "ExtendedResourceToleration",
        "PodNodeSelector",
        "PodTolerationRestriction",
    }


def test_a_plugin_that_there_is_not_is_an_error_that_names_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"unknown admission plugin Priorities; there are .*Priority"):
        server(plugins=("Priorities",))


def test_what_is_not_modelled_is_said_in_sentences() -> None:
    assert NOT_MODELLED
    assert all(text.endswith(".") for text in NOT_MODELLED)


def test_other_kinds_pass_as_they_are() -> None:
    made = created(server(), make("ConfigMap", "m", data={"a": "b"}))
    assert made["data"] == {"a": "b"}
