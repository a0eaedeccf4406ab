"""Whether a flavor is for a pod set at all: its topology, taints and labels.

Upstream: checkFlavorForPodSets in pkg/scheduler/flavorassigner/flavorassigner.go and tas_flavorassigner.go.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec.structs import replace

from kwhatif.api.core import Affinity, NodeAffinity, NodeSelector, NodeSelectorTerm, PodSpec, Taint
from kwhatif.api.kueue import ResourceFlavor, WorkloadPodSet
from kwhatif.api.selectors import RequiredNodeAffinity, find_untolerated_taints
from kwhatif.golang.formatting import go_quote
from kwhatif.kueue.amounts import Requests
from kwhatif.kueue.cluster_queue import ClusterQueue, Group
from kwhatif.kueue.topology.placement import has_levels
from kwhatif.kueue.workload import Workload

_EFFECTS = ("NoSchedule", "NoExecute")


def is_topology_implied(pod_set: WorkloadPodSet, queue: ClusterQueue) -> bool:
    return not pod_set.wants_topology and queue.has_only_topologies


def is_topology_requested(pod_set: WorkloadPodSet, queue: ClusterQueue) -> bool:
    return pod_set.wants_topology or queue.has_only_topologies


class FlavorMatcher:
    """Which flavors are for which pods; of workloads that are alike it is worked out once."""

    def __init__(self, flavors: Mapping[str, ResourceFlavor]) -> None:
        self._flavors = flavors
        self._known: dict[tuple[str, Group, bool, int, int], str] = {}

    def problem(self, name: str, group: Group, queue: ClusterQueue, workload: Workload, pod_set: int) -> str:
        """Why the flavor is not for this pod set of the workload; nothing if it is."""
        key = name, group, queue.has_only_topologies, workload.shape, pod_set
        text = self._known.get(key)
        if text is None:
            flavor = self._flavors.get(name)
            pods, requests = workload.pod_sets[pod_set], workload.pod_requests[pod_set]
            missing = f"flavor {name} not found"
            text = missing if flavor is None else _flavor_problem(queue, group, flavor, pods, requests)
            self._known[key] = text
        return text


def _flavor_problem(
    queue: ClusterQueue, group: Group, flavor: ResourceFlavor, pod_set: WorkloadPodSet, requests: Requests
) -> str:
    """Why the flavor is not for the pod set; nothing if it is. ``requests`` are those of one pod."""
    problem = _topology_problem(queue, group, flavor, pod_set, requests)
    if problem:
        return problem
    spec = pod_set.template.spec
    tolerations = [*(spec.tolerations or ()), *(flavor.spec.tolerations or ())]
    taints = find_untolerated_taints(flavor.spec.node_taints or (), tolerations, _EFFECTS, comparison_operators=True)
    if taints:
        return f"untolerated taint {_go_taint(taints[0])} in flavor {flavor.name}"
    labels = flavor.spec.node_labels or {}
    if not RequiredNodeAffinity.from_pod_spec(_only_with_keys(spec, labels)).matches(labels, ""):
        return f"flavor {flavor.name} doesn't match node affinity"
    return ""


def _topology_problem(
    queue: ClusterQueue, group: Group, flavor: ResourceFlavor, pod_set: WorkloadPodSet, requests: Requests
) -> str:
    problem = ""
    if not is_topology_requested(pod_set, queue):
        problem = "" if flavor.spec.topology_name is None else "supports only TopologyAwareScheduling"
    elif (request := pod_set.topology_request) is None or not request.is_explicit:
        pass
    elif flavor.spec.topology_name is None:
        # A flavor without topology may give quota for what pods themselves do not ask for.
        problem = "does not support TopologyAwareScheduling" if group.covered & requests.keys() else ""
    elif (topology := queue.topologies.get(flavor.name)) is None:
        problem = "information missing in TAS cache"
    elif not has_levels(topology.tree, request):
        problem = "does not contain the requested level"
    return f"Flavor {go_quote(flavor.name)} {problem}" if problem else ""


def _go_taint(taint: Taint) -> str:
    """As Go prints the struct."""
    return f"{{{taint.key} {taint.value or ''} {taint.effect} <nil>}}"


def _only_with_keys(spec: PodSpec, keys: Collection[str]) -> PodSpec:
    """The pod without constraints on labels that the flavor does not have (upstream: flavorSelector)."""
    selector = {key: value for key, value in (spec.node_selector or {}).items() if key in keys}
    affinity = spec.affinity.node_affinity if spec.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    terms: list[NodeSelectorTerm] = []
    for term in (required.node_selector_terms if required else None) or ():
        expressions = [
            match_expression for match_expression in term.match_expressions or () if match_expression.key in keys
        ]
        if not expressions:
            # Terms are alternatives: one that says nothing of these labels lets every flavor through.
            terms = []
            break
        terms.append(NodeSelectorTerm(match_expressions=expressions))
    kept = None
    if terms:
        only = NodeAffinity(required_during_scheduling_ignored_during_execution=NodeSelector(node_selector_terms=terms))
        kept = Affinity(node_affinity=only)
    return replace(spec, node_selector=selector or None, affinity=kept)
