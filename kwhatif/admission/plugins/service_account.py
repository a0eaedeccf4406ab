"""ServiceAccount: the service account that a pod runs as has to exist.

Its token volume is not added, since scheduling does not depend on it. Upstream:
plugin/pkg/admission/serviceaccount/admission.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.admission.object_store import name_of
from kwhatif.admission.request import Request, each, within
from kwhatif.admission.response import Object, RequestRefusal
from kwhatif.api.objects import section

MIRROR = "kubernetes.io/config.mirror"
ENFORCE = "kubernetes.io/enforce-mountable-secrets"


def admit(request: Request) -> RequestRefusal | None:
    """Without any service account in the snapshot nothing is refused."""
    if request.kind != "Pod" or request.old is not None:
        return None
    spec = within(request.object, "spec")
    if MIRROR in section(request.object, "metadata", "annotations"):
        return _mirror(request, spec)
    name = spec.get("serviceAccountName") or spec.get("serviceAccount") or "default"
    spec["serviceAccountName"] = spec["serviceAccount"] = name
    if not request.store.knows("ServiceAccount", request.namespace):
        return None
    account = request.store.get("ServiceAccount", request.namespace, name)
    if account is None:
        where = f"{request.namespace}/{name}"
        return request.forbidden(f'error looking up service account {where}: serviceaccount "{name}" not found')
    if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
        spec["imagePullSecrets"] = [{"name": secret.get("name")} for secret in each(account, "imagePullSecrets")]
    return _check_secrets(request, account, spec)


def validate(request: Request) -> RequestRefusal | None:
    """A new namespace gets its default account at once: a controller sees to it."""
    if request.kind == "Namespace" and request.old is None and request.store.knows("ServiceAccount"):
        metadata = {"name": "default", "namespace": name_of(request.object)}
        if request.store.get("ServiceAccount", metadata["namespace"], "default") is None:
            request.store.put({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    return None


def _mirror(request: Request, spec: Object) -> RequestRefusal | None:
    """A mirror pod may use no secrets, claims or service accounts."""
    if spec.get("serviceAccountName"):
        return request.forbidden("a mirror pod may not reference service accounts")
    if any("secret" in volume for volume in each(spec, "volumes")):
        return request.forbidden("a mirror pod may not reference secrets")
    return None


def _check_secrets(request: Request, account: Object, spec: Object) -> RequestRefusal | None:
    annotations = section(account, "metadata", "annotations")
    if annotations.get(ENFORCE) != "true":
        return None
    allowed = {secret.get("name") for secret in each(account, "secrets")}
    pulls = {secret.get("name") for secret in each(account, "imagePullSecrets")}
    why = f"is not allowed because service account {name_of(account)} does not reference that"
    for what, secret in _secrets(spec):
        if secret not in allowed:
            return request.forbidden(f'{what}="{secret}" {why} secret')
    for i, pull in enumerate(each(spec, "imagePullSecrets")):
        if pull.get("name") not in pulls:
            return request.forbidden(f'imagePullSecrets[{i}].name="{pull.get("name")}" {why} imagePullSecret')
    return None


def _secrets(spec: Object) -> Iterator[tuple[str, str]]:
    """Every secret that a pod reads, and where."""
    for volume in each(spec, "volumes"):
        secret = volume.get("secret")
        if secret and secret.get("secretName"):
            yield "volume with secret.secretName", secret["secretName"]
    for key, noun in (("initContainers", "init container"), ("containers", "container")):
        for container in each(spec, key):
            for variable in each(container, "env"):
                reference = section(variable, "valueFrom").get("secretKeyRef")
                if reference:
                    what = f"{noun} {container.get('name')} with envVar {variable.get('name')}"
                    yield f"{what} referencing secret.secretName", reference.get("name")
            for source in each(container, "envFrom"):
                if source.get("secretRef"):
                    what = f"{noun} {container.get('name')} with envFrom"
                    yield f"{what} referencing secret.secretName", source["secretRef"].get("name")
