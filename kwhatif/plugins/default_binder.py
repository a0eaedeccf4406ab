"""DefaultBinder: binds the pod. Offline there is no API server that could refuse. Upstream: plugins/defaultbinder."""

from __future__ import annotations

from kwhatif.cluster.shapes import PodInfo
from kwhatif.framework.declaration import DefaultPlugin
from kwhatif.framework.interface import Plugin


class DefaultBinder(Plugin[None, None]):
    name = "DefaultBinder"
    default = DefaultPlugin(220)

    def bind(self, pod: PodInfo, node: str, state: None) -> None:
        return None
