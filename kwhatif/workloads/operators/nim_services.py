"""NVIDIA's NIMServices: a Deployment, a LeaderWorkerSet over several nodes, or an InferenceService of KServe.

Upstream: NVIDIA/k8s-nim-operator, api/apps/v1alpha1/{nimservice,nimpipeline,nimcache}_types.go,
internal/controller/platform/standalone/nimservice.go, manifests/{deployment,lws}.yaml.
"""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.admission.response import Doubt, Object
from kwhatif.api.field_types import check_part
from kwhatif.api.objects import section
from kwhatif.workloads.objects import deep_copy_json, integer, name_of, namespace_of
from kwhatif.workloads.operators.inference_services import inference_children
from kwhatif.workloads.operators.job_sets import leader_worker_children
from kwhatif.workloads.operators.operator_kind import claim_of, items_of, size_of, some_fields
from kwhatif.workloads.workload_kind import Companions, child

_GROUP = "apps.nvidia.com"
_GPU = "nvidia.com/gpu"


def nim_pipeline_children(pipeline: Object, companions: Companions) -> Iterator[Object]:
    """What the NIMServices of a NIMPipeline make."""
    for service in items_of(pipeline, "spec", "services"):
        if service.get("enabled") is not False:
            name = str(service.get("name") or "")
            yield from nim_children(
                child(pipeline, f"{_GROUP}/v1alpha1", "NIMService", name, section(service, "spec")), companions
            )


def nim_children(service: Object, companions: Companions) -> Iterator[Object]:
    """The controller of a NIMService's pods, and the claim of its model where it makes one."""
    spec, name = section(service, "spec"), name_of(service)
    check_part(spec.get("resources"), "core.v1.ResourceRequirements", "$.spec.resources")
    claim = section(spec, "storage", "pvc")
    if claim.get("create") and not _cache_of(spec):
        yield claim_of(
            service,
            _claim_name(name, claim),
            {
                "accessModes": [claim.get("volumeAccessMode") or "ReadWriteOnce"],
                "resources": {"requests": {"storage": str(claim.get("size") or "")}},
                **({"storageClassName": claim["storageClass"]} if claim.get("storageClass") else {}),
            },
        )
    count = section(spec, "scale", "hpa").get("minReplicas") if _scales(spec) else spec.get("replicas")
    size = size_of(service, count, 1, "$.spec.replicas")
    labels = {
        "app.kubernetes.io/name": name,
        "app.kubernetes.io/instance": name,
        "app.kubernetes.io/part-of": "nim-service",
        "app.kubernetes.io/managed-by": "k8s-nim-operator",
        **section(spec, "labels"),
    }
    body = _pod_spec(service, companions)
    if section(spec, "multiNode"):
        set_name = f"{name}-lws"
        metadata = {"labels": {**labels, "app": set_name}, "annotations": section(spec, "annotations")}
        made = {
            "replicas": size,
            "leaderWorkerTemplate": {
                "size": max(1, integer(section(spec, "multiNode", "parallelism").get("pipeline"), 1)),
                "leaderTemplate": {"metadata": metadata, "spec": body},
                "workerTemplate": {"metadata": metadata, "spec": deep_copy_json(body)},
            },
        }
        group = child(service, "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", set_name, made)
        yield from leader_worker_children(group, companions)
    elif spec.get("inferencePlatform") == "kserve":
        notes = {"serving.kserve.io/deploymentMode": "RawDeployment", **section(spec, "annotations")}
        made = {"predictor": {"minReplicas": size, "labels": labels, **body}}
        metadata = {"labels": labels, "annotations": notes}
        served = child(service, "serving.kserve.io/v1beta1", "InferenceService", name, made, metadata)
        yield from inference_children(served, companions)
    else:
        metadata = {"labels": {**labels, "app": name}, "annotations": section(spec, "annotations")}
        rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": 0}}
        made = {
            "replicas": size,
            "strategy": rolling,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": metadata, "spec": body},
        }
        yield child(service, "apps/v1", "Deployment", name, made, {"labels": labels})


