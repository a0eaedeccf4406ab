"""Suggestions of single changes to a pod that might make it schedulable, each as a text and the changed pod."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from typing import Any

from msgspec.structs import replace

from kwhatif.api.core import Node, Pod, Toleration
from kwhatif.api.selectors import Requirement, find_untolerated_taints

Edit = tuple[str, Pod]

_ALIKE = 0.7
"""How alike two words are, as difflib has it, of which one may be a misspelling of the other."""


def with_spec(pod: Pod, **changes: Any) -> Pod:
    return replace(pod, spec=replace(pod.spec, **changes))


def suggest_without_gates(pod: Pod) -> Iterator[Edit]:
    """Remove the scheduling gates, if there is one."""
    gates = pod.spec.scheduling_gates or []
    if len(gates) == 1:
        yield f"remove scheduling gate {gates[0].name}", with_spec(pod, scheduling_gates=None)


def with_priority(pod: Pod, priority: int) -> Pod:
    return with_spec(pod, priority=priority)


def suggest_tolerations(pod: Pod, nodes: Sequence[Node]) -> Iterator[Edit]:
    """Tolerate a taint that is all that keeps the pod off some node."""
    tolerations = list(pod.spec.tolerations or ())
    seen = set()
    for node in nodes:
        taints = find_untolerated_taints(
            node.spec.taints or (), tolerations, ("NoSchedule", "NoExecute"), comparison_operators=False
        )
        if len(taints) != 1:
            continue
        taint = taints[0]
        key = (taint.key, taint.value, taint.effect)
        if key in seen:
            continue
        seen.add(key)
        operator = "Equal" if taint.value else "Exists"
        toleration = Toleration(key=taint.key, operator=operator, value=taint.value or None, effect=taint.effect)
        yield f"add a toleration for {taint.text}", with_spec(pod, tolerations=[*tolerations, toleration])


def suggest_node_affinity(pod: Pod, nodes: Sequence[Node]) -> Iterator[Edit]:
    """Spell a label of the node selector as nodes have it, or drop it; drop one requirement of a single-term affinity,
    or all of it.
    """
    selector = pod.spec.node_selector or {}
    labels = {label for node in nodes for label in (node.metadata.labels or {}).items()} if selector else set()
    for key, value in selector.items():
        for meant in _labels_alike(key, value, labels):
            edited = dict(meant if name == key else (name, of_name) for name, of_name in selector.items())
            yield f"write node selector {'='.join(meant)}, not {key}={value}", with_spec(pod, node_selector=edited)
        rest = {k: v for k, v in selector.items() if k != key}
        yield f"drop node selector {key}={value}", with_spec(pod, node_selector=rest or None)
    affinity = pod.spec.affinity
    if affinity is None or affinity.node_affinity is None:
        return
    node_affinity = affinity.node_affinity
    required = node_affinity.required_during_scheduling_ignored_during_execution
    if required is None:
        return

    def with_required(changed: Any) -> Pod:
        inner = replace(node_affinity, required_during_scheduling_ignored_during_execution=changed)
        return with_spec(pod, affinity=replace(affinity, node_affinity=inner))

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


def _labels_alike(key: str, value: str, labels: Collection[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The label that a label may be a misspelling of which no node has: of another value, else of another key."""
    if (key, value) in labels:
        return
    values = sorted(of_name for name, of_name in labels if name == key)
    keys = sorted(name for name, of_name in labels if of_name == value)
    yield from [(key, near) for near in get_close_matches(value, values, 1, _ALIKE)] or [
        (near, value) for near in get_close_matches(key, keys, 1, _ALIKE)
    ]


def suggest_host_ports(pod: Pod) -> Iterator[Edit]:
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
                    with_spec(pod, containers=containers),
                )


def suggest_spread(pod: Pod) -> Iterator[Edit]:
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
                with_spec(pod, topology_spread_constraints=changed),
            )
        changed = [*constraints]
        changed[place] = replace(constraint, when_unsatisfiable="ScheduleAnyway")
        yield (
            f"spread over {constraint.topology_key} with whenUnsatisfiable: ScheduleAnyway",
            with_spec(pod, topology_spread_constraints=changed),
        )


def suggest_pod_affinity(pod: Pod) -> Iterator[Edit]:
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
                with_spec(pod, affinity=replace(affinity, **{attribute: inner})),
            )
