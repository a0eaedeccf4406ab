"""How new requests reach running pods: in place, by a restart of the container, or by a new pod."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwhatif.commands.rightsize.advice import Advice
from kwhatif.commands.rightsize.workload_pods import Workload
from kwhatif.versions import Features

IN_PLACE, RESTART, RECREATE = "in-place", "restart", "recreate"


def resize_of(advice: Advice, features: Features) -> str:
    """What a change takes; nothing where there is none.

    Since 1.33 a running pod can be resized. Where the template says ``RestartContainer`` for the resource, the kubelet
    restarts the container; unsaid, it does not (upstream: pkg/apis/core/types.go, ContainerResizePolicy). A
    workload's template is changed besides, or its next pods would ask for what they did before.
    """
    if not advice.changes:
        return ""
    if not features.in_place_pod_vertical_scaling:
        return RECREATE
    return RESTART if _restarts(advice.workload, advice.container, advice.resource) else IN_PLACE


def _restarts(workload: Workload, container: str, resource: str) -> bool:
    spec: Mapping[str, object] = workload.template or {}
    for field in ("containers", "initContainers"):
        listed = spec.get(field)
        for each in listed if isinstance(listed, Sequence) else ():
            if each.get("name") == container:
                policies = each.get("resizePolicy") or ()
                return any(
                    one.get("resourceName") == resource and one.get("restartPolicy") == "RestartContainer"
                    for one in policies
                )
    return False
