"""Argo Rollouts, OpenShift's DeploymentConfigs and Knative Services, which deploy as Deployments do.

Upstream: argoproj/argo-rollouts, rollout/replicaset.go, utils/replicaset; openshift/openshift-controller-manager,
pkg/apps/deploymentconfig; knative/serving, pkg/reconciler/revision/resources/{deploy,queue}.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.admission.response import Doubt, Object
from kwhatif.api.field_types import check_part
from kwhatif.api.objects import section
from kwhatif.errors import InputError
from kwhatif.golang.parsing import parse_int
from kwhatif.workloads.object_creation import template_hash
from kwhatif.workloads.objects import annotations_of, deep_copy_json, integer, name_of, namespace_of
from kwhatif.workloads.operators.operator_kind import items_of, size_of
from kwhatif.workloads.pod_sets import with_metadata
from kwhatif.workloads.workload_kind import Companions, UpdateOrder, child

_ROLLOUT_HASH = "rollouts-pod-template-hash"
_ANALYSES = ("prePromotionAnalysis", "postPromotionAnalysis", "autoPromotionSeconds")
_SERVING = "serving.knative.dev"
_SCALING = "autoscaling.knative.dev"


def rollout_children(rollout: Object, companions: Companions) -> Iterator[Object]:
    """The ReplicaSet of a Rollout's template, or of the template of the Deployment that it refers to."""
    template = _template_of(rollout, companions)
    if not template or section(rollout, "spec").get("paused"):
        return
    check_part(template, "core.v1.PodTemplateSpec", "$.spec.template")
    count = section(rollout, "spec").get("replicas")
    check_part(count, "int32", "$.spec.replicas")
    hash_ = template_hash(template)
    whole = with_metadata(template, {_ROLLOUT_HASH: hash_}, {})
    labels = section(whole, "metadata", "labels")
    label_selector = section(rollout, "spec", "selector")
    selector = {
        **label_selector,
        "matchLabels": {**(label_selector.get("matchLabels") or labels), _ROLLOUT_HASH: hash_},
    }
    spec = {"replicas": size_of(rollout, count, 1, "$.spec.replicas"), "selector": selector, "template": whole}
    yield child(rollout, "apps/v1", "ReplicaSet", f"{name_of(rollout)}-{hash_}", spec, {"labels": labels})


def _template_of(rollout: Object, companions: Companions) -> Object:
    spec = section(rollout, "spec")
    reference = section(spec, "workloadRef")
    if not reference:
        template = section(spec, "template")
        if not template:
            raise InputError(f"Rollout {name_of(rollout)} has no pod template here", place="$.spec.template")
        return template
    group = str(reference.get("apiVersion") or "").rpartition("/")[0]
    kind, name = str(reference.get("kind") or ""), str(reference.get("name") or "")
    return section(companions.find(group, kind, namespace_of(rollout), name) or {}, "spec", "template")


def rollout_doubts(rollout: Object, companions: Companions) -> Iterator[Doubt]:
    if not _template_of(rollout, companions):
        reference = section(rollout, "spec", "workloadRef")
        what = f"{reference.get('kind')} {reference.get('name')} is not among the manifests"
        yield Doubt(what, f"the pods of Rollout {name_of(rollout)} are missing: their template is in there")
    canary = section(rollout, "spec", "strategy", "canary")
    blue_green = section(rollout, "spec", "strategy", "blueGreen")
    waits = ("pause", "analysis", "experiment")
    if any(step.get(wait) is not None for step in items_of(canary, "steps") for wait in waits):
        what = f"the steps of Rollout {name_of(rollout)} wait for time, for people or for measurements"
        yield Doubt(what, "they are taken to go on, and to go well")
    elif blue_green.get("autoPromotionEnabled") is False or any(map(blue_green.get, _ANALYSES)):
        what = f"the new version of Rollout {name_of(rollout)} is promoted by people or by measurements"
        yield Doubt(what, "it is taken to be promoted; until then both versions have all their pods")


def rollout_update_doubts(rollout: Object, companions: Companions) -> Iterator[Doubt]:
    strategy = section(rollout, "spec", "strategy")
    if section(strategy, "canary", "antiAffinity") or section(strategy, "blueGreen", "antiAffinity"):
        what = f"the antiAffinity of Rollout {name_of(rollout)} keeps new pods from nodes of the version before"
        yield Doubt(what, "it is not taken into account")


def rollout_update(rollout: Object) -> UpdateOrder:
    """A canary goes by its steps; of blue and green, all of the one come before the other goes."""
    return UpdateOrder.new_first if "blueGreen" in section(rollout, "spec", "strategy") else UpdateOrder.canary


