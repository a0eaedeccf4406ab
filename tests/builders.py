"""Small clusters in few words: nodes, pods and what goes with them, spelt as a test wants to read them.

Everything is built from the JSON an API server would store, so a test can hand over any field with ``spec``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from kwhatif.api.core import Namespace, Node, Pod, ReplicationController, Service
from kwhatif.api.decode import convert
from kwhatif.api.kinds import Objects
from kwhatif.api.meta import Resource
from kwhatif.api.workloads_and_storage import PodDisruptionBudget, ReplicaSet, StatefulSet
from kwhatif.cluster.cluster import Cluster
from kwhatif.framework.declaration import Declaration
from kwhatif.framework.interface import Handle, Plugin, PostFilterResult
from kwhatif.framework.status import Status
from kwhatif.legacy.plugins import legacy_plugins
from kwhatif.plugins import in_tree_plugins
from kwhatif.plugins.outoftree import out_of_tree_plugins
from kwhatif.policy.configuration_file import load_configuration
from kwhatif.policy.in_tree import in_tree
from kwhatif.scheduling.driver import Driver, DriverOptions
from kwhatif.scheduling.schedule_one import Scheduler
from kwhatif.scheduling.setup import Setup
from kwhatif.versions import LEGACY_MINOR, Features, features_of

Json = dict[str, Any]

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
GPU = "example.com/gpu"
MIB = 1024 * 1024
GIB = 1024 * MIB

FEATURES = features_of()

NO_PODS: Json = {"apiVersion": "v1", "kind": "PodList", "items": []}
"""What a snapshot has where nothing runs: a list of pods, which is empty."""


def write_objects(path: Path, *objects: Json) -> str:
    """Write a file of a cluster that has these objects, and no pods but those among them. Returns its path."""
    everything: Json = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    path.write_text(f"{json.dumps(everything)}\n{json.dumps(NO_PODS)}\n")
    return str(path)


# --- nodes


def node(
    name: str,
    *,
    cpu: str = "4",
    memory: str = "8Gi",
    pods: int | None = 110,
    allocatable: Mapping[str, str] | None = None,
    zone: str | None = None,
    labels: Mapping[str, str] | None = None,
    hostname: bool = True,
    taints: Iterable[str] = (),
    cordoned: bool = False,
    images: Mapping[str, int] | None = None,
    declares: Iterable[str] = (),
) -> Node:
    """A node. ``taints`` read ``key=value:Effect``, ``images`` maps names to bytes."""
    amounts = {"cpu": cpu, "memory": memory, **(allocatable or {})}
    if pods is not None:
        amounts["pods"] = str(pods)
    all_labels = {HOSTNAME: name} if hostname else {}
    if zone is not None:
        all_labels[ZONE] = zone
    return convert(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {**all_labels, **(labels or {})}},
            "spec": {"unschedulable": cordoned, "taints": [taint(text) for text in taints]},
            "status": {
                "allocatable": amounts,
                "images": [{"names": [image], "sizeBytes": size} for image, size in (images or {}).items()],
                "declaredFeatures": list(declares),
            },
        },
        Node,
    )


def nodes_in_zones(*zones: str, **common: Any) -> list[Node]:
    """Nodes n0, n1, ... in these zones."""
    return [node(f"n{i}", zone=zone, **common) for i, zone in enumerate(zones)]


def taint(text: str) -> Json:
    """``key=value:Effect`` or ``key:Effect``."""
    pair, _, effect = text.rpartition(":")
    key, _, value = pair.partition("=")
    return {"key": key, "value": value, "effect": effect} if value else {"key": key, "effect": effect}


# --- the parts of pods


def container(
    *,
    cpu: str | None = None,
    memory: str | None = None,
    requests: Mapping[str, str] | None = None,
    image: str | None = None,
    ports: Iterable[str | int] = (),
    name: str = "main",
    restart: str | None = None,
) -> Json:
    """A container. ``ports`` are host ports: ``[ip:]port[/protocol]``."""
    asked = {**({"cpu": cpu} if cpu else {}), **({"memory": memory} if memory else {}), **(requests or {})}
    return {
        "name": name,
        "image": image,
        "resources": {"requests": asked} if asked else None,
        "ports": [host_port(str(text)) for text in ports],
        "restartPolicy": restart,
    }


def host_port(text: str) -> Json:
    """``[ip:]port[/protocol]`` as a container port."""
    address, _, protocol = text.partition("/")
    ip, _, port = address.rpartition(":")
    return {
        "containerPort": int(port),
        "hostPort": int(port),
        "hostIP": ip or None,
        "protocol": protocol or None,
    }


def tolerate(text: str) -> Json:
    """``key=value:Effect`` (equal), ``key:Effect`` or ``key`` (exists), ``*`` (whatever there is)."""
    if text == "*":
        return {"operator": "Exists"}
    pair, _, effect = text.partition(":")
    key, equals, value = pair.partition("=")
    how = {"operator": "Equal", "value": value} if equals else {"operator": "Exists"}
    return {"key": key, **how, "effect": effect or None}


def requirement(text: str) -> Json:
    """``zone In a b``, ``gpu Exists``: key, operator, values."""
    key, operator, *values = text.split()
    return {"key": key, "operator": operator, "values": values or None}


def node_term(*expressions: str, fields: Iterable[str] = ()) -> Json:
    """A node selector term: requirements on labels, and on fields."""
    return {
        "matchExpressions": [requirement(text) for text in expressions],
        "matchFields": [requirement(text) for text in fields],
    }


def select(*expressions: str, **labels: str) -> Json:
    """A label selector: ``select(app="web")``, ``select("tier In a b")``; ``select()`` selects everything."""
    found: Json = {}
    if labels:
        found["matchLabels"] = labels
    if expressions:
        found["matchExpressions"] = [requirement(text) for text in expressions]
    return found


def pods_like(
    selector: Json | None,
    by: str = ZONE,
    *,
    namespaces: Iterable[str] = (),
    namespace_selector: Json | None = None,
) -> Json:
    """A pod affinity term: pods that ``selector`` selects, in the same domain of the label ``by``."""
    return {
        "labelSelector": selector,
        "topologyKey": by,
        "namespaces": list(namespaces),
        "namespaceSelector": namespace_selector,
    }


def spread(
    selector: Json | None,
    by: str = ZONE,
    *,
    skew: int = 1,
    hard: bool = True,
    min_domains: int | None = None,
    affinity_policy: str | None = None,
    taints_policy: str | None = None,
    match_label_keys: Sequence[str] | None = None,
) -> Json:
    """A topology spread constraint."""
    return {
        "maxSkew": skew,
        "topologyKey": by,
        "whenUnsatisfiable": "DoNotSchedule" if hard else "ScheduleAnyway",
        "labelSelector": selector,
        "minDomains": min_domains,
        "nodeAffinityPolicy": affinity_policy,
        "nodeTaintsPolicy": taints_policy,
        "matchLabelKeys": match_label_keys,
    }


def _affinity(
    nodes: Sequence[Json] | None,
    prefers_nodes: Sequence[tuple[int, Json]],
    near: Sequence[Json],
    prefers_near: Sequence[tuple[int, Json]],
    far: Sequence[Json],
    prefers_far: Sequence[tuple[int, Json]],
) -> Json | None:
    required, preferred = (
        "requiredDuringSchedulingIgnoredDuringExecution",
        "preferredDuringSchedulingIgnoredDuringExecution",
    )
    affinity: Json = {}
    if nodes is not None or prefers_nodes:
        affinity["nodeAffinity"] = {
            required: None if nodes is None else {"nodeSelectorTerms": list(nodes)},
            preferred: [{"weight": w, "preference": term} for w, term in prefers_nodes] or None,
        }
    for kind, must, wish in (
        ("podAffinity", near, prefers_near),
        ("podAntiAffinity", far, prefers_far),
    ):
        if must or wish:
            weighted = [{"weight": w, "podAffinityTerm": term} for w, term in wish]
            affinity[kind] = {required: list(must), preferred: weighted}
    return affinity or None


# --- pods


def pod(
    name: str = "pod",
    *,
    namespace: str = "default",
    labels: Mapping[str, str] | None = None,
    on: str | None = None,
    cpu: str | None = None,
    memory: str | None = None,
    requests: Mapping[str, str] | None = None,
    image: str | None = None,
    ports: Iterable[str | int] = (),
    containers: Sequence[Json] | None = None,
    init: Sequence[Json] = (),
    overhead: Mapping[str, str] | None = None,
    pod_level: Mapping[str, str] | None = None,
    priority: int | None = None,
    started: str | None = None,
    terminating: bool = False,
    nominated: str | None = None,
    owner: tuple[str, str, str] | None = None,
    tolerations: Iterable[str | Json] = (),
    node_selector: Mapping[str, str] | None = None,
    nodes: Sequence[Json] | None = None,
    prefers_nodes: Sequence[tuple[int, Json]] = (),
    near: Sequence[Json] = (),
    prefers_near: Sequence[tuple[int, Json]] = (),
    far: Sequence[Json] = (),
    prefers_far: Sequence[tuple[int, Json]] = (),
    constraints: Sequence[Json] = (),
    spec: Json | None = None,
    status: Json | None = None,
) -> Pod:
    """A pod, which runs ``on`` a node or waits for one.

    ``nodes`` are required node terms, ``near`` and ``far`` required pod affinity and anti-affinity terms,
    ``constraints`` topology spread constraints; ``owner`` is (apiVersion, kind, name) of the controller. What
    the arguments have no word for goes into ``spec`` and ``status``.
    """
    if containers is None:
        containers = [container(cpu=cpu, memory=memory, requests=requests, image=image, ports=ports)]
    meta: Json = {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}", "labels": labels}
    if terminating:
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    if owner is not None:
        api_version, kind, owner_name = owner
        reference = {"apiVersion": api_version, "kind": kind, "name": owner_name, "controller": True}
        meta["ownerReferences"] = [reference]
    return convert(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": meta,
            "spec": {
                "nodeName": on,
                "containers": list(containers),
                "initContainers": list(init),
                "overhead": overhead,
                "resources": {"requests": pod_level} if pod_level is not None else None,
                "priority": priority,
                "tolerations": [tolerate(t) if isinstance(t, str) else t for t in tolerations],
                "nodeSelector": node_selector,
                "affinity": _affinity(nodes, prefers_nodes, near, prefers_near, far, prefers_far),
                "topologySpreadConstraints": list(constraints),
                **(spec or {}),
            },
            "status": {"startTime": started, "nominatedNodeName": nominated, **(status or {})},
        },
        Pod,
    )


def pods_on(places: Mapping[str, int], **common: Any) -> list[Pod]:
    """So many alike pods on each of these nodes."""
    return [pod(f"{place}-{i}", on=place, **common) for place, count in places.items() for i in range(count)]


# --- what selects pods


def namespace(name: str, **labels: str) -> Namespace:
    return convert({"metadata": {"name": name, "labels": labels}}, Namespace)


def service(name: str, selector: Mapping[str, str] | None, namespace: str = "default") -> Service:
    return convert({"metadata": {"name": name, "namespace": namespace}, "spec": {"selector": selector}}, Service)


def replication_controller(name: str, selector: Mapping[str, str]) -> ReplicationController:
    meta = {"name": name, "namespace": "default"}
    return convert({"metadata": meta, "spec": {"selector": selector}}, ReplicationController)


def replica_set(name: str, selector: Json, namespace: str = "default") -> ReplicaSet:
    return convert({"metadata": {"name": name, "namespace": namespace}, "spec": {"selector": selector}}, ReplicaSet)


def stateful_set(name: str, selector: Json) -> StatefulSet:
    meta = {"name": name, "namespace": "default"}
    return convert({"metadata": meta, "spec": {"selector": selector}}, StatefulSet)


def budget(
    name: str,
    selector: Json | None,
    *,
    allowed: int = 0,
    disrupted: Iterable[str] = (),
    namespace: str = "default",
    least: int | str | None = None,
) -> PodDisruptionBudget:
    """A disruption budget that allows so many more evictions; ``disrupted`` pods are accounted for already.

    ``least`` is its minAvailable.
    """
    return convert(
        {
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"selector": selector, **({} if least is None else {"minAvailable": least})},
            "status": {
                "disruptionsAllowed": allowed,
                "disruptedPods": dict.fromkeys(disrupted, "2026-01-01T00:00:00Z"),
            },
        },
        PodDisruptionBudget,
    )


# --- clusters and what runs on them


def cluster_of(
    nodes: Iterable[Node],
    pods: Iterable[Pod] = (),
    objects: Iterable[Resource] = (),
    *,
    features: Features = FEATURES,
) -> Cluster:
    """The scheduler's cache of these nodes, pods and other objects."""
    found = Objects()
    for obj in (*nodes, *pods, *objects):
        found.add(obj)
    return Cluster.load(found, features)


