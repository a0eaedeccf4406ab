"""What ``queue`` tells besides Kueue's decisions, which are recorded: who waits for what, and what is no question."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kwhatif
from kwhatif.commands.queue.result import QueuedWorkload
from kwhatif.commands.queue.text import queue_blocks
from kwhatif.errors import InputError, UsageError
from kwhatif.render.blocks import Facts
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.read.objects import decode_objects

SAMPLES = Path(__file__).parents[3] / "samples" / "kueue"
CLUSTER = str(SAMPLES / "cluster.yaml")
MOST = 2**63 - 1
KEY = "controller_manager_config.yaml"


def kueue(kind: str, name: str, namespace: str = "", /, **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": metadata, **fields}


def cluster_queue(name: str, cpu: Any, more: dict[str, Any] | None = None, /, **spec: Any) -> dict[str, Any]:
    resource = {"name": "cpu", "nominalQuota": cpu, **(more or {})}
    group = {"coveredResources": ["cpu"], "flavors": [{"name": "default", "resources": [resource]}]}
    return kueue("ClusterQueue", name, spec={"resourceGroups": [group], "namespaceSelector": {}, **spec})


def there(*objects: dict[str, Any]) -> Snapshot:
    """A cluster with these objects, and the namespace ml."""
    labels = {"kubernetes.io/metadata.name": "ml"}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml", "labels": labels}}
    return Snapshot(objects=decode_objects([namespace, *objects]))


def queues(*made: dict[str, Any]) -> list[dict[str, Any]]:
    """These ClusterQueues, each with a LocalQueue of its name in the namespace ml."""
    local = [
        kueue("LocalQueue", each["metadata"]["name"], "ml", spec={"clusterQueue": each["metadata"]["name"]})
        for each in made
    ]
    return [kueue("ResourceFlavor", "default", spec={}), *made, *local]


def workload(name: str, queue: str, cpu: Any, **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "resources": {"requests": {"cpu": cpu}}}
    pod_set = {"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}
    return kueue("Workload", name, "ml", spec={"queueName": queue, "podSets": [pod_set], **spec})


def job(name: str, cpu: str = "1", **labels: str) -> dict[str, Any]:
    container = {"name": "main", "image": "main", "resources": {"requests": {"cpu": cpu}}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    metadata = {
        "name": name,
        "namespace": "ml",
        "labels": {f"kueue.x-k8s.io/{key}": value for key, value in labels.items()},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {"suspend": True, "template": template},
    }


def only(result: kwhatif.QueueResult) -> QueuedWorkload:
    (found,) = result.workloads
    return found


def test_a_job_that_fits_is_admitted_with_its_flavors() -> None:
    found = only(kwhatif.queue([job("train", **{"queue-name": "a"})], snapshot=there(*queues(cluster_queue("a", "4")))))
    assert (found.status, found.cluster_queue, found.borrows, found.message) == ("admitted", "a", False, "")
    assert found.pod_sets[0].flavors == {"cpu": "default"}


def test_a_job_without_a_queue_starts_without_kueue_and_a_wrong_one_is_refused() -> None:
    made = queues(cluster_queue("a", "4"))
    free = kwhatif.queue([job("free")], snapshot=there(*made))
    assert (only(free).status, free.good) == ("unmanaged", True)
    assert free.verdict == "Not managed by Kueue: no kueue.x-k8s.io/queue-name label; LocalQueues in ml: a."
    both = kwhatif.queue([job("free"), job("train", **{"queue-name": "a"})], snapshot=there(*made))
    assert both.verdict == "Admitted: 1 admitted, 1 not managed by Kueue, of 2 workloads."
    wrong = kwhatif.queue([job("wrong", **{"queue-name": "a_b"})], snapshot=there(*made))
    assert (only(wrong).status, wrong.good) == ("refused", False)
    assert "a lowercase RFC 1123 subdomain" in only(wrong).message


def test_of_a_quota_that_lacks_it_is_told_where_it_ends_and_who_has_it() -> None:
    limited = cluster_queue("a", "2", {"borrowingLimit": "1"}, cohortName="all")
    made = queues(limited, cluster_queue("b", "8", cohortName="all"))
    first = workload("first", "a", "2")
    found = only(kwhatif.queue([workload("second", "a", "2")], snapshot=there(*made, first)))
    assert found.message.endswith("insufficient unused quota for cpu in flavor default, 1 more needed")
    (lack,) = found.lacks
    assert (lack.asks, lack.free, lack.missing, lack.never) == ("2", "1", "1", False)
    assert lack.limit == "the borrowing limit of ClusterQueue a"
    assert [(each.workload, each.amount) for each in lack.held_by] == [("ml/first", "2")]
    never = only(kwhatif.queue([workload("huge", "a", "4")], snapshot=there(*made)))
    assert [each.never for each in never.lacks] == [True]


def test_behind_the_head_of_a_strict_queue_the_head_is_named() -> None:
    made = queues(cluster_queue("a", "2", queueingStrategy="StrictFIFO"))
    old = workload("old", "a", "3")
    old["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    found = only(kwhatif.queue([workload("new", "a", "1")], snapshot=there(*made, old)))
    assert (found.place, found.behind) == (2, ("ml/old",))
    assert found.message == "a is StrictFIFO: ml/old has to be admitted before"


def test_objects_of_kueue_in_the_manifests_take_the_place_of_those_of_the_cluster() -> None:
    made = queues(cluster_queue("a", "1"))
    asked = workload("train", "a", "3")
    assert only(kwhatif.queue([asked], snapshot=there(*made))).status == "pending"
    assert only(kwhatif.queue([asked, cluster_queue("a", "3")], snapshot=there(*made))).status == "admitted"


def test_other_kinds_with_a_queue_are_left_out_and_said_to_be() -> None:
    asked = job("train", **{"queue-name": "a"}) | {"apiVersion": "example.com/v1", "kind": "Ensemble"}
    result = kwhatif.queue([asked], snapshot=there(*queues(cluster_queue("a", "1")), workload("other", "a", "1")))
    assert [each.what for each in result.gaps] == ["of an object such as Ensemble ml/train no workload is made here"]
    assert (only(result).status, result.good) == ("unknown", False)


@pytest.mark.parametrize("wrapped", [False, True])
def test_kueues_configuration_is_read_also_from_its_config_map(tmp_path: Path, wrapped: bool) -> None:
    text = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nfairSharing: {}\n"
    if wrapped:
        indented = "".join(f"    {line}\n" for line in text.splitlines())
        text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata:\n  {KEY}: |\n{indented}"
    path = tmp_path / "kueue.yaml"
    path.write_text(text)
    fair = kwhatif.queue(snapshot=[CLUSTER], kueue_config=str(path))
    assert {each.cluster_queue: each.share for each in fair.cluster_queues} == {"language": 0, "vision": 167}
    assert kwhatif.queue(snapshot=[CLUSTER]).cluster_queues[0].share is None


def test_what_is_no_configuration_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "kueue.yaml"
    path.write_text("kind: Configuration\n")
    with pytest.raises(InputError, match="there is no Configuration of config"):
        kwhatif.queue(snapshot=[CLUSTER], kueue_config=str(path))


def test_without_a_cluster_queue_there_is_nothing_to_decide() -> None:
    with pytest.raises(UsageError, match="no ClusterQueue in the snapshot"):
        kwhatif.queue([job("train")], snapshot=there(kueue("ResourceFlavor", "default")))


@pytest.mark.parametrize("cpu", [MOST, str(MOST), "9E", f"{MOST}m", "1n", "0"])
def test_quotas_and_requests_at_the_ends_of_int64_are_answered(cpu: Any) -> None:
    for quota in ("0", "1", cpu):
        made = queues(cluster_queue("a", quota, cohortName="all"), cluster_queue("b", cpu, cohortName="all"))
        result = kwhatif.queue([workload("train", "a", cpu), workload("more", "b", cpu)], snapshot=there(*made))
        assert {each.status for each in result.workloads} <= {"admitted", "pending"}


def test_an_amount_that_is_none_is_refused_in_a_line() -> None:
    with pytest.raises(InputError) as refused:
        kwhatif.queue([workload("train", "a", "many")], snapshot=there(*queues(cluster_queue("a", "1"))))
    assert "\n" not in str(refused.value)


def test_cohorts_in_a_circle_make_their_queues_inactive() -> None:
    circle = [kueue("Cohort", name, spec={"parentName": other}) for name, other in (("x", "y"), ("y", "x"))]
    made = queues(cluster_queue("a", "4", cohortName="x"))
    found = only(kwhatif.queue([workload("train", "a", "1")], snapshot=there(*made, *circle)))
    assert (found.status, found.message) == ("pending", "ClusterQueue a is inactive")


def test_a_circle_with_quotas_is_answered_and_a_tower_of_cohorts_refused() -> None:
    group = cluster_queue("a", "4")["spec"]["resourceGroups"]
    circle = [
        kueue("Cohort", name, spec={"parentName": other, "resourceGroups": group})
        for name, other in (("x", "y"), ("y", "x"), ("below", "x"))
    ]
    made = queues(cluster_queue("a", "4", cohortName="below"))
    found = kwhatif.queue([workload("train", "a", "1")], snapshot=there(*made, *circle))
    assert [each.cohort for each in found.cohorts] == ["below", "x", "y"]
    tower = [kueue("Cohort", f"c{i}", spec={"parentName": f"c{i + 1}"}) for i in range(3000)]
    with pytest.raises(InputError, match="has more than 100 cohorts above it"):
        kwhatif.queue([workload("train", "a", "1")], snapshot=there(*made, *tower))


def test_quotas_do_not_hang_on_what_runs_on_nodes_so_nothing_is_assumed_of_it() -> None:
    with pytest.raises(TypeError, match="assume_empty"):
        kwhatif.queue(snapshot=[CLUSTER], assume_empty=True)  # type: ignore[call-arg]


def test_a_check_without_a_status_is_taken_to_be_active_and_said_to_be() -> None:
    check = kueue("AdmissionCheck", "nodes", spec={"controllerName": "example.com/nodes"})
    checks = {"admissionChecksStrategy": {"admissionChecks": [{"name": "nodes"}]}}
    result = kwhatif.queue(
        [job("mine", **{"queue-name": "a"})], snapshot=there(*queues(cluster_queue("a", 1, **checks)), check)
    )
    assert only(result).status == "quotaReserved"
    assert "without a status: 1 AdmissionCheck, nodes" in [each.what for each in result.gaps]


def test_of_a_queue_that_is_not_active_is_told_why() -> None:
    stopped = there(*queues(cluster_queue("a", 1, stopPolicy="Hold")))
    blocks = queue_blocks(kwhatif.queue([job("mine", **{"queue-name": "a"})], snapshot=stopped))
    rows = [row for block in blocks if isinstance(block, Facts) for row in block.pairs]
    assert ("ClusterQueue", "Can't admit new workloads: is stopped.") in rows


def test_an_order_by_the_use_of_local_queues_is_said_not_to_be_known() -> None:
    scope = {"admissionMode": "UsageBasedAdmissionFairSharing"}
    made = queues(cluster_queue("a", 1, admissionScope=scope))
    result = kwhatif.queue(snapshot=there(*made, workload("other", "a", "1")))
    assert [each.what for each in result.gaps] == ["AdmissionFairSharing is not modelled: ClusterQueue a"]
