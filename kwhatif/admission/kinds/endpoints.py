"""Endpoints, EndpointSlice and Lease.

Upstream: pkg/apis/core/validation/validation.go, pkg/apis/discovery (validation/validation.go, v1/defaults.go),
pkg/registry/discovery/endpointslice/strategy.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.request import Request, each
from kwhatif.admission.response import Object
from kwhatif.admission.validation.addresses import (
    address_warnings,
    ip_rules,
    read_address,
    special_address_rules,
    standard_ip_rules,
)
from kwhatif.admission.validation.field_rules import dns_label, dns_subdomain, label_key, label_value, port_number
from kwhatif.admission.validation.metadata import check_metadata
from kwhatif.admission.validation.problems import Problems

_PROTOCOLS = ("SCTP", "TCP", "UDP")
_TYPES = ("FQDN", "IPv4", "IPv6")
_MOST_ENDPOINTS, _MOST_ADDRESSES, _MOST_PORTS, _MOST_HINTS = 1000, 100, 20_000, 8
_MANAGED_BY = {
    "endpoints.kubernetes.io/managed-by": ("endpoint-controller",),
    "endpointslice.kubernetes.io/managed-by": (
        "endpointslice-controller.k8s.io",
        "endpointslicemirroring-controller.k8s.io",
    ),
}
"""The controllers whose addresses are always canonical."""
_NO_DOMAIN = "should be a domain with at least two segments separated by dots"


def _endpoints_defaults(request: Request, obj: Object) -> None:
    for subset in each(obj, "subsets"):
        for port in each(subset, "ports"):
            port["protocol"] = port.get("protocol") or "TCP"


def _check_endpoints(problems: Problems, obj: Object) -> None:
    check_metadata(problems, obj)
    for i, subset in enumerate(each(obj, "subsets")):
        where = f"subsets[{i}]"
        if not each(subset, "addresses") and not each(subset, "notReadyAddresses"):
            problems.required(where, "must specify `addresses` or `notReadyAddresses`")
        for key in ("addresses", "notReadyAddresses"):
            for j, address in enumerate(each(subset, key)):
                _address(problems, address, f"{where}.{key}[{j}]")
        ports = each(subset, "ports")
        for j, port in enumerate(ports):
            _port(problems, port, f"{where}.ports[{j}]", named=len(ports) > 1)


def _address(problems: Problems, address: Object, path: str) -> None:
    ip, hostname, node = address.get("ip") or "", address.get("hostname") or "", address.get("nodeName")
    problems.invalid(f"{path}.ip", ip, *ip_rules(ip, problems.features))
    if hostname:
        problems.invalid(f"{path}.hostname", hostname, *dns_label(hostname))
    if node is not None:
        problems.invalid(f"{path}.nodeName", node, *dns_subdomain(node))
    if read_address(ip) is None:
        problems.invalid(f"{path}.ip", ip, "must be a valid IP address")
    problems.invalid(f"{path}.ip", ip, *special_address_rules(ip))


def _port(problems: Problems, port: Object, path: str, *, named: bool) -> None:
    name, number = port.get("name") or "", port.get("port") or 0
    if named and not name:
        problems.required(f"{path}.name")
    elif name:
        problems.invalid(f"{path}.name", name, *dns_label(name))
    problems.invalid(f"{path}.port", number, *port_number(number))
    _protocols(problems, port, path)


def _protocols(problems: Problems, port: Object, path: str) -> None:
    if port["protocol"] not in _PROTOCOLS:
        problems.unsupported(f"{path}.protocol", port["protocol"], _PROTOCOLS)
    if port.get("appProtocol") is not None:
        problems.invalid(f"{path}.appProtocol", port["appProtocol"], *label_key(port["appProtocol"]))


def _endpoints_warnings(obj: Object, old: Object | None) -> Iterator[str]:
    if _is_managed(obj):
        return
    for i, subset in enumerate(each(obj, "subsets")):
        for key in ("addresses", "notReadyAddresses"):
            for j, address in enumerate(each(subset, key)):
                yield from address_warnings(f"subsets[{i}].{key}[{j}].ip", address.get("ip") or "")


def _is_managed(obj: Object) -> bool:
    labels = (obj.get("metadata") or {}).get("labels") or {}
    return any(labels.get(key) in names for key, names in _MANAGED_BY.items())


# --- slices


def _slice_defaults(request: Request, obj: Object) -> None:
    for endpoint in each(obj, "endpoints"):
        endpoint.pop("deprecatedTopology", None)
    for port in each(obj, "ports"):
        port["name"] = port.get("name") or ""
        if port.get("protocol") is None:
            port["protocol"] = "TCP"


def _check_slice(problems: Problems, obj: Object) -> None:
    check_metadata(problems, obj)
    kind = obj.get("addressType") or ""
    if not kind:
        problems.required("addressType")
    elif kind not in _TYPES:
        problems.unsupported("addressType", kind, _TYPES)
    ports, endpoints = each(obj, "ports"), each(obj, "endpoints")
    if len(ports) > _MOST_PORTS:
        problems.too_many("ports", len(ports), _MOST_PORTS)
    else:
        _slice_ports(problems, ports)
    if len(endpoints) > _MOST_ENDPOINTS:
        problems.too_many("endpoints", len(endpoints), _MOST_ENDPOINTS)
        return
    for i, endpoint in enumerate(endpoints):
        _endpoint(problems, endpoint, f"endpoints[{i}]", kind)


def _slice_ports(problems: Problems, ports: list[Object]) -> None:
    names: set[str] = set()
    for i, port in enumerate(ports):
        name = port["name"]
        if name:
            problems.invalid(f"ports[{i}].name", name, *dns_label(name))
        if name in names:
            problems.duplicate(f"ports[{i}].name", name)
        names.add(name)
        _protocols(problems, port, f"ports[{i}]")


def _endpoint(problems: Problems, endpoint: Object, path: str, kind: str) -> None:
    addresses = endpoint.get("addresses") or []
    if not addresses:
        problems.required(f"{path}.addresses", "must contain at least 1 address")
    elif len(addresses) > _MOST_ADDRESSES:
        problems.too_many(f"{path}.addresses", len(addresses), _MOST_ADDRESSES)
    for i, address in enumerate(addresses):
        if kind == "FQDN":
            _domain(problems, address, f"{path}.addresses[{i}]")
        elif kind in _TYPES:
            _ip(problems, address, f"{path}.addresses", i, kind)
    node, hostname = endpoint.get("nodeName"), endpoint.get("hostname")
    if node is not None:
        problems.invalid(f"{path}.nodeName", node, *dns_subdomain(node))
    if hostname is not None:
        problems.invalid(f"{path}.hostname", hostname, *dns_label(hostname))
    hints = endpoint.get("hints")
    if hints is not None and _hints(problems, each(hints, "forZones"), f"{path}.hints.forZones", zones=True):
        _hints(problems, each(hints, "forNodes"), f"{path}.hints.forNodes", zones=False)


def _ip(problems: Problems, text: str, path: str, number: int, kind: str) -> None:
    wrong = ip_rules(text, problems.features) if kind == "IPv4" else standard_ip_rules(text)
    problems.invalid(f"{path}[{number}]", text, *wrong)
    if wrong:
        return
    if (":" in text) != (kind == "IPv6"):
        problems.invalid(path, text, f"must be an {kind} address")
    problems.invalid(f"{path}[{number}]", text, *special_address_rules(text))


def _domain(problems: Problems, name: str, path: str) -> None:
    if not name:
        problems.required(path)
        return
    name = name.removesuffix(".")
    if wrong := dns_subdomain(name):
        problems.invalid(path, name, ",".join(wrong))
    elif "." not in name:
        problems.invalid(path, name, _NO_DOMAIN)
    else:
        bad = next((label for label in name.split(".") if dns_label(label)), None)
        if bad is not None:
            problems.invalid(path, bad, ",".join(dns_label(bad)))


def _hints(problems: Problems, hints: list[Object], path: str, *, zones: bool) -> bool:
    """Whether there are not too many."""
    if len(hints) > _MOST_HINTS:
        problems.too_many(path, len(hints), _MOST_HINTS)
        return False
    names: set[str] = set()
    for i, hint in enumerate(hints):
        name, where = hint.get("name") or "", f"{path}[{i}].name"
        if name in names:
            problems.duplicate(where, name)
        names.add(name)
        problems.invalid(where, name, *(label_value(name) if zones else dns_subdomain(name)))
    return True


def _slice_warnings(obj: Object, old: Object | None) -> Iterator[str]:
    if old is None and obj.get("addressType") == "FQDN":
        yield "spec.addressType: FQDN endpoints are deprecated"
    if _is_managed(obj):
        return
    for i, endpoint in enumerate(each(obj, "endpoints")):
        for j, address in enumerate(endpoint.get("addresses") or ()):
            yield from address_warnings(f"endpoints[{i}].addresses[{j}]", address)


# --- leases


def _check_lease(problems: Problems, obj: Object) -> None:
    check_metadata(problems, obj)
    spec = obj["spec"]
    seconds, transitions, strategy = (spec.get(key) for key in ("leaseDurationSeconds", "leaseTransitions", "strategy"))
    if seconds is not None and seconds <= 0:
        problems.invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")
    if transitions is not None and transitions < 0:
        problems.invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0")
    if strategy is not None and "/" in strategy:
        problems.invalid("spec.strategy.strategy", strategy, *label_key(strategy))
    elif strategy is not None and strategy != "OldestEmulationVersion":
        problems.unsupported("spec.strategy.strategy", strategy, ("OldestEmulationVersion",))
    if spec.get("preferredHolder") and not strategy:
        problems.forbidden("spec.preferredHolder", "may only be specified if `strategy` is defined")


STRATEGIES = {
    "Endpoints": Strategy(_endpoints_defaults, _check_endpoints, warnings=_endpoints_warnings, has_spec=False),
    "EndpointSlice": Strategy(_slice_defaults, _check_slice, warnings=_slice_warnings, has_spec=False),
    "Lease": Strategy(check=_check_lease),
}
