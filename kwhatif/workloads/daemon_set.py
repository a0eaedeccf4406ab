"""DaemonSet: one pod for each node that its rules admit, with an affinity for the node's name.

Upstream: pkg/controller/daemon/daemon_controller.go (also NodeShouldRunDaemonPod), util/daemonset_util.go
(AddOrUpdateDaemonPodTolerations); for taints that mirror a node's state
pkg/controller/nodelifecycle/node_lifecycle_controller.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kwhatif.admission.response import Object
from kwhatif.api.core import PodSpec, Taint
from kwhatif.api.decode import convert
from kwhatif.api.objects import part_of, section
from kwhatif.api.selectors import RequiredNodeAffinity, find_untolerated_taints
from kwhatif.versions import features_of
from kwhatif.workloads.object_creation import ObjectCreator, pod_from_template, template_hash
from kwhatif.workloads.objects import annotations_of, labels_of, name_of

_ALWAYS = (
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
)
_ON_HOST_NETWORK = (("network-unavailable", "NoSchedule"),)


def with_daemon_tolerations(spec: Object) -> list[Object]:
    """The tolerations of a pod spec and the added ones; one of the same key, effect and operator is replaced."""
    tolerations = [dict(toleration) for toleration in spec.get("tolerations") or ()]
    for key, effect in _ALWAYS + (_ON_HOST_NETWORK if spec.get("hostNetwork") else ()):
        added = {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": effect}
        for place, toleration in enumerate(tolerations):
            if _matching(toleration, added):
                tolerations[place] = added
                break
        else:
            tolerations.append(added)
    return tolerations


def _matching(one: Object, other: Object) -> bool:
    return all((one.get(key) or "") == (other.get(key) or "") for key in ("key", "operator", "effect", "value"))


_PREFIX = "node.kubernetes.io/"
_BY_CONDITION = {
    ("Ready", "False"): "not-ready",
    ("Ready", "Unknown"): "unreachable",
    ("MemoryPressure", "True"): "memory-pressure",
    ("DiskPressure", "True"): "disk-pressure",
    ("NetworkUnavailable", "True"): "network-unavailable",
    ("PIDPressure", "True"): "pid-pressure",
}


class DaemonDecision(NamedTuple):
    """Whether a pod should start on a node, and whether one that is there may stay."""

    run: bool
    stay: bool


class NodeCheck:
    """The rules of one daemon set's template, evaluated for many nodes."""

    def __init__(self, template: Object, *, comparison_operators: bool | None = None) -> None:
        spec = section(template, "spec")
        rules = {key: spec[key] for key in ("nodeName", "nodeSelector", "affinity") if spec.get(key)}
        rules["tolerations"] = with_daemon_tolerations(spec)
        self._rules = convert(rules, PodSpec)
        self._affinity = RequiredNodeAffinity.from_pod_spec(self._rules)
        if comparison_operators is None:
            comparison_operators = features_of().taint_toleration_comparison_operators
        self._operators = comparison_operators

    def __call__(self, node: Object) -> DaemonDecision:
        if self._rules.node_name not in (None, "", name_of(node)):
            return DaemonDecision(False, False)
        if not self._affinity.matches(labels_of(node), name_of(node)):
            return DaemonDecision(False, False)
        taints = taints_of(node)
        if not self._has_untolerated(taints, "NoSchedule", "NoExecute"):
            return DaemonDecision(True, True)
        return DaemonDecision(False, not self._has_untolerated(taints, "NoExecute"))

    def _has_untolerated(self, taints: list[Taint], *effects: str) -> bool:
        tolerations = self._rules.tolerations or ()
        return bool(find_untolerated_taints(taints, tolerations, effects, comparison_operators=self._operators))


def taints_of(node: Object) -> list[Taint]:
    """The taints of a node, with those that its conditions imply, should they be missing (as in a hand-written
    snapshot).
    """
    spec = section(node, "spec")
    taints = convert(spec.get("taints") or [], list[Taint])
    states = [(item.get("type"), item.get("status")) for item in section(node, "status").get("conditions") or ()]
    keys = [_BY_CONDITION[state] for state in states if state in _BY_CONDITION]
    if spec.get("unschedulable"):
        keys.append("unschedulable")
    present = {(taint.key, taint.effect) for taint in taints}
    return taints + [
        Taint(key=_PREFIX + key, effect="NoSchedule") for key in keys if (_PREFIX + key, "NoSchedule") not in present
    ]


REVISION = "controller-revision-hash"
GENERATION = "pod-template-generation"
_GENERATION_ANNOTATION = "deprecated.daemonset.template.generation"


def make_daemon_set(daemon_set: Object, nodes: Sequence[Object], making: ObjectCreator) -> None:
    template = section(daemon_set, "spec", "template")
    revision, generation = template_hash(template), generation_of(daemon_set)
    homes = homes_of(daemon_set, nodes)
    making.pods_of(daemon_set, len(homes), lambda place: daemon_pod(daemon_set, homes[place], revision, generation))


def homes_of(daemon_set: Object, nodes: Sequence[Object]) -> list[str]:
    """The names of the nodes that should have a pod."""
    check = NodeCheck(section(daemon_set, "spec", "template"))
    return [name_of(node) for node in nodes if check(node).run]


def daemon_pod(daemon_set: Object, node: str, revision: str, generation: str) -> Object:
    """The pod for a node. The terms of a required node affinity, already met by the node, give way to its name."""
    pod = pod_from_template(section(daemon_set, "spec", "template"), daemon_set)
    metadata, spec = part_of(pod, "metadata"), part_of(pod, "spec")
    metadata["labels"] = {**metadata.get("labels", {}), GENERATION: generation, REVISION: revision}
    spec["tolerations"] = with_daemon_tolerations(spec)
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    affinity = section(spec, "affinity")
    node_affinity = section(affinity, "nodeAffinity")
    node_affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": [term]}
    affinity["nodeAffinity"] = node_affinity
    spec["affinity"] = affinity
    return pod


def generation_of(daemon_set: Object) -> str:
    """How often the template was changed, counted from one, as the API server records it."""
    return annotations_of(daemon_set).get(_GENERATION_ANNOTATION) or "1"


def target_of(pod: Object) -> str:
    """The node that a daemon set's pod is on or is meant for; empty if that is unknown."""
    spec = section(pod, "spec")
    if spec.get("nodeName"):
        return str(spec["nodeName"])
    required = section(spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field.get("key") == "metadata.name" and field.get("operator") == "In" and field.get("values"):
                return str(field["values"][0])
    return ""