def deployment_config_update(config: Object) -> UpdateOrder:
    """A deployer rolls by shares, of a quarter by default; that all come first is an upper bound."""
    recreates = section(config, "spec", "strategy").get("type") == "Recreate"
    return UpdateOrder.recreate if recreates else UpdateOrder.new_first


def deployment_config_children(config: Object, companions: Companions) -> Iterator[Object]:
    """The ReplicationController of the first version of a DeploymentConfig."""
    spec = section(config, "spec")
    template = section(spec, "template")
    if not template:
        raise InputError(f"DeploymentConfig {name_of(config)} has no pod template here", place="$.spec.template")
    check_part(template, "core.v1.PodTemplateSpec", "$.spec.template")
    check_part(spec.get("replicas"), "int32", "$.spec.replicas")
    if spec.get("paused"):
        return
    version = integer(section(config, "status").get("latestVersion"), 1) or 1
    name = f"{name_of(config)}-{version}"
    labels = {"deployment": name, "deploymentconfig": name_of(config)}
    notes = {
        "openshift.io/deployment.name": name,
        "openshift.io/deployment-config.name": name_of(config),
        "openshift.io/deployment-config.latest-version": str(version),
    }
    whole = with_metadata(template, labels, notes)
    selector = {**(spec.get("selector") or section(template, "metadata", "labels")), **labels}
    size = size_of(config, spec.get("replicas"), 0, "$.spec.replicas")
    yield child(
        config, "v1", "ReplicationController", name, {"replicas": size, "selector": selector, "template": whole}
    )


# --- Knative


def knative_children(service: Object, companions: Companions) -> Iterator[Object]:
    """The Deployment of the first revision of a Knative Service, with as many pods as it starts with."""
    template = section(service, "spec", "template")
    check_part(section(template, "spec").get("containers"), "[]core.v1.Container", "$.spec.template.spec.containers")
    if not items_of(template, "spec", "containers"):
        raise InputError(f"Service {name_of(service)} has no pod template here", place="$.spec.template")
    revision = name_of(template) or f"{name_of(service)}-00001"
    labels = {
        "app": revision,
        f"{_SERVING}/configuration": name_of(service),
        f"{_SERVING}/configurationGeneration": "1",
        f"{_SERVING}/revision": revision,
        f"{_SERVING}/service": name_of(service),
    }
    spec = deep_copy_json(section(template, "spec"))
    for key in ("containerConcurrency", "timeoutSeconds", "idleTimeoutSeconds", "responseStartTimeoutSeconds"):
        spec.pop(key, None)
    containers = items_of(spec, "containers")
    for place, container in enumerate(containers):
        container.setdefault("name", "user-container" if len(containers) == 1 else f"user-container-{place}")
    queue = {"name": "queue-proxy", "image": "gcr.io/knative-releases/knative.dev/serving/cmd/queue"}
    spec["containers"] = [*containers, {**queue, "resources": {"requests": {"cpu": "25m"}}}]
    metadata = {key: section(template, "metadata").get(key) for key in ("labels", "annotations")}
    whole = with_metadata({"metadata": {k: v for k, v in metadata.items() if v}, "spec": spec}, labels, {})
    owner = {
        "apiVersion": f"{_SERVING}/v1",
        "kind": "Revision",
        "metadata": {"name": revision, "namespace": namespace_of(service)},
    }
    body = {
        "replicas": _first_scale(template),
        "selector": {"matchLabels": {f"{_SERVING}/revision": revision}},
        "template": whole,
    }
    yield child(owner, "apps/v1", "Deployment", f"{revision}-deployment", body, {"labels": labels})


def _scale(template: Object, what: str) -> int | None:
    notes = annotations_of(template)
    camel = "".join(part.capitalize() if place else part for place, part in enumerate(what.split("-")))
    annotation = str(notes.get(f"{_SCALING}/{what}", notes.get(f"{_SCALING}/{camel}", "")))
    return parse_int(annotation) if annotation.isdecimal() else None


def _first_scale(template: Object) -> int:
    first = _scale(template, "initial-scale")
    return max(1 if first is None else first, _scale(template, "min-scale") or 0)


def knative_doubts(service: Object, companions: Companions) -> Iterator[Doubt]:
    template = section(service, "spec", "template")
    first, most = _first_scale(template), _scale(template, "max-scale")
    if most is not None and most <= first:
        return
    limit = f"up to {most} pods" if most else "as many pods as traffic asks for"
    yield Doubt(f"Service {name_of(service)} of Knative may have {limit}", f"it is taken to have {first}, as it starts")
