"""One run makes no more pods than it may, whatever makes them; they are refused before there is one of them."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kwhatif import capacity, drain, expand, gate, place
from kwhatif.bounds import PODS, make_room, pods_left, pods_to_make
from kwhatif.errors import InputError, UsageError

CLUSTER = str(Path(__file__).parents[2] / "fuzz" / "cluster.yaml")
MANY = 2**31 - 1
Json = dict[str, Any]


def workload(kind: str, name: str = "many", api: str = "apps/v1", **spec: Any) -> Json:
    """A workload of two small containers' worth of nothing; ``spec`` is what is said besides."""
    template: Json = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "c", "image": "registry.example/c:1"}]},
    }
    selector: Json = {"matchLabels": {"app": name}}
    base = {"selector": selector, "template": template}
    if kind in ("Job", "Gadget"):
        del base["selector"]
        template["spec"]["restartPolicy"] = "Never"
    metadata = {"name": name, "namespace": "shop"}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": base | spec}


def cron_job(**spec: Any) -> Json:
    job = workload("Job", **spec)["spec"]
    spec = {"schedule": "0 3 * * *", "jobTemplate": {"spec": job}}
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "many", "namespace": "shop"},
        "spec": spec,
    }


PATHS = {"pod_template_paths": ["example.com/Gadget=$.spec.template"]}


@pytest.mark.parametrize(
    "manifest",
    [
        workload("Deployment", replicas=MANY),
        workload("ReplicaSet", replicas=MANY),
        workload("StatefulSet", replicas=MANY, serviceName="many"),
        workload("Job", api="batch/v1", parallelism=MANY, completions=MANY),
        cron_job(parallelism=MANY, completions=MANY),
        workload("Gadget", api="example.com/v1", replicas=MANY),
        workload("Deployment", name="web", replicas=MANY),
    ],
    ids=lambda manifest: f"{manifest['kind']} {manifest['metadata']['name']}",
)
@pytest.mark.parametrize("ask", [expand, place, gate, capacity])
def test_a_workload_of_absurd_size_is_refused_before_it_is_made(ask: Callable[..., Any], manifest: Json) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=r"expected no more than 200,000 pods in all \(--max-pods\), found 2,147,"):
            ask([manifest], snapshot=CLUSTER, **PATHS)
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()


def test_many_workloads_count_together_and_so_do_bare_pods() -> None:
    some = [workload("Deployment", name=f"w{number}", replicas=30) for number in range(4)]
    message = r"object 4: expected no more than 100 pods in all \(--max-pods\), found 30 of Deployment shop/w3 after 90"
    with pytest.raises(InputError, match=message):
        expand(some, max_pods=100)
    assert len(expand(some, max_pods=120).pods) == 120
    pods = [{"apiVersion": "v1", "kind": "Pod", **some[0]["spec"]["template"]} for _ in range(3)]
    pods = [pod | {"metadata": {"name": f"p{number}"}} for number, pod in enumerate(pods)]
    with pytest.raises(InputError, match="object 3: expected no more than 2 pods in all"):
        expand(pods, max_pods=2)


def test_an_update_counts_all_pods_that_may_be_new() -> None:
    with pytest.raises(InputError, match="found 7 of Deployment shop/web"):
        place([workload("Deployment", name="web", replicas=7)], snapshot=CLUSTER, max_pods=6)


def test_daemon_sets_make_a_pod_for_each_node() -> None:
    with pytest.raises(InputError, match="found 2 of DaemonSet many"):
        expand([workload("DaemonSet")], snapshot=CLUSTER, max_pods=1)
    template = workload("DaemonSet")["spec"]["template"]
    template["spec"]["nodeSelector"] = {"disk": "ssd"}
    assert len(expand([workload("DaemonSet", template=template)], snapshot=CLUSTER, max_pods=1).pods) == 1


def test_too_many_in_all_are_refused_before_the_first_is_made() -> None:
    many = [workload("Deployment", name=f"w{number}", replicas=100_000) for number in range(50)]
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="object 3: expected no more than 200,000 pods in all"):
            expand(many)
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("edit", "text"),
    [
        ({"scale": {"kind": "Deployment", "name": "web", "replicas": 9}}, "found 8 of Deployment shop/web"),
        ({"scale": {"kind": "StatefulSet", "name": "db", "replicas": 9}}, "found 8 of StatefulSet shop/db"),
        ({"addNodes": {"count": 8, "like": "n1"}}, "found 8 of daemon sets"),
        ({"deletePods": "app in (web, db)"}, "pods recreated"),
    ],
    ids=str,
)
def test_edits_count(edit: Json, text: str) -> None:
    with pytest.raises(InputError, match=text):
        place(snapshot=CLUSTER, with_pending=True, edits=[edit], max_pods=7 if "found 8" in text else 1)


def test_pods_that_controllers_make_again_for_a_drain_count() -> None:
    with pytest.raises(InputError, match="found 1 of pods recreated, shop/db-0"):
        drain("n2", snapshot=CLUSTER, max_pods=0)


def test_evictions_over_time_count() -> None:
    urgent = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "u", "namespace": "shop"}}
    asks = {"requests": {"cpu": "7800m"}, "limits": {"cpu": "7800m"}}
    container = {"name": "c", "image": "registry.example/c:1", "resources": asks}
    urgent["spec"] = {"priorityClassName": "urgent", "containers": [container]}
    place([urgent], snapshot=CLUSTER, timeline=True, max_pods=2)
    with pytest.raises(InputError, match="pods recreated"):
        place([urgent], snapshot=CLUSTER, timeline=True, max_pods=1)


def test_capacity_counts_no_further_and_says_so() -> None:
    pod = workload("Deployment", replicas=1)
    most = capacity([pod], snapshot=CLUSTER)
    assert most.ended == "nodes"
    found = capacity([pod], snapshot=CLUSTER, max_pods=6)
    assert (found.fits, found.ended) == (5, "max-pods")
    with pytest.raises(UsageError, match=r"at_least 6: no more than 5 are counted \(max_pods\)"):
        capacity([pod], snapshot=CLUSTER, max_pods=6, at_least=6)


def test_what_is_tried_out_does_not_count_for_the_rest() -> None:
    with pods_to_make(3):
        make_room(2, "a")
        with pods_to_make():
            make_room(3, "b")
        assert pods_left() == 1
    assert pods_left() == PODS


def test_the_edits_of_a_run_add_no_more_nodes_than_they_may_however_many_edits_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kwhatif.bounds.NODES", 5)
    three = {"addNodes": {"count": 3, "like": "n1"}}
    two = {"addNodes": {"count": 2, "like": "n1"}}
    for _ in range(2):
        assert place(with_pending=True, snapshot=CLUSTER, edits=[three, two]).exit_code in (0, 1)
    problem = r"edits\[1\]: expected no more than 5 new nodes in all, found 3 after 3 of other edits"
    with pytest.raises(InputError, match=problem):
        place(with_pending=True, snapshot=CLUSTER, edits=[three, three])
