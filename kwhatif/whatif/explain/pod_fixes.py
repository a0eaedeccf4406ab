"""Single changes to a pod that might let it run. Each yields what it is, in words, and the changed pod."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from kwhatif.api.core import Container, Node, Pod, ResourceRequirements, Toleration
from kwhatif.api.quantity import Quantity
from kwhatif.api.selectors import Requirement, untolerated
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.units import spell_amount

__all__ = [
    "Edit",
    "less_node_affinity",
    "less_pod_affinity",
    "looser_spread",
    "more_tolerations",
    "smaller_requests",
    "with_priority",
    "without_gates",
    "without_host_ports",
]

Edit = tuple[str, Pod]


def _with_spec(pod: Pod, **changes: Any) -> Pod:
    return replace(pod, spec=replace(pod.spec, **changes))


def without_gates(pod: Pod) -> Iterator[Edit]:
    """Remove the scheduling gates, if there is one."""
    gates = pod.spec.scheduling_gates or []
    if len(gates) == 1:
        yield f"remove scheduling gate {gates[0].name}", _with_spec(pod, scheduling_gates=None)


def with_priority(pod: Pod, priority: int) -> Pod:
    return _with_spec(pod, priority=priority)


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
        return None if resources is None else _with_spec(pod, resources=resources)
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
    return _with_spec(pod, containers=containers)


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


def more_tolerations(pod: Pod, nodes: Sequence[Node]) -> Iterator[Edit]:
    """Tolerate a taint that is all that keeps the pod off some node."""
    tolerations = list(pod.spec.tolerations or ())
    seen = set()
    for node in nodes:
        taints = untolerated(
            node.spec.taints or (), tolerations, ("NoSchedule", "NoExecute"), comparison_operators=False
        )
        if len(taints) != 1:
            continue
        taint = taints[0]
        key = (taint.key, taint.value, taint.effect)
        if key in seen:
            continue
        seen.add(key)
        value = f"={taint.value}" if taint.value else ""
        operator = "Equal" if taint.value else "Exists"
        toleration = Toleration(key=taint.key, operator=operator, value=taint.value or None, effect=taint.effect)
        yield (
            f"add a toleration for {taint.key}{value}:{taint.effect}",
            _with_spec(pod, tolerations=[*tolerations, toleration]),
        )


def less_node_affinity(pod: Pod) -> Iterator[Edit]:
    """Drop one label of the node selector, one requirement of a single-term affinity, or the whole affinity."""
    selector = pod.spec.node_selector or {}
    for key, value in selector.items():
        rest = {k: v for k, v in selector.items() if k != key}
        yield f"drop node selector {key}={value}", _with_spec(pod, node_selector=rest or None)
    affinity = pod.spec.affinity
    if affinity is None or affinity.node_affinity is None:
        return
    node_affinity = affinity.node_affinity
    required = node_affinity.required_during_scheduling_ignored_during_execution
    if required is None:
        return

    def with_required(changed: Any) -> Pod:
        inner = replace(node_affinity, required_during_scheduling_ignored_during_execution=changed)
        return _with_spec(pod, affinity=replace(affinity, node_affinity=inner))

    terms = required.node_selector_terms or []
    if len(terms) == 1 and len(terms[0].match_expressions or ()) > 1:
        expressions = list(terms[0].match_expressions or ())
        for item in expressions:
            rest_of = [other for other in expressions if other is not item]
            term = replace(terms[0], match_expressions=rest_of)
            text = str(Requirement(item.key, item.operator, tuple(item.values or ())))
            yield (
                f"drop node affinity requirement {text}",
                with_required(replace(required, node_selector_terms=[term])),
            )
    yield "drop its required node affinity", with_required(None)


def without_host_ports(pod: Pod) -> Iterator[Edit]:
    """Give up one host port."""
    for c, container in enumerate(pod.spec.containers or ()):
        for p, port in enumerate(container.ports or ()):
            if port.host_port:
                ports = list(container.ports or ())
                ports[p] = replace(port, host_port=None)
                containers = list(pod.spec.containers or ())
                containers[c] = replace(container, ports=ports)
                yield (
                    f"drop host port {port.host_port} of container {container.name}",
                    _with_spec(pod, containers=containers),
                )


def looser_spread(pod: Pod) -> Iterator[Edit]:
    """Allow one more skew, two more, ... or make one constraint a preference."""
    constraints = list(pod.spec.topology_spread_constraints or ())
    for place, constraint in enumerate(constraints):
        if constraint.when_unsatisfiable != "DoNotSchedule":
            continue
        for more in (1, 2, 3):
            changed = [*constraints]
            changed[place] = replace(constraint, max_skew=constraint.max_skew + more)
            yield (
                f"raise maxSkew over {constraint.topology_key} from {constraint.max_skew} to "
                f"{constraint.max_skew + more}",
                _with_spec(pod, topology_spread_constraints=changed),
            )
        changed = [*constraints]
        changed[place] = replace(constraint, when_unsatisfiable="ScheduleAnyway")
        yield (
            f"spread over {constraint.topology_key} with whenUnsatisfiable: ScheduleAnyway",
            _with_spec(pod, topology_spread_constraints=changed),
        )


def less_pod_affinity(pod: Pod) -> Iterator[Edit]:
    """Drop one required term of pod affinity or anti-affinity."""
    affinity = pod.spec.affinity
    if affinity is None:
        return
    for attribute, name in (("pod_affinity", "pod affinity"), ("pod_anti_affinity", "pod anti-affinity")):
        side = getattr(affinity, attribute)
        terms = list((side.required_during_scheduling_ignored_during_execution if side else None) or ())
        for term in terms:
            rest = [other for other in terms if other is not term]
            inner = replace(side, required_during_scheduling_ignored_during_execution=rest or None)
            yield (
                f"drop required {name} over {term.topology_key}",
                _with_spec(pod, affinity=replace(affinity, **{attribute: inner})),
            )
