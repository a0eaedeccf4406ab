"""What a dump leaves out of single objects, and what it must not."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

import kwhatif
from kwhatif.api.core import Node, Pod
from kwhatif.api.decode import convert
from kwhatif.api.meta import Resource
from kwhatif.api.workloads_and_storage import PersistentVolumeClaim, StorageClass
from kwhatif.cluster.pod_requests import pod_requests
from kwhatif.snapshot.live.pruning import KEPT_ANNOTATIONS, prune_event, prune_object, prune_template, prune_whole
from kwhatif.versions import features_of


def pod(status: dict[str, Any] | None = None, **spec: Any) -> Pod:
    containers = [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]
    return convert({"metadata": {"name": "p"}, "spec": {"containers": containers, **spec}, "status": status or {}}, Pod)


def pruned(obj: Any) -> Any:
    prune_object(obj)
    return obj


# --- annotations


@pytest.mark.parametrize(
    ("kind", "kept"),
    [
        (Pod, "controller.kubernetes.io/pod-deletion-cost"),
        (PersistentVolumeClaim, "volume.kubernetes.io/selected-node"),
        (StorageClass, "storageclass.kubernetes.io/is-default-class"),
    ],
)
def test_annotations_that_somebody_reads_are_kept_and_no_others(kind: type[Resource], kept: str) -> None:
    annotations = {kept: "x", "kubectl.kubernetes.io/last-applied-configuration": "{secret}"}
    obj = pruned(convert({"metadata": {"name": "o", "annotations": annotations}}, kind))
    assert obj.metadata.annotations == {kept: "x"}


def test_an_object_without_such_annotations_has_none() -> None:
    assert pruned(convert({"metadata": {"name": "n", "annotations": {"a": "b"}}}, Node)).metadata.annotations is None


@pytest.mark.long
def test_every_annotation_that_the_program_names_is_kept() -> None:
    """Constants whose names or neighbours say that they are annotations; a new one has to be added to the list."""
    named = re.compile(r"[a-z.]+\.(?:kubernetes|k8s)\.io/[A-Za-z-]+$|kubernetes\.io/config\.[a-z]+$")
    spoken = re.compile(r"annotation", re.IGNORECASE)
    package = Path(kwhatif.__file__).parent
    found = set()
    for path in (
        file for room in ("admission", "cluster", "plugins", "workloads") for file in (package / room).glob("*.py")
    ):
        text = path.read_text(encoding="utf-8")
        if not spoken.search(text):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and named.match(node.value):
                found.add(node.value)
    labels = re.compile(r"(topology|failure-domain\.beta|beta|node|batch|apps|statefulset)\.kubernetes\.io/")
    assert {text for text in found - KEPT_ANNOTATIONS if not labels.match(text)} == set()
    assert len(found & KEPT_ANNOTATIONS) >= 8


# --- pods


def test_conditions_that_nobody_reads_go_and_why_a_pod_waits_stays() -> None:
    waits = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available"}
    noise = {"type": "ContainersReady", "status": "False", "message": "containers with unready status: [c]"}
    (kept,) = pruned(pod({"conditions": [waits, noise]})).status.conditions
    assert (kept.type, kept.message) == ("PodScheduled", "0/3 nodes are available")


def test_a_pod_that_is_not_ready_is_still_not_ready() -> None:
    """No conditions at all would mean that nobody knows."""
    found = pruned(pod({"phase": "Running", "conditions": [{"type": "PodScheduled", "status": "True"}]}))
    assert found.status.conditions == []
    assert pruned(pod({"phase": "Running"})).status.conditions is None


def test_since_when_a_pod_is_ready_is_kept() -> None:
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z", "message": "yes"}
    (kept,) = pruned(pod({"conditions": [ready]})).status.conditions
    assert (kept.last_transition_time, kept.message) == ("2026-01-01T00:00:00Z", None)


def test_volumes_that_decide_where_a_pod_runs_are_kept() -> None:
    volumes = [{"name": "token", "projected": {}}, {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    (kept,) = pruned(pod(volumes=volumes)).spec.volumes
    assert kept.name == "v"


CALM = {"name": "c", "resources": {"requests": {"cpu": "1000m"}}, "allocatedResources": {"cpu": "1"}}
PENDING = {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}


@pytest.mark.parametrize(
    ("status", "kept"),
    [
        ({"containerStatuses": [CALM]}, False),
        ({"containerStatuses": [CALM | {"restartCount": 3}]}, True),
        ({"containerStatuses": [CALM | {"restartCount": 0, "state": {"running": {}}}]}, False),
        ({"containerStatuses": [CALM | {"state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}, True),
        ({"containerStatuses": [CALM | {"allocatedResources": {"cpu": "2"}}]}, True),
        ({"containerStatuses": [CALM | {"resources": {"requests": {"cpu": "3"}}}]}, True),
        ({"containerStatuses": [CALM], "conditions": [PENDING]}, True),
        ({"containerStatuses": [CALM], "resize": "Infeasible"}, True),
    ],
)
def test_the_status_of_a_container_is_kept_if_it_was_resized_or_restarted(status: dict[str, Any], kept: bool) -> None:
    before, after = pod(status), pruned(pod(status))
    assert bool(after.status.container_statuses) == kept
    for minor in ("1.29", "1.32", "1.33", "1.36"):
        was, now = (pod_requests(one, features_of(minor), with_status=True) for one in (before, after))
        assert now == was


# --- pod templates


def template(**container: Any) -> dict[str, Any]:
    return {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i", **container}]}}


@pytest.mark.parametrize(
    ("lost", "container"),
    [
        ("env", {"env": [{"name": "A", "value": "secret"}]}),
        ("envFrom", {"envFrom": [{"secretRef": {"name": "secret"}}]}),
        ("command", {"command": ["secret"]}),
        ("args", {"args": ["secret"]}),
        ("lifecycle", {"lifecycle": {"preStop": {"exec": {"command": ["secret"]}}}}),
        ("readinessProbe", {"readinessProbe": {"httpGet": {"path": "/secret"}}}),
        ("securityContext", {"securityContext": {"seLinuxOptions": {"user": "secret"}}}),
        ("volumeMounts", {"volumeMounts": [{"name": "secret", "mountPath": "/"}]}),
        ("somethingNew", {"somethingNew": "secret"}),
    ],
)
def test_what_a_container_runs_is_left_out_of_templates_and_named(lost: str, container: dict[str, Any]) -> None:
    dropped: set[str] = set()
    kept = prune_template(template(**container), dropped)
    assert kept == template()
    assert dropped == {lost}


def test_what_scheduling_reads_of_a_template_is_kept_and_nothing_is_said_to_be_lost() -> None:
    whole = template(
        resources={"requests": {"cpu": "1"}}, ports=[{"containerPort": 80, "hostPort": 80}], imagePullPolicy="Always"
    )
    whole["spec"] |= {
        "nodeSelector": {"a": "b"},
        "tolerations": [{"operator": "Exists"}],
        "affinity": {"podAntiAffinity": {}},
        "topologySpreadConstraints": [{"maxSkew": 1}],
        "priorityClassName": "high",
        "runtimeClassName": "heavy",
        "overhead": {"cpu": "1"},
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "schedulingGates": [{"name": "g"}],
        "initContainers": [{"name": "i", "image": "i", "restartPolicy": "Always"}],
        "volumes": [
            {"name": "v", "emptyDir": {"medium": "Memory"}},
            {"name": "w", "persistentVolumeClaim": {"claimName": "c"}},
        ],
    }
    dropped: set[str] = set()
    assert prune_template(whole, dropped) == whole
    assert dropped == set()


def test_defaults_that_every_stored_template_has_are_left_out_without_a_word() -> None:
    whole = template(terminationMessagePath="/dev/termination-log", terminationMessagePolicy="File")
    whole["spec"] |= {"dnsPolicy": "ClusterFirst", "securityContext": {}, "enableServiceLinks": True}
    dropped: set[str] = set()
    assert prune_template(whole, dropped) == template()
    assert dropped == set()


def test_of_a_volume_its_kind_is_kept_and_of_a_disk_which_it_is() -> None:
    whole = template()
    disk = {"driver": "d", "readOnly": True, "nodePublishSecretRef": {"name": "secret"}}
    whole["spec"]["volumes"] = [{"name": "s", "secret": {"secretName": "secret"}}, {"name": "c", "csi": disk}]
    dropped: set[str] = set()
    kept = prune_template(whole, dropped)["spec"]["volumes"]
    assert kept == [{"name": "s", "secret": {}}, {"name": "c", "csi": {"driver": "d", "readOnly": True}}]
    assert dropped == {"volumes"}


def test_annotations_of_a_template_are_left_out_but_the_few_that_are_read() -> None:
    whole, dropped = template(), set[str]()
    cost = {"controller.kubernetes.io/pod-deletion-cost": "5"}
    whole["metadata"]["annotations"] = cost | {"checksum/config": "abc"}
    assert prune_template(whole, dropped)["metadata"] == {"labels": {"app": "a"}, "annotations": cost}
    assert dropped == {"annotations"}


# --- whole objects


def test_a_stateful_set_keeps_its_revisions_and_a_quota_what_is_used() -> None:
    revisions = {"currentRevision": "db-1", "updateRevision": "db-2"}
    stateful = {"metadata": {"name": "db"}, "spec": {}, "status": revisions | {"readyReplicas": 3}}
    prune_whole(stateful, "StatefulSet", set())
    assert stateful["status"] == revisions
    quota = {"metadata": {"name": "q"}, "status": {"hard": {"pods": "3"}, "used": {"pods": "1"}}}
    prune_whole(quota, "ResourceQuota", set())
    assert quota["status"] == {"hard": {"pods": "3"}, "used": {"pods": "1"}}
    deployment = {"metadata": {"name": "d", "managedFields": [], "resourceVersion": "7"}, "status": {"replicas": 3}}
    prune_whole(deployment, "Deployment", set())
    assert deployment == {"metadata": {"name": "d"}}


def test_a_scaled_object_keeps_its_bounds_and_no_address_that_a_trigger_asks() -> None:
    paused = "autoscaling.keda.sh/paused-replicas"
    spec = {"scaleTargetRef": {"name": "web"}, "minReplicaCount": 1, "maxReplicaCount": 4}
    triggers = [{"type": "prometheus", "metadata": {"serverAddress": "http://prometheus.internal", "query": "q"}}]
    scaled: Any = {
        "metadata": {"name": "web", "annotations": {paused: "2", "team": "shop"}},
        "spec": {**spec, "triggers": triggers, "advanced": {}},
    }
    prune_whole(scaled, "ScaledObject", set())
    assert scaled == {"metadata": {"name": "web", "annotations": {paused: "2"}}, "spec": spec}


def test_the_template_of_a_cron_job_is_two_levels_down() -> None:
    dropped: set[str] = set()
    cron: Any = {"metadata": {"name": "c"}, "spec": {"jobTemplate": {"spec": {"template": template(command=["x"])}}}}
    prune_whole(cron, "CronJob", dropped)
    assert cron["spec"]["jobTemplate"]["spec"]["template"] == template()
    assert dropped == {"command"}


def test_templates_stay_if_they_are_asked_for() -> None:
    dropped: set[str] = set()
    owner = {"metadata": {"name": "d", "managedFields": []}, "spec": {"template": template(command=["x"])}}
    prune_whole(owner, "Deployment", dropped, keep_templates=True)
    assert owner == {"metadata": {"name": "d"}, "spec": {"template": template(command=["x"])}}
    assert dropped == set()


# --- what configures the API server


def test_of_a_definition_goes_what_explains_it_but_no_field_of_that_name() -> None:
    told = {"description": "tells", "title": "T", "type": "string"}
    schema: Any = {
        "description": "tells",
        "properties": {"description": told, "list": {"items": {"description": "tells", "properties": {"title": told}}}},
        "anyOf": [{"description": "tells", "required": ["list"]}],
    }
    version = {"name": "v1", "schema": {"openAPIV3Schema": schema}, "additionalPrinterColumns": []}
    obj: Any = {"metadata": {"name": "w"}, "spec": {"group": "g", "conversion": {}, "versions": [version]}}
    prune_whole(obj, "CustomResourceDefinition", set())
    (kept,) = obj["spec"].pop("versions")
    assert obj["spec"] == {"group": "g"}
    assert kept == {
        "name": "v1",
        "schema": {
            "openAPIV3Schema": {
                "properties": {
                    "description": {"type": "string"},
                    "list": {"items": {"properties": {"title": {"type": "string"}}}},
                },
                "anyOf": [{"required": ["list"]}],
            }
        },
    }


def test_of_a_service_account_only_the_name_is_kept() -> None:
    obj: Any = {"kind": "ServiceAccount", "metadata": {"name": "a", "namespace": "b", "labels": {}}, "secrets": [{}]}
    prune_whole(obj, "ServiceAccount", set())
    assert obj == {"kind": "ServiceAccount", "metadata": {"name": "a", "namespace": "b"}}


# --- Events

LEASE = {"kind": "Lease", "namespace": "kube-system", "name": "kube-scheduler"}


@pytest.mark.parametrize(
    ("about", "reason", "is_kept"),
    [
        pytest.param({"kind": "Pod", "name": "p"}, "Scheduled", True, id="a binding"),
        pytest.param({"kind": "Pod", "name": "p"}, "Pulled", False, id="a kubelet's about a pod"),
        pytest.param(LEASE, "LeaderElection", True, id="the leader among the schedulers"),
        pytest.param(LEASE, "Scheduled", False, id="anything else about that Lease"),
        pytest.param({**LEASE, "name": "cert-manager"}, "LeaderElection", False, id="the leader of others"),
        pytest.param({**LEASE, "namespace": "apps"}, "LeaderElection", False, id="a Lease of that name elsewhere"),
    ],
)
def test_events_about_scheduling_are_kept_with_who_wrote_them(
    about: dict[str, str], reason: str, is_kept: bool
) -> None:
    event = {
        "involvedObject": about,
        "reason": reason,
        "message": "m1_2 became leader",
        "reportingComponent": "default-scheduler",
        "reportingInstance": "default-scheduler-m1",
    }
    text = prune_event(msgspec.Raw(msgspec.json.encode({**event, "action": "Binding"})))
    assert (None if text is None else msgspec.json.decode(text)) == (
        {"metadata": {}, "source": {}, **event} if is_kept else None
    )
