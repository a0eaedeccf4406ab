"""Addresses of services as objects, and the networks that they are taken from.

Upstream: pkg/apis/networking/validation/validation.go.
"""

from __future__ import annotations

from kwhatif.admission.answer import Object
from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.validation.addresses import read_network, standard_ip_rules, standard_network_rules
from kwhatif.admission.validation.name_rules import dns_subdomain, path_segment
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.validate_metadata import check_metadata, check_named

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
    "IPAddress": Strategy(check=_check_address),
    "ServiceCIDR": Strategy(check=_check_networks),
}