def profile_document(
    *,
    args: Mapping[str, Json] | None = None,
    plugins: Json | None = None,
    percentage: int | None = None,
) -> Json:
    """A KubeSchedulerConfiguration with one profile: arguments by plugin, and its ``plugins`` as they are."""
    configs = [{"name": name, "args": found} for name, found in (args or {}).items()]
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "percentageOfNodesToScore": percentage,
        "profiles": [{"plugins": plugins, "pluginConfig": configs}],
    }


def scheduler_for(
    cluster: Cluster,
    config: Json | None = None,
    *,
    outside: Iterable[type[Plugin[Any, Any]]] = (),
    seed: int | None = None,
    ties_by_name: bool = False,
) -> Scheduler:
    """A scheduler under a configuration's first profile (None: the defaults)."""
    features = cluster.shapes.features
    configuration = load_configuration(config, source="", features=features)
    setup = Setup(configuration, features, {plugin.name: plugin for plugin in outside})
    profile = setup.profile(configuration.profiles[0])
    return Scheduler(cluster, profile, seed=seed, ties_by_name=ties_by_name)


def driver_for(
    cluster: Cluster,
    config: Json | None = None,
    *,
    outside: Iterable[type[Plugin[Any, Any]]] = (),
    **options: Unpack[DriverOptions],
) -> Driver:
    """A scheduler process under a configuration (None: the defaults)."""
    features = cluster.shapes.features
    configuration = load_configuration(config, source="", features=features)
    return Driver(cluster, Setup(configuration, features, {plugin.name: plugin for plugin in outside}), **options)


