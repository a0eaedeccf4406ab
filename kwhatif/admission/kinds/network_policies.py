"""Network policies.

Upstream: pkg/apis/networking/validation/validation.go, pkg/apis/networking/v1/defaults.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.admission.answer import Object
from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.request import Request, each
from kwhatif.admission.validation.addresses import network_rules, network_warnings, read_network
from kwhatif.admission.validation.choices import check_choice, check_port
from kwhatif.admission.validation.name_rules import port_number
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.validate_affinity import check_label_selector
from kwhatif.admission.validation.validate_metadata import check_metadata

_TYPES = ("Ingress", "Egress")


def _defaults(request: Request, spec: Object) -> None:
    for direction in ("ingress", "egress"):
        for rule in each(spec, direction):
            for port in each(rule, "ports"):
                port["protocol"] = port.get("protocol") or "TCP"
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if each(spec, "egress") else ["Ingress"]


def _check(problems: Problems, obj: Object) -> None:
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
    if len(types) > len(_TYPES):
        problems.invalid("spec.policyTypes", types, "may not specify more than two policyTypes")
        return
    for i, name in enumerate(types):
        check_choice(problems, name, f"spec.policyTypes[{i}]", _TYPES)


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


def _warnings(obj: Object, old: Object | None) -> Iterator[str]:
    for rules, peers in (("ingress", "from"), ("egress", "to")):
        for i, rule in enumerate(each(obj["spec"], rules)):
            for j, peer in enumerate(each(rule, peers)):
                block, where = peer.get("ipBlock") or {}, f"spec.{rules}[{i}].{peers}[{j}].ipBlock"
                yield from network_warnings(f"{where}.cidr", block.get("cidr") or "")
                for k, text in enumerate(block.get("except") or ()):
                    yield from network_warnings(f"{where}.except[{k}]", text or "")


STRATEGIES = {"NetworkPolicy": Strategy(defaults=_defaults, check=_check, warnings=_warnings)}
