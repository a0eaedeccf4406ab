"""Labels of nodes that have newer names, and where selectors still use them.

Upstream: pkg/api/node/util.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.admission.answer import Object
from kwhatif.admission.request import each
from kwhatif.admission.validation.name_rules import label_value

DEPRECATED_LABELS = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
"""Key -> what the server says of it."""


def term_warnings(term: Object, path: str, *, values: bool = False) -> Iterator[str]:
    """Of a node selector term; with ``values`` also of those that no label can have."""
    for i, expression in enumerate(each(term, "matchExpressions")):
        key, where = expression.get("key") or "", f"{path}.matchExpressions[{i}]"
        if key in DEPRECATED_LABELS:
            yield f"{where}.key: {key} is {DEPRECATED_LABELS[key]}"
        for k, value in enumerate(expression.get("values") or () if values else ()):
            yield from (f"{where}.values[{k}]: {value} is invalid, {why}" for why in label_value(value))
