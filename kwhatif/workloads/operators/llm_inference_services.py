"""KServe's LLMInferenceServices: Deployments or groups over nodes that serve a model, and what schedules its requests.

Below what a service says are the configurations that it names, and below these the presets of KServe that its shape
asks for. Upstream: kserve/kserve, pkg/controller/v1alpha2/llmisvc/{config_merge,scheduler,tokenizer,
workload_single_node,workload_multi_node,workload_storage}.go, and charts/kserve-runtime-configs for what its presets
ask for.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

from kwhatif.admission.response import Doubt, Object
from kwhatif.api.field_types import check_part
from kwhatif.api.objects import section
from kwhatif.snapshot.kustomize.room import CopyRoom
from kwhatif.snapshot.kustomize.strategic_merge import merge_objects
from kwhatif.workloads.objects import annotations_of, deep_copy_json, integer, labels_of, name_of, namespace_of
from kwhatif.workloads.operators.inference_services import KSERVE, size_doubts, with_model
from kwhatif.workloads.operators.job_sets import leader_worker_children
from kwhatif.workloads.operators.operator_kind import is_true, items_of, size_of
from kwhatif.workloads.workload_kind import Companions, child

_CONFIG = "LLMInferenceServiceConfig"
_PODS = ("template", "worker")
_OF_SCHEDULER = {"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"cpu": "6", "memory": "16Gi"}}
_OF_TOKENIZER = {"requests": {"cpu": "1", "memory": "4Gi"}, "limits": {"cpu": "4", "memory": "12Gi"}}
_PRESET = "kserve-config-llm-"
_SCHEDULER, _TOKENIZER = f"{_PRESET}scheduler", f"{_PRESET}tokenizer"
_PREDICTOR, _PREDICTS = f"{_PRESET}scheduler-latency-predictor", ("predicted-latency-producer",)
_TOKENIZES = ("token-producer", "precise-prefix-cache-scorer")
_CHILD_NAME = re.compile(r"\{\{-? *ChildName \.ObjectMeta\.Name `([^`]*)` *-?\}\}")
_EITHER = re.compile(r"\{\{-? *if [^}]*\}\}([^{]*)\{\{-? *else *-?\}\}[^{]*\{\{-? *end *-?\}\}")


def llm_children(service: Object, companions: Companions) -> Iterator[Object]:
    """What serves the model of an LLMInferenceService; nothing while it is stopped."""
    if is_true(annotations_of(service).get(f"{KSERVE}/stop")):
        return
    spec = _spec_of(service, companions)
    prefills = isinstance(spec.get("prefill"), dict)
    yield from _servers(service, spec, companions, role="decode" if prefills else "both")
    if prefills:
        own: Object = {key: section(spec, key) for key in ("model", "storageInitializer")}
        yield from _servers(service, {**own, **section(spec, "prefill")}, companions, role="prefill")
    scheduler = _scheduler_of(spec)
    if scheduler is not None:
        asks = {} if _config(_SCHEDULER, service, companions) else _OF_SCHEDULER
        template = _with_main(section(scheduler, "template"), asks)
        labels = _labels(service, "router-scheduler")
        check_part(template, "core.v1.PodSpec", "$.spec.router.scheduler.template")
        body = {
            "replicas": size_of(service, scheduler.get("replicas"), 1, "$.spec.router.scheduler.replicas"),
            "strategy": {"type": "Recreate"},
            **_pods_like(template, labels, section(scheduler, "labels")),
        }
        yield child(service, "apps/v1", "Deployment", f"{name_of(service)}-kserve-router-scheduler", body)
    if scheduler is not None and _has_tokenizer(scheduler):
        asks = {} if _config(_TOKENIZER, service, companions) else _OF_TOKENIZER
        settings = {**spec, "template": _with_main(section(scheduler, "tokenizer", "template"), asks)}
        template = _with_model_of(settings, "template", "$.spec.router.scheduler.tokenizer.template")
        labels = {**_labels(service, "tokenizer"), "app.kubernetes.io/component": "tokenizer"}
        body = {"replicas": 1, **_pods_like(template, labels, {})}
        yield child(service, "apps/v1", "Deployment", f"{name_of(service)}-tokenizer", body)


def llm_doubts(service: Object, companions: Companions) -> Iterator[Doubt]:
    whole, spec = f"LLMInferenceService {name_of(service)}", _spec_of(service, companions)
    for name in _configs_of(service):
        if _config(name, service, companions) is None:
            yield Doubt(f"{_CONFIG} {name} of {whole} is not among the manifests", "its pods are judged without it")
    absent = [
        name for name in _presets_of(_own_spec(service, companions)) if _config(name, service, companions) is None
    ]
    if absent:
        sizes = {_SCHEDULER: "1 CPU and 2Gi for the scheduler", _TOKENIZER: "1 CPU and 4Gi for the tokenizer"}
        asks = ", ".join(["what the service says", *(sizes[name] for name in absent if name in sizes)])
        yield Doubt(
            f"{_CONFIG} {', '.join(absent)} of KServe for {whole} {'is' if len(absent) == 1 else 'are'} not among the"
            f" manifests, where the output of kubectl get -A {_CONFIG.lower()}s -o yaml may be",
            f"its pods ask for {asks}",
        )
    for settings, whose in ((spec, whole), (section(spec, "prefill"), f"the prefill of {whole}")):
        yield from size_doubts(section(settings, "scaling"), whose)
        if items_of(settings, "kvCacheOffloading", "secondary"):
            yield Doubt(f"{whose} keeps a cache on volumes", "its pods are judged without these")


def _configs_of(service: Object) -> list[str]:
    return [str(reference.get("name")) for reference in items_of(service, "spec", "baseRefs")]


def _config(name: str, service: Object, companions: Companions) -> Object | None:
    homes = (namespace_of(service), "kserve")
    return next(filter(None, (companions.find(KSERVE, _CONFIG, home, name) for home in homes)), None)


def _own_spec(service: Object, companions: Companions) -> Object:
    """What a service says, over the configurations that it names, of which later ones count more."""
    spec: Object = {}
    for name in _configs_of(service):
        spec = _lay_over(spec, section(_config(name, service, companions) or {}, "spec"))
    return _lay_over(spec, section(service, "spec"))


def _spec_of(service: Object, companions: Companions) -> Object:
    """What a service says of itself, over the presets that this asks for."""
    own = _own_spec(service, companions)
    presets: Object = {}
    for name in _presets_of(own):
        presets = _lay_over(presets, section(_config(name, service, companions) or {}, "spec"))
    spec: Object = _fill(_lay_over(presets, own), name_of(service))
    return spec


def _presets_of(spec: Object) -> Iterator[str]:
    """The presets by which KServe completes a service, but for its routes and traces, which have no pods."""
    scheduler = _scheduler_of(spec)
    if scheduler is not None:
        yield _SCHEDULER
        if _has_tokenizer(scheduler):
            yield _TOKENIZER
        if _has_plugin(scheduler, _PREDICTS):
            yield _PREDICTOR
    prefill = spec.get("prefill")
    parts = [("", spec)] if not isinstance(prefill, dict) else [("prefill-", prefill), ("decode-", spec)]
    for part, settings in parts:
        parallelism = section(settings, "parallelism")
        if not isinstance(settings.get("worker"), dict):
            yield f"{_PRESET}{part}template"
        elif any(integer(parallelism.get(key), 0) > 0 for key in ("data", "dataLocal")):
            yield f"{_PRESET}{part}worker-data-parallel"
        elif integer(parallelism.get("pipeline"), 0) > 0:
            yield f"{_PRESET}{part}worker-pipeline-parallel"


def _scheduler_of(spec: Object) -> Object | None:
    """The scheduler of requests that KServe runs for a service, if any."""
    scheduler = section(spec, "router").get("scheduler")
    return scheduler if isinstance(scheduler, dict) and not section(scheduler, "pool").get("ref") else None


def _has_tokenizer(scheduler: Object) -> bool:
    """Whether a Deployment splits requests into tokens, which plugins of the scheduler ask for, too."""
    return isinstance(scheduler.get("tokenizer"), dict) or _has_plugin(scheduler, _TOKENIZES)


def _has_plugin(scheduler: Object, types: Collection[str]) -> bool:
    return any(plugin.get("type") in types for plugin in items_of(scheduler, "config", "inline", "plugins"))


def _fill(value: Any, name: str) -> Any:
    """A spec with what templates in it say of names, and the first of what depends on settings of KServe.

    What is left stands in commands and arguments.
    """
    if isinstance(value, str):
        return _EITHER.sub(r"\1", _CHILD_NAME.sub(lambda match: name + match[1], value)) if "{{" in value else value
    if isinstance(value, list):
        return [_fill(element, name) for element in value]
    if isinstance(value, dict):
        return {key: _fill(part, name) for key, part in value.items()}
    return value


def _lay_over(below: Object, above: Object) -> Object:
    merged = {**below, **above}
    for key in below.keys() & above.keys():
        one, other = below[key], above[key]
        if not (isinstance(one, dict) and isinstance(other, dict)):
            continue
        merged[key] = _lay_over(one, other)
        if key in _PODS:
            base, patch = ({"apiVersion": "v1", "kind": "Pod", "spec": deep_copy_json(spec)} for spec in (one, other))
            done = merge_objects(base, patch, CopyRoom())
            merged[key] = section(done, "spec") if isinstance(done, dict) else other
    return merged


def _servers(service: Object, settings: Object, companions: Companions, *, role: str) -> Iterator[Object]:
    """The Deployment of a part of a service; of one with workers the groups of pods over several nodes."""
    suffix, place = ("-prefill", "$.spec.prefill") if role == "prefill" else ("", "$.spec")
    least = (
        section(settings, "scaling").get("minReplicas") if section(settings, "scaling") else settings.get("replicas")
    )
    size = size_of(service, least, 1, f"{place}.replicas")
    of_kueue = {key: value for key, value in labels_of(service).items() if key.startswith("kueue.x-k8s.io")}
    extra = {**section(settings, "labels"), **of_kueue}
    served = {"kserve.io/component": "workload", "llm-d.ai/role": role}
    template = _with_model_of(settings, "template", f"{place}.template")
    if not isinstance(settings.get("worker"), dict):
        labels = {**_labels(service, f"workload{suffix}"), **served}
        body = {"replicas": size, **_pods_like(template, labels, extra)}
        yield child(service, "apps/v1", "Deployment", f"{name_of(service)}-kserve{suffix}", body)
        return
    leader = {**_labels(service, f"workload-leader{suffix}"), **served, **extra}
    made = {
        "size": _group_size(section(settings, "parallelism")),
        "leaderTemplate": {"metadata": {"labels": leader}, "spec": template},
        "workerTemplate": {
            "metadata": {"labels": {**_labels(service, f"workload-worker{suffix}"), **extra}},
            "spec": _with_model_of(settings, "worker", f"{place}.worker"),
        },
    }
    group = {"replicas": size, "leaderWorkerTemplate": made}
    name = f"{name_of(service)}-kserve-mn{suffix}"
    yield from leader_worker_children(
        child(service, "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", name, group), companions
    )


def _group_size(parallelism: Object) -> int:
    data, local = (integer(parallelism.get(key), 0) for key in ("data", "dataLocal"))
    if data > 0 or local > 0:
        return max(1, max(1, data) // max(1, local))
    return max(1, integer(parallelism.get("pipeline"), 1))


def _with_model_of(settings: Object, key: str, place: str) -> Object:
    spec = _with_main(section(settings, key), {})
    check_part(spec, "core.v1.PodSpec", place)
    if section(settings, "storageInitializer").get("enabled") is False:
        return spec
    return with_model(spec, str(section(settings, "model").get("uri") or ""))


def _with_main(template: Object, asks: Object) -> Object:
    """A pod with the container that presets have."""
    spec: Object = deep_copy_json(template)
    containers = items_of(spec, "containers")
    main = next((container for container in containers if container.get("name") == "main"), None)
    if main is None:
        main = {"name": "main"}
        containers = [main, *containers]
    main.setdefault("image", "kserve")
    own = section(main, "resources")
    main["resources"] = {**own, **{key: {**value, **section(own, key)} for key, value in asks.items()}}
    return {**spec, "containers": containers}


def _labels(service: Object, component: str) -> Object:
    return {
        "app.kubernetes.io/component": f"llminferenceservice-{component}",
        "app.kubernetes.io/name": name_of(service),
        "app.kubernetes.io/part-of": "llminferenceservice",
    }


def _pods_like(spec: Object, labels: Object, extra: Object) -> Object:
    # Upstream has one map for both, so what is put into the template's is in the selector as well.
    whole = {**labels, **extra}
    return {"selector": {"matchLabels": whole}, "template": {"metadata": {"labels": whole}, "spec": spec}}
