"""What follows when the descheduler evicts: where pods go, who waits, who is evicted again, and budgets."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import kwhatif
from kwhatif.api.core import Condition, Node, Pod
from kwhatif.api.kinds import Objects
from kwhatif.api.workloads_and_storage import PodDisruptionBudget
from kwhatif.commands.deschedule.compare_policies import ComparePolicies
from kwhatif.commands.deschedule.explain_pods import ExplainDescheduling
from kwhatif.commands.deschedule.question import Deschedule
from kwhatif.commands.deschedule.result import DescheduleExplained, DescheduleResult
from kwhatif.commands.page import html_page
from kwhatif.errors import InputError
from kwhatif.simulation.inputs import Inputs, SchedulerOptions
from kwhatif.simulation.pipeline import ask
from kwhatif.simulation.scenario import Scenario
from kwhatif.snapshot.format.model import Snapshot
from tests.builders import node, write_objects
from tests.commands.drain.test_drain import budget, web
from tests.render.html.html_reading import Page, column

HEAD = {"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy"}


def policy(plugin: str = "RemoveDuplicates", point: str = "balance", **args: Any) -> dict[str, Any]:
    config = [{"name": plugin, "args": args}]
    return {**HEAD, "profiles": [{"name": "p", "pluginConfig": config, "plugins": {point: {"enabled": [plugin]}}}]}


LOW = policy("LowNodeUtilization", thresholds={"cpu": 20}, targetThresholds={"cpu": 50})


def descheduled(
    nodes: Sequence[Node],
    pods: Sequence[Pod],
    chosen: dict[str, Any] | str,
    budgets: Sequence[PodDisruptionBudget] = (),
    **options: Any,
) -> DescheduleResult:
    objects = Objects()
    for kind in (Node, Pod, PodDisruptionBudget):
        objects.put(kind, ())
    for obj in (*nodes, *pods, *budgets):
        objects.add(obj)
    snapshot = Snapshot(objects=objects, taken_at="2026-11-01T00:00:00Z", kubernetes_version="1.35")
    return ask(
        Deschedule(descheduler_policy=chosen, **options), Scenario(Inputs(snapshot), SchedulerOptions(policy="default"))
    )


def test_duplicates_move_apart_and_the_next_cycle_leaves_them_alone() -> None:
    pods = [web("web-1-a", "n1"), web("web-1-b", "n1")]
    found = descheduled([node("n1"), node("n2")], pods, policy(), until_quiet=True)
    (moved,) = found.pods
    assert (moved.pod, moved.node, moved.lands_on, moved.outcome) == ("default/web-1-b", "n1", "n2", "moved")
    assert "2 pods of ReplicaSet default/web-1 were on n1, more than the 1" in moved.reason
    assert (found.quiet, found.thrash, found.exit_code) == (True, (), 0)


def test_a_pod_that_is_too_much_wherever_it_runs_moves_for_ever() -> None:
    found = descheduled([node("a"), node("b")], [web("web-1-a", "a", cpu="3")], LOW, until_quiet=True)
    (thrash,) = found.thrash
    assert (thrash.pod, thrash.nodes, thrash.period) == ("default/web-1-a", ("a", "b", "a"), 2)
    assert [pod.again for pod in found.pods] == [True, True]
    assert found.exit_code == 1


def test_without_until_quiet_one_cycle_is_followed_and_the_next_one_looked_at() -> None:
    found = descheduled([node("a"), node("b")], [web("web-1-a", "a", cpu="3")], LOW)
    assert (found.cycles, found.next_evictions, found.quiet) == (1, ("default/web-1-r1",), False)
    assert found.evicted_again == ("default/web-1-a",)


def test_a_pod_that_fits_nowhere_else_comes_back_where_its_controller_waits() -> None:
    stays = web("web-0", "a", cpu="3", owner=("apps/v1", "StatefulSet", "web"))
    small = node("b", cpu="2")
    found = descheduled([node("a"), small], [stays], LOW)
    (pod,) = found.pods
    assert (pod.outcome, pod.lands_on) == ("returned", "a")


def test_what_a_replica_set_makes_finds_the_pod_that_goes_still_there() -> None:
    found = descheduled([node("a"), node("b", cpu="2")], [web("web-1-a", "a", cpu="3")], LOW)
    (pod,) = found.pods
    # It is tried once more when the other has gone.
    assert (pod.outcome, pod.lands_on) == ("returned", "a")


def test_a_budget_forbids_what_a_dry_run_would_do() -> None:
    pods = [web("web-1-a", "n1"), web("web-1-b", "n1")]
    nodes, budgets = [node("n1"), node("n2")], [budget(0, healthy=2, desired=2)]
    kept = descheduled(nodes, pods, policy(), budgets)
    assert kept.pods == ()
    assert [(each.pod, each.budget) for each in kept.refused] == [("default/web-1-b", "default/web")]
    assert [pod.pod for pod in descheduled(nodes, pods, policy(), budgets, dry_run=True).pods] == ["default/web-1-b"]


def test_the_look_at_the_next_cycle_uses_up_no_budget() -> None:
    found = descheduled([node("a"), node("b")], [web("web-1-a", "a", cpu="3")], LOW, [budget(1, healthy=1, desired=0)])
    (use,) = found.budgets
    assert (use.evictions, use.allowed_after) == (1, 1)


def test_everybody_who_is_evicted_is_on_a_node_or_waits() -> None:
    pods = [web(f"web-1-{i}", "n1", cpu="1500m") for i in range(2)]
    found = descheduled([node("n1"), node("n2", cpu="1")], pods, policy())
    for pod in found.pods:
        assert bool(pod.lands_on) == (pod.outcome in ("moved", "returned"))
        assert pod.replacement in {placement.pod for placement in found.placements}


def test_a_limit_is_told() -> None:
    pods = [web(f"web-1-{i}", "n1", cpu="100m") for i in range(4)]
    chosen = {**policy(), "maxNoOfPodsToEvictTotal": 1}
    found = descheduled([node("n1"), node("n2")], pods, chosen)
    assert (len(found.pods), [each.limit for each in found.refused]) == (1, ["total"])


def test_one_node_is_too_few() -> None:
    found = descheduled([node("n1")], [web("web-1-a", "n1")], policy())
    assert (found.skipped, found.pods, found.exit_code) == (True, (), 0)


def test_a_policy_that_is_refused_is_an_error_with_its_place() -> None:
    with pytest.raises(InputError, match="unknown field"):
        descheduled([node("n1")], [], policy(namespace={}))


def test_measured_usage_that_is_missing_is_an_error_of_the_plugin(tmp_path: Any) -> None:
    chosen = {
        **policy(
            "LowNodeUtilization",
            thresholds={"cpu": 20},
            targetThresholds={"cpu": 50},
            metricsUtilization={"source": "KubernetesMetrics"},
        ),
        "metricsProviders": [{"source": "KubernetesMetrics"}],
    }
    found = descheduled([node("a"), node("b")], [web("web-1-a", "a")], chosen)
    (plugin,) = found.plugins
    assert 'unable to find node "a" in the collected metrics' in plugin.error
    assert found.exit_code == 1


def test_measured_usage_goes_with_the_pod(tmp_path: Any) -> None:
    chosen = {
        **policy(
            "LowNodeUtilization",
            thresholds={"cpu": 20},
            targetThresholds={"cpu": 50},
            metricsUtilization={"source": "KubernetesMetrics"},
        ),
        "metricsProviders": [{"source": "KubernetesMetrics"}],
    }
    file = tmp_path / "metrics.yaml"
    file.write_text(
        """
