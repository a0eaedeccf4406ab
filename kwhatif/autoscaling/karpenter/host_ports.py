"""Host ports: which pods cannot share a node for theirs.

Upstream: pkg/scheduling/hostportusage.go.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import ip_address

from kwhatif.api.core import Pod


@dataclass(frozen=True, slots=True)
class HostPort:
    ip: str
    port: int
    protocol: str

    def clashes(self, other: HostPort) -> bool:
        if (self.port, self.protocol) != (other.port, other.protocol):
            return False
        return self.ip == other.ip or _is_any(self.ip) or _is_any(other.ip)


def _is_any(ip: str) -> bool:
    try:
        return ip_address(ip).is_unspecified
    except ValueError:
        return False


def host_ports(pod: Pod) -> tuple[HostPort, ...]:
    """The ports that a pod's containers take of their host."""
    return tuple(
        HostPort(port.host_ip or "0.0.0.0", port.host_port, port.protocol or "TCP")
        for container in pod.spec.containers or ()
        for port in container.ports or ()
        if port.host_port
    )


@dataclass
class HostPorts:
    """The ports in use on a node, by pod. Pods that go by one name, as those of templates do, overwrite each other."""

    by_pod: dict[str, tuple[HostPort, ...]] = field(default_factory=dict)

    def copy(self) -> HostPorts:
        return HostPorts(dict(self.by_pod))

    def take(self, pod: str, ports: tuple[HostPort, ...]) -> None:
        if ports or pod in self.by_pod:
            self.by_pod[pod] = ports

    def clash(self, pod: str, ports: Iterable[HostPort]) -> str | None:
        """What a pod's ports clash with; None if with nothing."""
        for new in ports:
            for other, used in self.by_pod.items():
                for there in used:
                    if other != pod and new.clashes(there):
                        return (
                            "pod hostport conflicts with existing hostport configuration ("
                            f"existing-hostport-ip={there.ip}, existing-hostport-port={there.port}, "
                            f"existing-hostport-protocol={there.protocol}, pod-hostport-ip={new.ip}, "
                            f"pod-hostport-port={new.port}, pod-hostport-protocol={new.protocol})"
                        )
        return None
