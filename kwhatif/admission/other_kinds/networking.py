"""Ingress, IngressClass, NetworkPolicy, IPAddress and ServiceCIDR.

Upstream: pkg/apis/networking/validation/validation.go, pkg/apis/networking/v1/defaults.go,
pkg/registry/networking/ingress/strategy.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.request import Request, each
from kwhatif.admission.response import Object
from kwhatif.admission.validation.addresses import (
    check_network,
    network_warnings,
    read_address,
    read_network,
    standard_ip_rules,
    standard_network_rules,
)
from kwhatif.admission.validation.field_rules import dns_subdomain, port_number, wildcard_subdomain
from kwhatif.admission.validation.metadata import annotations_of, object_table
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.rows import table
from kwhatif.admission.validation.scheduling_constraints import check_label_selector
from kwhatif.api.objects import part_of, section

_CLASS = "kubernetes.io/ingress.class"
_NOT_WITHIN = ("//", "/./", "/../", "%2f", "%2F")
_NOT_AT_THE_END = ("/..", "/.")


def _host(host: str | None) -> list[str]:
    return wildcard_subdomain(host) if host and "*" in host else dns_subdomain(host or "")


def _exact_path(path: str) -> list[str]:
    wrong = [] if path.startswith("/") else ["must be an absolute path"]
    wrong += [f"must not contain '{part}'" for part in _NOT_WITHIN if part in path]
    return wrong + [f"cannot end with '{part}'" for part in _NOT_AT_THE_END if path.endswith(part)]


_REFERENCE = table("""
    apiGroup                     dns_subdomain
    kind                         required & path_segment
    name                         required & path_segment
