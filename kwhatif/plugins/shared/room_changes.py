"""Single changes that make room for a pod, or make it need less, for the plugin that suggests them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from kwhatif.api.core import Container, Node, Pod, ResourceRequirements
from kwhatif.api.quantity import Quantity
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.plugins.shared.pod_changes import Edit, with_spec
from kwhatif.results.amounts import spell_amount

MOST_NODES = 2
"""So many nodes are offered."""


def smaller_requests(pod: PodInfo, cluster: Cluster, rows: Sequence[int]) -> Iterator[Edit]:
    """Lower one request to the most that any of these nodes, short of that resource alone, has left."""
    axis, columns = cluster.shapes.resources, cluster.columns
    room: dict[str, int] = {}
    for row in rows:
        if cluster.pod_count[row] >= columns.allowed_pods[row]:
            continue
        free = {
            name: int(columns.allocatable[row, axis.column(name)] - cluster.requested[row, axis.column(name)])
            for name in pod.shape.requests
        }
        short = [name for name, asked in pod.shape.requests.items() if asked > free[name]]
        if len(short) == 1 and free[short[0]] > 0:
            room[short[0]] = max(room.get(short[0], 0), free[short[0]])
    for name, most in sorted(room.items()):
        edited = _lowered(pod.pod, name, pod.shape.requests[name] - most)
        if edited is not None:
            asked = spell_amount(name, pod.shape.requests[name])
            yield f"lower its {name} request from {asked} to {_exact(name, most)}", edited


def _exact(name: str, amount: int) -> str:
    """An amount as it can be typed into a manifest without asking for more than there is."""
    for power, suffix in ((3, "Gi"), (2, "Mi"), (1, "Ki")):
        if name != "cpu" and amount >= 1024**power and (amount % 1024**power == 0 or power < 3):
            return f"{amount // 1024**power}{suffix}"
    return spell_amount(name, amount) if name == "cpu" else str(amount)


def _lowered(pod: Pod, name: str, by: int) -> Pod | None:
    """The pod with ``by`` less of a resource, taken from pod-level requests or from its hungriest container."""
    spec = pod.spec
    if spec.resources is not None and name in (spec.resources.requests or {}):
        resources = _less(spec.resources, name, by)
        return None if resources is None else with_spec(pod, resources=resources)
    containers = list(spec.containers or ())

    def asked(container: Container) -> int:
        quantity = ((container.resources.requests if container.resources else None) or {}).get(name)
        return 0 if quantity is None else _amount(name, quantity)

    hungriest = max(range(len(containers)), key=lambda i: asked(containers[i]), default=None)
    if hungriest is None or containers[hungriest].resources is None:
        return None
    resources = _less(containers[hungriest].resources, name, by)  # type: ignore[arg-type]
    if resources is None:
        return None
    containers[hungriest] = replace(containers[hungriest], resources=resources)
    return with_spec(pod, containers=containers)


def _amount(name: str, quantity: Quantity) -> int:
    return quantity.milli_value() if name == "cpu" else quantity.value()


def _less(resources: ResourceRequirements, name: str, by: int) -> ResourceRequirements | None:
    requests = dict(resources.requests or {})
    if name not in requests:
        return None
    left = _amount(name, requests[name]) - by
    if left <= 0:
        return None
    requests[name] = Quantity.from_milli(left) if name == "cpu" else Quantity.from_units(left)
    return replace(resources, requests=requests)


def roomier(pod: PodInfo, cluster: Cluster, rows: Sequence[int]) -> Iterator[tuple[str, Node]]:
    """Free what one resource is short of, on the nodes where that is least; or one place for a pod.

    Nodes that could not hold the pod if they were empty are left out: there is nothing to free.
    """
    axis, columns = cluster.shapes.resources, cluster.columns
    found: list[tuple[float, str, str, Node]] = []
    for row in rows:
        node, total = columns.nodes[row], columns.allocatable[row]
        if columns.allowed_pods[row] < 1 or any(a > total[axis.column(n)] for n, a in pod.shape.requests.items()):
            continue
        free = total - cluster.requested[row]
        short = {
            name: asked - int(free[axis.column(name)])
            for name, asked in pod.shape.requests.items()
            if asked > free[axis.column(name)]
        }
        full = int(cluster.pod_count[row] - columns.allowed_pods[row]) + 1
        if full > 0 and not short:
            count = f"{cluster.pod_count[row]} of {columns.allowed_pods[row]}"
            found.append(
                (
                    full,
                    node.name,
                    f"take a pod off node {node.name} ({count} run there)",
                    _more(node, "pods", full),
                )
            )
        elif full <= 0 and len(short) == 1:
            ((name, lack),) = short.items()
            share = lack / int(total[axis.column(name)])
            text = f"free {spell_amount(name, lack)} {name} on node {node.name}"
            found.append((share, node.name, text, _more(node, name, lack)))
    for _, _, text, edited in sorted(found, key=lambda item: item[:2])[:MOST_NODES]:
        yield text, edited


def _more(node: Node, name: str, lack: int) -> Node:
    """The node with that much more to give: the same to the scheduler as that much less in use."""
    allocatable = dict(node.status.for_pods)
    more = Quantity.from_milli(lack) if name == "cpu" else Quantity.from_units(lack)
    allocatable[name] = allocatable[name] + more if name in allocatable else more
    return replace(node, status=replace(node.status, allocatable=allocatable))
