"""HorizontalPodAutoscaler, in v2 and in v1, whose CPU target becomes a metric.

Upstream: pkg/apis/autoscaling/validation/validation.go, pkg/apis/autoscaling/v2/defaults.go.
"""

from __future__ import annotations

from typing import Any

from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.request import Request, deep_copy_json, each
from kwhatif.admission.response import Object
from kwhatif.admission.validation.metadata import object_table
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.resources import check_container_resource_name, check_not_negative
from kwhatif.admission.validation.rows import table
from kwhatif.api.objects import part_of, section
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
    spec = section(obj, "spec")
    _SPEC(problems, obj)
    target = section(spec, "scaleTargetRef")
    core = target.get("kind") == "ReplicationController"
    _reference(problems, target, "spec.scaleTargetRef", needs_group=not core)
    least, metrics = spec.get("minReplicas"), each(spec, "metrics")
    percentage = spec.get("targetCPUUtilizationPercentage")
    if _first_version(obj):
        metrics = [] if percentage is None else [_on_cpu(percentage)]
    for i, metric in enumerate(metrics):
        _metric(problems, metric, f"spec.metrics[{i}]")
    if least == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
        why = "must specify at least one Object or External metric to support scaling to zero replicas"
        problems.forbidden("spec.metrics", why)
    _BEHAVIOR(problems, section(spec, "behavior"), "spec.behavior")


_SPEC = object_table(
    """
    spec.minReplicas        at_least 1
    spec.maxReplicas        required: must be set and greater than 0
    spec.maxReplicas        if_nonempty & at_least 1
    spec.maxReplicas        number & invalid if too_few: must be greater than or equal to `minReplicas`
    """,
    too_few=lambda obj: (part_of(obj, "spec").get("maxReplicas") or 0) < (part_of(obj, "spec").get("minReplicas") or 0),
)


def _first_version(obj: Object) -> bool:
    return obj.get("apiVersion") == "autoscaling/v1"


def _on_cpu(percentage: int) -> Object:
    metric: Object = deep_copy_json(_USUAL_METRIC)
    part_of(metric, "resource", "target")["averageUtilization"] = percentage
    return metric


def _reference(problems: Problems, reference: Object, path: str, *, needs_group: bool) -> None:
    _REFERENCE(problems, reference, path)
    version = reference.get("apiVersion") or ""
    if version.count("/") > 1:
        problems.invalid(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}")
    elif needs_group and not version.rpartition("/")[0]:
        problems.invalid(f"{path}.apiVersion", version, "apiVersion must specify API group")


_REFERENCE = table("""
    kind                     required & path_segment
    name                     required & path_segment
""")


def _metric(problems: Problems, metric: Object, path: str) -> None:
    kind = metric.get("type") or ""
    if not kind:
        problems.required(f"{path}.type", "must specify a metric source type")
    if kind not in _TYPES:
        problems.not_supported(f"{path}.type", kind, sorted(_TYPES))
    present = [source for source in _SOURCES if metric.get(source) is not None]
    if present:
        _SOURCE[present[0]](problems, metric[present[0]], f"{path}.{present[0]}")
    expected = _TYPES.get(kind)
    if expected is None:
        problems.not_supported(f"{path}.type", kind, sorted(_TYPES))
    elif metric.get(expected) is None:
        problems.required(f"{path}.{expected}", "must populate information for the given metric source")
    if len(present) != 1:
        for source in sorted(set(present) - {expected}):
            problems.forbidden(f"{path}.{source}", "must populate the given metric source only")


def _check_described(problems: Problems, reference: Object, path: str) -> None:
    _reference(problems, reference, path, needs_group=False)


def _positive(problems: Problems, value: Any, path: str) -> None:
    if Quantity.from_json(value) <= Quantity.from_units(0):
        problems.invalid(path, str(Quantity.from_json(value)), "must be positive")


_TARGET = """
    target.type                  required: must specify a metric target type
    target.type                  text & not no_type: must be either Utilization, Value, or AverageValue
    target.value                 _positive
    target.averageValue          _positive
    target.averageUtilization    at_least 1: must be greater than 0
"""
_METRIC = f"""
    metric.name                  required: must specify a metric name
    metric.name                  if_nonempty & path_segment
    {_TARGET}"""
_RESOURCE = f"""
    {_TARGET}
    target.averageUtilization    missing unless target.averageUtilization? or target.averageValue?:
            must set either a target raw value or a target utilization
    target.averageValue          forbidden if target.averageUtilization?:
            may not set both a target raw value and a target utilization
"""
_ROWS = {
    "object": f"""
    describedObject              part & _check_described
    {_METRIC}
    target.averageValue          missing unless target.value? or target.averageValue?:
            must set either a target value or averageValue
    """,
    "external": f"""
    {_METRIC}
    target.averageValue          missing unless target.value? or target.averageValue?:
            must set either a target value for metric or a per-pod target
    target.value                 forbidden if target.averageValue?:
            may not set both a target value for metric and a per-pod target
    """,
    "pods": f"""
    {_METRIC}
    target.averageValue          present: must specify a positive target averageValue
    """,
    "resource": f"""
    name                         required: must specify a resource name
    {_RESOURCE}
    """,
    "containerResource": f"""
    name                         required: must specify a resource name
    name                         if_nonempty & check_container_resource_name
    container                    required: must specify a container
    container                    if_nonempty & dns_label
    {_RESOURCE}
    """,
}
_SOURCE = {
    name: table(
        rows,
        *(_check_described, _positive, check_container_resource_name),
        no_type=lambda kind: kind not in ("Utilization", "Value", "AverageValue"),
    )
    for name, rows in _ROWS.items()
}
_DIRECTION = table(
    f"""
    stabilizationWindowSeconds   at_least 0: must be greater than or equal to zero
    stabilizationWindowSeconds   at_most {_LONGEST_WINDOW}
    selectPolicy                 one_of Disabled Max Min
    policies                     required: must specify at least one Policy
    policies[].type              text & one_of Percent Pods
    policies[].value             number & at_least 1: must be greater than zero
    policies[].periodSeconds     number & at_least 1: must be greater than zero
    policies[].periodSeconds     at_most {_LONGEST_PERIOD}
    tolerance                    check_not_negative
    """,
    check_not_negative,
)
_BEHAVIOR = table(
    """
    scaleUp                      direction
    scaleDown                    direction
    """,
    direction=_DIRECTION,
)


STRATEGIES = {"HorizontalPodAutoscaler": Strategy(defaults=_defaults, check=_check)}
