"""The Elastic stack by ECK: Elasticsearch with its node sets, and controllers of a pod template that ECK completes.

Upstream: elastic/cloud-on-k8s, pkg/controller/elasticsearch/nodespec/{podspec,statefulset,defaults}.go,
pkg/controller/{kibana,apmserver,maps,enterprisesearch,packageregistry,logstash,beat/common,agent}/pod.go, and
pkg/controller/common/defaults/pod_template.go.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from kwhatif.admission.response import Object
from kwhatif.api.field_types import check_part
from kwhatif.api.objects import section
from kwhatif.workloads.objects import deep_copy_json, name_of
from kwhatif.workloads.operators.operator_kind import items_of, resources, size_of, some_fields, with_affinity
from kwhatif.workloads.pod_sets import with_metadata
from kwhatif.workloads.workload_kind import Companions, UpdateOrder, child

_HOSTNAME = "kubernetes.io/hostname"
_TYPE = "common.k8s.elastic.co/type"
_ELASTIC = "elasticsearch.k8s.elastic.co"


class _Part(msgspec.Struct, frozen=True):
    """A main container, its image and what it asks for where nobody says it."""

    container: str
    image: str
    default: Object


def _memory(size: str) -> Object:
    return {"requests": {"memory": size}, "limits": {"memory": size}}


_ELASTICSEARCH = _Part("elasticsearch", "elasticsearch/elasticsearch", _memory("2Gi"))
_LOGSTASH = _Part(
    "logstash",
    "logstash/logstash",
    {"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"cpu": "2", "memory": "2Gi"}},
)
_DEPLOYED = {
    "Kibana": ("kb", _Part("kibana", "kibana/kibana", _memory("2Gi"))),
    "ApmServer": ("apm-server", _Part("apm-server", "apm/apm-server", _memory("512Mi"))),
    "ElasticMapsServer": ("ems", _Part("maps", "elastic-maps-service/elastic-maps-server", _memory("200Mi"))),
    "EnterpriseSearch": ("ent", _Part("enterprise-search", "enterprise-search/enterprise-search", _memory("4Gi"))),
    "PackageRegistry": (
        "epr",
        _Part(
            "package-registry",
            "package-registry/distribution",
            {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "4Gi"}},
        ),
    ),
}
"""What ends the name of the Deployment, and the part: which is the type, too."""


def elasticsearch_children(cluster: Object, companions: Companions) -> Iterator[Object]:
    """The StatefulSet of each node set of an Elasticsearch."""
    for place, nodes in enumerate(items_of(cluster, "spec", "nodeSets")):
        where = f"$.spec.nodeSets[{place}]"
        template = _template_in(nodes, where)
        name = f"{name_of(cluster)}-es-{nodes.get('name')}"
        labels = {
            _TYPE: "elasticsearch",
            f"{_ELASTIC}/cluster-name": name_of(cluster),
            f"{_ELASTIC}/statefulset-name": name,
        }
        prepares = {"name": "elastic-internal-init-filesystem", "resources": resources("100m", "50Mi")}
        spec = _pod_spec(cluster, section(template, "spec"), _ELASTICSEARCH, section(nodes, "resources"), prepares)
        if spec.get("affinity") is None:
            term = {
                "topologyKey": _HOSTNAME,
                "labelSelector": {"matchLabels": {f"{_ELASTIC}/cluster-name": name_of(cluster)}},
            }
            with_affinity(spec, "podAntiAffinity", "preferred", {"weight": 100, "podAffinityTerm": term})
        claims = _with_data(nodes, spec, "elasticsearch-data", "1Gi")
        size = size_of(cluster, nodes.get("count"), 1, "$.spec.nodeSets[*].count")
        more = {
            "serviceName": name,
            "podManagementPolicy": "Parallel",
            "updateStrategy": {"type": "OnDelete"},
            "volumeClaimTemplates": claims,
        }
        yield _vehicle(cluster, "StatefulSet", name, labels, template, spec, {"replicas": size, **more})


def elastic_deployment_children(obj: Object, companions: Companions) -> Iterator[Object]:
    """The Deployment of what has a ``podTemplate`` and a ``count``; of none there are no pods."""
    suffix, part = _DEPLOYED[str(obj.get("kind"))]
    template = _template_in(section(obj, "spec"), "$.spec")
    spec = _pod_spec(obj, section(template, "spec"), part, section(obj, "spec", "resources"))
    size = size_of(obj, section(obj, "spec").get("count"), 0, "$.spec.count")
    labels = _labels_of(obj, part.container)
    yield _vehicle(obj, "Deployment", f"{name_of(obj)}-{suffix}", labels, template, spec, {"replicas": size})


def logstash_children(obj: Object, companions: Companions) -> Iterator[Object]:
    """The StatefulSet of a Logstash."""
    settings = section(obj, "spec")
    template = _template_in(settings, "$.spec")
    spec = _pod_spec(obj, section(template, "spec"), _LOGSTASH, section(settings, "resources"))
    name = f"{name_of(obj)}-ls"
    more = {
        "replicas": size_of(obj, settings.get("count"), 0, "$.spec.count"),
        "serviceName": f"{name}-api",
        "podManagementPolicy": "Parallel",
        "volumeClaimTemplates": _with_data(settings, spec, "logstash-data", "1.5Gi"),
    }
    yield _vehicle(obj, "StatefulSet", name, _labels_of(obj, "logstash"), template, spec, more)


def beat_children(obj: Object, companions: Companions) -> Iterator[Object]:
    """The Deployment or the DaemonSet of a Beat."""
    type_ = str(section(obj, "spec").get("type") or "")
    part = _Part(type_, f"beats/{type_}", resources("100m", "300Mi"))
    yield from _chosen_vehicle(obj, f"{name_of(obj)}-beat-{type_}", "beat", part)


def agent_children(obj: Object, companions: Companions) -> Iterator[Object]:
    """The Deployment, the DaemonSet or the StatefulSet of an Elastic Agent, which asks for more in Fleet's mode."""
    is_of_fleet = section(obj, "spec").get("mode") == "fleet"
    part = _Part("agent", "elastic-agent/elastic-agent", resources("200m", "1Gi" if is_of_fleet else "400Mi"))
    yield from _chosen_vehicle(obj, f"{name_of(obj)}-agent", "agent", part)


