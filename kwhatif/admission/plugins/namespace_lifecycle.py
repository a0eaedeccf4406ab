"""NamespaceLifecycle: nothing is created in a namespace that does not exist or is terminating.

Upstream: apiserver/pkg/admission/plugin/namespace/lifecycle/admission.go.
"""

from __future__ import annotations

from kwhatif.admission.request import Request
from kwhatif.admission.response import RequestRefusal, StatusCause
from kwhatif.api.objects import section

_OF_EVERY_CLUSTER = frozenset({"kube-node-lease", "kube-public", "kube-system"})
"""The control plane makes them again: a snapshot without one holds but a part of the namespaces."""


def admit(request: Request) -> RequestRefusal | None:
    """Without any namespace in the snapshot their existence is unknown, and nothing is refused."""
    home = request.namespace
    if not home or request.old is not None or not request.store.knows("Namespace"):
        return None
    namespace = request.store.get("Namespace", "", home)
    if namespace is None and home in _OF_EVERY_CLUSTER:
        return None
    if namespace is None:
        return RequestRefusal(404, "NotFound", f'namespaces "{home}" not found')
    metadata, status = section(namespace, "metadata"), section(namespace, "status")
    if metadata.get("deletionTimestamp") or status.get("phase") == "Terminating":
        why = f"unable to create new content in namespace {home} because it is being terminated"
        return request.forbidden(why, StatusCause("metadata.namespace", f"namespace {home} is being terminated"))
    return None
