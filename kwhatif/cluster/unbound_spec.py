"""The spec of a pod as it was before the pod had a node.

Upstream: pkg/controller/daemon/util/daemonset_util.go (ReplaceDaemonSetPodNodeNameNodeAffinity).
"""

from __future__ import annotations

from msgspec.structs import replace

from kwhatif.api.core import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PodSpec,
)


def unbound_spec(pod: Pod) -> PodSpec:
    """A pod's spec without its node. A daemon set's pod is meant for that node, even if its affinity does not say so,
    as in a snapshot written by hand.
    """
    spec, owner = pod.spec, pod.controller
    if owner is not None and owner.kind == "DaemonSet" and spec.node_name and not _names_a_node(spec):
        spec = meant_for(spec, spec.node_name)
    return replace(spec, node_name=None)


def meant_for(spec: PodSpec, node: str) -> PodSpec:
    """The spec with a required node affinity for one node, whatever it required before."""
    named = NodeSelectorRequirement(key="metadata.name", operator="In", values=[node])
    required = NodeSelector(node_selector_terms=[NodeSelectorTerm(match_fields=[named])])
    return with_required_nodes(spec, required)


def with_required_nodes(spec: PodSpec, required: NodeSelector) -> PodSpec:
    """The spec with another required node affinity."""
    affinity = spec.affinity or Affinity()
    to_nodes = replace(
        affinity.node_affinity or NodeAffinity(), required_during_scheduling_ignored_during_execution=required
    )
    return replace(spec, affinity=replace(affinity, node_affinity=to_nodes))


def _names_a_node(spec: PodSpec) -> bool:
    affinity = spec.affinity.node_affinity if spec.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    terms = (required.node_selector_terms if required else None) or ()
    return any(field.key == "metadata.name" for term in terms for field in term.match_fields or ())
