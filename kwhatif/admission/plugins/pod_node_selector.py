"""PodNodeSelector: a namespace's node selector becomes that of its pods. Off by default.

Upstream: plugin/pkg/admission/podnodeselector/admission.go. Its configuration file, with a default for the cluster and
a whitelist for each namespace, is not read: only the namespace's annotation counts.
"""

from __future__ import annotations

from kwhatif.admission.request import Request, within
from kwhatif.admission.response import RequestRefusal
from kwhatif.api.objects import section

_ANNOTATION = "scheduler.alpha.kubernetes.io/node-selector"
_CONFLICT = "pod node label selector conflicts with its namespace node label selector"


def admit(request: Request) -> RequestRefusal | None:
    if request.kind != "Pod" or request.old is not None:
        return None
    namespace = request.store.get("Namespace", "", request.namespace) or {}
    text = section(namespace, "metadata", "annotations").get(_ANNOTATION)
    if not text:
        return None
    selector = _labels(text)
    if selector is None:
        return request.forbidden(f"the node selector of namespace {request.namespace} cannot be read: {text}")
    spec = within(request.object, "spec")
    own = section(spec, "nodeSelector")
    if any(own.get(key, value) != value for key, value in selector.items()):
        return request.forbidden(_CONFLICT)
    if selector.items() - own.items():
        spec["nodeSelector"] = {**selector, **own}
        request.record_change("PodNodeSelector", "spec.nodeSelector", f"{text} from namespace {request.namespace}")
    return None


def _labels(text: str) -> dict[str, str] | None:
    """``key=value`` pairs between commas; None if it is something else."""
    labels: dict[str, str] = {}
    for part in text.split(","):
        key, equals, value = part.partition("=")
        if not equals or "=" in value:
            return None
        labels[key.strip()] = value.strip()
    return labels
