"""Rules for the containers of a pod: names, images, ports, restart policies.

Upstream: pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

from kwhatif.admission.answer import Object
from kwhatif.admission.request import each
from kwhatif.admission.validation.name_rules import dns_label, port_name, port_number
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.validate_resources import check_container_resources

__all__ = ["check_containers", "check_host_network"]

_PROTOCOLS = ("SCTP", "TCP", "UDP")
_RESTARTS = ("Always", "Never", "OnFailure")


def check_containers(problems: Problems, spec: Object, path: str) -> None:
    """Containers, then init containers; no two of them have the same name."""
    claims = [str(claim["name"]) for claim in each(spec, "resourceClaims") if claim.get("name")]
    regular = each(spec, "containers")
    if not regular:
        problems.required(f"{path}.containers")
    names: set[str] = set()
    for i, container in enumerate(regular):
        where = f"{path}.containers[{i}]"
        _container(problems, container, where, claims)
        _unique_name(problems, container, where, names)
        _restart_policy(problems, container, where)
    _unique_ports(problems, regular, f"{path}.containers")
    for i, container in enumerate(each(spec, "initContainers")):
        where = f"{path}.initContainers[{i}]"
        _container(problems, container, where, claims)
        _restart_policy(problems, container, where)
        _unique_name(problems, container, where, names)
        # Init containers run one by one. The index is upstream's: each of them is judged as a list of its own.
        _unique_ports(problems, [container], f"{path}.initContainers")


def check_host_network(problems: Problems, spec: Object, path: str, *, in_pod: bool) -> None:
    """On the host's network a container's ports are the host's. A template may leave them out."""
    if not spec.get("hostNetwork"):
        return
    for i, container in enumerate(each(spec, "containers")):
        for k, port in enumerate(each(container, "ports")):
            host, own = port.get("hostPort") or 0, port.get("containerPort") or 0
            if host != own and (in_pod or host):
                why = "must match `containerPort` when `hostNetwork` is true"
                problems.invalid(f"{path}.containers[{i}].ports[{k}].hostPort", host, why)


def _container(problems: Problems, container: Object, path: str, claims: list[str]) -> None:
    name = container.get("name") or ""
    if not name:
        problems.required(f"{path}.name")
    else:
        problems.invalid(f"{path}.name", name, *dns_label(name))
    if not container.get("image"):
        problems.required(f"{path}.image")
    _ports(problems, each(container, "ports"), f"{path}.ports")
    check_container_resources(problems, container.get("resources"), f"{path}.resources", claims)


def _unique_name(problems: Problems, container: Object, path: str, names: set[str]) -> None:
    name = container.get("name") or ""
    if name in names:
        problems.duplicate(f"{path}.name", name)
    names.add(name)


def _ports(problems: Problems, ports: list[Object], path: str) -> None:
    names: set[str] = set()
    for i, port in enumerate(ports):
        where, name = f"{path}[{i}]", port.get("name") or ""
        wrong = port_name(name) if name else []
        problems.invalid(f"{where}.name", name, *wrong)
        if name and not wrong:
            if name in names:
                problems.duplicate(f"{where}.name", name)
            names.add(name)
        own, host, protocol = port.get("containerPort") or 0, port.get("hostPort") or 0, port.get("protocol") or ""
        if not own:
            problems.required(f"{where}.containerPort")
        else:
            problems.invalid(f"{where}.containerPort", own, *port_number(own))
        if host:
            problems.invalid(f"{where}.hostPort", host, *port_number(host))
        if protocol not in _PROTOCOLS:
            problems.unsupported(f"{where}.protocol", protocol, _PROTOCOLS)


def _unique_ports(problems: Problems, containers: list[Object], path: str) -> None:
    taken: set[str] = set()
    for i, container in enumerate(containers):
        for k, port in enumerate(each(container, "ports")):
            if not port.get("hostPort"):
                continue
            said = f"{port.get('protocol') or ''}/{port.get('hostIP') or ''}/{port['hostPort']}"
            if said in taken:
                problems.duplicate(f"{path}[{i}].ports[{k}].hostPort", said)
            taken.add(said)


def _restart_policy(problems: Problems, container: Object, path: str) -> None:
    policy, rules = container.get("restartPolicy"), each(container, "restartPolicyRules")
    if policy is None:
        if rules:
            problems.required(f"{path}.restartPolicy", "must specify restartPolicy when restart rules are used")
    elif policy not in _RESTARTS:
        problems.unsupported(f"{path}.restartPolicy", policy, _RESTARTS)