kind: NodeMetricsList
items:
- {metadata: {name: a}, usage: {cpu: "3", memory: 1Gi}}
- {metadata: {name: b}, usage: {cpu: 100m, memory: 1Gi}}
---
kind: PodMetricsList
items:
- metadata: {name: web-1-a, namespace: default}
  containers: [{name: c, usage: {cpu: "2", memory: 100Mi}}]
"""
    )
    found = descheduled([node("a"), node("b")], [web("web-1-a", "a")], chosen, metrics=[str(file)])
    assert [pod.pod for pod in found.pods] == ["default/web-1-a"]
    classes = {each.node: (each.category_before, each.category_after) for each in found.nodes}
    assert classes == {"a": ("overutilized", "appropriate"), "b": ("underutilized", "overutilized")}


def explained(nodes: Sequence[Node], pods: Sequence[Pod], chosen: dict[str, Any], *words: str) -> DescheduleExplained:
    objects = Objects()
    for obj in (*nodes, *pods):
        objects.add(obj)
    snapshot = Snapshot(objects=objects, taken_at="2026-11-01T00:00:00Z", kubernetes_version="1.35")
    return ask(
        ExplainDescheduling(words=words, deschedule=chosen),
        Scenario(Inputs(snapshot), SchedulerOptions(policy="default")),
    )


def test_each_plugin_says_why_it_evicts_a_pod_or_leaves_it() -> None:
    both = {
        **HEAD,
        "profiles": [
            {
                "name": "p",
                "pluginConfig": [
                    {"name": "RemoveDuplicates"},
                    {"name": "PodLifeTime", "args": {"maxPodLifeTimeSeconds": 60}},
                    {"name": "RemovePodsViolatingNodeTaints"},
                ],
                "plugins": {
                    "deschedule": {"enabled": ["RemovePodsViolatingNodeTaints", "PodLifeTime"]},
                    "balance": {"enabled": ["RemoveDuplicates"]},
                },
            }
        ],
    }
    old = web("web-1-a", "n1")
    old = replace(old, metadata=replace(old.metadata, creation_timestamp="2026-10-01T00:00:00Z"))
    found = explained([node("n1"), node("n2")], [old], both, "web-1-a")
    (pod,) = found.pods
    assert [(each.plugin, each.verdict) for each in pod.verdicts] == [
        ("RemovePodsViolatingNodeTaints", "leaves"),
        ("PodLifeTime", "evicts"),
        ("RemoveDuplicates", "gone"),
    ]
    assert pod.verdicts[0].reason == "n1 has no taint that counts"
    assert pod.verdicts[1].reason == "it is 2678400 s old, more than 60 s"
    assert (pod.evicted, found.exit_code) == (True, 1)


def test_a_protected_pod_is_explained_by_its_protection() -> None:
    bare = web("alone", "n1", owner=None)
    found = explained([node("n1"), node("n2")], [bare], policy(), "alone")
    assert [each.reason for each in found.pods[0].verdicts] == ["pod does not have any ownerRefs"]


def test_a_pod_on_a_node_that_takes_no_part_is_nobody_s_business() -> None:
    chosen = {**policy(), "nodeSelector": "pool=a"}
    nodes = [node("n1"), node("n2", labels={"pool": "a"}), node("n3", labels={"pool": "a"})]
    found = explained(nodes, [web("web-1-a", "n1")], chosen, "web-1-a")
    assert "not among the nodes of the policy's nodeSelector" in found.pods[0].outside


def test_two_policies_are_compared_by_whom_they_evict_and_whether_they_come_to_rest() -> None:
    objects = Objects()
    for obj in (node("a"), node("b"), web("web-1-a", "a", cpu="3")):
        objects.add(obj)
    snapshot = Snapshot(objects=objects, taken_at="2026-11-01T00:00:00Z", kubernetes_version="1.35")
    calm = policy("LowNodeUtilization", thresholds={"cpu": 20}, targetThresholds={"cpu": 90})
    found = ask(ComparePolicies(deschedule=(LOW, calm)), Scenario(Inputs(snapshot), SchedulerOptions(policy="default")))
    (pod,) = found.pods
    assert (pod.pod, pod.plugin_a, pod.lands_on_a, pod.plugin_b) == ("default/web-1-a", "LowNodeUtilization", "b", "")
    assert (len(found.a.thrash), found.b.quiet, found.exit_code) == (1, True, 1)
    same = ask(ComparePolicies(deschedule=(calm, calm)), Scenario(Inputs(snapshot), SchedulerOptions(policy="default")))
    assert (same.differs, same.exit_code) == (False, 0)


@pytest.mark.long
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["100m", "500m", "1", "2"])), min_size=1, max_size=7),
    st.sampled_from([policy(), LOW, policy("HighNodeUtilization", thresholds={"cpu": 30})]),
)
def test_cycles_come_to_rest_or_the_pods_that_move_for_ever_are_named(
    pods: list[tuple[str, str]], given_policy: dict[str, Any]
) -> None:
    running = [web(f"web-1-{i}", on, cpu=cpu) for i, (on, cpu) in enumerate(pods)]
    found = descheduled([node(name) for name in "abc"], running, given_policy, until_quiet=True)
    assert found.quiet or found.thrash
    assert not (found.quiet and found.next_evictions)
    assert {pod.pod for pod in found.pods if pod.cycle == 1} <= {pod.key for pod in running}
    for pod in found.pods:
        assert pod.outcome in ("moved", "returned", "pending")
        assert pod.replacement


def config_map(name: str, text: str, namespace: str = "kube-system") -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"policy.yaml": text}}


CLUSTER_POLICIES = {
    "the chart's ConfigMap": config_map("descheduler", json.dumps(LOW)),
    "one named by its release": config_map("nightly-descheduler", json.dumps(LOW), "tools"),
    "that of the manifests": config_map("descheduler-policy-configmap", json.dumps(LOW)),
    "that of OpenShift's operator": config_map("cluster", json.dumps(LOW), "openshift-kube-descheduler-operator"),
}


@pytest.mark.parametrize("name", CLUSTER_POLICIES)
def test_without_a_file_the_policy_is_that_of_the_snapshot(name: str, tmp_path: Path) -> None:
    found = CLUSTER_POLICIES[name]
    nodes = [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": each}} for each in ("a", "b")]
    file = write_objects(tmp_path / "cluster.json", *nodes, found)
    result = kwhatif.deschedule(snapshot=file, policy="default")
    meta = found["metadata"]
    assert result.policy == f"ConfigMap {meta['namespace']}/{meta['name']}, policy.yaml"


def test_without_any_policy_it_is_said_what_to_do() -> None:
    with pytest.raises(InputError, match="expected a ConfigMap with the DeschedulerPolicy, found none"):
        descheduled([node("n1")], [], "")


POLICY_FILES = {
    "values of the chart": {"deschedulerPolicy": {"profiles": LOW["profiles"]}, "kind": "Deployment"},
    "values of a chart that has the descheduler's in it": {
        "descheduler": {"deschedulerPolicy": {"profiles": LOW["profiles"]}},
        "replicaCount": 1,
    },
    "a HelmRelease of the chart": {
        "apiVersion": "helm.toolkit.fluxcd.io/v2",
        "kind": "HelmRelease",
        "spec": {"values": {"deschedulerPolicy": {"profiles": LOW["profiles"]}}},
    },
    "an Application of the chart": {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "spec": {"source": {"helm": {"values": json.dumps({"deschedulerPolicy": {"profiles": LOW["profiles"]}})}}},
    },
    "a list of ConfigMaps as kubectl prints it": {
        "apiVersion": "v1",
        "kind": "List",
        "items": [config_map("other", "a: 1"), config_map("descheduler", json.dumps(LOW))],
    },
}


@pytest.mark.parametrize("name", POLICY_FILES)
def test_policies_are_read_as_they_are_kept(name: str, tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(json.dumps(POLICY_FILES[name]))
    found = descheduled([node("a"), node("b")], [web("web-1-a", "a", cpu="3")], str(file))
    assert [pod.plugin for pod in found.pods] == ["LowNodeUtilization"]


def test_the_page_follows_a_pod_to_the_last_that_is_made_in_its_place() -> None:
    found = descheduled([node("a"), node("b")], [web("web-1-a", "a", cpu="3")], LOW, until_quiet=True)
    data = Page(html_page(found)).data
    assert data["question"] == "deschedule"
    assert data["verdict"]["tone"] == "bad"
    again = data["pods"]["again"]
    assert dict(zip(column(again["pod"]), column(again["of"]), strict=True)) == {
        "default/web-1-a": "default/web-1-r2",
        "default/web-1-r1": "default/web-1-r2",
    }


def test_it_is_told_whether_evictions_help() -> None:
    pods = [web("web-1-a", "n1"), web("web-1-b", "n1")]
    found = descheduled([node("n1"), node("n2")], pods, policy(), until_quiet=True)
    assert found.balance is not None
    measures = {each.name: (each.before, each.after) for each in found.balance.measures}
    assert measures["duplicates"] == (1, 0)
    assert measures["nodes in use"] == (1, 2)
    assert measures["cpu requested, deviation over nodes"][1] == 0.0
    assert "duplicates" in {each.name for each in found.balance.better}


def test_a_pod_that_moves_for_ever_leaves_nothing_better() -> None:
    found = descheduled([node("a"), node("b")], [web("web-1-a", "a", cpu="3")], LOW, until_quiet=True)
    assert found.balance is not None
    assert (found.balance.better, found.balance.worse) == ((), ())


def test_without_evictions_nothing_is_compared() -> None:
    assert descheduled([node("a"), node("b")], [], LOW).balance is None


GROUPS = """
apiVersion: kwhatif.dev/v1
kind: NodeGroups
groups:
- {name: web, min: 1, max: 3, nodes: {labels: {pool: web}}, price: 0.1}
"""


def test_with_autoscalers_the_node_that_was_emptied_goes_and_it_is_told_if_it_would_go_anyway(tmp_path: Path) -> None:
    file = tmp_path / "groups.yaml"
    file.write_text(GROUPS)
    objects = Objects()
    old = "2026-10-01T00:00:00Z"
    for name in ("a", "b"):
        made = node(name, labels={"pool": "web"}, taints=["old:NoSchedule"] if name == "b" else ())
        status = replace(made.status, conditions=[Condition(type="Ready", status="True")])
        objects.add(replace(made, metadata=replace(made.metadata, creation_timestamp=old), status=status))
    objects.add(web("web-1-b", "b", cpu="2500m"))
    objects.put_if_any(PodDisruptionBudget, ())
    snapshot = Snapshot(objects=objects, taken_at="2026-11-01T00:00:00Z", kubernetes_version="1.35")
    case = Scenario(Inputs(snapshot, autoscale=[str(file)]), SchedulerOptions(policy="default"))
    found = ask(Deschedule(descheduler_policy=policy("RemovePodsViolatingNodeTaints", "deschedule")), case)
    assert [(pod.pod, pod.lands_on) for pod in found.pods] == [("default/web-1-b", "a")]
    (gone,) = found.removed_nodes
    assert (gone.node, gone.group, gone.empty, gone.anyway, gone.cost) == ("b", "web", True, False, 73.0)
