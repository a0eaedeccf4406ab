"""Node, and warnings about deprecated node labels in selectors.

Upstream: pkg/apis/core/validation/validation.go, pkg/apis/core/v1/defaults.go, pkg/registry/core/node/strategy.go,
pkg/api/node/util.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.admission.container_amounts import amounts
from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.request import Request, each
from kwhatif.admission.response import Object
from kwhatif.admission.validation.addresses import network_rules, network_warnings, read_network
from kwhatif.admission.validation.field_rules import check_label_key, label_value
from kwhatif.admission.validation.metadata import check_metadata
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.resources import check_quantity
from kwhatif.api.objects import part_of, section

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def _defaults(request: Request, spec: Object) -> None:
    """The first of a node's networks has a field of its own."""
    first = spec.get("podCIDR")
    if first and (spec.get("podCIDRs") or [""])[0] != first:
        spec["podCIDRs"] = [first]


def _check(problems: Problems, obj: Object) -> None:
    check_metadata(problems, obj)
    spec, status = part_of(obj, "spec"), section(obj, "status")
    check_taints(problems, each(spec, "taints"), "metadata.taints")
    for key in ("capacity", "allocatable"):
        for name, amount in sorted(amounts(status.get(key)).items()):
            check_quantity(problems, name, amount, f"status.{key}.{name}")
    networks = spec.get("podCIDRs") or []
    for i, text in enumerate(networks):
        problems.invalid(f"spec.podCIDRs[{i}]", text, *network_rules(text, problems.features))
    if len(networks) > 1:
        families = {network[0].version for network in map(read_network, networks) if network is not None}
        if len(networks) > 2 or len(families) < 2:
            problems.invalid("spec.podCIDRs", networks, "may specify no more than one CIDR for each IP family")


def check_taints(problems: Problems, taints: list[Object], path: str) -> None:
    seen: set[tuple[str, str]] = set()
    for i, taint in enumerate(taints):
        where = f"{path}[{i}]"
        key, value, effect = (taint.get(part) or "" for part in ("key", "value", "effect"))
        check_label_key(problems, key, f"{where}.key")
        wrong = label_value(value)
        problems.invalid(f"{where}.value", value, *([";".join(wrong)] if wrong else []))
        if not effect:
            problems.required(f"{where}.effect")
        elif effect not in _EFFECTS:
            problems.not_supported(f"{where}.effect", effect, _EFFECTS)
        if (key, effect) in seen:
            problems.duplicate(where, taint, "taints must be unique by key and effect pair")
        seen.add((key, effect))


def _warnings(obj: Object, old: Object | None) -> Iterator[str]:
    spec = section(obj, "spec")
    if spec.get("configSource") is not None:
        yield "spec.configSource: the feature is removed"
    if spec.get("externalID"):
        yield "spec.externalID: this field is deprecated, and is unused by Kubernetes"
    for i, text in enumerate(spec.get("podCIDRs") or ()):
        yield from network_warnings(f"spec.podCIDRs[{i}]", text)


STRATEGIES = {"Node": Strategy(_defaults, _check, warnings=_warnings)}


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
"""Label -> the API server's warning about it."""


def term_warnings(term: Object, path: str, *, values: bool = False) -> Iterator[str]:
    """Of a node selector term; with ``values`` also of those that no label can have."""
    for i, expression in enumerate(each(term, "matchExpressions")):
        key, where = expression.get("key") or "", f"{path}.matchExpressions[{i}]"
        if key in DEPRECATED_LABELS:
            yield f"{where}.key: {key} is {DEPRECATED_LABELS[key]}"
        for k, value in enumerate(expression.get("values") or () if values else ()):
            yield from (f"{where}.values[{k}]: {value} is invalid, {why}" for why in label_value(value))
