"""Patches of workloads and VerticalPodAutoscalers as edits: the output of ``rightsize --write`` for Kustomize
and VPA.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kwhatif.api.kinds import TEMPLATES
from kwhatif.api.objects import section
from kwhatif.errors import InputError

AUTOSCALER = "VerticalPodAutoscaler"
COMPONENT = "Component"

Plain = dict[str, Any]


def is_patch(kind: str) -> bool:
    """Whether a document of this kind sets the resources of containers, or lists those that do."""
    return kind in TEMPLATES or kind in (AUTOSCALER, COMPONENT)


def edits_of_patch(value: Mapping[str, Any], kind: str) -> list[Plain]:
    """The edit of a document, as plain values; a component of Kustomize has none.

    Raises InputError for a workload without resources, and for an autoscaler without exact values.
    """
    if kind == COMPONENT:
        return []
    metadata = section(value, "metadata")
    if kind == AUTOSCALER:
        target, containers = section(value, "spec", "targetRef"), _read_policy(value)
        kind, name = str(target.get("kind") or ""), str(target.get("name") or "")
    else:
        containers, name = _read_patch(value, kind), str(metadata.get("name") or "")
    namespace = str(metadata.get("namespace") or "default")
    workload = {"kind": kind, "name": name, "namespace": namespace, "containers": containers}
    return [{"setResources": {"workloads": [workload]}}]


def _read_patch(value: Mapping[str, Any], kind: str) -> Plain:
    part: Any = value
    for step in (*TEMPLATES[kind], "template", "spec"):
        part = part.get(step) if isinstance(part, Mapping) else None
    patch: Plain = {}
    for field in ("containers", "initContainers"):
        for container in (part.get(field) or ()) if isinstance(part, Mapping) else ():
            resources = container.get("resources") if isinstance(container, Mapping) else None
            if resources:
                patch[str(container.get("name"))] = {
                    side: resources[side] for side in ("requests", "limits") if resources.get(side)
                }
    if not patch:
        raise InputError("expected resources of containers, found none", place="$.spec")
    return patch


def _read_policy(value: Mapping[str, Any]) -> Plain:
    policies = section(value, "spec", "resourcePolicy").get("containerPolicies") or ()
    document: Plain = {}
    for number, policy in enumerate(policies):
        least, most = policy.get("minAllowed"), policy.get("maxAllowed")
        if not least or least != most:
            problem = "expected minAllowed and maxAllowed alike, as kwhatif rightsize writes them"
            raise InputError(problem, place=f"$.spec.resourcePolicy.containerPolicies[{number}]")
        document[str(policy.get("containerName"))] = {"requests": least}
    if not document:
        raise InputError("expected containerPolicies, found none", place="$.spec.resourcePolicy")
    return document