def nim_doubts(service: Object, companions: Companions) -> Iterator[Doubt]:
    spec, whole = section(service, "spec"), f"NIMService {name_of(service)}"
    cache = _cache_of(spec)
    if cache and companions.find(_GROUP, "NIMCache", namespace_of(service), cache) is None:
        what = f"NIMCache {cache} of {whole} is not among the manifests"
        yield Doubt(what, f"its claim is taken to be {cache}-pvc")
    if _lacks_gpus(spec):
        what = f"how many GPUs the profile of {whole} needs is found out by its cache"
        yield Doubt(what, "1 for each pod is assumed")
    if spec.get("draResources"):
        yield Doubt(f"{whole} asks for devices by draResources", "its pods are judged without these claims")
    most = integer(section(spec, "scale", "hpa").get("maxReplicas"), 0) if _scales(spec) else 0
    if most > 1:
        yield Doubt(f"{whole} may have up to {most} pods", "it is taken to have as many as it starts with")


def _scales(spec: Object) -> bool:
    return bool(section(spec, "scale").get("enabled"))


def _cache_of(spec: Object) -> str:
    return str(section(spec, "storage", "nimCache").get("name") or "")


def _claim_name(name: str, claim: Object) -> str:
    return str(claim.get("name") or f"{name}-pvc")


def _lacks_gpus(spec: Object) -> bool:
    """Whether the operator adds GPUs: for the profile of a cache, unless somebody asks for some."""
    own_resources = section(spec, "resources")
    has = any(_GPU in section(own_resources, key) for key in ("requests", "limits")) or spec.get("draResources")
    return bool(section(spec, "storage", "nimCache").get("profile")) and not has


def _pod_spec(service: Object, companions: Companions) -> Object:
    spec, name = section(service, "spec"), name_of(service)
    own_resources = deep_copy_json(section(spec, "resources"))
    own_resources.pop("claims", None)
    if _lacks_gpus(spec):
        number = str(max(1, integer(section(spec, "multiNode", "parallelism").get("tensor"), 1)))
        own_resources |= {key: {**section(own_resources, key), _GPU: number} for key in ("requests", "limits")}
    image = section(spec, "image")
    tagged = f"{image.get('repository')}:{image.get('tag')}"
    shared = some_fields({"sizeLimit": section(spec, "storage").get("sharedMemorySizeLimit")}, "sizeLimit")
    body: Object = {
        "containers": [
            {"name": f"{name}-ctr", "image": tagged, "resources": own_resources},
            *(_container(item) for item in items_of(spec, "sidecarContainers")),
        ],
        "initContainers": [_container(item) for item in items_of(spec, "initContainers")],
        "volumes": [{"name": "dshm", "emptyDir": {"medium": "Memory", **shared}}],
        **some_fields(spec, "nodeSelector", "tolerations", "affinity", "schedulerName", "runtimeClassName"),
        **some_fields(spec, "priorityClassName"),
    }
    if store := _model_store(service, companions):
        body["volumes"].append({"name": "model-store", **store})
    return body


def _container(settings: Object) -> Object:
    image = section(settings, "image")
    return {"name": str(settings.get("name") or ""), "image": f"{image.get('repository')}:{image.get('tag')}"}


def _model_store(service: Object, companions: Companions) -> Object:
    """The volume with the model: a cache's claim, one's own, an empty directory or one of the node."""
    storage = section(service, "spec", "storage")
    if cache := _cache_of(section(service, "spec")):
        held = companions.find(_GROUP, "NIMCache", namespace_of(service), cache) or {}
        return {"persistentVolumeClaim": {"claimName": _claim_name(cache, section(held, "spec", "storage", "pvc"))}}
    claim = section(storage, "pvc")
    if claim.get("create") or claim.get("name"):
        return {"persistentVolumeClaim": {"claimName": _claim_name(name_of(service), claim)}}
    if isinstance(storage.get("emptyDir"), dict):
        return {"emptyDir": some_fields(section(storage, "emptyDir"), "sizeLimit")}
    return {"hostPath": {"path": storage["hostPath"]}} if storage.get("hostPath") else {}
