"""HorizontalPodAutoscaler, in v2 and in v1, whose CPU target becomes a metric.

Upstream: pkg/apis/autoscaling/validation/validation.go, pkg/apis/autoscaling/v2/defaults.go.
"""

from __future__ import annotations

from typing import Any

from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.request import Request, deep_copy_json, each
from kwhatif.admission.response import Object
from kwhatif.admission.validation.field_rules import check_choice, check_name_in_path, dns_label, path_segment
from kwhatif.admission.validation.metadata import check_metadata
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.resources import check_container_resource_name
from kwhatif.api.quantity import Quantity

_USUAL_METRIC = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization"}}}
_USUAL_PERCENTAGE = 80
_RULES: dict[str, Object] = {
    "scaleUp": {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [
            {"type": "Pods", "value": 4, "periodSeconds": 15},
            {"type": "Percent", "value": 100, "periodSeconds": 15},
        ],
    },
    "scaleDown": {"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]},
}
_LONGEST_WINDOW, _LONGEST_PERIOD = 3600, 1800
# Upstream looks at them in this order, and only at what is in the first one that it finds.
_SOURCES = ("object", "external", "pods", "resource", "containerResource")
_TYPES = {source[0].upper() + source[1:]: source for source in _SOURCES}
_EITHER_USE = "must set either a target raw value or a target utilization"
_NOT_BOTH_USES = "may not set both a target raw value and a target utilization"
_POSITIVE = ("value", "averageValue")


def _defaults(request: Request, spec: Object) -> None:
    if spec.get("minReplicas") is None:
        spec["minReplicas"] = 1
    if _first_version(request.object):
        return
    if not each(spec, "metrics"):
        spec["metrics"] = [_on_cpu(_USUAL_PERCENTAGE)]
    behavior = spec.get("behavior")
    if behavior is None:
        return
    for direction, usual in _RULES.items():
        given = {key: value for key, value in (behavior.get(direction) or {}).items() if value is not None}
        behavior[direction] = {**deep_copy_json(usual), **given}


def _check(problems: Problems, obj: Object) -> None:
    spec = obj.get("spec") or {}
    check_metadata(problems, obj)
    least, most = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    if least is not None and least < 1:
        problems.invalid("spec.minReplicas", least, "must be greater than or equal to 1")
    if most == 0:
        problems.required("spec.maxReplicas", "must be set and greater than 0")
    elif most < 0:
        problems.invalid("spec.maxReplicas", most, "must be greater than or equal to 1")
    if least is not None and most < least:
        problems.invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
    target = spec.get("scaleTargetRef") or {}
    core = target.get("kind") == "ReplicationController"
    _reference(problems, target, "spec.scaleTargetRef", needs_group=not core)
    metrics = each(spec, "metrics")
    percentage = spec.get("targetCPUUtilizationPercentage")
    if _first_version(obj):
        metrics = [] if percentage is None else [_on_cpu(percentage)]
    for i, metric in enumerate(metrics):
        _metric(problems, metric, f"spec.metrics[{i}]")
    if least == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
        why = "must specify at least one Object or External metric to support scaling to zero replicas"
        problems.forbidden("spec.metrics", why)
    for direction in _RULES:
        rules = (spec.get("behavior") or {}).get(direction)
        if rules is not None:
            _rules(problems, rules, f"spec.behavior.{direction}")


def _first_version(obj: Object) -> bool:
    return obj.get("apiVersion") == "autoscaling/v1"


def _on_cpu(percentage: int) -> Object:
    metric: Object = deep_copy_json(_USUAL_METRIC)
    metric["resource"]["target"]["averageUtilization"] = percentage
    return metric


def _reference(problems: Problems, reference: Object, path: str, *, needs_group: bool) -> None:
    check_name_in_path(problems, reference, "kind", path)
    check_name_in_path(problems, reference, "name", path)
    version = reference.get("apiVersion") or ""
    if version.count("/") > 1:
        problems.invalid(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}")
    elif needs_group and not version.rpartition("/")[0]:
        problems.invalid(f"{path}.apiVersion", version, "apiVersion must specify API group")


def _metric(problems: Problems, metric: Object, path: str) -> None:
    kind = metric.get("type") or ""
    if not kind:
        problems.required(f"{path}.type", "must specify a metric source type")
    if kind not in _TYPES:
        problems.unsupported(f"{path}.type", kind, sorted(_TYPES))
    present = [source for source in _SOURCES if metric.get(source) is not None]
    if present:
        _source(problems, present[0], metric[present[0]], f"{path}.{present[0]}")
    expected = _TYPES.get(kind)
    if expected is None:
        problems.unsupported(f"{path}.type", kind, sorted(_TYPES))
    elif metric.get(expected) is None:
        problems.required(f"{path}.{expected}", "must populate information for the given metric source")
    if len(present) != 1:
        for source in sorted(set(present) - {expected}):
            problems.forbidden(f"{path}.{source}", "must populate the given metric source only")


def _source(problems: Problems, name: str, source: Object, path: str) -> None:
    if name == "object":
        _reference(problems, source.get("describedObject") or {}, f"{path}.describedObject", needs_group=False)
    if name in ("resource", "containerResource"):
        resource = source.get("name") or ""
        if not resource:
            problems.required(f"{path}.name", "must specify a resource name")
        elif name == "containerResource":
            check_container_resource_name(problems, resource, f"{path}.name")
    else:
        _identifier(problems, source.get("metric") or {}, f"{path}.metric")
    if name == "containerResource":
        container = source.get("container") or ""
        if not container:
            problems.required(f"{path}.container", "must specify a container")
        else:
            problems.invalid(f"{path}.container", container, *dns_label(container))
    target = source.get("target") or {}
    _target(problems, target, f"{path}.target")
    whole, average, used = (target.get(key) for key in ("value", "averageValue", "averageUtilization"))
    match name:
        case "object" if whole is None and average is None:
            problems.required(f"{path}.target.averageValue", "must set either a target value or averageValue")
        case "external" if whole is None and average is None:
            why = "must set either a target value for metric or a per-pod target"
            problems.required(f"{path}.target.averageValue", why)
        case "external" if whole is not None and average is not None:
            why = "may not set both a target value for metric and a per-pod target"
            problems.forbidden(f"{path}.target.value", why)
        case "pods" if average is None:
            problems.required(f"{path}.target.averageValue", "must specify a positive target averageValue")
        case "resource" | "containerResource" if used is None and average is None:
            problems.required(f"{path}.target.averageUtilization", _EITHER_USE)
        case "resource" | "containerResource" if used is not None and average is not None:
            problems.forbidden(f"{path}.target.averageValue", _NOT_BOTH_USES)


def _identifier(problems: Problems, metric: Object, path: str) -> None:
    name = metric.get("name") or ""
    if not name:
        problems.required(f"{path}.name", "must specify a metric name")
    else:
        problems.invalid(f"{path}.name", name, *path_segment(name))


def _target(problems: Problems, target: Object, path: str) -> None:
    kind = target.get("type") or ""
    if not kind:
        problems.required(f"{path}.type", "must specify a metric target type")
    if kind not in ("Utilization", "Value", "AverageValue"):
        problems.invalid(f"{path}.type", kind, "must be either Utilization, Value, or AverageValue")
    for key in _POSITIVE:
        if target.get(key) is not None and _amount(target[key]) <= Quantity.from_units(0):
            problems.invalid(f"{path}.{key}", str(_amount(target[key])), "must be positive")
    used = target.get("averageUtilization")
    if used is not None and used < 1:
        problems.invalid(f"{path}.averageUtilization", used, "must be greater than 0")


def _rules(problems: Problems, rules: Object, path: str) -> None:
    window, where = rules.get("stabilizationWindowSeconds"), f"{path}.stabilizationWindowSeconds"
    if window is not None and window < 0:
        problems.invalid(where, window, "must be greater than or equal to zero")
    if window is not None and window > _LONGEST_WINDOW:
        problems.invalid(where, window, f"must be less than or equal to {_LONGEST_WINDOW}")
    check_choice(problems, rules.get("selectPolicy"), f"{path}.selectPolicy", ("Disabled", "Max", "Min"))
    policies = each(rules, "policies")
    if not policies:
        problems.required(f"{path}.policies", "must specify at least one Policy")
    for i, policy in enumerate(policies):
        where = f"{path}.policies[{i}]"
        check_choice(problems, policy.get("type") or "", f"{where}.type", ("Percent", "Pods"))
        for key in ("value", "periodSeconds"):
            if (policy.get(key) or 0) <= 0:
                problems.invalid(f"{where}.{key}", policy.get(key) or 0, "must be greater than zero")
        if (policy.get("periodSeconds") or 0) > _LONGEST_PERIOD:
            why = f"must be less than or equal to {_LONGEST_PERIOD}"
            problems.invalid(f"{where}.periodSeconds", policy["periodSeconds"], why)
    if rules.get("tolerance") is not None and _amount(rules["tolerance"]) < Quantity.from_units(0):
        why = "must be greater than or equal to 0"
        problems.invalid(f"{path}.tolerance", str(_amount(rules["tolerance"])), why)


def _amount(value: Any) -> Quantity:
    return Quantity.from_json(value)


STRATEGIES = {"HorizontalPodAutoscaler": Strategy(defaults=_defaults, check=_check)}
