"""Rules for how a pod is called in the network and whom it asks there, and for what it shares with its node.

Upstream: pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

from kwhatif.admission.answer import Object
from kwhatif.admission.request import containers_of, each
from kwhatif.admission.validation.addresses import ip_rules
from kwhatif.admission.validation.name_rules import dns_subdomain, search_domain
from kwhatif.admission.validation.problems import Problems

DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_MOST_SERVERS, _MOST_SEARCHES, _LONGEST_SEARCHES = 3, 32, 2048
_LONGEST_NAME = 64


def check_dns(problems: Problems, spec: Object, path: str) -> None:
    """``path`` is that of the configuration."""
    config = spec.get("dnsConfig")
    servers, searches = ((config or {}).get(key) or [] for key in ("nameservers", "searches"))
    if spec.get("dnsPolicy") == "None":
        if config is None:
            problems.required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not servers:
            why = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            problems.required(f"{path}.nameservers", why)
            return
    if len(servers) > _MOST_SERVERS:
        problems.invalid(f"{path}.nameservers", servers, f"must not have more than {_MOST_SERVERS} nameservers")
    for i, server in enumerate(servers):
        problems.invalid(f"{path}.nameservers[{i}]", server, *ip_rules(server, problems.features))
    if len(searches) > _MOST_SEARCHES:
        problems.invalid(f"{path}.searches", searches, f"must not have more than {_MOST_SEARCHES} search paths")
    if len(" ".join(searches).encode()) > _LONGEST_SEARCHES:
        why = f"must not have more than {_LONGEST_SEARCHES} characters (including spaces) in the search list"
        problems.invalid(f"{path}.searches", searches, why)
    for i, search in enumerate(searches):
        if search != ".":
            domain = search.removesuffix(".")
            problems.invalid(f"{path}.searches[{i}]", domain, *search_domain(domain))
    for i, option in enumerate(each(config, "options")):
        if not option.get("name"):
            problems.required(f"{path}.options[{i}]", "must not be empty")


def check_host_aliases(problems: Problems, aliases: list[Object], path: str) -> None:
    for i, alias in enumerate(aliases):
        address = alias.get("ip") or ""
        problems.invalid(f"{path}[{i}].ip", address, *ip_rules(address, problems.features))
        for k, name in enumerate(alias.get("hostnames") or ()):
            problems.invalid(f"{path}[{i}].hostnames[{k}]", name, *dns_subdomain(name))


def check_host_users(problems: Problems, spec: Object, path: str) -> None:
    """A pod with users of its own shares no other namespace with its node."""
    if spec.get("hostUsers") is not False:
        return
    for key, told in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
        if spec.get(key):
            problems.forbidden(f"{path}.{told}", "when `hostUsers` is false")
    for where, container in containers_of(spec, path):
        if container.get("volumeDevices"):
            problems.forbidden(f"{where}.volumeDevices", "when `hostUsers` is false")


def check_hostname_override(problems: Problems, spec: Object, path: str) -> None:
    name, where = spec.get("hostnameOverride"), f"{path}.hostnameOverride"
    if name is None:
        return
    if spec.get("setHostnameAsFQDN"):
        problems.forbidden(where, "may not be specified when setHostnameAsFQDN is true")
    if spec.get("hostNetwork"):
        problems.forbidden(where, "may not be specified when hostNetwork is true")
    if len(name.encode()) > _LONGEST_NAME:
        problems.too_long(where, _LONGEST_NAME)
    problems.invalid(where, name, *dns_subdomain(name))
