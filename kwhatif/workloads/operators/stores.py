"""Databases and brokers with stable pods and claims: PostgreSQL by CloudNativePG, Kafka by Strimzi, Elasticsearch by
ECK.

Upstream: cloudnative-pg/cloudnative-pg, pkg/specs/{pods,pvcs}.go; strimzi/strimzi-kafka-operator, its cluster model
(KafkaCluster, KafkaPool, nodepools/NodeIdAssignor, StorageUtils); elastic/cloud-on-k8s,
pkg/controller/elasticsearch/nodespec/{podspec,statefulset,defaults}.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kwhatif.admission.response import Doubt, Object
from kwhatif.api.field_types import check_part
from kwhatif.workloads.objects import annotations_of, deep_copy_json, integer, labels_of, name_of, namespace_of, section
from kwhatif.workloads.operators.operator_kind import items_of, resources, size_of, some_fields, with_affinity
from kwhatif.workloads.pod_sets import with_metadata
from kwhatif.workloads.workload_kind import Companions, child, child_pod

_HOSTNAME = "kubernetes.io/hostname"
_CNPG = "cnpg.io"
_STRIMZI = "strimzi.io"
_ELASTIC = "elasticsearch.k8s.elastic.co"


def _claim(owner: Object, name: str, spec: Object, labels: Object | None = None) -> Object:
    body = {"accessModes": ["ReadWriteOnce"], **deep_copy_json(spec)}
    return child(owner, "v1", "PersistentVolumeClaim", name, body, {"labels": labels or {}})


def _storage(told: Object, size: object) -> Object:
    """The spec of a claim: of a size and a class, with what a template of it says besides."""
    spec: Object = {**deep_copy_json(section(told, "pvcTemplate"))}
    if size:
        spec["resources"] = {"requests": {"storage": str(size)}}
    storage_class = told.get("storageClass") or told.get("class")
    if storage_class:
        spec["storageClassName"] = storage_class
    if told.get("selector"):
        spec["selector"] = {"matchLabels": deep_copy_json(told["selector"])}
    return spec


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
        volumes += [
            (f"tbs-{space.get('name')}", f"{name}-tbs-{space.get('name')}", section(space, "storage"))
            for space in items_of(spec, "tablespaces")
        ]
        for _, claim, told in volumes:
            yield _claim(cluster, claim, _storage(told, told.get("size")), labels)
        yield _instance(cluster, name, labels, [(volume, claim) for volume, claim, _ in volumes])


def _instance(cluster: Object, name: str, labels: dict[str, str], volumes: Sequence[tuple[str, str]]) -> Object:
    spec = section(cluster, "spec")
    affinity = section(spec, "affinity")
    image = str(spec.get("imageName") or "ghcr.io/cloudnative-pg/postgresql")
    asked = deep_copy_json(spec.get("resources") or {})
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
    told_labels = {**(inherited.get("labels") or {}), **labels, f"{_CNPG}/podRole": "instance"}
    return child_pod(cluster, {"spec": body}, name, told_labels, deep_copy_json(inherited.get("annotations") or {}))


# --- Strimzi


def _pools_of(kafka: str, namespace: str, companions: Companions) -> list[Object]:
    pools = companions.all(f"kafka.{_STRIMZI}", "KafkaNodePool", namespace)
    return [pool for pool in pools if labels_of(pool).get(f"{_STRIMZI}/cluster") == kafka]


def kafka_pool_children(pool: Object, companions: Companions) -> Iterator[Object]:
    """The pods of a KafkaNodePool. Ids are given to the pools of a cluster in the order of their names."""
    kafka = labels_of(pool).get(f"{_STRIMZI}/cluster", "")
    cluster = companions.find(f"kafka.{_STRIMZI}", "Kafka", namespace_of(pool), kafka) or {}
    first = 0
    for other in _pools_of(kafka, namespace_of(pool), companions):
        if name_of(other) == name_of(pool):
            break
        first += integer(section(other, "spec").get("replicas"), 1)
    roles = section(pool, "spec").get("roles") or ["broker"]
    yield from _kafka_pods(pool, cluster, kafka, name_of(pool), section(pool, "spec"), first, roles)


def kafka_children(kafka: Object, companions: Companions) -> Iterator[Object]:
    """What a Kafka has besides its node pools: brokers and ZooKeeper of a cluster without any, the entity operator."""
    spec = section(kafka, "spec")
    has_pools = annotations_of(kafka).get(f"{_STRIMZI}/node-pools") == "enabled" or _pools_of(
        name_of(kafka), namespace_of(kafka), companions
    )
    if section(spec, "zookeeper") and annotations_of(kafka).get(f"{_STRIMZI}/kraft") != "enabled":
        yield from _kafka_pods(kafka, kafka, name_of(kafka), "zookeeper", section(spec, "zookeeper"), 0, ())
    if not has_pools and section(spec, "kafka").get("replicas"):
        yield from _kafka_pods(kafka, kafka, name_of(kafka), "kafka", section(spec, "kafka"), 0, ("broker",))
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
        name = f"{name_of(kafka)}-entity-operator"
        labels = {f"{_STRIMZI}/cluster": name_of(kafka), f"{_STRIMZI}/name": name, f"{_STRIMZI}/kind": "Kafka"}
        pod: Object = {"containers": containers}
        _shape(pod, section(operator, "template", "pod"))
        template = {"metadata": {"labels": labels}, "spec": pod}
        body = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
        yield child(kafka, "apps/v1", "Deployment", name, body)


def _shape(spec: Object, template: Object) -> None:
    """What a template of Strimzi's says of where pods go."""
    spec |= some_fields(
        template, "affinity", "tolerations", "topologySpreadConstraints", "priorityClassName", "schedulerName"
    )


