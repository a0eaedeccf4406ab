"""The template node of a group, with its daemon pods, by which a scale-up is simulated.

Upstream: cluster-autoscaler/processors/nodeinfosprovider/mixed_nodeinfos_processor.go, simulator/node_info_utils.go and
utils/daemonset.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from kwhatif.admission.response import Object
from kwhatif.api.core import Node, Pod
from kwhatif.api.objects import part_of, section
from kwhatif.api.times import convert_object
from kwhatif.autoscaling.cluster_autoscaler.autoscaling_context import AutoscalingContext, NodeGroup, is_of_daemon_set
from kwhatif.autoscaling.cluster_autoscaler.node_readiness import is_to_be_deleted, lasting_taints, readiness
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.pod_requests import amounts
from kwhatif.cluster.shapes import PodInfo
from kwhatif.golang.parsing import SECOND
from kwhatif.plugins.shared.spread_constraints import HOSTNAME
from kwhatif.workloads.daemon_set import NodeCheck, with_daemon_tolerations
from kwhatif.workloads.object_creation import pod_from_template

TEMPLATE_MARK = "cluster-autoscaler.kubernetes.io/template-node"
_STABLE_FOR = 60 * SECOND
_DEPRECATED = {
    "node.kubernetes.io/instance-type": "beta.kubernetes.io/instance-type",
    "topology.kubernetes.io/region": "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone": "failure-domain.beta.kubernetes.io/zone",
}


class NodeTemplate(msgspec.Struct, frozen=True):
    """A node and its pods, of which copies are made. ``source`` says what it was made of."""

    node: Node
    pods: tuple[PodInfo, ...]
    source: str

    def fresh(self, name: str) -> tuple[Node, list[PodInfo]]:
        """A copy of the node with this name, and with copies of its pods."""
        return _rename_node(self.node, name), [
            msgspec.structs.replace(pod, uid=f"{name}/{pod.uid}") for pod in self.pods
        ]

    @property
    def free(self) -> dict[str, int]:
        """Allocatable minus its pods' requests: millicores for cpu, units for all else."""
        quantities = self.node.status.for_pods
        free = {name: quantity.value() for name, quantity in quantities.items()} | amounts(quantities)
        free["pods"] = free.get("pods", 0) - len(self.pods)
        for pod in self.pods:
            for name, amount in pod.shape.score_requests.items():
                free[name] = free.get(name, 0) - amount
        return free


def node_templates(world: AutoscalingContext, nodes: Sequence[Node], cluster: Cluster) -> dict[str, NodeTemplate]:
    """Group -> its template node.

    It is made of the first ready node of the group, else of the cloud's template, else of any node. ``nodes`` are those
    of the cluster as the autoscaler takes them, ``cluster`` has the pods on them.
    """
    good = [node for node in nodes if _is_good(node, world.now)]
    made = _of_real_nodes(world, good, cluster, {})
    for group in world.groups:
        if group.name not in made and group.template is not None:
            made[group.name] = _of_the_cloud(world, group, group.template, cluster)
    return _of_real_nodes(world, nodes, cluster, made)


def _of_real_nodes(
    world: AutoscalingContext, nodes: Sequence[Node], cluster: Cluster, existing: Mapping[str, NodeTemplate]
) -> dict[str, NodeTemplate]:
    templates = dict(existing)
    for node in nodes:
        group = world.groups.group_of(node.name)
        if group is not None and group.name not in templates:
            row = cluster.columns.row(node.name)
            there = cluster.pods_on[row] if row is not None else []
            templates[group.name] = _sanitize(world, group, node, there, cluster, force=world.flags.force_ds)
    return templates


def _of_the_cloud(world: AutoscalingContext, group: NodeGroup, node: Node, cluster: Cluster) -> NodeTemplate:
    there = [cluster.shapes.info(pod) for pod in group.template_pods]
    made = _sanitize(world, group, node, there, cluster, force=True)
    labels = made.node.metadata.labels or {}
    deprecated = {old: labels[new] for new, old in _DEPRECATED.items() if new in labels}
    return replace(made, node=_with_labels(made.node, {**labels, **deprecated}), source="the cloud's template")


def _is_good(node: Node, now: int) -> bool:
    state = readiness(node)
    return (
        state.ready and state.since + _STABLE_FOR < now and not node.spec.unschedulable and not is_to_be_deleted(node)
    )


def _sanitize(
    world: AutoscalingContext,
    group: NodeGroup,
    example: Node,
    there: Sequence[PodInfo],
    cluster: Cluster,
    *,
    force: bool,
) -> NodeTemplate:
    name = f"template-node-for-{group.name}"
    node = _rename_node(example, name)
    spec = msgspec.structs.replace(node.spec, taints=lasting_taints(node, world.flags))
    if world.flags.scale_from_unschedulable:
        spec = msgspec.structs.replace(spec, unschedulable=None)
    node = msgspec.structs.replace(node, spec=spec)
    staying = [info for info in there if not info.pod.metadata.deletion_timestamp]
    running = {info.shape.controller.uid for info in staying if _daemon_controlled(info.pod) and info.shape.controller}
    pods = [info for info in staying if info.pod.is_mirror or is_of_daemon_set(info.pod)]
    wanted = _daemon_pods(world, node, running)
    pods += [cluster.shapes.info(pod) for pod in wanted if force or _is_node_critical(pod)]
    node = _with_labels(node, {**(node.metadata.labels or {}), TEMPLATE_MARK: "true"})
    return NodeTemplate(node, tuple(pods), f"node {example.name}")


def _daemon_pods(world: AutoscalingContext, node: Node, running: set[str | None]) -> list[Pod]:
    """The pods that daemon sets want on a node, but for those that run there."""
    plain: Object = {
        "metadata": {"name": node.name, "labels": node.metadata.labels or {}},
        "spec": {"taints": msgspec.to_builtins(node.spec.taints or [])},
    }
    operators = world.features.taint_toleration_comparison_operators
    pods = []
    for daemon_set in world.daemon_sets:
        template = section(daemon_set, "spec").get("template")
        # No API server has one without a template.
        if not template or part_of(daemon_set, "metadata").get("uid") in running:
            continue
        if NodeCheck(template, comparison_operators=operators)(plain).run:
            pod = pod_from_template(template, daemon_set)
            part_of(pod, "metadata")["name"] = part_of(pod, "metadata").pop("generateName") + "pod"
            part_of(pod, "spec")["tolerations"] = with_daemon_tolerations(part_of(pod, "spec"))
            pods.append(convert_object(pod, Pod))
    return pods


def _daemon_controlled(pod: Pod) -> bool:
    return pod.controller is not None and pod.controller.kind == "DaemonSet"


def _is_node_critical(pod: Pod) -> bool:
    policy = pod.spec.preemption_policy
    return pod.spec.priority_class_name == "system-node-critical" and policy in (None, "PreemptLowerPriority")


def _rename_node(node: Node, name: str) -> Node:
    meta = msgspec.structs.replace(node.metadata, name=name)
    return _with_labels(msgspec.structs.replace(node, metadata=meta), {**(node.metadata.labels or {}), HOSTNAME: name})


def _with_labels(node: Node, labels: dict[str, str]) -> Node:
    return msgspec.structs.replace(node, metadata=msgspec.structs.replace(node.metadata, labels=labels))
