"""What each controller makes of a new object."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kwhatif.admission.object_store import ObjectStore, name_of
from kwhatif.admission.response import StoredObject
from kwhatif.admission.server import ApiServer
from kwhatif.workloads.controllers import makes_pods, reconcile
from kwhatif.workloads.objects import controller_of
from tests.workloads.builders import Json, deployment, hash_of, job, make, names, node, template, workload

ORDINAL_LABELS = ("apps.kubernetes.io/pod-index", "statefulset.kubernetes.io/pod-name")


def cron_job(**spec: Any) -> Json:
    body = job(parallelism=2, completions=2)
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "nightly", "namespace": "default"},
        "spec": {
            "schedule": "0 3 * * *",
            "jobTemplate": {"metadata": {"labels": {"team": "a"}}, "spec": body["spec"]},
            **spec,
        },
    }


# --- replica sets and deployments


def test_a_deployment_has_its_pods_through_a_replica_set_named_after_the_template() -> None:
    made = make(deployment(replicas=2))
    hash_ = hash_of(deployment())
    (replica_set,) = made.objects
    assert replica_set["metadata"]["name"] == f"web-{hash_}"
    assert replica_set["spec"]["selector"]["matchLabels"]["pod-template-hash"] == hash_
    assert controller_of(replica_set)["name"] == "web"
    assert names(made.pods) == [f"web-{hash_}-1", f"web-{hash_}-2"]
    assert {controller_of(pod)["uid"] for pod in made.pods} == {replica_set["metadata"]["uid"]}
    assert made.pods[0]["metadata"]["labels"] == {"app": "web", "pod-template-hash": hash_}


def test_names_are_the_same_in_every_run_and_differ_with_the_template() -> None:
    assert names(make(deployment()).pods) == names(make(deployment()).pods)
    assert hash_of(deployment("one")) != hash_of(deployment("two"))
    assert hash_of(deployment()).isalnum()
    assert len(hash_of(deployment())) == 5


def test_a_paused_deployment_has_no_replica_set_yet() -> None:
    made = make(deployment(paused=True))
    assert (made.pods, made.objects) == ((), ())


def test_a_replica_set_without_a_number_has_one_pod() -> None:
    assert names(make(workload("ReplicaSet")).pods) == ["web-1"]


def test_every_pod_has_its_own_trail_of_changes() -> None:
    made = make(deployment(replicas=2))
    assert len(made.changes) == len(made.pods)
    assert all(made.changes)


def test_pods_that_are_refused_are_counted_once_with_the_event_of_the_controller() -> None:
    made = make(deployment(replicas=5), pods=3)
    (failed,) = made.refusals
    assert len(made.pods) == 3
    assert failed.message == 'Error creating: pods "new" is forbidden: no more'
    assert failed.owner == f"ReplicaSet web-{hash_of(deployment())}"
    assert made.missing == failed.pods == 2


def test_what_is_given_stays_as_it_is() -> None:
    given = workload("StatefulSet", pod={"volumes": [{"name": "v", "emptyDir": {}}]})
    before = json.dumps(given)
    make(given).pods[0]["spec"]["containers"].clear()
    assert json.dumps(given) == before
    assert make(given).pods[0]["spec"]["containers"]


# --- stateful sets


def test_an_ordered_set_whose_pods_get_ready_has_them_all_in_order() -> None:
    made = make(workload("StatefulSet", name="db", replicas=3))
    assert names(made.pods) == ["db-0", "db-1", "db-2"]
    assert [pod["metadata"]["labels"][ORDINAL_LABELS[0]] for pod in made.pods] == ["0", "1", "2"]
    assert [pod["metadata"]["labels"][ORDINAL_LABELS[1]] for pod in made.pods] == names(made.pods)


def test_an_ordered_set_whose_pods_do_not_get_ready_stops_at_the_first() -> None:
    assert names(make(workload("StatefulSet", name="db", replicas=3), ready=False).pods) == ["db-0"]


def test_ordinals_begin_where_the_set_says() -> None:
    made = make(workload("StatefulSet", name="db", replicas=2, ordinals={"start": 5}))
    assert names(made.pods) == ["db-5", "db-6"]


def test_claims_are_named_after_template_and_pod_and_replace_volumes_of_the_same_name() -> None:
    volumes = [{"name": "data", "emptyDir": {}}, {"name": "other", "emptyDir": {}}]
    claim = {
        "metadata": {"name": "data", "labels": {"tier": "disk"}},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    made = make(workload("StatefulSet", name="db", pod={"volumes": volumes}, volumeClaimTemplates=[claim]))
    assert names(made.claims) == ["data-db-0"]
    assert made.claims[0]["metadata"]["labels"] == {"tier": "disk", "app": "web"}
    assert [(v["name"], "emptyDir" in v) for v in made.pods[0]["spec"]["volumes"]] == [
        ("data", False),
        ("other", True),
    ]


def test_a_set_in_parallel_tries_twice_as_many_at_a_time_until_some_are_refused() -> None:
    made = make(workload("StatefulSet", name="db", replicas=8, podManagementPolicy="Parallel"), pods=2)
    assert names(made.pods) == ["db-0", "db-1"]
    assert [failed.message for failed in made.refusals] == [
        'Create Pod db-2 in StatefulSet db failed error: pods "db-2" is forbidden: no more'
    ]
    assert made.missing == 6


# --- jobs


@pytest.mark.parametrize(
    ("spec", "pods"),
    [
        pytest.param({}, 1, id="by default one"),
        pytest.param({"parallelism": 3}, 3, id="without completions as many as run in parallel"),
        pytest.param({"parallelism": 5, "completions": 2}, 2, id="never more than are to be completed"),
        pytest.param({"parallelism": 2, "completions": 9}, 2, id="never more than run in parallel"),
        pytest.param({"parallelism": 0, "completions": 9}, 0, id="none if none may run"),
        pytest.param({"suspend": True}, 0, id="none while suspended"),
        pytest.param({"managedBy": "example.com/other"}, 0, id="none if another controller manages it"),
    ],
)
def test_how_many_pods_a_job_has_at_first(spec: Json, pods: int) -> None:
    assert len(make(job(**spec)).pods) == pods


def test_the_pods_of_an_indexed_job_carry_their_index_in_name_label_and_annotation() -> None:
    made = make(job(completionMode="Indexed", completions=2, parallelism=2))
    assert names(made.pods) == ["work-0-1", "work-1-1"]
    for index, pod in enumerate(made.pods):
        for kind in ("labels", "annotations"):
            assert pod["metadata"][kind]["batch.kubernetes.io/job-completion-index"] == str(index)


def test_a_jobs_pods_carry_its_name_and_uid() -> None:
    labels = make(job()).pods[0]["metadata"]["labels"]
    assert labels["job-name"] == labels["batch.kubernetes.io/job-name"] == "work"
    assert labels["controller-uid"] == labels["batch.kubernetes.io/controller-uid"] != ""


def test_a_cron_job_is_run_once() -> None:
    made = make(cron_job())
    (run,) = made.objects
    assert (run["metadata"]["name"], run["metadata"]["labels"]["team"]) == ("nightly-1", "a")
    assert controller_of(run)["kind"] == "CronJob"
    assert names(made.pods) == ["nightly-1-1", "nightly-1-2"]


def test_a_suspended_cron_job_is_not_run() -> None:
    assert make(cron_job(suspend=True)).pods == ()


# --- daemon sets


def test_a_daemon_set_has_a_pod_for_each_node_that_its_rules_admit() -> None:
    nodes = [
        node("plain"),
        node("tainted", taints=[{"key": "k", "effect": "NoSchedule"}]),
        node("soft", taints=[{"key": "k", "effect": "PreferNoSchedule"}]),
        node("cordoned", unschedulable=True),
    ]
    made = make(workload("DaemonSet", name="ds"), nodes)
    homes = [
        pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] for pod in made.pods
    ]
    assert [home["nodeSelectorTerms"][0]["matchFields"][0]["values"] for home in homes] == [
        ["plain"],
        ["soft"],
        ["cordoned"],
    ]


@pytest.mark.parametrize(("host_network", "added"), [(False, 6), (True, 7)])
def test_daemon_pods_tolerate_trouble_with_their_node(host_network: bool, added: int) -> None:
    made = make(workload("DaemonSet", pod={"hostNetwork": host_network}), [node("n")])
    tolerations = made.pods[0]["spec"]["tolerations"]
    assert len(tolerations) == added
    assert all("tolerationSeconds" not in toleration for toleration in tolerations)


def test_a_toleration_of_the_template_that_would_end_is_made_endless() -> None:
    own = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
    made = make(workload("DaemonSet", pod={"tolerations": [own]}), [node("n")])
    assert [t for t in made.pods[0]["spec"]["tolerations"] if t["key"] == own["key"]] == [
        {key: own[key] for key in ("key", "operator", "effect")}
    ]


def test_the_rest_of_a_daemon_sets_affinity_is_kept() -> None:
    preferred = [{"weight": 1, "preference": {"matchExpressions": [{"key": "x", "operator": "Exists"}]}}]
    node_affinity = {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
    made = make(workload("DaemonSet", pod={"affinity": {"nodeAffinity": node_affinity}}), [node("n")])
    kept = made.pods[0]["spec"]["affinity"]["nodeAffinity"]
    assert kept["preferredDuringSchedulingIgnoredDuringExecution"] == preferred


# --- pods, and everything else


def test_a_pod_stays_what_it_is_and_gets_the_claims_of_its_ephemeral_volumes() -> None:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    volume = {"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": claim}}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": template(volumes=[volume])["spec"],
    }
    made = make(pod)
    assert names(made.pods) == ["p"]
    assert names(made.claims) == ["p-v"]
    assert controller_of(made.claims[0])["kind"] == "Pod"


def test_of_a_kind_that_makes_no_pods_nothing_is_made() -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "default"}}
    assert reconcile(ApiServer(ObjectStore()), service, []).pods == ()
    assert not makes_pods(service)
    assert not makes_pods({"apiVersion": "serving.example/v1", "kind": "Deployment"})


def test_a_new_deployment_passes_over_the_name_of_a_replica_set_that_is_another_ones() -> None:
    server, made = ApiServer(ObjectStore()), []
    for _ in range(2):
        answer = server.create(deployment())
        assert isinstance(answer, StoredObject), answer
        made.append(reconcile(server, answer.object, []))
        server.world.remove("Deployment", "default", "web")
    assert [(len(each.pods), each.refusals) for each in made] == [(3, ()), (3, ())]
    assert len({name_of(each.objects[0]) for each in made}) == 2
