"""Databases with stable pods and claims: PostgreSQL by CloudNativePG, Elasticsearch by ECK.

Upstream: cloudnative-pg/cloudnative-pg, pkg/specs/{pods,pvcs}.go; elastic/cloud-on-k8s,
pkg/controller/elasticsearch/nodespec/{podspec,statefulset,defaults}.go.
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
    resources,
    size_of,
    some_fields,
    with_affinity,
)
from kwhatif.workloads.pod_sets import with_metadata
from kwhatif.workloads.workload_kind import Companions, child, child_pod

_HOSTNAME = "kubernetes.io/hostname"
_CNPG = "cnpg.io"
_ELASTIC = "elasticsearch.k8s.elastic.co"


# --- CloudNativePG


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
        for _, claim, told in volumes:
            yield claim_of(cluster, claim, claim_spec(told), labels)
        yield _instance(cluster, name, labels, [(volume, claim) for volume, claim, _ in volumes])


def _tablespace_name(name: str) -> str:
    """The name of a tablespace as Kubernetes takes it (specs/volumes.go)."""
    return re.sub("^_", "1", name).translate({ord("$"): "-", ord("_"): "-"}).lower()


def _instance(cluster: Object, name: str, labels: dict[str, str], volumes: Sequence[tuple[str, str]]) -> Object:
    spec = section(cluster, "spec")
    affinity = section(spec, "affinity")
    image = str(spec.get("imageName") or "ghcr.io/cloudnative-pg/postgresql")
    asked = deep_copy_json(section(spec, "resources"))
    body: Object = {
        "hostname": name,
        "initContainers": [
            {"name": "bootstrap-controller", "image": "cloudnative-pg", "resources": deep_copy_json(asked)}
        ],
        "containers": [{"name": "postgres", "image": image, "resources": asked}],
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
        told = affinity.get("additionalPodAffinity" if key == "podAffinity" else key)
        if told:
            own[key] = deep_copy_json(told)
    more = section(affinity, "additionalPodAntiAffinity")
    for strength in ("required", "preferred"):
        if terms := more.get(f"{strength}DuringSchedulingIgnoredDuringExecution"):
            with_affinity(body, "podAntiAffinity", strength, *deep_copy_json(terms))
    if not body["affinity"]:
        del body["affinity"]
    inherited = section(spec, "inheritedMetadata")
    told_labels = {**section(inherited, "labels"), **labels, f"{_CNPG}/podRole": "instance"}
    return child_pod(cluster, {"spec": body}, name, told_labels, deep_copy_json(section(inherited, "annotations")))


# --- ECK


def elasticsearch_children(cluster: Object, companions: Companions) -> Iterator[Object]:
    """The StatefulSet of each node set of an Elasticsearch."""
    for place, nodes in enumerate(items_of(cluster, "spec", "nodeSets")):
        template = section(nodes, "podTemplate")
        check_part(template or None, "core.v1.PodTemplateSpec", f"$.spec.nodeSets[{place}].podTemplate")
        name = f"{name_of(cluster)}-es-{nodes.get('name')}"
        labels = {
            "common.k8s.elastic.co/type": "elasticsearch",
            f"{_ELASTIC}/cluster-name": name_of(cluster),
            f"{_ELASTIC}/statefulset-name": name,
        }
        selector = {key: labels[key] for key in sorted(labels)}
        if section(cluster, "spec").get("version"):
            labels[f"{_ELASTIC}/version"] = str(section(cluster, "spec")["version"])
        claims = deep_copy_json(nodes.get("volumeClaimTemplates") or [])
        spec = _elastic_spec(cluster, section(template, "spec"))
        held = {name_of(claim) for claim in claims} | {str(volume.get("name")) for volume in items_of(spec, "volumes")}
        if "elasticsearch-data" not in held:
            asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
            claims.insert(0, {"metadata": {"name": "elasticsearch-data"}, "spec": asked})
        whole = with_metadata({"metadata": section(template, "metadata"), "spec": spec}, labels, {})
        body = {
            "replicas": size_of(cluster, nodes.get("count"), 1, "$.spec.nodeSets[*].count"),
            "serviceName": name,
            "podManagementPolicy": "Parallel",
            "updateStrategy": {"type": "OnDelete"},
            "selector": {"matchLabels": selector},
            "template": whole,
            "volumeClaimTemplates": claims,
        }
        yield child(cluster, "apps/v1", "StatefulSet", name, body, {"labels": labels})


def _elastic_spec(cluster: Object, told: Object) -> Object:
    spec = deep_copy_json(told)
    containers = items_of(spec, "containers")
    main = next((each for each in containers if each.get("name") == "elasticsearch"), None)
    if main is None:
        main = {"name": "elasticsearch"}
        containers.insert(0, main)
    version = str(section(cluster, "spec").get("version") or "latest")
    main.setdefault("image", str(section(cluster, "spec").get("image") or f"docker.elastic.co/elasticsearch:{version}"))
    asked = section(main, "resources")
    if not (asked.get("requests") or asked.get("limits")):
        main["resources"] = {"requests": {"memory": "2Gi"}, "limits": {"memory": "2Gi"}}
    prepares = {
        "name": "elastic-internal-init-filesystem",
        "image": main["image"],
        "resources": resources("100m", "50Mi"),
    }
    spec["containers"] = containers
    spec["initContainers"] = [prepares, *(spec.get("initContainers") or ())]
    if spec.get("affinity") is None:
        labels = {f"{_ELASTIC}/cluster-name": name_of(cluster)}
        term = {"topologyKey": _HOSTNAME, "labelSelector": {"matchLabels": labels}}
        with_affinity(spec, "podAntiAffinity", "preferred", {"weight": 100, "podAffinityTerm": term})
    return dict(spec)
