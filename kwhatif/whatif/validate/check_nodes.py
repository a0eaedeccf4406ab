"""Nodes that do not go together with their pods or with each other.

Upstream: pkg/kubelet/lifecycle/predicate.go (what a kubelet lets in: AdmissionCheck of pkg/scheduler).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence

from kwhatif.api.core import Node, Pod
from kwhatif.api.others import CSINode, VolumeAttachment
from kwhatif.cluster.shapes import PodShape
from kwhatif.results.amounts import spell_amount
from kwhatif.results.snapshot_check import Finding
from kwhatif.whatif.info.usage import room_of
from kwhatif.whatif.validate.check_references import Known, error, warning

_HOSTNAME = "kubernetes.io/hostname"
_EVERY_ADDRESS = "0.0.0.0"


def node_findings(known: Known) -> Iterator[Finding]:
    """Findings about nodes and what is on them."""
    for node in known.objects.of(Node):
        pods = [(pod, shape) for pod in known.pods_on.get(node.name, ()) if (shape := known.shape(pod))]
        yield from _over_committed(node, pods, known.served)
        yield from _port_conflicts(node, pods)
    yield from _hostnames(known.objects.of(Node))
    for csi_node in known.objects.of(CSINode):
        if known.lacks("Node", csi_node.name):
            yield warning("unknown-node", csi_node, "there is no Node of this name")
    for attachment in known.objects.of(VolumeAttachment):
        if known.lacks("Node", attachment.spec.node_name):
            yield warning(
                "unknown-node", attachment, f"attaches to node {attachment.spec.node_name}, which is not there"
            )


def _over_committed(node: Node, pods: Sequence[tuple[Pod, PodShape]], served: Collection[str]) -> Iterator[Finding]:
    """More is asked for than the kubelet would have let in; devices that a class serves are no matter of amounts."""
    asked: Counter[str] = Counter()
    for _, shape in pods:
        asked.update(shape.score_requests)
    asked["pods"] = len(pods)
    allocatable = room_of(node)
    for name, amount in sorted(asked.items()):
        there = allocatable.get(name, 0)
        if amount > there and (there or name not in served):
            counted = f"{len(pods)} pods" if len(pods) != 1 else "1 pod"
            spelt = [spell_amount(name, number) for number in (amount, there, amount - there)]
            if name == "pods":
                text = f"{counted} run here, {there} may"
            else:
                text = f"{counted} request {spelt[0]} {name}, allocatable is {spelt[1]}: {spelt[2]} too much"
            yield error("over-committed", node, text)


def _port_conflicts(node: Node, pods: Sequence[tuple[Pod, PodShape]]) -> Iterator[Finding]:
    """Two pods that want the same port of the node."""
    users: dict[tuple[str, int], list[tuple[str, Pod]]] = defaultdict(list)
    for pod, shape in pods:
        for address, protocol, port in sorted(set(shape.ports)):
            others = users[protocol, port]
            for taken, other in others:
                if other is not pod and (taken == address or _EVERY_ADDRESS in (taken, address)):
                    text = f"{other.key} and {pod.key} both hold host port {port}/{protocol}"
                    yield error("host-port-conflict", node, text)
                    break
            others.append((address, pod))


def _hostnames(nodes: Sequence[Node]) -> Iterator[Finding]:
    """What spreads by hostname takes nodes with one hostname for one."""
    first: dict[str, Node] = {}
    for node in nodes:
        hostname = (node.metadata.labels or {}).get(_HOSTNAME)
        if hostname is not None and first.setdefault(hostname, node) is not node:
            text = f"has the same label {_HOSTNAME}={hostname} as node {first[hostname].name}"
            yield warning("duplicate-hostname", node, text)
