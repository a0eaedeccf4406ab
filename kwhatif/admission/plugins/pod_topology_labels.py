"""PodTopologyLabels: zone and region of its node become labels of a pod.

Upstream: plugin/pkg/admission/podtopologylabels/admission.go. It acts when a pod is bound, so here only on a pod
that is created with a node's name in it.
"""

from __future__ import annotations

from kwhatif.admission.request import Request, within
from kwhatif.admission.response import RequestRefusal
from kwhatif.api.objects import section

_KEYS = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


def admit(request: Request) -> RequestRefusal | None:
    if request.kind != "Pod" or request.old is not None:
        return None
    name = section(request.object, "spec").get("nodeName")
    node = request.store.get("Node", "", name) if name else None
    of_node = section(node or {}, "metadata", "labels")
    copied = {key: of_node[key] for key in _KEYS if key in of_node}
    if copied:
        within(within(request.object, "metadata"), "labels").update(copied)
        text = f"{', '.join(f'{key}={value}' for key, value in copied.items())} from node {name}"
        request.record_change("PodTopologyLabels", "metadata.labels", text)
    return None
