"""The fields that kustomize changes unless a configuration says more: those with labels, selectors, images, names.

Upstream: kustomize (api/internal/konfig/builtinpluginconsts, api/internal/plugins/builtinconfig/transformerconfig.go).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from kwhatif.errors import InputError
from kwhatif.snapshot.kustomize.field_specs import FieldSpec

_TEMPLATE, _OF_CRON_JOB = "spec/template/", "spec/jobTemplate/spec/template/"
_AFFINITIES = tuple(
    f"spec/template/spec/affinity/{affinity}/{term}/labelSelector/matchLabels"
    for affinity in ("podAffinity", "podAntiAffinity")
    for term in (
        "preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm",
        "requiredDuringSchedulingIgnoredDuringExecution",
    )
)
_METADATA_LABELS = FieldSpec("metadata/labels", creates=True)


def _of_templates(key: str) -> Iterator[FieldSpec]:
    yield FieldSpec(f"{_TEMPLATE}metadata/{key}", "ReplicationController", version="v1", creates=True)
    for kind in ("Deployment", "ReplicaSet", "DaemonSet"):
        yield FieldSpec(f"{_TEMPLATE}metadata/{key}", kind, creates=True)
    # Labels and annotations differ in what groups they are for.
    yield FieldSpec(f"{_TEMPLATE}metadata/{key}", "StatefulSet", "apps" if key == "labels" else "", creates=True)
    if key == "labels":
        yield FieldSpec("spec/volumeClaimTemplates[]/metadata/labels", "StatefulSet", "apps", creates=True)
    yield FieldSpec(f"{_TEMPLATE}metadata/{key}", "Job", "batch", creates=True)
    yield FieldSpec(f"spec/jobTemplate/metadata/{key}", "CronJob", "batch", creates=True)
    yield FieldSpec(f"{_OF_CRON_JOB}metadata/{key}", "CronJob", "batch", creates=True)


def _of_selectors() -> Iterator[FieldSpec]:
    yield FieldSpec("spec/selector", "Service", version="v1", creates=True)
    yield FieldSpec("spec/selector", "ReplicationController", version="v1", creates=True)
    for kind, group in (("Deployment", ""), ("ReplicaSet", ""), ("DaemonSet", ""), ("StatefulSet", "apps")):
        yield FieldSpec("spec/selector/matchLabels", kind, group, creates=True)
    for kind in ("Deployment", "StatefulSet"):
        for path in (*_AFFINITIES, "spec/template/spec/topologySpreadConstraints/labelSelector/matchLabels"):
            yield FieldSpec(path, kind, "apps")
    yield FieldSpec("spec/selector/matchLabels", "Job", "batch")
    yield FieldSpec("spec/jobTemplate/spec/selector/matchLabels", "CronJob", "batch")
    yield FieldSpec("spec/selector/matchLabels", "PodDisruptionBudget", "policy")
    for path in ("spec/podSelector", "spec/ingress/from/podSelector", "spec/egress/to/podSelector"):
        yield FieldSpec(f"{path}/matchLabels", "NetworkPolicy", "networking.k8s.io")


_POD_SPECS = {
    "Pod": "spec/",
    "PodTemplate": "template/spec/",
    **dict.fromkeys(("Deployment", "ReplicaSet", "DaemonSet", "StatefulSet", "Job"), "spec/template/spec/"),
    "CronJob": "spec/jobTemplate/spec/template/spec/",
}
_IN_PODS = {
    "ConfigMap": (
        *("volumes/configMap/name", "containers/env/valueFrom/configMapKeyRef/name"),
        *("initContainers/env/valueFrom/configMapKeyRef/name", "containers/envFrom/configMapRef/name"),
        *("initContainers/envFrom/configMapRef/name", "volumes/projected/sources/configMap/name"),
    ),
    "Secret": (
        *("volumes/secret/secretName", "containers/env/valueFrom/secretKeyRef/name"),
        *("initContainers/env/valueFrom/secretKeyRef/name", "containers/envFrom/secretRef/name"),
        *("initContainers/envFrom/secretRef/name", "imagePullSecrets/name", "volumes/projected/sources/secret/name"),
    ),
}
_OF_OWNERS = {**_POD_SPECS, "ReplicationController": "spec/template/spec/"}
del _OF_OWNERS["PodTemplate"], _OF_OWNERS["ReplicaSet"]
_RBAC, _ADMISSION = "rbac.authorization.k8s.io", "admissionregistration.k8s.io"
_NGINX = "metadata/annotations/nginx.ingress.kubernetes.io\\/"


def _in_pods(target: str) -> Iterator[FieldSpec]:
    for kind, at in _POD_SPECS.items():
        for path in _IN_PODS[target]:
            yield FieldSpec(at + path, kind, version="v1" if kind == "Pod" else "")


def _of_owners(path: str) -> Iterator[FieldSpec]:
    for kind, at in _OF_OWNERS.items():
        yield FieldSpec(at + path, kind)


def _references() -> Iterator[tuple[FieldSpec, tuple[FieldSpec, ...]]]:
    """Kinds whose names stand elsewhere (of which the path says nothing), and where."""
    for kind in ("Deployment", "ReplicationController", "ReplicaSet", "StatefulSet"):
        yield FieldSpec("", kind), (FieldSpec("spec/scaleTargetRef/name", "HorizontalPodAutoscaler"),)
    roles = (FieldSpec("rules/resourceNames", "Role"), FieldSpec("rules/resourceNames", "ClusterRole"))
    yield (
        FieldSpec("", "ConfigMap", version="v1"),
        (
            *_in_pods("ConfigMap"),
            FieldSpec("spec/configSource/configMap", "Node"),
            *roles,
            FieldSpec(f"{_NGINX}fastcgi-params-configmap", "Ingress"),
        ),
    )
    yield (
        FieldSpec("", "Secret", version="v1"),
        (
            *_in_pods("Secret"),
            FieldSpec("spec/tls/secretName", "Ingress"),
            FieldSpec("metadata/annotations/ingress.kubernetes.io\\/auth-secret", "Ingress"),
            FieldSpec(f"{_NGINX}auth-secret", "Ingress"),
            FieldSpec(f"{_NGINX}auth-tls-secret", "Ingress"),
            FieldSpec("imagePullSecrets/name", "ServiceAccount"),
            *(
                FieldSpec(f"parameters/{key}", "StorageClass")
                for key in ("secretName", "adminSecretName", "userSecretName", "secretRef")
            ),
            *roles,
            FieldSpec(
                "spec/template/spec/containers/env/valueFrom/secretKeyRef/name", "Service", "serving.knative.dev", "v1"
            ),
            FieldSpec("spec/azureFile/secretName", "PersistentVolume"),
        ),
    )
    yield (
        FieldSpec("", "Service", version="v1"),
        (
            FieldSpec("spec/serviceName", "StatefulSet", "apps"),
            FieldSpec("spec/rules/http/paths/backend/serviceName", "Ingress"),
            FieldSpec("spec/backend/serviceName", "Ingress"),
            FieldSpec("spec/rules/http/paths/backend/service/name", "Ingress"),
            FieldSpec("spec/defaultBackend/service/name", "Ingress"),
            FieldSpec("spec/service/name", "APIService", "apiregistration.k8s.io"),
            FieldSpec("webhooks/clientConfig/service", "ValidatingWebhookConfiguration", _ADMISSION),
            FieldSpec("webhooks/clientConfig/service", "MutatingWebhookConfiguration", _ADMISSION),
        ),
    )
    yield FieldSpec("", "Role", _RBAC), (FieldSpec("roleRef/name", "RoleBinding", _RBAC),)
    bindings = ("RoleBinding", "ClusterRoleBinding")
    yield FieldSpec("", "ClusterRole", _RBAC), tuple(FieldSpec("roleRef/name", kind, _RBAC) for kind in bindings)
    yield (
        FieldSpec("", "ServiceAccount", version="v1"),
        (*(FieldSpec("subjects", kind, _RBAC) for kind in bindings), *_of_owners("serviceAccountName")),
    )
    claim = FieldSpec("", "PersistentVolumeClaim", version="v1")
    yield claim, tuple(_of_owners("volumes/persistentVolumeClaim/claimName"))
    yield (
        FieldSpec("", "PersistentVolume", version="v1"),
        (FieldSpec("spec/volumeName", "PersistentVolumeClaim"), FieldSpec("rules/resourceNames", "ClusterRole")),
    )
    yield (
        FieldSpec("", "StorageClass", "storage.k8s.io", "v1"),
        (
            FieldSpec("spec/storageClassName", "PersistentVolume"),
            FieldSpec("spec/storageClassName", "PersistentVolumeClaim"),
            FieldSpec("spec/volumeClaimTemplates/spec/storageClassName", "StatefulSet"),
        ),
    )
    yield FieldSpec("", "PriorityClass", "scheduling.k8s.io", "v1"), tuple(_of_owners("priorityClassName"))
    yield (
        FieldSpec("", "ValidatingAdmissionPolicy", _ADMISSION),
        (FieldSpec("spec/policyName", "ValidatingAdmissionPolicyBinding", _ADMISSION),),
    )


def _with_variables() -> Iterator[FieldSpec]:
    for kind, at in _POD_SPECS.items():
        if kind != "PodTemplate":
            for containers in ("containers", "initContainers"):
                for path in ("args", "command", "env/value", "volumeMounts/mountPath"):
                    yield FieldSpec(f"{at}{containers}/{path}", kind)
            yield FieldSpec(f"{at}volumes/nfs/server", kind)
    yield FieldSpec("spec/template/metadata/annotations", "Deployment")
    for path in ("spec/rules/host", "spec/tls/hosts", "spec/tls/secretName"):
        yield FieldSpec(path, "Ingress")
    for path in ("spec/ports/port", "spec/ports/targetPort"):
        yield FieldSpec(path, "Service")
    yield FieldSpec("spec/volumeClaimTemplates/spec/nfs/server", "StatefulSet")
    yield FieldSpec("spec/nfs/server", "PersistentVolume")
    yield FieldSpec("metadata/labels")
    yield FieldSpec("metadata/annotations")


_REFERENCES = tuple(_references())
_TEMPLATE_LABELS = tuple(_of_templates("labels"))
_DEFAULTS: dict[str, tuple[FieldSpec, ...]] = {
    "commonLabels": (_METADATA_LABELS, *_of_selectors(), *_TEMPLATE_LABELS),
    "templateLabels": _TEMPLATE_LABELS,
    "labels": (),
    "commonAnnotations": (FieldSpec("metadata/annotations", creates=True), *_of_templates("annotations")),
    "images": tuple(
        FieldSpec(f"{at}{path}")
        for at in ("spec/", "spec/template/spec/")
        for path in ("containers[]/image", "initContainers[]/image", "volumes[]/image/reference")
    ),
    "replicas": tuple(
        FieldSpec("spec/replicas", kind, creates=True)
        for kind in ("Deployment", "ReplicationController", "ReplicaSet", "StatefulSet")
    ),
    "namespace": (
        FieldSpec("spec/service/namespace", "APIService", "apiregistration.k8s.io", creates=True),
        FieldSpec(
            "spec/conversion/webhook/clientConfig/service/namespace", "CustomResourceDefinition", "apiextensions.k8s.io"
        ),
    ),
    "namePrefix": (FieldSpec("metadata/name"),),
    "nameSuffix": (FieldSpec("metadata/name"),),
    "varReference": tuple(_with_variables()),
}
METADATA_LABELS = _METADATA_LABELS


class FieldConfiguration(msgspec.Struct):
    """Which fields are changed by what: kustomize's own, and those that ``configurations`` add."""

    specs: dict[str, tuple[FieldSpec, ...]] = msgspec.field(default_factory=lambda: dict(_DEFAULTS))
    references: tuple[tuple[FieldSpec, tuple[FieldSpec, ...]], ...] = _REFERENCES

    def add(self, value: Mapping[str, Any]) -> None:
        """Add the fields of a configuration. Raises InputError for what is none."""
        for key, entries in value.items():
            if not isinstance(entries, list):
                raise InputError(f"{key}: expected a list")
            if key == "nameReference":
                more = [
                    (FieldSpec.parse({**entry, "path": ""}), tuple(map(FieldSpec.parse, entry.get("fieldSpecs") or ())))
                    for entry in entries
                    if isinstance(entry, dict)
                ]
                self.references = (*self.references, *(field for field in more if field not in self.references))
            elif key in self.specs:
                specs = tuple(map(FieldSpec.parse, entries))
                self.specs[key] = (*self.specs[key], *(spec for spec in specs if spec not in self.specs[key]))
            else:
                raise InputError(f"kustomize configures no {key!a}")

    def merge(self, other: FieldConfiguration) -> None:
        """Add what a kustomization that this one includes was configured with."""
        for key, specs in other.specs.items():
            self.specs[key] = _together(self.specs[key], specs)
        self.references = _together(self.references, other.references)


T = TypeVar("T")


def _together(first: tuple[T, ...], theirs: tuple[T, ...]) -> tuple[T, ...]:
    """Each once; most kustomizations are configured with nothing, so that both are kustomize's own."""
    return first if first is theirs else (*first, *(t for t in theirs if t not in first))
