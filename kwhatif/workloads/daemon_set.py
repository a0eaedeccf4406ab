"""DaemonSet: one pod for each node that its rules admit, bound to it by an affinity for the node's name.

Upstream: pkg/controller/daemon/daemon_controller.go, util/daemonset_util.go.
"""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.admission.answer import Object
from kwhatif.workloads.daemon_tolerations import with_daemon_tolerations
from kwhatif.workloads.making import Making
from kwhatif.workloads.naming import template_hash
from kwhatif.workloads.node_check import NodeCheck
from kwhatif.workloads.objects import annotations_of, name_of, section
from kwhatif.workloads.pods import pod_from_template

REVISION = "controller-revision-hash"
GENERATION = "pod-template-generation"
_GENERATION_ANNOTATION = "deprecated.daemonset.template.generation"


def make_daemon_set(daemon_set: Object, nodes: Sequence[Object], making: Making) -> None:
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
    metadata, spec = pod["metadata"], pod["spec"]
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
    """How often the template was changed, counted from one, as the API server notes it."""
    return annotations_of(daemon_set).get(_GENERATION_ANNOTATION) or "1"


def target_of(pod: Object) -> str:
    """The node that a daemon set's pod is on or is meant for; empty if it cannot be told."""
    spec = section(pod, "spec")
    if spec.get("nodeName"):
        return str(spec["nodeName"])
    required = section(spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field.get("key") == "metadata.name" and field.get("operator") == "In" and field.get("values"):
                return str(field["values"][0])
    return ""
