"""What becomes of manifests: who is created, who is updated, who is taken as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from kwhatif.errors import InputError
from kwhatif.simulation.expansion.expand import expand
from kwhatif.simulation.expansion.expanded_manifests import ExpandedManifests
from kwhatif.simulation.expansion.pods import summarize_expansion
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.load import load_manifests, load_snapshot
from kwhatif.workloads.controllers import TemplatePath

Json = dict[str, Any]


def a(kind: str, name: str, spec: Json | None = None, *, api: str = "v1", **metadata: Any) -> Json:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec or {}}


def a_pod(name: str, **spec: Any) -> Json:
    return a("Pod", name, {"containers": [{"name": "main", "image": "app"}], **spec})


def deployment(name: str, replicas: int) -> Json:
    template = {"metadata": {"labels": {"app": name}}, "spec": a_pod("x")["spec"]}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    return a("Deployment", name, spec, api="apps/v1")


def written(path: Path, objects: tuple[Json, ...]) -> str:
    path.write_text(yaml.safe_dump_all(objects))
    return str(path)


def expanded(tmp_path: Path, *objects: Json, cluster: tuple[Json, ...] = (), **options: Any) -> ExpandedManifests:
    snapshot = load_snapshot([written(tmp_path / "cluster.yaml", cluster)]) if cluster else Snapshot()
    return expand(load_manifests([written(tmp_path / "manifests.yaml", objects)]), snapshot, **options)


def test_objects_come_in_their_order_and_each_pod_remembers_its_document(tmp_path: Path) -> None:
    found = expanded(tmp_path, a_pod("one"), deployment("web", 2), a_pod("two"))
    assert [item.owner for item in found.pods] == ["", "Deployment default/web", "Deployment default/web", ""]
    assert ["document 2" in item.origin for item in found.pods] == [False, True, True, False]


def test_a_limit_range_of_the_input_counts_for_what_comes_after_it(tmp_path: Path) -> None:
    limits = a("LimitRange", "limits", {"limits": [{"type": "Container", "defaultRequest": {"cpu": "250m"}}]})
    before, after = expanded(tmp_path, a_pod("before"), limits, a_pod("after")).pods
    assert before.defaults == ()
    assert after.defaults == ("spec.containers[0].resources.requests: cpu=250m from LimitRange limits",)


def test_quotas_count_what_the_cluster_holds(tmp_path: Path) -> None:
    quota = a("ResourceQuota", "few", {"hard": {"pods": "2"}}, namespace="default")
    found = expanded(tmp_path, a_pod("b"), a_pod("c"), cluster=(quota, a_pod("a")))
    assert [item.pod.name for item in found.pods] == ["b"]
    (refusal,) = found.refusals
    assert refusal.object == "Pod default/c"
    assert refusal.message == (
        'pods "c" is forbidden: exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2'
    )


def test_a_controller_that_may_not_make_its_pods_says_how_many_are_missing(tmp_path: Path) -> None:
    quota = a("ResourceQuota", "few", {"hard": {"pods": "1"}}, namespace="default")
    found = expanded(tmp_path, deployment("web", 3), cluster=(quota,))
    assert (len(found.pods), [failed.pods for failed in found.failed]) == (1, [2])
    assert summarize_expansion(found).exit_code == 1


def test_a_namespace_that_a_complete_snapshot_lacks_does_not_exist(tmp_path: Path) -> None:
    (refusal,) = expanded(tmp_path, a_pod("p"), cluster=(a("Namespace", "shop"),)).refusals
    assert (refusal.code, refusal.message) == (404, 'namespaces "default" not found')
    assert expanded(tmp_path, a_pod("p")).refusals == []


def test_a_pod_that_was_stored_before_is_taken_as_it_is(tmp_path: Path) -> None:
    stored = a_pod("p", priority=77)
    stored["metadata"] |= {"uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}
    classes = (a("PriorityClass", "low", api="scheduling.k8s.io/v1"),)
    (item,) = expanded(tmp_path, stored, cluster=classes).pods
    assert (item.pod.spec.priority, item.pod.spec.tolerations, item.defaults) == (77, None, ())


@pytest.mark.parametrize("known", [False, True])
def test_a_priority_of_no_class_is_refused_where_classes_are_known(known: bool, tmp_path: Path) -> None:
    classes = (a("PriorityClass", "low", api="scheduling.k8s.io/v1"),) if known else ()
    found = expanded(tmp_path, a_pod("p", priority=77), cluster=classes)
    assert [item.pod.spec.priority for item in found.pods] == ([] if known else [77])
    assert len(found.refusals) == known


def test_a_workload_of_the_cluster_is_updated_and_not_created(tmp_path: Path) -> None:
    found = expanded(tmp_path, deployment("web", 4), cluster=(deployment("web", 2),))
    assert (found.pods, [rollout.name for rollout in found.rollouts]) == ([], ["Deployment default/web"])
    result = summarize_expansion(found)
    assert [pod.owner for pod in result.pods] == ["Deployment default/web"] * 4


def test_claims_of_a_stateful_set_and_its_controller_are_there_for_the_scheduler(tmp_path: Path) -> None:
    spec = deployment("db", 2)["spec"] | {
        "serviceName": "db",
        "volumeClaimTemplates": [
            {
                "metadata": {"name": "data"},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            }
        ],
    }
    found = expanded(tmp_path, a("StatefulSet", "db", spec, api="apps/v1"))
    assert [obj.name for obj in found.objects] == ["data-db-0", "data-db-1", "db"]


def test_kinds_that_nobody_knows_are_counted_unless_their_template_is_pointed_to(tmp_path: Path) -> None:
    gadget = a(
        "Gadget", "handy", {"replicas": 2, "template": deployment("x", 1)["spec"]["template"]}, api="example.com/v1"
    )
    assert dict(expanded(tmp_path, gadget).unknown) == {"Gadget": 1}
    pointed = expanded(tmp_path, gadget, templates=[TemplatePath.parse("example.com/Gadget=$.spec.template")])
    assert [item.pod.name for item in pointed.pods] == ["handy-1", "handy-2"]
    assert not pointed.unknown


def test_an_object_of_the_cluster_that_cannot_be_is_bad_input(tmp_path: Path) -> None:
    odd = deployment("web", 1)
    odd["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": [1]}
    with pytest.raises(InputError, match=r"cluster.yaml: \$.spec.*\[0\].resources.requests: expected an object"):
        expanded(tmp_path, a_pod("p"), cluster=(odd,))


def test_so_is_one_that_wants_less_than_no_pods(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r'Deployment "web": spec.replicas: expected no less than 0, found -1'):
        expanded(tmp_path, a_pod("p"), cluster=(deployment("web", -1),))


def test_a_null_in_a_list_of_the_cluster_is_an_empty_item(tmp_path: Path) -> None:
    replicas = a("ReplicaSet", "web-1", deployment("web", 1)["spec"], api="apps/v1", ownerReferences=[None])
    found = expanded(tmp_path, deployment("web", 2), cluster=(deployment("web", 1), replicas))
    assert summarize_expansion(found).exit_code == 0
