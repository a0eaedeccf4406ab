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
    network_rules,
    network_warnings,
    read_address,
    read_network,
    standard_ip_rules,
    standard_network_rules,
)
from kwhatif.admission.validation.field_rules import (
    check_choice,
    check_domain_path,
    check_name_in_path,
    check_port,
    dns_label,
    dns_subdomain,
    path_segment,
    port_name,
    port_number,
    wildcard_subdomain,
)
from kwhatif.admission.validation.metadata import check_metadata, check_named
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.scheduling_constraints import check_label_selector

_CLASS = "kubernetes.io/ingress.class"
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_NOT_WITHIN = ("//", "/./", "/../", "%2f", "%2F")
_NOT_AT_THE_END = ("/..", "/.")
_LONGEST_CONTROLLER = 250


def _check_ingress(problems: Problems, obj: Object) -> None:
    spec = obj.get("spec") or {}
    check_metadata(problems, obj)
    rules, default = each(spec, "rules"), spec.get("defaultBackend")
    if not rules and default is None:
        problems.invalid("spec", None, "either `defaultBackend` or `rules` must be specified")
    if default is not None:
        _backend(problems, default, "spec.defaultBackend")
    for i, rule in enumerate(rules):
        where, host = f"spec.rules[{i}]", rule.get("host") or ""
        if host:
            if read_address(host) is not None:
                problems.invalid(f"{where}.host", host, "must be a DNS name, not an IP address")
            _host(problems, host, f"{where}.host")
        if rule.get("http") is not None:
            _paths(problems, each(rule["http"], "paths"), f"{where}.http.paths")
    for i, tls in enumerate(each(spec, "tls")):
        for j, host in enumerate(tls.get("hosts") or ()):
            _host(problems, host or "", f"spec.tls[{i}].hosts[{j}]")
        secret = tls.get("secretName")
        if secret:
            problems.invalid(f"spec.tls[{i}].secretName", secret, *dns_subdomain(secret))
    its_class = spec.get("ingressClassName")
    if its_class is not None:
        problems.invalid("spec.ingressClassName", its_class, *dns_subdomain(its_class))
    annotated = ((obj.get("metadata") or {}).get("annotations") or {}).get(_CLASS)
    if annotated is not None and its_class is not None and annotated != its_class:
        why = "must match `ingressClassName` when both are specified"
        problems.invalid(f"annotations.{_CLASS}", annotated, why)


def _host(problems: Problems, host: str, path: str) -> None:
    problems.invalid(path, host, *(wildcard_subdomain(host) if "*" in host else dns_subdomain(host)))


def _paths(problems: Problems, paths: list[Object], path: str) -> None:
    if not paths:
        problems.required(path)
    for i, item in enumerate(paths):
        where, kind, text = f"{path}[{i}]", item.get("pathType"), item.get("path") or ""
        if kind is None:
            problems.required(f"{where}.pathType", "pathType must be specified")
            continue
        check_choice(problems, kind, f"{where}.pathType", _PATH_TYPES)
        exact = kind in ("Exact", "Prefix")
        if not text.startswith("/") and (exact or (text and kind == "ImplementationSpecific")):
            problems.invalid(f"{where}.path", text, "must be an absolute path")
        if exact:
            bad = [f"must not contain '{part}'" for part in _NOT_WITHIN if part in text]
            bad += [f"cannot end with '{part}'" for part in _NOT_AT_THE_END if text.endswith(part)]
            problems.invalid(f"{where}.path", text, *bad)
        _backend(problems, item.get("backend") or {}, f"{where}.backend")


def _backend(problems: Problems, backend: Object, path: str) -> None:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        problems.invalid(path, "", "cannot set both resource and service backends")
    elif resource is not None:
        _reference(problems, resource, f"{path}.resource")
    elif service is None:
        problems.invalid(path, "", "resource or service backend is required")
    else:
        name = service.get("name") or ""
        if not name:
            problems.required(f"{path}.service.name")
        else:
            problems.invalid(f"{path}.service.name", name, *dns_label(name))
        port = service.get("port") or {}
        named, number = port.get("name") or "", port.get("number") or 0
        if named and number:
            problems.invalid(path, "", "cannot set both port name & port number")
        elif named:
            problems.invalid(f"{path}.service.port.name", named, *port_name(named))
        elif number:
            problems.invalid(f"{path}.service.port.number", number, *port_number(number))
        else:
            problems.required(path, "port name or number is required")


