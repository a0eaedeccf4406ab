"""PostgreSQL by CloudNativePG: instances with claims of their own.

Upstream: cloudnative-pg/cloudnative-pg, pkg/specs/{pods,pvcs}.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kwhatif.admission.response import Object
from kwhatif.api.field_types import check_part
from kwhatif.api.objects import section
from kwhatif.workloads.objects import annotations_of, deep_copy_json, name_of
from kwhatif.workloads.operators.operator_kind import (
    claim_of,
    claim_spec,
    items_of,
    size_of,
    some_fields,
    with_affinity,
)
from kwhatif.workloads.workload_kind import Companions, child_pod

_HOSTNAME = "kubernetes.io/hostname"
_CNPG = "cnpg.io"


def postgres_children(cluster: Object, companions: Companions) -> Iterator[Object]:
    """The pods of a CloudNativePG Cluster with their claims; none while it hibernates."""
    spec = section(cluster, "spec")
    check_part(spec.get("resources"), "core.v1.ResourceRequirements", "$.spec.resources")
    if annotations_of(cluster).get(f"{_CNPG}/hibernation") == "on":
        return
    for serial in range(1, size_of(cluster, spec.get("instances"), 1, "$.spec.instances") + 1):
        name = f"{name_of(cluster)}-{serial}"
        labels = {f"{_CNPG}/cluster": name_of(cluster), f"{_CNPG}/instanceName": name}
        volumes = [("pgdata", name, section(spec, "storage"))]
        if section(spec, "walStorage"):
            volumes.append(("pg-wal", f"{name}-wal", section(spec, "walStorage")))
        for space in items_of(spec, "tablespaces"):
            called = _tablespace_name(str(space.get("name")))
            volumes.append((f"tbs-{called}", f"{name}-tbs-{called}", section(space, "storage")))
        for _, claim, storage in volumes:
            yield claim_of(cluster, claim, claim_spec(storage), labels)
        yield _instance(cluster, name, labels, [(volume, claim) for volume, claim, _ in volumes])


def _tablespace_name(name: str) -> str:
    """The name of a tablespace as Kubernetes takes it (specs/volumes.go)."""
    return re.sub("^_", "1", name).translate({ord("$"): "-", ord("_"): "-"}).lower()


def _instance(cluster: Object, name: str, labels: dict[str, str], volumes: Sequence[tuple[str, str]]) -> Object:
    spec = section(cluster, "spec")
    affinity = section(spec, "affinity")
    image = str(spec.get("imageName") or "ghcr.io/cloudnative-pg/postgresql")
    own_resources = deep_copy_json(section(spec, "resources"))
    body: Object = {
        "hostname": name,
        "initContainers": [
            {"name": "bootstrap-controller", "image": "cloudnative-pg", "resources": deep_copy_json(own_resources)}
        ],
        "containers": [{"name": "postgres", "image": image, "resources": own_resources}],
        "volumes": [{"name": volume, "persistentVolumeClaim": {"claimName": claim}} for volume, claim in volumes],
        **some_fields(spec, "schedulerName", "priorityClassName", "topologySpreadConstraints"),
        **some_fields(affinity, "nodeSelector", "tolerations"),
    }
    if affinity.get("enablePodAntiAffinity", True):
        expressions = [
            {"key": f"{_CNPG}/cluster", "operator": "In", "values": [name_of(cluster)]},
            {"key": f"{_CNPG}/podRole", "operator": "In", "values": ["instance"]},
        ]
        selector = {"matchExpressions": expressions}
        term = {"labelSelector": selector, "topologyKey": affinity.get("topologyKey") or _HOSTNAME}
        if affinity.get("podAntiAffinityType") == "required":
            with_affinity(body, "podAntiAffinity", "required", term)
        else:
            with_affinity(body, "podAntiAffinity", "preferred", {"weight": 100, "podAffinityTerm": term})
    own = body.setdefault("affinity", {})
    for key in ("nodeAffinity", "podAffinity"):
        given = affinity.get("additionalPodAffinity" if key == "podAffinity" else key)
        if given:
            own[key] = deep_copy_json(given)
    more = section(affinity, "additionalPodAntiAffinity")
    for strength in ("required", "preferred"):
        if terms := more.get(f"{strength}DuringSchedulingIgnoredDuringExecution"):
            with_affinity(body, "podAntiAffinity", strength, *deep_copy_json(terms))
    if not body["affinity"]:
        del body["affinity"]
    inherited = section(spec, "inheritedMetadata")
    told_labels = {**section(inherited, "labels"), **labels, f"{_CNPG}/podRole": "instance"}
    return child_pod(cluster, {"spec": body}, name, told_labels, deep_copy_json(section(inherited, "annotations")))
