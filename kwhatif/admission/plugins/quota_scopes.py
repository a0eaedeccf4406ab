"""Whether a pod or a claim is in the scopes of a resource quota.

Upstream: pkg/quota/v1/evaluator/core (pods.go, persistent_volume_claims.go).
"""

from __future__ import annotations

from kwhatif.admission.container_amounts import amounts
from kwhatif.admission.object_store import known_kind
from kwhatif.admission.request import each
from kwhatif.admission.response import Object
from kwhatif.api.objects import section
from kwhatif.api.quantity import Quantity

_NOTHING = Quantity.from_units(0)


def in_scope(quota: Object, obj: Object) -> bool:
    """Whether an object is in all scopes of a quota. What is neither pod nor claim is in none."""
    spec = section(quota, "spec")
    wanted = [{"scopeName": name, "operator": "Exists"} for name in spec.get("scopes") or ()]
    wanted += each(spec.get("scopeSelector"), "matchExpressions")
    match known_kind(obj):
        case "Pod":
            return all(_pod_in(scope, section(obj, "spec")) for scope in wanted)
        case "PersistentVolumeClaim":
            return all(_claim_in(scope, obj) for scope in wanted)
    return not wanted


def best_effort(spec: Object) -> bool:
    """Whether a pod asks for no cpu and no memory at all, as a whole if it speaks of resources as a whole."""
    containers = [*each(spec, "containers"), *each(spec, "initContainers")]
    for owner in containers if spec.get("resources") is None else [spec]:
        for listed in section(owner, "resources").values():
            if isinstance(listed, dict):
                given = amounts({name: listed[name] for name in ("cpu", "memory") if name in listed})
                if any(amount > _NOTHING for amount in given.values()):
                    return False
    return True


def _pod_in(scope: Object, spec: Object) -> bool:
    match scope.get("scopeName"):
        case "Terminating":
            return _ends(spec)
        case "NotTerminating":
            return not _ends(spec)
        case "BestEffort":
            return best_effort(spec)
        case "NotBestEffort":
            return not best_effort(spec)
        case "PriorityClass":
            return _meets_operator(scope, {spec["priorityClassName"]} if spec.get("priorityClassName") else set())
        case "CrossNamespacePodAffinity":
            return any(term.get("namespaces") or term.get("namespaceSelector") is not None for term in _terms(spec))
    return False


def _claim_in(scope: Object, claim: Object) -> bool:
    if scope.get("scopeName") != "VolumeAttributesClass":
        return False
    spec, status = section(claim, "spec"), section(claim, "status")
    named = (
        spec.get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        section(status, "modifyVolumeStatus").get("targetVolumeAttributesClassName"),
    )
    return _meets_operator(scope, {name for name in named if name})


def _meets_operator(scope: Object, names: set[str]) -> bool:
    """Whether any of the names meets the scope's operator; without a name only the absent is met."""
    values = set(scope.get("values") or ())
    match scope.get("operator"):
        case "Exists":
            return bool(names)
        case "DoesNotExist":
            return not names
        case "In":
            return bool(names & values)
        case "NotIn":
            return not names or bool(names - values)
    return False


def _ends(spec: Object) -> bool:
    deadline = spec.get("activeDeadlineSeconds")
    return deadline is not None and deadline >= 0


def _terms(spec: Object) -> list[Object]:
    affinity = section(spec, "affinity")
    terms = []
    for kind in ("podAffinity", "podAntiAffinity"):
        terms += each(affinity.get(kind), "requiredDuringSchedulingIgnoredDuringExecution")
        weighted = each(affinity.get(kind), "preferredDuringSchedulingIgnoredDuringExecution")
        terms += [section(item, "podAffinityTerm") for item in weighted]
    return terms
