"""RayCluster, RayJob and RayService: a head and groups of workers.

Upstream: ray-project/kuberay, ray-operator/controllers/ray/common/{pod,job}.go, raycluster_controller.go (buildHeadPod,
buildWorkerPod), utils/util.go (GetWorkerGroupDesiredReplicas).
"""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.admission.response import Object
from kwhatif.api.field_types import check_part
from kwhatif.api.objects import part_of, section
from kwhatif.workloads.object_creation import template_hash
from kwhatif.workloads.objects import deep_copy_json, integer, name_of, namespace_of, owner_reference
from kwhatif.workloads.operators.operator_kind import items_of, resources, size_of
from kwhatif.workloads.workload_kind import Companions, child, child_pod

_MOST = 2**31 - 1
SUBMITTER_JOB, SUBMITTER_SIDECAR = "K8sJobMode", "SidecarMode"


def ray_cluster_children(cluster: Object, companions: Companions) -> Iterator[Object]:
    """The pods of a RayCluster; none while it is suspended."""
    spec = section(cluster, "spec")
    if spec.get("suspend"):
        return
    head = section(spec, "headGroupSpec", "template")
    check_part(head, "core.v1.PodTemplateSpec", "$.spec.headGroupSpec.template")
    pod = child_pod(cluster, head_template(spec), f"{name_of(cluster)}-head")
    _label(pod, cluster, "head", "headgroup")
    yield pod
    for place, group in enumerate(items_of(spec, "workerGroupSpecs")):
        template = section(group, "template")
        check_part(template, "core.v1.PodTemplateSpec", f"$.spec.workerGroupSpecs[{place}].template")
        if group.get("suspend"):
            continue
        name = str(group.get("groupName") or "")
        for _ in range(_workers(cluster, group)):
            pod = child_pod(cluster, template, f"{name_of(cluster)}-{name}-worker-")
            _label(pod, cluster, "worker", name)
            waits = {"name": "wait-gcs-ready", "image": _image(pod), "resources": resources("200m", "256Mi")}
            part_of(pod, "spec")["initContainers"] = [*(part_of(pod, "spec").get("initContainers") or ()), waits]
            yield pod


def head_template(spec: Object) -> Object:
    """The template of the head of a RayCluster's spec, with the container of the autoscaler that it asks for."""
    head: Object = deep_copy_json(section(spec, "headGroupSpec", "template"))
    if spec.get("enableInTreeAutoscaling"):
        options = section(spec, "autoscalerOptions")
        own = deep_copy_json(options.get("resources") or resources("500m", "512Mi"))
        container = {"name": "autoscaler", "resources": own, "image": options.get("image") or _image(head)}
        head["spec"] = {**section(head, "spec"), "containers": [*items_of(head, "spec", "containers"), container]}
    return head


def _workers(cluster: Object, group: Object) -> int:
    """How many at first: as asked, within least and most; an autoscaler may change it."""
    least, most = integer(group.get("minReplicas"), 0), integer(group.get("maxReplicas"), _MOST)
    wanted = most if least > most else min(max(integer(group.get("replicas"), 0), least), most)
    place = "$.spec.workerGroupSpecs[*].numOfHosts"
    return wanted * size_of(cluster, group.get("numOfHosts"), 1, place, max(wanted, 0))


def _label(pod: Object, cluster: Object, node_type: str, group: str) -> None:
    own = section(part_of(pod, "metadata"), "labels")
    part_of(pod, "metadata")["labels"] = {
        "ray.io/is-ray-node": "yes",
        "ray.io/cluster": name_of(cluster),
        "ray.io/node-type": node_type,
        "ray.io/group": group,
        "ray.io/identifier": f"{name_of(cluster)}-{node_type}",
        "app.kubernetes.io/name": "kuberay",
        "app.kubernetes.io/created-by": "kuberay-operator",
        **own,
    }


def _image(pod: Object) -> str:
    return str(next(iter(items_of(pod, "spec", "containers")), {}).get("image") or "")


def _cluster_of(owner: Object, spec: Object) -> Object:
    """The RayCluster that is made of a spec; its name ends in five letters that stand for it."""
    name = f"{name_of(owner)}-{template_hash({'spec': {'cluster': spec}})}"
    metadata = {"name": name, "namespace": namespace_of(owner), "ownerReferences": [owner_reference(owner)]}
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": metadata, "spec": spec}


def ray_job_children(job: Object, companions: Companions) -> Iterator[Object]:
    """The pods of the cluster of a RayJob, and the Job that submits it, unless it is submitted in another way."""
    spec = section(job, "spec")
    if spec.get("suspend"):
        return
    mode = submission_mode(spec)
    if not spec.get("clusterSelector"):
        for pod in ray_cluster_children(_cluster_of(job, section(spec, "rayClusterSpec")), companions):
            if mode == SUBMITTER_SIDECAR and section(pod, "metadata", "labels").get("ray.io/node-type") == "head":
                part_of(pod, "spec")["containers"] += [submitter_container(spec)]
            yield pod
    if mode == SUBMITTER_JOB:
        yield child(job, "batch/v1", "Job", name_of(job), {"backoffLimit": 2, "template": submitter_template(spec)})


def submission_mode(spec: Object) -> str:
    """How a RayJob submits what it runs."""
    return str(spec.get("submissionMode") or SUBMITTER_JOB)


def submitter_template(spec: Object) -> Object:
    """The template of the Job that submits a RayJob."""
    template = section(spec, "submitterPodTemplate")
    if template:
        check_part(template, "core.v1.PodTemplateSpec", "$.spec.submitterPodTemplate")
        submitter = deep_copy_json(template)
        submitter["spec"] = {"restartPolicy": "Never", **section(submitter, "spec")}
        return dict(submitter)
    return {"metadata": {}, "spec": {"containers": [submitter_container(spec)], "restartPolicy": "Never"}}


def submitter_container(spec: Object) -> Object:
    """The container that submits a RayJob, whose own template counts for a Job alone."""
    return {
        "name": "ray-job-submitter",
        "image": _image(section(spec, "rayClusterSpec", "headGroupSpec", "template")),
        "resources": {"requests": {"cpu": "500m", "memory": "200Mi"}, "limits": {"cpu": "1", "memory": "1Gi"}},
    }


def ray_service_children(service: Object, companions: Companions) -> Iterator[Object]:
    """The pods of the cluster of a RayService; an update makes a second one and takes the first one away."""
    yield from ray_cluster_children(_cluster_of(service, section(service, "spec", "rayClusterConfig")), companions)
