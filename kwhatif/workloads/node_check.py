"""Whether a daemon set wants a pod on a node: the controller's own check, before any scheduler looks.

Upstream: pkg/controller/daemon/daemon_controller.go (NodeShouldRunDaemonPod), and for the taints that mirror a
node's state pkg/controller/nodelifecycle/node_lifecycle_controller.go.
"""

from __future__ import annotations

from typing import NamedTuple

from kwhatif.admission.answer import Object
from kwhatif.api.core import PodSpec, Taint
from kwhatif.api.decode import convert
from kwhatif.api.selectors import RequiredNodeAffinity, untolerated
from kwhatif.versions import features_of
from kwhatif.workloads.daemon_tolerations import with_daemon_tolerations
from kwhatif.workloads.objects import labels_of, name_of, section

_PREFIX = "node.kubernetes.io/"
_BY_CONDITION = {
    ("Ready", "False"): "not-ready",
    ("Ready", "Unknown"): "unreachable",
    ("MemoryPressure", "True"): "memory-pressure",
    ("DiskPressure", "True"): "disk-pressure",
    ("NetworkUnavailable", "True"): "network-unavailable",
    ("PIDPressure", "True"): "pid-pressure",
}


class Wanted(NamedTuple):
    """Whether a pod should start on a node, and whether one that is there may stay."""

    run: bool
    stay: bool


class NodeCheck:
    """The rules of one daemon set's template, asked of many nodes."""

    def __init__(self, template: Object, *, comparison_operators: bool | None = None) -> None:
        spec = section(template, "spec")
        rules = {key: spec[key] for key in ("nodeName", "nodeSelector", "affinity") if spec.get(key)}
        rules["tolerations"] = with_daemon_tolerations(spec)
        self._rules = convert(rules, PodSpec)
        self._affinity = RequiredNodeAffinity.of(self._rules)
        if comparison_operators is None:
            comparison_operators = features_of().taint_toleration_comparison_operators
        self._operators = comparison_operators

    def __call__(self, node: Object) -> Wanted:
        if self._rules.node_name not in (None, "", name_of(node)):
            return Wanted(False, False)
        if not self._affinity.matches(labels_of(node), name_of(node)):
            return Wanted(False, False)
        taints = taints_of(node)
        if not self._untolerated(taints, "NoSchedule", "NoExecute"):
            return Wanted(True, True)
        return Wanted(False, not self._untolerated(taints, "NoExecute"))

    def _untolerated(self, taints: list[Taint], *effects: str) -> bool:
        tolerations = self._rules.tolerations or ()
        return bool(untolerated(taints, tolerations, effects, comparison_operators=self._operators))


def taints_of(node: Object) -> list[Taint]:
    """The taints of a node and those its state brings with it, should they be missing (as in a written snapshot)."""
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