def elastic_update(obj: Object) -> UpdateOrder:
    """Of a Deployment new pods come first, of the others the old one goes."""
    return UpdateOrder.new_first if "deployment" in section(obj, "spec") else UpdateOrder.one_by_one


def _chosen_vehicle(obj: Object, name: str, type_: str, part: _Part) -> Iterator[Object]:
    for field, kind in (("daemonSet", "DaemonSet"), ("deployment", "Deployment"), ("statefulSet", "StatefulSet")):
        if not isinstance(section(obj, "spec").get(field), dict):
            continue
        settings = section(obj, "spec", field)
        template = _template_in(settings, f"$.spec.{field}")
        spec = _pod_spec(obj, section(template, "spec"), part, section(obj, "spec", "resources"))
        more = some_fields(
            settings, "strategy", "updateStrategy", "serviceName", "podManagementPolicy", "volumeClaimTemplates"
        )
        if kind != "DaemonSet":
            more["replicas"] = size_of(obj, settings.get("replicas"), 1, f"$.spec.{field}.replicas")
        yield _vehicle(obj, kind, name, _labels_of(obj, type_), template, spec, more)
        return


def _template_in(settings: Object, place: str) -> Object:
    template = section(settings, "podTemplate")
    check_part(template or None, "core.v1.PodTemplateSpec", f"{place}.podTemplate")
    return template


def _labels_of(obj: Object, type_: str) -> dict[str, str]:
    return {_TYPE: type_, f"{_group_of(obj)}/name": name_of(obj)}


def _group_of(obj: Object) -> str:
    return str(obj.get("apiVersion") or "").partition("/")[0]


def _vehicle(
    obj: Object, kind: str, name: str, selector: dict[str, str], template: Object, spec: Object, more: Object
) -> Object:
    """The controller that makes the pods of a completed ``spec``."""
    labels = dict(selector)
    if version := section(obj, "spec").get("version"):
        labels[f"{_group_of(obj)}/version"] = str(version)
    whole = with_metadata({"metadata": section(template, "metadata"), "spec": spec}, labels, {})
    body = {"selector": {"matchLabels": selector}, "template": whole, **more}
    return child(obj, "apps/v1", kind, name, body, {"labels": labels})


def _pod_spec(obj: Object, settings: Object, part: _Part, overrides: Object, *first: Object) -> Object:
    """A template's spec with the main container; init containers without an image or resources have those of it."""
    spec = deep_copy_json(settings)
    containers = items_of(spec, "containers")
    main = next((container for container in containers if container.get("name") == part.container), None)
    if main is None:
        main = {"name": part.container}
        containers.insert(0, main)
    version = str(section(obj, "spec").get("version") or "latest")
    main.setdefault("image", str(section(obj, "spec").get("image") or f"docker.elastic.co/{part.image}:{version}"))
    resources = section(main, "resources")
    if not (resources.get("requests") or resources.get("limits") or overrides):
        resources = {**resources, **part.default}
    main["resources"] = {
        **resources,
        **{
            key: {**section(resources, key), **section(overrides, key)}
            for key in ("requests", "limits")
            if overrides.get(key)
        },
    }
    spec["containers"] = containers
    inherited = {key: main.get(key) for key in ("image", "resources")}
    prepares = (*first, *items_of(spec, "initContainers"))
    spec["initContainers"] = [{**deep_copy_json(inherited), **prepare} for prepare in prepares]
    return dict(spec)


def _with_data(settings: Object, spec: Object, name: str, size: str) -> list[Object]:
    """The claims of pods, of which there is one for data unless a claim or a volume has its name."""
    claims = deep_copy_json(settings.get("volumeClaimTemplates") or [])
    held = {name_of(claim) for claim in claims} | {str(volume.get("name")) for volume in items_of(spec, "volumes")}
    if name not in held:
        claim_fields = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
        claims.insert(0, {"metadata": {"name": name}, "spec": claim_fields})
    return list(claims)