""")
_BACKEND = table(
    """
    .                            invalid! empty if service? and resource?:
            cannot set both resource and service backends
    .                            invalid! empty unless service? or resource?: resource or service backend is required
    resource                     reference
    .                            stop if resource?
    service.name                 required & dns_label
    .                            invalid! empty if service.port.name and service.port.number:
            cannot set both port name & port number
    service.port.name            if_nonempty & port_name
    service.port.number          if_nonempty & port_number
    .                            missing unless service.port.name or service.port.number:
            port name or number is required
    """,
    reference=_REFERENCE,
)


def _class_annotation(problems: Problems, obj: Object, path: str) -> None:
    annotated, named = annotations_of(obj).get(_CLASS), part_of(obj, "spec").get("ingressClassName")
    if annotated is not None and named is not None and annotated != named:
        problems.invalid(f"annotations.{_CLASS}", annotated, "must match `ingressClassName` when both are specified")


_INGRESS = object_table(
    """
    spec                     any & null unless _has_backends: either `defaultBackend` or `rules` must be specified
    spec.defaultBackend      backend
    spec.rules[].host        if_nonempty & _no_address & _host
    spec.rules[].http?.paths                required
    spec.rules[].http?.paths[].pathType     present!: pathType must be specified
    spec.rules[].http?.paths[].pathType     one_of Exact ImplementationSpecific Prefix
    spec.rules[].http?.paths[].path         text & _exact_path if pathType=Exact|Prefix
    spec.rules[].http?.paths[].path         if_nonempty & begins / if pathType=ImplementationSpecific:
            must be an absolute path
    spec.rules[].http?.paths[].backend      part & backend
    spec.tls[].hosts[]       text & _host
    spec.tls[].secretName    if_nonempty & dns_subdomain
    spec.ingressClassName    dns_subdomain
    .                        _class_annotation
    """,
    *(_exact_path, _host, _class_annotation),
    backend=_BACKEND,
    _no_address=lambda host: ["must be a DNS name, not an IP address"] if read_address(host) else [],
    _has_backends=lambda obj: (
        part_of(obj, "spec").get("rules") or part_of(obj, "spec").get("defaultBackend") is not None
    ),
)


def _ingress_warnings(obj: Object, old: Object | None) -> Iterator[str]:
    if old is None and _CLASS in annotations_of(obj) and part_of(obj, "spec").get("ingressClassName") is None:
        yield f"annotation \"{_CLASS}\" is deprecated, please use 'spec.ingressClassName' instead"


def _default_class(request: object, spec: Object) -> None:
    if spec.get("parameters") is not None and spec["parameters"].get("scope") is None:
        spec["parameters"]["scope"] = "Cluster"


_INGRESS_CLASS = object_table(
    """
    spec.controller              text & longest 250 & check_domain_path
    spec.parameters?             reference
    spec.parameters?.scope       present!
    spec.parameters?.namespace   present if scope=Namespace: `parameters.scope` is set to 'Namespace'
    spec.parameters?.namespace   dns_label if scope=Namespace
    spec.parameters?.namespace   forbidden if scope=Cluster: `parameters.scope` is set to 'Cluster'
    spec.parameters?.scope       one_of Cluster Namespace
    """,
    reference=_REFERENCE,
)


def _default_policy(request: Request, spec: Object) -> None:
    for direction in ("ingress", "egress"):
        for rule in each(spec, direction):
            for port in each(rule, "ports"):
                port["protocol"] = port.get("protocol") or "TCP"
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if each(spec, "egress") else ["Ingress"]


def _last_port(problems: Problems, item: Object, path: str) -> None:
    port, end = item.get("port"), item.get("endPort")
    if end is None:
        return
    if port is None or isinstance(port, str):
        what = "not specified" if port is None else "non-numeric"
        problems.invalid(f"{path}.endPort", end, f"may not be specified when `port` is {what}")
        return
    if end < port:
        problems.invalid(f"{path}.endPort", port, "must be greater than or equal to `port`")
    problems.invalid(f"{path}.endPort", end, *port_number(end))


def _exceptions(problems: Problems, block: Object, path: str) -> None:
    outer = read_network(part_of(block, "cidr"))
    for i, text in enumerate(block.get("except") or () if outer else ()):
        where, inner = f"{path}.except[{i}]", read_network(text or "")
        check_network(problems, text or "", where)
        if outer is None or inner is None:
            continue
        if inner[1].network_address not in outer[1] or outer[1].prefixlen >= inner[1].prefixlen:
            problems.invalid(where, text, "must be a strict subset of `cidr`")


def _one_peer(problems: Problems, peer: Object, path: str) -> None:
    given = [key for key in ("podSelector", "namespaceSelector", "ipBlock") if peer.get(key) is not None]
    if not given:
        problems.required(path, "must specify a peer")
    elif len(given) > 1 and "ipBlock" in given:
        problems.forbidden(path, "may not specify both ipBlock and another peer")


_PORT_OF_POLICY = table(
    """
    protocol                 one_of TCP UDP SCTP
    .                        _last_port if named
    port                     check_port
    .                        _last_port unless named
    """,
    _last_port,
    named=lambda port: isinstance(port.get("port"), str),
)
_PEER = table(
    """
    podSelector              check_label_selector
    namespaceSelector        check_label_selector
    ipBlock?.cidr            required! & check_network
    ipBlock?                 _exceptions
    .                        _one_peer
    """,
    *(check_network, _exceptions, _one_peer),
    check_label_selector=check_label_selector,
)
_NETWORK_POLICY = object_table(
    """
    spec.podSelector         check_label_selector
    spec.ingress[].ports[]   port
    spec.ingress[].from[]    peer
    spec.egress[].ports[]    port
    spec.egress[].to[]       peer
    spec.policyTypes         invalid if many: may not specify more than two policyTypes
    .                        stop if many
    spec.policyTypes[]       one_of Ingress Egress
    """,
    check_label_selector=check_label_selector,
    port=_PORT_OF_POLICY,
    peer=_PEER,
    many=lambda obj: len(part_of(obj, "spec").get("policyTypes") or ()) > 2,
)


def _policy_warnings(obj: Object, old: Object | None) -> Iterator[str]:
    for rules, peers in (("ingress", "from"), ("egress", "to")):
        for i, rule in enumerate(each(part_of(obj, "spec"), rules)):
            for j, peer in enumerate(each(rule, peers)):
                block, where = section(peer, "ipBlock"), f"spec.{rules}[{i}].{peers}[{j}].ipBlock"
                yield from network_warnings(f"{where}.cidr", block.get("cidr") or "")
                for k, text in enumerate(block.get("except") or ()):
                    yield from network_warnings(f"{where}.except[{k}]", text or "")


_IP_ADDRESS = object_table(
    """
    spec.parentRef               present
    spec.parentRef?.group        if_nonempty & dns_subdomain
    spec.parentRef?.resource     required & path_segment
    spec.parentRef?.name         required & path_segment
    spec.parentRef?.namespace    if_nonempty & path_segment
    """,
    names=standard_ip_rules,
)


def check_networks(problems: Problems, spec: Object, path: str = "spec") -> None:
    """One network, or one of each family."""
    networks, path = spec.get("cidrs") or [], f"{path}.cidrs"
    if not networks:
        problems.required(path, "at least one CIDR required")
    elif len(networks) > 2:
        problems.invalid(path, spec, "may only hold up to 2 values")
    else:
        for i, text in enumerate(networks):
            problems.invalid(f"{path}[{i}]", text, *standard_network_rules(text))
        families = [network[0].version for network in map(read_network, networks) if network is not None]
        if len(families) == 2 and families[0] == families[1]:
            why = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
            problems.invalid(path, networks, why)


STRATEGIES = {
    "Ingress": Strategy(check=_INGRESS, warnings=_ingress_warnings),
    "IngressClass": Strategy(defaults=_default_class, check=_INGRESS_CLASS),
    "NetworkPolicy": Strategy(defaults=_default_policy, check=_NETWORK_POLICY, warnings=_policy_warnings),
    "IPAddress": Strategy(check=_IP_ADDRESS),
    "ServiceCIDR": Strategy(check=object_table("spec part & check_networks", check_networks)),
}
