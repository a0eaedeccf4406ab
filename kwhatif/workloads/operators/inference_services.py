"""KServe's InferenceServices and InferenceGraphs: what they serve with is a Deployment or a Knative Service each.

The pod of a predictor is that of a runtime, which has to be among the manifests, with what the service lays over it.
Upstream: kserve/kserve, pkg/controller/v1beta1/inferenceservice/components and .../utils/utils.go,
pkg/apis/serving/v1beta1/predictor_model.go, pkg/webhook/admission/pod, and config/configmap/inferenceservice.yaml.
"""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.admission.response import Doubt, Object
from kwhatif.api.field_types import check_part
from kwhatif.api.objects import list_at, section
from kwhatif.errors import InputError
from kwhatif.snapshot.kustomize.room import CopyRoom
from kwhatif.snapshot.kustomize.strategic_merge import merge_objects
from kwhatif.workloads.objects import annotations_of, deep_copy_json, integer, labels_of, name_of, namespace_of
from kwhatif.workloads.operators.deliveries import knative_children
from kwhatif.workloads.operators.operator_kind import is_true, items_of, resources, size_of, some_fields
from kwhatif.workloads.workload_kind import Companions, child

KSERVE = "serving.kserve.io"
_MAIN = "kserve-container"
_LOADER = "storage-initializer"
_COMPONENTS = ("predictor", "transformer", "explainer")
_FRAMEWORKS = (
    *("sklearn", "xgboost", "tensorflow", "pytorch", "triton", "onnx", "huggingface", "pmml", "lightgbm", "paddle"),
)
_DEFAULT = resources("1", "2Gi")
_STANDARD = ("RawDeployment", "Standard")
_OF_MODELS = ("modelFormat", "protocolVersion", "runtime", "runtimeVersion", "storage", "storageUri")
_NOT_OF_PODS = frozenset(
    {
        *("minReplicas", "maxReplicas", "scaleTarget", "scaleMetric", "scaleMetricType", "autoScaling", "timeout"),
        *("containerConcurrency", "canaryTrafficPercent", "logger", "batcher", "labels", "annotations", "metrics"),
        *("deploymentStrategy", "behavior", "name", "storageUris", "storageContainerName", "workerSpec", "model"),
        *("containers", "art", *_FRAMEWORKS),
    }
)


def inference_children(service: Object, companions: Companions) -> Iterator[Object]:
    """What serves the components of an InferenceService; none while it is stopped."""
    notes = annotations_of(service)
    if is_true(notes.get(f"{KSERVE}/stop")) or _mode_of(service) == "ModelMesh":
        return
    for component in _COMPONENTS:
        settings = section(service, "spec", component)
        if not settings:
            continue
        runtime = _runtime_of(service, companions) if component == "predictor" else None
        spec = _pod_spec(settings, section(runtime or {}, "spec"))
        check_part(spec, "core.v1.PodSpec", f"$.spec.{component}")
        own = f"-{settings['name']}" if component == "predictor" and settings.get("name") else ""
        name = f"{name_of(service)}{own}-{component}"
        labels = {
            **section(runtime or {}, "spec", "labels"),
            **labels_of(service),
            **section(settings, "labels"),
            f"{KSERVE}/inferenceservice": name_of(service),
            "component": component,
        }
        template = {"metadata": {"labels": labels, "annotations": section(settings, "annotations")}, "spec": spec}
        least = size_of(service, settings.get("minReplicas"), 1, f"$.spec.{component}.minReplicas")
        yield from _vehicles(service, name, template, least, companions)


def graph_children(graph: Object, companions: Companions) -> Iterator[Object]:
    """What runs the router of an InferenceGraph; none while it is stopped.

    Upstream: pkg/controller/v1alpha1/inferencegraph/{raw_ig,knative_reconciler}.go.
    """
    if is_true(annotations_of(graph).get(f"{KSERVE}/stop")):
        return
    settings = section(graph, "spec")
    asks = section(settings, "resources") or _asks("100m", "100Mi")
    spec = {
        **some_fields(settings, "affinity", "tolerations", "nodeSelector", "nodeName", "serviceAccountName"),
        "containers": [{"name": name_of(graph), "image": "kserve/router", "resources": deep_copy_json(asks)}],
    }
    check_part(spec, "core.v1.PodSpec", "$.spec")
    labels = {**labels_of(graph), f"{KSERVE}/inferencegraph": name_of(graph)}
    template = {"metadata": {"labels": labels, "annotations": {}}, "spec": spec}
    least = size_of(graph, settings.get("minReplicas"), 1, "$.spec.minReplicas")
    yield from _vehicles(graph, name_of(graph), template, least, companions)


