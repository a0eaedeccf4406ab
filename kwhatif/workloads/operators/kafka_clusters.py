"""Kafka by Strimzi: node pools with stable ids and claims, the Deployments beside them, and Kafka's clients.

Upstream: strimzi/strimzi-kafka-operator, its cluster model (KafkaCluster, KafkaPool, nodepools/NodeIdAssignor,
nodepools/NodeIdRange, StorageUtils, EntityOperator, CruiseControl, KafkaExporter, KafkaConnectCluster,
KafkaMirrorMaker2Cluster, KafkaBridgeCluster).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import count

from kwhatif.admission.response import Doubt, Object
from kwhatif.api.field_types import check_part
from kwhatif.api.objects import section
from kwhatif.workloads.objects import annotations_of, deep_copy_json, labels_of, name_of, namespace_of
from kwhatif.workloads.operators.operator_kind import (
    claim_of,
    claim_spec,
    items_of,
    size_of,
    some_fields,
    with_affinity,
)
from kwhatif.workloads.workload_kind import Companions, child, child_pod

_STRIMZI = "strimzi.io"
_RANGE = r"\d{1,9}(?:\s*-\s*\d{1,9})?"
_RANGES = re.compile(rf"\s*\[\s*{_RANGE}(?:\s*,\s*{_RANGE})*\s*\]\s*", re.ASCII)


def _pools_of(kafka: str, namespace: str, companions: Companions) -> list[Object]:
    pools = companions.all(f"kafka.{_STRIMZI}", "KafkaNodePool", namespace)
    return [pool for pool in pools if labels_of(pool).get(f"{_STRIMZI}/cluster") == kafka]


def _node_ids(pools: Sequence[Object]) -> dict[str, list[int]]:
    """Pool name -> the ids of its nodes: from the range of its annotation, else the lowest free ones."""
    taken: set[int] = set()
    lowest = count()
    by_pool: dict[str, list[int]] = {}
    for pool in pools:
        wishes = iter(_wished_ids(annotations_of(pool).get(f"{_STRIMZI}/next-node-ids", "")))
        ids = by_pool[name_of(pool)] = []
        for _ in range(size_of(pool, section(pool, "spec").get("replicas"), 1, "$.spec.replicas")):
            ids.append(next((node_id for node_id in wishes if node_id not in taken), -1))
            if ids[-1] < 0:
                ids[-1] = next(node_id for node_id in lowest if node_id not in taken)
            taken.add(ids[-1])
    return by_pool


def _wished_ids(text: str) -> Iterator[int]:
    """The ids of a text such as ``[0-9, 15, 30-20]``, from left to right; none of an invalid one."""
    if not _RANGES.fullmatch(text):
        return
    for part in text.strip("[] ").split(","):
        first, _, last = part.strip().partition("-")
        start, end = int(first), int(last or first)
        yield from range(start, end + 1) if start <= end else range(start, end - 1, -1)


def kafka_pool_children(pool: Object, companions: Companions) -> Iterator[Object]:
    """The pods of a KafkaNodePool. Ids are given to the pools of a cluster in the order of their names."""
    kafka = labels_of(pool).get(f"{_STRIMZI}/cluster", "")
    cluster = companions.find(f"kafka.{_STRIMZI}", "Kafka", namespace_of(pool), kafka) or {}
    pools = _pools_of(kafka, namespace_of(pool), companions)
    ids = _node_ids(pools if any(name_of(other) == name_of(pool) for other in pools) else [*pools, pool])[name_of(pool)]
    roles = section(pool, "spec").get("roles") or ["broker"]
    yield from _kafka_pods(pool, cluster, kafka, name_of(pool), section(pool, "spec"), ids, roles)


def kafka_children(kafka: Object, companions: Companions) -> Iterator[Object]:
    """The pods of a Kafka beside its node pools: Deployments, ZooKeeper, and brokers of a Kafka without node pools."""
    spec = section(kafka, "spec")
    has_pools = annotations_of(kafka).get(f"{_STRIMZI}/node-pools") == "enabled" or _pools_of(
        name_of(kafka), namespace_of(kafka), companions
    )
    if section(spec, "zookeeper") and annotations_of(kafka).get(f"{_STRIMZI}/kraft") != "enabled":
        yield from _make_part(kafka, "zookeeper", ())
    if not has_pools and section(spec, "kafka").get("replicas"):
        yield from _make_part(kafka, "kafka", ("broker",))
    operator = section(spec, "entityOperator")
    containers = [
        {
            "name": name,
            "image": "quay.io/strimzi/operator",
            "resources": deep_copy_json(section(operator, field, "resources")),
        }
        for field, name in (("topicOperator", "topic-operator"), ("userOperator", "user-operator"))
        if field in operator
    ]
    if containers:
        yield _deployment(kafka, "entity-operator", operator, containers)
    for field, name in (("cruiseControl", "cruise-control"), ("kafkaExporter", "kafka-exporter")):
        if isinstance(spec.get(field), dict):
            own_resources = deep_copy_json(section(spec, field, "resources"))
            container = {"name": name, "image": f"quay.io/strimzi/{name}", "resources": own_resources}
            yield _deployment(kafka, name, section(spec, field), [container])


_CONNECTED = {
    "KafkaConnect": ("connect", "kafka-connect"),
    "KafkaMirrorMaker2": ("mirrormaker2", "kafka-mirror-maker-2"),
}
"""What ends the names of a kind's pods, and its component."""