def features_with(**rules: bool) -> Features:
    """The newest minor's rules with some turned on or off, whatever its gates would allow."""
    made = Features.__new__(Features)
    for name in Features.__slots__:
        object.__setattr__(made, name, rules.get(name, getattr(FEATURES, name)))
    assert rules.keys() <= set(Features.__slots__)
    return made


def _modelled(plugins: Mapping[str, type[Declaration]]) -> dict[str, type[Plugin[Any, Any]]]:
    return {name: plugin for name, plugin in plugins.items() if issubclass(plugin, Plugin)}


IN_TREE, LEGACY = _modelled(in_tree_plugins()), _modelled(legacy_plugins())
OUT_OF_TREE = _modelled(out_of_tree_plugins())
"""Name -> class of the plugins that are more than known by name."""


def handle_for(name: str, args: Json | None = None, *, features: Features = FEATURES) -> Handle:
    """What a plugin is created with when it has these arguments and nobody to preempt for it."""
    if name in LEGACY and features is FEATURES:
        features = features_of(LEGACY_MINOR)
    if name in LEGACY:
        document: Json | None = _with_legacy_plugin(name, args)
    elif name in OUT_OF_TREE or (name in IN_TREE and IN_TREE[name].default is None):
        document = document_with(name, args)
    else:
        document = None if args is None else profile_document(args={name: args})
    profile = load_configuration(document, source="", features=features if name in LEGACY else None).profiles[0]

    def nobody(*_: object) -> PostFilterResult:
        return PostFilterResult(Status.unschedulable("nobody to preempt"))

    found = profile.args_of(name)
    return Handle(features, {} if found is None else found, nobody)


