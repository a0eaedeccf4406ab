"""Writes advice as strategic merge patches or VerticalPodAutoscalers, and as edits of the cluster."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from kwhatif.api.kinds import TEMPLATES, kind_named
from kwhatif.commands.rightsize.advice import Advice, format_quantity
from kwhatif.commands.rightsize.options import PATCHES
from kwhatif.commands.rightsize.result import Rescaled
from kwhatif.errors import UsageError
from kwhatif.policy.render import yaml_text
from kwhatif.simulation.edits.document import KIND as EDITS
from kwhatif.snapshot.format.atomic_files import draft_of, make_directory
from kwhatif.snapshot.format.model import API_VERSION

_NO_FILE = re.compile(r"[^a-zA-Z0-9.-]")
EDITS_FILE, KUSTOMIZATION = "edits.yaml", "kustomization.yaml"


def write_advice(
    folder: str, form: str, advice: Mapping[str, Sequence[Advice]], scalings: Sequence[Rescaled]
) -> list[str]:
    """Write one file a workload below ``folder/patches`` (or ``vpa``), a component of Kustomize that lists them, and
    ``edits.yaml`` for ``--edits``.

    A pod without a controller can only be resized, so it is among the edits alone. Returns the paths. Raises UsageError
    where nothing can be written.
    """
    files: dict[str, Any] = {}
    for name, mine in advice.items():
        kind, namespace, workload = name.split("/", 2)
        if kind in TEMPLATES:
            path = f"{form}/{_NO_FILE.sub('_', f'{kind.lower()}-{namespace}-{workload}')}.yaml"
            files[path] = (
                _patch(kind, namespace, workload, mine) if form == PATCHES else _vpa(kind, namespace, workload, mine)
            )
    listed = sorted(os.path.basename(path) for path in files)
    component: dict[str, Any] = {"apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component"}
    component |= {"patches": [{"path": path} for path in listed]} if form == PATCHES else {"resources": listed}
    files[f"{form}/{KUSTOMIZATION}"] = component
    files[EDITS_FILE] = {"apiVersion": API_VERSION, "kind": EDITS, "edits": _edits(advice, scalings)}
    try:
        make_directory(os.path.join(folder, form))
        for path, value in sorted(files.items()):
            with draft_of(os.path.join(folder, path)) as file:
                file.write(yaml_text(value).encode())
    except OSError as error:
        raise UsageError(f"--write {folder}: cannot be written: {error.strerror or error}") from None
    return [os.path.join(folder, path) for path in sorted(files)]


def _containers(advice: Sequence[Advice]) -> dict[str, dict[str, dict[str, str]]]:
    """Container -> ``requests`` and ``limits`` as they would be."""
    containers: dict[str, dict[str, dict[str, str]]] = {}
    for sizing in advice:
        resources = containers.setdefault(sizing.container, {})
        resources.setdefault("requests", {})[sizing.resource] = format_quantity(sizing.resource, sizing.advised)
        if sizing.new_limit is not None:
            resources.setdefault("limits", {})[sizing.resource] = format_quantity(sizing.resource, sizing.new_limit)
    return containers


def _patch(kind: str, namespace: str, name: str, advice: Sequence[Advice]) -> dict[str, Any]:
    """A strategic merge patch: containers are merged by their names."""
    sidecars = {sizing.container for sizing in advice} - {
        container.name for container in advice[0].workload.pods[0].spec.containers or ()
    }
    fields: dict[str, list[dict[str, Any]]] = {}
    for container, resources in _containers(advice).items():
        field = "initContainers" if container in sidecars else "containers"
        fields.setdefault(field, []).append({"name": container, "resources": resources})
    value: Any = {"template": {"spec": fields}}
    for step in reversed(TEMPLATES[kind]):
        value = {step: value}
    return {
        "apiVersion": kind_named(kind).api_version(),
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
        **value,
    }


def _vpa(kind: str, namespace: str, name: str, advice: Sequence[Advice]) -> dict[str, Any]:
    """A VerticalPodAutoscaler that lets nothing but the advice be recommended."""
    policies = []
    for container, resources in _containers(advice).items():
        requests = resources["requests"]
        policies.append(
            {
                "containerName": container,
                "controlledResources": sorted(requests),
                "minAllowed": requests,
                "maxAllowed": requests,
                "controlledValues": "RequestsAndLimits" if "limits" in resources else "RequestsOnly",
            }
        )
    target = {"apiVersion": kind_named(kind).api_version(), "kind": kind, "name": name}
    return {
        "apiVersion": "autoscaling.k8s.io/v1",
        "kind": "VerticalPodAutoscaler",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "targetRef": target,
            "updatePolicy": {"updateMode": "Initial"},
            "resourcePolicy": {"containerPolicies": policies},
        },
    }


def _edits(advice: Mapping[str, Sequence[Advice]], scalings: Sequence[Rescaled]) -> list[dict[str, Any]]:
    """The same as a ClusterEdits document has it, with the replicas that autoscalers make of it."""
    workloads = []
    for workload, mine in sorted(advice.items()):
        kind, namespace, name = workload.split("/", 2)
        workloads.append({"kind": kind, "namespace": namespace, "name": name, "containers": _containers(mine)})
    edits: list[dict[str, Any]] = [{"setResources": {"workloads": workloads}}] if workloads else []
    for scaling in scalings:
        kind, namespace, name = scaling.workload.split("/", 2)
        edits.append({"scale": {"kind": kind, "namespace": namespace, "name": name, "replicas": scaling.then}})
    return edits
