"""Prometheus and Alertmanager of the Prometheus operator: StatefulSets with a sidecar that reloads.

Upstream: prometheus-operator/prometheus-operator, pkg/prometheus/{common,statefulset}.go,
pkg/prometheus/server/statefulset.go, pkg/alertmanager/statefulset.go, pkg/operator/config_reloader.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kwhatif.admission.response import Object
from kwhatif.api.field_types import check_part
from kwhatif.api.objects import part_of, section
from kwhatif.workloads.objects import deep_copy_json, name_of
from kwhatif.workloads.operators.operator_kind import items_of, resources, size_of, some_fields
from kwhatif.workloads.workload_kind import Companions, child

_OPERATOR = "operator.prometheus.io"
_FIELDS = ("affinity", "tolerations", "nodeSelector", "topologySpreadConstraints", "priorityClassName", "schedulerName",
           "serviceAccountName", "hostNetwork", "runtimeClassName", "imagePullSecrets")  # fmt: skip


def prometheus_children(obj: Object, companions: Companions) -> Iterator[Object]:
    """A StatefulSet for each shard."""
    spec = section(obj, "spec")
    if spec.get("paused"):
        return
    for shard in range(size_of(obj, spec.get("shards"), 1, "$.spec.shards")):
        name = f"prometheus-{name_of(obj)}" + (f"-shard-{shard}" if shard else "")
        labels = {
            "app.kubernetes.io/name": "prometheus",
            "app.kubernetes.io/managed-by": "prometheus-operator",
            "app.kubernetes.io/instance": name_of(obj),
            "prometheus": name_of(obj),
            f"{_OPERATOR}/name": name_of(obj),
            f"{_OPERATOR}/shard": str(shard),
        }
        yield _stateful_set(obj, "prometheus", name, labels, section(spec, "resources"), _thanos_sidecar(spec))


def _thanos_sidecar(spec: Object) -> list[Object]:
    """The Thanos sidecar, if the object has one."""
    if not isinstance(spec.get("thanos"), dict):
        return []
    thanos = section(spec, "thanos")
    check_part(thanos.get("resources"), "core.v1.ResourceRequirements", "$.spec.thanos.resources")
    image = str(thanos.get("image") or "quay.io/thanos/thanos")
    return [{"name": "thanos-sidecar", "image": image, "resources": deep_copy_json(section(thanos, "resources"))}]


def alertmanager_children(obj: Object, companions: Companions) -> Iterator[Object]:
    """The StatefulSet of an Alertmanager, which asks for 200Mi of memory unless it says otherwise."""
    spec = section(obj, "spec")
    if spec.get("paused"):
        return
    own_resources = deep_copy_json(section(spec, "resources"))
    own_resources["requests"] = {"memory": "200Mi", **section(own_resources, "requests")}
    labels = {
        "app.kubernetes.io/name": "alertmanager",
        "app.kubernetes.io/managed-by": "prometheus-operator",
        "app.kubernetes.io/instance": name_of(obj),
        "alertmanager": name_of(obj),
    }
    yield _stateful_set(obj, "alertmanager", f"alertmanager-{name_of(obj)}", labels, own_resources)


def _stateful_set(
    obj: Object, what: str, name: str, labels: dict[str, str], own_resources: Object, sidecars: Sequence[Object] = ()
) -> Object:
    spec = section(obj, "spec")
    check_part(own_resources, "core.v1.ResourceRequirements", "$.spec.resources")
    image = str(spec.get("image") or f"quay.io/prometheus/{what}")
    reloader = {
        "image": "quay.io/prometheus-operator/prometheus-config-reloader",
        "resources": resources("10m", "50Mi"),
    }
    containers = [
        {"name": what, "image": image, "resources": deep_copy_json(own_resources)},
        {"name": "config-reloader", **deep_copy_json(reloader)},
        *sidecars,
    ]
    waits = [{"name": "init-config-reloader", **deep_copy_json(reloader)}]
    body: Object = {
        "containers": _merge_containers(containers, items_of(spec, "containers")),
        "initContainers": _merge_containers(waits, items_of(spec, "initContainers")),
        **some_fields(spec, *_FIELDS),
    }
    volumes, claims = _storage(obj, name)
    volumes += deep_copy_json(spec.get("volumes") or [])
    if volumes:
        body["volumes"] = volumes
    metadata = section(spec, "podMetadata")
    whole = {**deep_copy_json(section(metadata, "labels")), **labels}
    template: Object = {"metadata": {"labels": whole}, "spec": body}
    if metadata.get("annotations"):
        template["metadata"]["annotations"] = deep_copy_json(metadata["annotations"])
    stateful: Object = {
        "replicas": size_of(obj, spec.get("replicas"), 1, "$.spec.replicas"),
        "serviceName": f"{what}-operated",
        "podManagementPolicy": spec.get("podManagementPolicy") or "Parallel",
        "selector": {"matchLabels": labels},
        "template": template,
    }
    if claims:
        stateful["volumeClaimTemplates"] = claims
    return child(obj, "apps/v1", "StatefulSet", name, stateful, {"labels": labels})


def _merge_containers(own: list[Object], containers: list[Object]) -> list[Object]:
    """Containers of the operator's, with what the object says of those of the same name, and others after them."""
    by_name = {str(container.get("name")): container for container in containers}
    merged = [{**container, **deep_copy_json(by_name.pop(str(part_of(container, "name")), {}))} for container in own]
    return [*merged, *(deep_copy_json(container) for container in by_name.values())]


def _storage(obj: Object, name: str) -> tuple[list[Object], list[Object]]:
    """Volumes and templates of claims for the data."""
    storage = section(obj, "spec", "storage")
    volume = f"{name if '-shard-' not in name else name.rpartition('-shard-')[0]}-db"
    template = section(storage, "volumeClaimTemplate")
    if template:
        claim = deep_copy_json(template)
        metadata = claim["metadata"] = section(claim, "metadata")
        metadata.setdefault("name", volume)
        claim["spec"] = {"accessModes": ["ReadWriteOnce"], **section(claim, "spec")}
        return [], [{key: claim[key] for key in ("metadata", "spec")}]
    ephemeral = section(storage, "ephemeral")
    if ephemeral:
        return [{"name": volume, "ephemeral": deep_copy_json(ephemeral)}], []
    return [{"name": volume, "emptyDir": deep_copy_json(section(storage, "emptyDir"))}], []