def kafka_connect_children(obj: Object, companions: Companions) -> Iterator[Object]:
    """The pods of a KafkaConnect or a KafkaMirrorMaker2, numbered from 0."""
    kind, spec = str(obj.get("kind")), section(obj, "spec")
    suffix, component = _CONNECTED[kind]
    name = f"{name_of(obj)}-{suffix}"
    controller = {
        "apiVersion": f"core.{_STRIMZI}/v1beta2",
        "kind": "StrimziPodSet",
        "metadata": {"name": name, "namespace": namespace_of(obj)},
    }
    body = _client_spec(spec, name)
    metadata = section(spec, "template", "pod", "metadata")
    for number in range(size_of(obj, spec.get("replicas"), 3, "$.spec.replicas")):
        labels = {
            **section(metadata, "labels"),
            f"{_STRIMZI}/cluster": name_of(obj),
            f"{_STRIMZI}/kind": kind,
            f"{_STRIMZI}/name": name,
            f"{_STRIMZI}/component-type": component,
            f"{_STRIMZI}/pod-name": f"{name}-{number}",
            f"{_STRIMZI}/controller": "strimzipodset",
            f"{_STRIMZI}/controller-name": name,
        }
        template = {"spec": {**body, "hostname": f"{name}-{number}", "subdomain": name}}
        yield child_pod(
            controller, template, f"{name}-{number}", labels, deep_copy_json(section(metadata, "annotations"))
        )


def kafka_bridge_children(bridge: Object, companions: Companions) -> Iterator[Object]:
    """The Deployment of a KafkaBridge."""
    spec, name = section(bridge, "spec"), f"{name_of(bridge)}-bridge"
    labels = {f"{_STRIMZI}/cluster": name_of(bridge), f"{_STRIMZI}/name": name, f"{_STRIMZI}/kind": "KafkaBridge"}
    metadata = section(spec, "template", "pod", "metadata")
    template = {
        "metadata": {**deep_copy_json(metadata), "labels": {**section(metadata, "labels"), **labels}},
        "spec": _client_spec(spec, name),
    }
    size = size_of(bridge, spec.get("replicas"), 1, "$.spec.replicas")
    body = {"replicas": size, "selector": {"matchLabels": labels}, "template": template}
    yield child(bridge, "apps/v1", "Deployment", name, body, {"labels": labels})


def _client_spec(spec: Object, name: str) -> Object:
    """The pod of a client of Kafka, on nodes of a rack where it is to know its own."""
    own_resources = deep_copy_json(section(spec, "resources"))
    check_part(own_resources, "core.v1.ResourceRequirements", "$.spec.resources")
    pod: Object = {"containers": [{"name": name, "image": "quay.io/strimzi/kafka", "resources": own_resources}]}
    _shape(pod, section(spec, "template", "pod"))
    if key := section(spec, "rack").get("topologyKey"):
        pod["affinity"] = _on_racks(section(pod, "affinity"), str(key))
        pod["initContainers"] = [
            {"name": "kafka-init", "image": "quay.io/strimzi/operator", "resources": own_resources}
        ]
    return pod


def _make_part(kafka: Object, part: str, roles: Sequence[str]) -> Iterator[Object]:
    """The pods of ``spec.kafka`` or ``spec.zookeeper``, numbered from 0."""
    spec = section(kafka, "spec", part)
    size = size_of(kafka, spec.get("replicas"), 1, f"$.spec.{part}.replicas")
    yield from _kafka_pods(kafka, kafka, name_of(kafka), part, spec, range(size), roles)


def _deployment(kafka: Object, part: str, settings: Object, containers: list[Object]) -> Object:
    """A Deployment with one replica."""
    name = f"{name_of(kafka)}-{part}"
    labels = {f"{_STRIMZI}/cluster": name_of(kafka), f"{_STRIMZI}/name": name, f"{_STRIMZI}/kind": "Kafka"}
    pod: Object = {"containers": containers}
    _shape(pod, section(settings, "template", "pod"))
    template = {"metadata": {"labels": labels}, "spec": pod}
    body = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    return child(kafka, "apps/v1", "Deployment", name, body)


