"""NodePorts: a host port can be used once on a node. Upstream: plugins/nodeports/node_ports.go and HostPortInfo."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from types import MappingProxyType

import msgspec
import numpy as np

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import HostPort, PodInfo
from kwhatif.cluster.types import BoolArray
from kwhatif.framework.declaration import DefaultPlugin
from kwhatif.framework.interface import ClusterEvent, EventOccurrence, Plugin, Scope, Suggestion
from kwhatif.framework.signature import Signature, sign_host_ports
from kwhatif.framework.status import SKIP, Rejection, Skip
from kwhatif.plugins.shared.pod_changes import suggest_host_ports

ANY = "0.0.0.0"


class WantedPorts(msgspec.Struct, frozen=True):
    ports: tuple[HostPort, ...]


class NodePorts(Plugin[WantedPorts, None]):
    name = "NodePorts"
    default = DefaultPlugin(70)
    depends_on_labels = False
    needs_pre_filter = True
    filter_scope = Scope.ROW
    events_to_register = MappingProxyType(
        {ClusterEvent.POD_DELETED: lambda waiting, happening: _shares_port(waiting, happening)}
    )

    def cache_key(self, pod: PodInfo) -> Hashable:
        return pod.shape.ports

    def sign_pod(self, pod: PodInfo) -> Signature | None:
        return sign_host_ports(pod.shape)

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> WantedPorts | Skip:
        return WantedPorts(pod.shape.ports) if pod.shape.ports else SKIP

    def filter(self, pod: PodInfo, nodes: NodeView, state: WantedPorts) -> Iterator[Rejection]:
        index, in_use = nodes.ports_in_use()
        taken = {port: index[port] for port in _clashing(state.ports, index)}
        if not taken:
            return
        columns = list(taken.values())

        def detail(place: int) -> str:
            held = [port for port, column in taken.items() if in_use[place, column]]
            return ", ".join(f"host port {port}/{protocol} is in use on {ip}" for ip, protocol, port in held)

        taken_there: BoolArray = np.logical_or.reduce(in_use[:, columns], axis=1)
        yield Rejection(
            taken_there,
            "node(s) didn't have free ports for the requested pod ports",
            detail=detail,
        )

    def suggestions(self, pod: PodInfo, cluster: Cluster, rows: Sequence[int]) -> Iterator[Suggestion]:
        return suggest_host_ports(pod.pod)


def _clashing(ports: Iterable[HostPort], used: Iterable[HostPort]) -> list[HostPort]:
    """The ports in use, in their order, that conflict with the pod's."""
    addresses: dict[tuple[str, int], set[str]] = {}
    for ip, protocol, port in ports:
        addresses.setdefault((protocol, port), set()).add(ip)

    def clashes(ip: str, addresses: set[str]) -> bool:
        return bool(addresses) and (ip == ANY or ip in addresses or ANY in addresses)

    return [port for port in used if clashes(port[0], addresses.get(port[1:], set()))]


def _shares_port(waiting: PodInfo, happening: EventOccurrence) -> bool:
    gone = happening.pod.shape.ports if happening.pod else ()
    return bool(_clashing(waiting.shape.ports, gone))