def _kafka_pods(
    owner: Object, kafka: Object, cluster: str, pool: str, spec: Object, first: int, roles: Sequence[str]
) -> Iterator[Object]:
    whole = section(kafka, "spec", "kafka")
    template = section(spec, "template", "pod") or section(whole, "template", "pod")
    asked = spec.get("resources") or whole.get("resources") or {}
    check_part(asked, "core.v1.ResourceRequirements", "$.spec.resources")
    component = "zookeeper" if pool == "zookeeper" else "kafka"
    controller = {
        "apiVersion": f"core.{_STRIMZI}/v1beta2",
        "kind": "StrimziPodSet",
        "metadata": {"name": f"{cluster}-{pool}", "namespace": namespace_of(owner)},
    }
    for number in range(first, first + size_of(owner, spec.get("replicas"), 1, "$.spec.replicas")):
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
            "containers": [{"name": component, "image": "quay.io/strimzi/kafka", "resources": deep_copy_json(asked)}],
            "volumes": [],
        }
        _shape(body, template)
        _spread_over_racks(body, whole if component == "kafka" else {}, cluster, f"{cluster}-{component}")
        for volume, told in _volumes(section(spec, "storage") or section(whole, "storage")):
            if told.get("type") == "ephemeral":
                body["volumes"].append({"name": volume, "emptyDir": some_fields(told, "sizeLimit")})
                continue
            claim = f"{volume}-{name}"
            body["volumes"].append({"name": volume, "persistentVolumeClaim": {"claimName": claim}})
            yield _claim(owner, claim, _storage(told, told.get("size")), {f"{_STRIMZI}/cluster": cluster})
        metadata = section(template, "metadata")
        more = {**(metadata.get("labels") or {}), **labels}
        yield child_pod(controller, {"spec": body}, name, more, deep_copy_json(metadata.get("annotations") or {}))


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
    affinity = spec["affinity"] = deep_copy_json(spec.get("affinity") or {})
    node = affinity.setdefault("nodeAffinity", {}).setdefault("requiredDuringSchedulingIgnoredDuringExecution", {})
    exists = {"key": key, "operator": "Exists"}
    terms = node.get("nodeSelectorTerms") or [{}]
    node["nodeSelectorTerms"] = [
        {**term, "matchExpressions": [*(term.get("matchExpressions") or ()), exists]} for term in terms
    ]
    labels = {f"{_STRIMZI}/cluster": cluster, f"{_STRIMZI}/name": component}
    term = {"topologyKey": key, "labelSelector": {"matchLabels": labels}}
    with_affinity(spec, "podAntiAffinity", "preferred", {"weight": 100, "podAffinityTerm": term})


def kafka_pool_doubts(pool: Object, companions: Companions) -> Iterator[Doubt]:
    kafka = labels_of(pool).get(f"{_STRIMZI}/cluster", "")
    if companions.find(f"kafka.{_STRIMZI}", "Kafka", namespace_of(pool), kafka) is None:
        what = f"Kafka {kafka or 'of no name'} is not among the manifests"
        yield Doubt(
            what, f"what it says of the pods of KafkaNodePool {name_of(pool)} is missing, and so may be other pools"
        )


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
    asked = main.get("resources") or {}
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