def _shape(spec: Object, template: Object) -> None:
    """What a template of Strimzi's says of where pods go."""
    spec |= some_fields(
        template, "affinity", "tolerations", "topologySpreadConstraints", "priorityClassName", "schedulerName"
    )


def _kafka_pods(
    owner: Object, kafka: Object, cluster: str, pool: str, spec: Object, ids: Iterable[int], roles: Sequence[str]
) -> Iterator[Object]:
    whole = section(kafka, "spec", "kafka")
    template = section(spec, "template", "pod") or section(whole, "template", "pod")
    own_resources = spec.get("resources") or whole.get("resources") or {}
    check_part(own_resources, "core.v1.ResourceRequirements", "$.spec.resources")
    component = "zookeeper" if pool == "zookeeper" else "kafka"
    controller = {
        "apiVersion": f"core.{_STRIMZI}/v1beta2",
        "kind": "StrimziPodSet",
        "metadata": {"name": f"{cluster}-{pool}", "namespace": namespace_of(owner)},
    }
    for number in ids:
        name = f"{cluster}-{pool}-{number}"
        labels = {
            f"{_STRIMZI}/cluster": cluster,
            f"{_STRIMZI}/kind": "Kafka",
            f"{_STRIMZI}/name": f"{cluster}-{component}",
            f"{_STRIMZI}/pod-name": name,
            f"{_STRIMZI}/controller": "strimzipodset",
            f"{_STRIMZI}/controller-name": f"{cluster}-{pool}",
        }
        if component == "kafka":
            labels |= {
                f"{_STRIMZI}/pool-name": pool,
                f"{_STRIMZI}/broker-role": str("broker" in roles).lower(),
                f"{_STRIMZI}/controller-role": str("controller" in roles).lower(),
            }
        body: Object = {
            "hostname": name,
            "subdomain": f"{cluster}-{component}-{'nodes' if component == 'zookeeper' else 'brokers'}",
            "containers": [
                {"name": component, "image": "quay.io/strimzi/kafka", "resources": deep_copy_json(own_resources)}
            ],
            "volumes": [],
        }
        _shape(body, template)
        _spread_over_racks(body, whole if component == "kafka" else {}, cluster, f"{cluster}-{component}")
        for volume, storage in _volumes(section(spec, "storage") or section(whole, "storage")):
            if storage.get("type") == "ephemeral":
                body["volumes"].append({"name": volume, "emptyDir": some_fields(storage, "sizeLimit")})
                continue
            claim = f"{volume}-{name}"
            body["volumes"].append({"name": volume, "persistentVolumeClaim": {"claimName": claim}})
            yield claim_of(owner, claim, claim_spec(storage), {f"{_STRIMZI}/cluster": cluster})
        metadata = section(template, "metadata")
        more = {**section(metadata, "labels"), **labels}
        yield child_pod(controller, {"spec": body}, name, more, deep_copy_json(section(metadata, "annotations")))


def _volumes(storage: Object) -> Iterator[tuple[str, Object]]:
    if storage.get("type") == "jbod":
        for volume in items_of(storage, "volumes"):
            yield f"data-{volume.get('id', 0)}", volume
    elif storage:
        yield "data", storage


def _spread_over_racks(spec: Object, kafka: Object, cluster: str, component: str) -> None:
    """Brokers of racks: only on nodes that are of one, and rather on different ones."""
    key = section(kafka, "rack").get("topologyKey")
    if not key:
        return
    spec["affinity"] = _on_racks(section(spec, "affinity"), str(key))
    labels = {f"{_STRIMZI}/cluster": cluster, f"{_STRIMZI}/name": component}
    term = {"topologyKey": key, "labelSelector": {"matchLabels": labels}}
    with_affinity(spec, "podAntiAffinity", "preferred", {"weight": 100, "podAffinityTerm": term})


def _on_racks(settings: Object, key: str) -> Object:
    """An affinity that has only nodes of racks, in each of its terms."""
    affinity = deep_copy_json(settings)
    node = affinity.setdefault("nodeAffinity", {}).setdefault("requiredDuringSchedulingIgnoredDuringExecution", {})
    exists = {"key": key, "operator": "Exists"}
    terms = node.get("nodeSelectorTerms") or [{}]
    node["nodeSelectorTerms"] = [
        {**term, "matchExpressions": [*(term.get("matchExpressions") or ()), exists]} for term in terms
    ]
    return dict(affinity)


def kafka_pool_doubts(pool: Object, companions: Companions) -> Iterator[Doubt]:
    kafka = labels_of(pool).get(f"{_STRIMZI}/cluster", "")
    if companions.find(f"kafka.{_STRIMZI}", "Kafka", namespace_of(pool), kafka) is None:
        what = f"Kafka {kafka or 'of no name'} is not among the manifests"
        yield Doubt(
            what, f"what it says of the pods of KafkaNodePool {name_of(pool)} is missing, and so may be other pools"
        )
