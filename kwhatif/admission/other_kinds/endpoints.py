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
    check_address,
    ip_rules,
    read_address,
    special_address_rules,
    standard_ip_rules,
)
from kwhatif.admission.validation.field_rules import dns_label, dns_subdomain
from kwhatif.admission.validation.metadata import object_table
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.rows import table
from kwhatif.api.objects import section

_MOST_ENDPOINTS = 1000
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


def _usable_ip(ip: str) -> list[str]:
    return ["must be a valid IP address"] if read_address(ip) is None else special_address_rules(ip)


_ADDRESS = table(
    """
    ip                           text & check_address
    hostname                     if_nonempty & dns_label
    nodeName                     dns_subdomain
    ip                           text & _usable_ip
    """,
    *(check_address, _usable_ip),
)
_PROTOCOLS = """
    protocol                     one_of SCTP TCP UDP
    appProtocol                  label_key
"""
_PORT = table(
    f"""
    name                         if_nonempty & dns_label
    port                         number & port_number
    {_PROTOCOLS}"""
)


def _ports(problems: Problems, ports: list[Object], path: str) -> None:
    for i, port in enumerate(ports):
        if len(ports) > 1 and not port.get("name"):
            problems.required(f"{path}[{i}].name")
        _PORT(problems, port, f"{path}[{i}]")


_ENDPOINTS = object_table(
    """
    subsets[]                        missing unless addresses or notReadyAddresses:
            must specify `addresses` or `notReadyAddresses`
    subsets[].addresses[]            address
    subsets[].notReadyAddresses[]    address
    subsets[].ports                  _ports
    """,
    _ports,
    address=_ADDRESS,
)


def _endpoints_warnings(obj: Object, old: Object | None) -> Iterator[str]:
    if _is_managed(obj):
        return
    for i, subset in enumerate(each(obj, "subsets")):
        for key in ("addresses", "notReadyAddresses"):
            for j, address in enumerate(each(subset, key)):
                yield from address_warnings(f"subsets[{i}].{key}[{j}].ip", address.get("ip") or "")


def _is_managed(obj: Object) -> bool:
    labels = section(obj, "metadata", "labels")
    return any(labels.get(key) in names for key, names in _MANAGED_BY.items())


# --- slices


def _slice_defaults(request: Request, obj: Object) -> None:
    for endpoint in each(obj, "endpoints"):
        endpoint.pop("deprecatedTopology", None)
    for port in each(obj, "ports"):
        port["name"] = port.get("name") or ""
        if port.get("protocol") is None:
            port["protocol"] = "TCP"


def _addresses(problems: Problems, endpoint: Object, path: str, kind: str) -> None:
    for i, address in enumerate(endpoint.get("addresses") or ()):
        if kind == "FQDN":
            _domain(problems, address, f"{path}.addresses[{i}]")
        elif kind in ("IPv4", "IPv6"):
            _ip(problems, address, f"{path}.addresses", i, kind)


def _endpoints(problems: Problems, obj: Object, path: str) -> None:
    endpoints, kind = each(obj, "endpoints"), obj.get("addressType") or ""
    if len(endpoints) > _MOST_ENDPOINTS:
        problems.too_many("endpoints", len(endpoints), _MOST_ENDPOINTS)
        return
    for i, endpoint in enumerate(endpoints):
        _ENDPOINT(problems, endpoint, f"endpoints[{i}]")
        _addresses(problems, endpoint, f"endpoints[{i}]", kind)
        _DETAILS(problems, endpoint, f"endpoints[{i}]")


_ENDPOINT = table(
    """
    addresses                    required: must contain at least 1 address
    addresses                    if_nonempty & most 100
    """
)
_DETAILS = table(
    """
    nodeName                     dns_subdomain
    hostname                     dns_label
    hints?.forZones[]            most 8
    hints?.forZones[]            unique name
    hints?.forZones[].name       text & label_value
    hints?                       stop if many
    hints?.forNodes[]            most 8
    hints?.forNodes[]            unique name
    hints?.forNodes[].name       text & dns_subdomain
    """,
    many=lambda hints: len(each(hints, "forZones")) > 8,
)
_SLICE = object_table(
    """
    addressType                  required & one_of FQDN IPv4 IPv6
    ports[]                      most 20000
    ports[].name                 if_nonempty & dns_label
    ports[]                      unique name
    ports[]                      protocols
    .                            _endpoints
    """,
    _endpoints,
    protocols=table(_PROTOCOLS),
)


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


def _slice_warnings(obj: Object, old: Object | None) -> Iterator[str]:
    if old is None and obj.get("addressType") == "FQDN":
        yield "spec.addressType: FQDN endpoints are deprecated"
    if _is_managed(obj):
        return
    for i, endpoint in enumerate(each(obj, "endpoints")):
        for j, address in enumerate(endpoint.get("addresses") or ()):
            yield from address_warnings(f"endpoints[{i}].addresses[{j}]", address)


# --- leases


def _lease_defaults(request: Request, spec: Object) -> None:
    """What the gate CoordinatedLeaderElection is about is dropped, as it is off by default, unless it was set."""
    before = section(request.old, "spec")
    for key in ("strategy", "preferredHolder"):
        if before.get(key) is None:
            spec.pop(key, None)


_LEASE = object_table(
    """
    spec.leaseDurationSeconds    at_least 1: must be greater than 0
    spec.leaseTransitions        at_least 0
    """
)

STRATEGIES = {
    "Endpoints": Strategy(_endpoints_defaults, _ENDPOINTS, warnings=_endpoints_warnings, has_spec=False),
    "EndpointSlice": Strategy(_slice_defaults, _SLICE, warnings=_slice_warnings, has_spec=False),
    "Lease": Strategy(_lease_defaults, _LEASE),
}