def _vehicles(owner: Object, name: str, template: Object, least: int, companions: Companions) -> Iterator[Object]:
    """The Deployment of pods like a template, or what Knative makes of them."""
    metadata = section(template, "metadata")
    if _mode_of(owner) in _STANDARD:
        app = {"app": f"isvc.{name}"}
        metadata["labels"] |= app
        body = {"replicas": max(1, least), "selector": {"matchLabels": app}, "template": template}
        yield child(owner, "apps/v1", "Deployment", name, body)
        return
    metadata["annotations"] = {**section(metadata, "annotations"), "autoscaling.knative.dev/min-scale": str(least)}
    knative = child(owner, "serving.knative.dev/v1", "Service", name, {"template": template})
    yield from knative_children(knative, companions)


def graph_doubts(graph: Object, companions: Companions) -> Iterator[Doubt]:
    whole = f"InferenceGraph {name_of(graph)}"
    yield from _doubts_of_mode(graph, whole)
    yield from size_doubts(section(graph, "spec"), f"the router of {whole}")


def _doubts_of_mode(owner: Object, whole: str) -> Iterator[Doubt]:
    if not _mode_of(owner):
        what = f"whether Knative serves {whole} is a setting of KServe"
        yield Doubt(what, f"it is taken to do so, as without the annotation {KSERVE}/deploymentMode by default")


def size_doubts(settings: Object, whose: str) -> Iterator[Doubt]:
    """That there may be more pods than the fewest that settings allow."""
    first, most = max(1, integer(settings.get("minReplicas"), 1)), integer(settings.get("maxReplicas"), 0)
    if most > first:
        yield Doubt(f"{whose} may have up to {most} pods", f"it is taken to have {first}, as it starts")


def inference_doubts(service: Object, companions: Companions) -> Iterator[Doubt]:
    whole = f"InferenceService {name_of(service)}"
    predictor = section(service, "spec", "predictor")
    if _mode_of(service) == "ModelMesh":
        yield Doubt(f"{whole} is served by ModelMesh, whose pods many models share", "no pods of it are known")
        return
    yield from _doubts_of_mode(service, whole)
    if _model_of(predictor) and _runtime_of(service, companions) is None:
        named = _model_of(predictor).get("runtime")
        asks = f"ServingRuntime {named}" if named else f"a runtime for models of {_format_of(predictor)}"
        yield Doubt(
            f"{asks} of {whole} is not among the manifests",
            "its pods ask for 1 CPU and 2Gi, as those of KServe's own runtimes, unless the service says more",
        )
    if section(predictor, "workerSpec"):
        yield Doubt(f"{whole} has workers on other nodes", "the pods of these workers are missing")
    for component in _COMPONENTS:
        yield from size_doubts(section(service, "spec", component), f"the {component} of {whole}")


def _mode_of(service: Object) -> str:
    return str(annotations_of(service).get(f"{KSERVE}/deploymentMode") or "")


def _model_of(predictor: Object) -> Object:
    """The model that a predictor serves, be it in a field of its framework; empty where it has containers alone."""
    framework = next((name for name in _FRAMEWORKS if isinstance(predictor.get(name), dict)), "")
    return section(predictor, "model") or (section(predictor, framework) if framework else {})


def _format_of(predictor: Object) -> str:
    named = section(predictor, "model", "modelFormat").get("name")
    return str(named or next((framework for framework in _FRAMEWORKS if framework in predictor), ""))