def _reference(problems: Problems, reference: Object, path: str) -> None:
    group = reference.get("apiGroup")
    if group is not None:
        problems.invalid(f"{path}.apiGroup", group, *dns_subdomain(group))
    check_name_in_path(problems, reference, "kind", path)
    check_name_in_path(problems, reference, "name", path)


def _ingress_warnings(obj: Object, old: Object | None) -> Iterator[str]:
    annotated = _CLASS in ((obj.get("metadata") or {}).get("annotations") or {})
    if old is None and annotated and (obj.get("spec") or {}).get("ingressClassName") is None:
        yield f"annotation \"{_CLASS}\" is deprecated, please use 'spec.ingressClassName' instead"


def _check_class(problems: Problems, obj: Object) -> None:
    spec = obj.get("spec") or {}
    check_metadata(problems, obj)
    controller, parameters = spec.get("controller") or "", spec.get("parameters")
    if len(controller.encode()) > _LONGEST_CONTROLLER:
        problems.too_long("spec.controller", _LONGEST_CONTROLLER)
    check_domain_path(problems, controller, "spec.controller")
    if parameters is None:
        return
    path, namespace = "spec.parameters", parameters.get("namespace")
    _reference(problems, parameters, path)
    match parameters.get("scope"):
        case None:
            problems.required(f"{path}.scope")
        case "Namespace" if namespace is None:
            problems.required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'")
        case "Namespace":
            problems.invalid(f"{path}.namespace", namespace, *dns_label(namespace))
        case "Cluster" if namespace is not None:
            problems.forbidden(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'")
        case scope:
            check_choice(problems, scope, f"{path}.scope", ("Cluster", "Namespace"))


def _default_class(request: object, spec: Object) -> None:
    if spec.get("parameters") is not None and spec["parameters"].get("scope") is None:
        spec["parameters"]["scope"] = "Cluster"


_POLICY_TYPES = ("Ingress", "Egress")


def _default_policy(request: Request, spec: Object) -> None:
    for direction in ("ingress", "egress"):
        for rule in each(spec, direction):
            for port in each(rule, "ports"):
                port["protocol"] = port.get("protocol") or "TCP"
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if each(spec, "egress") else ["Ingress"]


def _check_policy(problems: Problems, obj: Object) -> None:
    spec = obj.get("spec") or {}
    check_metadata(problems, obj)
    check_label_selector(problems, spec.get("podSelector"), "spec.podSelector")
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for i, rule in enumerate(each(spec, direction)):
            where = f"spec.{direction}[{i}]"
            for j, port in enumerate(each(rule, "ports")):
                _port(problems, port, f"{where}.ports[{j}]")
            for j, peer in enumerate(each(rule, peers)):
                _peer(problems, peer, f"{where}.{peers}[{j}]")
    types = spec.get("policyTypes") or []
    if len(types) > len(_POLICY_TYPES):
        problems.invalid("spec.policyTypes", types, "may not specify more than two policyTypes")
        return
    for i, name in enumerate(types):
        check_choice(problems, name, f"spec.policyTypes[{i}]", _POLICY_TYPES)


def _port(problems: Problems, item: Object, path: str) -> None:
    check_choice(problems, item.get("protocol"), f"{path}.protocol", ("TCP", "UDP", "SCTP"))
    port, end = item.get("port"), item.get("endPort")
    if port is None:
        if end is not None:
            problems.invalid(f"{path}.endPort", end, "may not be specified when `port` is not specified")
    elif isinstance(port, str):
        if end is not None:
            problems.invalid(f"{path}.endPort", end, "may not be specified when `port` is non-numeric")
        check_port(problems, port, f"{path}.port")
    else:
        check_port(problems, port, f"{path}.port")
        if end is not None:
            if end < port:
                problems.invalid(f"{path}.endPort", port, "must be greater than or equal to `port`")
            problems.invalid(f"{path}.endPort", end, *port_number(end))


def _peer(problems: Problems, peer: Object, path: str) -> None:
    for key in ("podSelector", "namespaceSelector"):
        check_label_selector(problems, peer.get(key), f"{path}.{key}")
    block = peer.get("ipBlock")
    if block is not None:
        _block(problems, block, f"{path}.ipBlock")
    given = [key for key in ("podSelector", "namespaceSelector", "ipBlock") if peer.get(key) is not None]
    if not given:
        problems.required(path, "must specify a peer")
    elif len(given) > 1 and block is not None:
        problems.forbidden(path, "may not specify both ipBlock and another peer")


def _block(problems: Problems, block: Object, path: str) -> None:
    whole = block.get("cidr") or ""
    if not whole:
        problems.required(f"{path}.cidr")
        return
    problems.invalid(f"{path}.cidr", whole, *network_rules(whole, problems.features))
    outer = read_network(whole)
    if outer is None:
        return
    for i, text in enumerate(block.get("except") or ()):
        where, inner = f"{path}.except[{i}]", read_network(text or "")
        problems.invalid(where, text or "", *network_rules(text or "", problems.features))
        if inner is None:
            continue
        if inner[1].network_address not in outer[1] or outer[1].prefixlen >= inner[1].prefixlen:
            problems.invalid(where, text, "must be a strict subset of `cidr`")


def _policy_warnings(obj: Object, old: Object | None) -> Iterator[str]:
    for rules, peers in (("ingress", "from"), ("egress", "to")):
        for i, rule in enumerate(each(obj["spec"], rules)):
            for j, peer in enumerate(each(rule, peers)):
                block, where = peer.get("ipBlock") or {}, f"spec.{rules}[{i}].{peers}[{j}].ipBlock"
                yield from network_warnings(f"{where}.cidr", block.get("cidr") or "")
                for k, text in enumerate(block.get("except") or ()):
                    yield from network_warnings(f"{where}.except[{k}]", text or "")


_ONE_EACH = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"


def _check_address(problems: Problems, obj: Object) -> None:
    check_named(problems, obj, standard_ip_rules)
    parent, path = (obj.get("spec") or {}).get("parentRef"), "spec.parentRef"
    if parent is None:
        problems.required(path)
        return
    group, namespace = parent.get("group") or "", parent.get("namespace") or ""
    if group:
        problems.invalid(f"{path}.group", group, *dns_subdomain(group))
    for key in ("resource", "name"):
        value = parent.get(key) or ""
        if not value:
            problems.required(f"{path}.{key}")
        else:
            problems.invalid(f"{path}.{key}", value, *path_segment(value))
    if namespace:
        problems.invalid(f"{path}.namespace", namespace, *path_segment(namespace))


def _check_networks(problems: Problems, obj: Object) -> None:
    check_metadata(problems, obj)
    check_networks(problems, obj["spec"])


def check_networks(problems: Problems, spec: Object) -> None:
    """One network, or one of each family."""
    networks, path = spec.get("cidrs") or [], "spec.cidrs"
    if not networks:
        problems.required(path, "at least one CIDR required")
    elif len(networks) > 2:
        problems.invalid(path, spec, "may only hold up to 2 values")
    else:
        for i, text in enumerate(networks):
            problems.invalid(f"{path}[{i}]", text, *standard_network_rules(text))
        families = [found[0].version for found in map(read_network, networks) if found is not None]
        if len(families) == 2 and families[0] == families[1]:
            problems.invalid(path, networks, _ONE_EACH)


STRATEGIES = {
    "Ingress": Strategy(check=_check_ingress, warnings=_ingress_warnings),
    "IngressClass": Strategy(defaults=_default_class, check=_check_class),
    "NetworkPolicy": Strategy(defaults=_default_policy, check=_check_policy, warnings=_policy_warnings),
    "IPAddress": Strategy(check=_check_address),
    "ServiceCIDR": Strategy(check=_check_networks),
}