def document_with(name: str, args: Json | None = None) -> Json:
    """A configuration with a plugin that is not on by default, wherever it can be; it sorts the queue if it can."""
    just_it = {"enabled": [{"name": name}], "disabled": [{"name": "*"}]}
    plugins: Json = {"multiPoint": {"enabled": [{"name": name}]}}
    if "queueSort" in (OUT_OF_TREE.get(name) or IN_TREE[name]).points(FEATURES):
        plugins["queueSort"] = just_it
    return profile_document(args={} if args is None else {name: args}, plugins=plugins)


def _with_legacy_plugin(name: str, args: Json | None) -> Json:
    """A configuration of a format that knew the plugin, with it wherever it can be."""
    just_it = {"enabled": [{"name": name}], "disabled": [{"name": name}]}
    profile: Json = {"plugins": dict.fromkeys(in_tree(features_of(LEGACY_MINOR)).points[name], just_it)}
    if args is not None:
        profile["pluginConfig"] = [{"name": name, "args": args}]
    group = "kubescheduler.config.k8s.io"
    return {"apiVersion": f"{group}/v1beta1", "kind": "KubeSchedulerConfiguration", "profiles": [profile]}


def plugin_of(name: str, args: Json | None = None, *, features: Features = FEATURES) -> Plugin[Any, Any]:
    """An in-tree plugin on its own, with these arguments."""
    return {**IN_TREE, **OUT_OF_TREE, **LEGACY}[name](handle_for(name, args, features=features))