def _runtime_of(service: Object, companions: Companions) -> Object | None:
    """The runtime that is named, else the first that takes models of the format by itself."""
    predictor = section(service, "spec", "predictor")
    model = _model_of(predictor)
    if not model:
        return None
    home = namespace_of(service)
    if named := model.get("runtime"):
        own = companions.find(KSERVE, "ServingRuntime", home, str(named))
        return own or companions.find(KSERVE, "ClusterServingRuntime", "", str(named))
    version, protocol = section(model, "modelFormat").get("version"), model.get("protocolVersion") or "v1"
    for kind, where in (("ServingRuntime", home), ("ClusterServingRuntime", "")):
        fitting = [
            (-integer(item.get("priority"), -1), runtime)
            for runtime in companions.all(KSERVE, kind, where)
            for item in items_of(runtime, "spec", "supportedModelFormats")
            if item.get("name") == _format_of(predictor)
            and version in (None, item.get("version"))
            and item.get("autoSelect")
            and _takes(section(runtime, "spec"), str(protocol))
        ]
        if fitting:
            return min(fitting, key=lambda runtime: runtime[0])[1]
    return None


def _takes(runtime: Object, protocol: str) -> bool:
    """Whether a runtime serves one model a pod by a protocol."""
    protocols = list_at(runtime, "protocolVersions")
    return not runtime.get("disabled") and not runtime.get("multiModel") and (not protocols or protocol in protocols)


def _pod_spec(settings: Object, runtime: Object) -> Object:
    """The pod of a component: its own fields over those of a runtime, and what KServe's webhooks put into it."""
    model = _model_of(settings)
    own = {key: deep_copy_json(value) for key, value in settings.items() if key not in _NOT_OF_PODS}
    below = {
        key: deep_copy_json(runtime[key])
        for key in (
            "nodeSelector",
            "affinity",
            "tolerations",
            "volumes",
            "schedulerName",
            "resourceClaims",
            "containers",
        )
        if runtime.get(key)
    }
    containers = deep_copy_json(items_of(settings, "containers"))
    if model:
        main = {key: value for key, value in deep_copy_json(model).items() if key not in _OF_MODELS}
        containers.insert(0, {**main, "name": _MAIN})
    elif not containers:
        containers = [{**deep_copy_json(section(settings, "art")), "name": _MAIN}]
    own["containers"] = containers
    base, patch = ({"apiVersion": "v1", "kind": "Pod", "spec": pod_spec} for pod_spec in (below, own))
    whole = merge_objects(base, patch, CopyRoom())
    spec: Object = section(whole, "spec") if isinstance(whole, dict) else own
    made = items_of(spec, "containers")
    if not made:
        raise InputError("an InferenceService has no containers here", place="$.spec.predictor")
    first = next((container for container in made if container.get("name") == _MAIN), made[0])
    first.setdefault("name", _MAIN)
    first.setdefault("image", "kserve")
    if not (model and runtime):
        own_resources = section(first, "resources")
        # The limits of a runtime that is not known may be higher.
        keys = ("requests",) if model else ("requests", "limits")
        own_limits = section(own_resources, "limits") if model else {}
        first["resources"] = {
            **own_resources,
            **{key: {**_DEFAULT[key], **own_limits, **section(own_resources, key)} for key in keys},
        }
    if settings.get("logger") or settings.get("batcher"):
        made.append({"name": "agent", "image": "kserve/agent", "resources": _asks("100m", "100Mi")})
    return with_model({**spec, "containers": made}, str(model.get("storageUri") or ""))


def with_model(spec: Object, uri: str) -> Object:
    """A pod that gets a model from a container, from a claim, or by one that loads it first."""
    containers, first = items_of(spec, "containers"), items_of(spec, "initContainers")
    if uri.startswith("oci://"):
        containers.append(
            {"name": "modelcar", "image": uri.removeprefix("oci://"), "resources": resources("10m", "15Mi")}
        )
    elif uri.startswith("pvc://"):
        claim = {"claimName": uri.removeprefix("pvc://").partition("/")[0]}
        spec["volumes"] = [*items_of(spec, "volumes"), {"name": "kserve-pvc-source", "persistentVolumeClaim": claim}]
    elif uri and not uri.startswith("oci+native://"):
        loads = next((container for container in first if container.get("name") == _LOADER), {})
        others = [container for container in first if container.get("name") != _LOADER]
        spec["initContainers"] = [
            *others,
            {"name": _LOADER, "image": "kserve", "resources": _asks("100m", "100Mi"), **loads},
        ]
    return {**spec, "containers": containers}


def _asks(cpu: str, memory: str) -> Object:
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": {"cpu": "1", "memory": "1Gi"}}
