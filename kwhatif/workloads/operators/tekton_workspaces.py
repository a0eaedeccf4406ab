"""Workspaces of Tekton runs: their claims, and the affinity assistants that keep tasks sharing a claim on one node.

The default ``coschedule: workspaces`` is assumed. Upstream: tektoncd/pipeline,
pkg/reconciler/pipelinerun/affinity_assistant.go, pkg/reconciler/volumeclaim/pvchandler.go,
pkg/pod/affinity_assistant_transformer.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256

from kwhatif.admission.response import Object
from kwhatif.api.objects import part_of, section
from kwhatif.workloads.objects import deep_copy_json, name_of, uid_of
from kwhatif.workloads.operators.operator_kind import claim_of, items_of, resources, some_fields
from kwhatif.workloads.workload_kind import child

_INSTANCE, _COMPONENT = "app.kubernetes.io/instance", "app.kubernetes.io/component"
_ASSISTANT = "affinity-assistant"
_HOSTNAME = "kubernetes.io/hostname"


def claimed_workspaces(run: Object) -> dict[str, str]:
    """Workspaces of a run that use a claim -> the name of the claim."""
    claims = {}
    for workspace in items_of(run, "spec", "workspaces"):
        name, template = str(workspace.get("name")), section(workspace, "volumeClaimTemplate")
        claim = str(section(workspace, "persistentVolumeClaim").get("claimName") or "")
        if template:
            claim = f"{name_of(template) or 'pvc'}-{_digest(name, uid_of(run))}"
        if claim:
            claims[name] = claim
    return claims


def workspace_claims(run: Object) -> Iterator[Object]:
    """The claims created for the workspaces of a run."""
    names = claimed_workspaces(run)
    for workspace in items_of(run, "spec", "workspaces"):
        if template := section(workspace, "volumeClaimTemplate"):
            yield claim_of(run, names[str(workspace.get("name"))], section(template, "spec"))


def assistants_of(run: Object, pod_template: Object) -> Iterator[Object]:
    """The affinity assistants: a StatefulSet with one pod for each claim, with anti-affinity to each other."""
    for workspace, claim in claimed_workspaces(run).items():
        name = _assistant_of(run, workspace)
        labels = {_INSTANCE: name, _COMPONENT: _ASSISTANT, "tekton.dev/pipelineRun": name_of(run)}
        term = {"labelSelector": {"matchLabels": {_COMPONENT: _ASSISTANT}}, "topologyKey": _HOSTNAME}
        apart = [{"weight": 100, "podAffinityTerm": term}]
        body: Object = {
            "containers": [{"name": _ASSISTANT, "image": "tekton-nop", "resources": resources("100m", "100Mi")}],
            **some_fields(pod_template, "tolerations", "nodeSelector"),
            "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": apart}},
            "volumes": [{"name": "workspace", "persistentVolumeClaim": {"claimName": claim}}],
        }
        spec = {
            "replicas": 1,
            "serviceName": name,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": body},
        }
        yield child(run, "apps/v1", "StatefulSet", name, deep_copy_json(spec), {"labels": labels})


def mount_workspaces(pod: Object, used: Iterable[str], claims: Mapping[str, str]) -> None:
    """Add volumes for the claims of the workspaces that a pod uses."""
    volumes = [
        {"name": f"ws-{name}", "persistentVolumeClaim": {"claimName": claims[name]}}
        for name in dict.fromkeys(used)
        if name in claims
    ]
    if volumes:
        part_of(pod, "spec")["volumes"] = [*(part_of(pod, "spec").get("volumes") or ()), *volumes]


def follow_assistant(pod: Object, run: Object, used: Iterable[str]) -> None:
    """Replace the affinity of a pod by one to the affinity assistant of its workspace."""
    claims = claimed_workspaces(run)
    workspace = next((name for name in used if name in claims), None)
    if workspace is None:
        return
    labels = {_INSTANCE: _assistant_of(run, workspace), _COMPONENT: _ASSISTANT}
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": _HOSTNAME}
    part_of(pod, "spec")["affinity"] = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _assistant_of(run: Object, workspace: str) -> str:
    return f"{_ASSISTANT}-{_digest(workspace, name_of(run))}"


def _digest(workspace: str, owner: str) -> str:
    return sha256(f"{workspace}{owner}".encode()).hexdigest()[:10]
