"""Service: defaults, validation, warnings, and the allocation of cluster IPs and node ports.

Only addresses of services count as in use. The first address of the default service network is reserved for the API
server's own service, whether or not that is in the snapshot; node ports are from the default range unless a service
shows another one. Upstream: pkg/apis/core/v1/defaults.go, pkg/apis/core/validation/validation.go,
pkg/api/service/warnings.go, pkg/registry/core/service/storage/alloc.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.object_store import Index, ObjectStore, name_of
from kwhatif.admission.request import Request, each
from kwhatif.admission.response import Object, RequestRefusal
from kwhatif.admission.validation.addresses import (
    Address,
    address_warnings,
    ip_rules,
    network_rules,
    network_warnings,
    read_address,
    special_address_rules,
)
from kwhatif.admission.validation.field_rules import (
    check_choice,
    check_labels,
    check_port,
    dns_label,
    dns_subdomain,
    label_key,
    port_number,
)
from kwhatif.admission.validation.metadata import check_service_metadata
from kwhatif.admission.validation.problems import Problems
from kwhatif.api.objects import part_of, section

_NODE_PORTS = range(30000, 32768)
_ITS_OWN = "10.96.0.1"
_FAMILIES = ("IPv4", "IPv6")
_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")


def headless(spec: Object) -> bool:
    return spec.get("type") == "ClusterIP" and spec.get("clusterIP") == "None"


def default_cluster_ips(spec: Object) -> None:
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]


def check_cluster_ips(problems: Problems, spec: Object) -> None:
    """The addresses of a service, and their families."""
    if part_of(spec, "type") == "ExternalName":
        return
    path, first, given = "spec.clusterIPs", spec.get("clusterIP") or "", spec.get("clusterIPs") or []
    families = spec.get("ipFamilies") or []
    if first and given[0] != first:
        problems.invalid(path, given, "first value must match `clusterIP`")
    elif given and not first:
        problems.invalid(path, given, "must be empty when `clusterIP` is not specified")
    seen: set[str] = set()
    for i, family in enumerate(families):
        check_choice(problems, family, f"spec.ipFamilies[{i}]", _FAMILIES)
        if family in seen:
            problems.duplicate(f"spec.ipFamilies[{i}]", family)
        seen.add(family)
    check_choice(problems, spec.get("ipFamilyPolicy"), "spec.ipFamilyPolicy", _POLICIES)
    broken = False
    for i, address in enumerate(given):
        if i == 0 and address == "None":
            broken = len(given) > 1
            problems.invalid(path, given, *(["'None' must be the first and only value"] if broken else []))
            continue
        wrong = ip_rules(address or "", problems.features)
        problems.invalid(f"{path}[{i}]", address or "", *wrong)
        broken = broken or bool(wrong)
    if len(given) > 2:
        problems.invalid(path, given, "may only hold up to 2 values")
    if broken:
        return
    own_families = [_family(address) for address in given if address != "None"]
    if len(own_families) > 1 and set(own_families) != set(_FAMILIES):
        problems.invalid(path, given, "may specify no more than one IP for each IP family")
    for i, (own, family) in enumerate(zip(own_families, families, strict=False)):
        if family in _FAMILIES and own != family:
            problems.invalid(f"{path}[{i}]", given[i], f"expected an {family} value as indicated by `ipFamilies[{i}]`")


def allocate(request: Request) -> RequestRefusal | None:
    """Refuse addresses and ports that are taken. An update is not checked, since it mostly has what it asks for."""
    obj, spec = request.object, part_of(request.object, "spec")
    problems = Problems(request.features)
    if request.old is not None or part_of(spec, "type") == "ExternalName":
        return None
    check_cluster_ips(problems, spec)
    if not problems.causes:
        check_families(problems, spec)
    if not problems.causes:
        _addresses(problems, spec, request.store, name_of(obj))
    if not problems.causes and part_of(spec, "type") in ("NodePort", "LoadBalancer"):
        _node_ports(problems, spec, request.store)
    return problems.refusal(obj)


def check_families(problems: Problems, spec: Object) -> None:
    """Two families must be meant. Whether a cluster has both is not known."""
    policy = spec.get("ipFamilyPolicy")
    dual = policy is None and spec.get("clusterIP") == "None" and not spec.get("selector")
    if dual or policy in ("PreferDualStack", "RequireDualStack"):
        return
    why = "must be 'RequireDualStack' or 'PreferDualStack' when multiple"
    if len(spec.get("clusterIPs") or ()) == 2:
        problems.invalid("spec.ipFamilyPolicy", "SingleStack", f"{why} cluster IPs are specified")
    if len(spec.get("ipFamilies") or ()) == 2:
        problems.invalid("spec.ipFamilyPolicy", "SingleStack", f"{why} IP families are specified")


def _cluster_addresses(service: Object) -> Iterator[Address | None]:
    spec = section(service, "spec")
    yield from map(read_address, spec.get("clusterIPs") or [spec.get("clusterIP") or ""])


def _taken_node_ports(service: Object) -> Iterator[int]:
    for number in _node_ports_of(section(service, "spec")):
        yield number
        if number not in _NODE_PORTS:
            yield _UNUSUAL


_UNUSUAL = -1
"""Stands for node ports that are not from the default range."""
_BY_ADDRESS = Index("Service", _cluster_addresses)
_BY_NODE_PORT = Index("Service", _taken_node_ports)


def _addresses(problems: Problems, spec: Object, world: ObjectStore, name: str) -> None:
    given = [address for address in spec.get("clusterIPs") or () if address != "None"]
    if not given:
        return
    is_free = world.get("Service", "default", "kubernetes") is not None or name == "kubernetes"
    for text in given:
        address = read_address(text)
        if world.find(_BY_ADDRESS, address) or (address == read_address(_ITS_OWN) and not is_free):
            why = f"failed to allocate IP {text}: provided IP is already allocated"
            problems.invalid("spec.clusterIPs", spec["clusterIPs"], why)
            return


def _node_ports(problems: Problems, spec: Object, world: ObjectStore) -> None:
    """Services that speak of one port in two protocols get one node port for both."""
    ports = each(spec, "ports")
    usual = not world.find(_BY_NODE_PORT, _UNUSUAL)
    chosen: dict[int, int] = {}
    own_numbers: set[int] = set()
    node_ports: dict[int, int] = {}
    for port in ports:
        if port.get("nodePort"):
            node_ports.setdefault(port.get("port") or 0, port["nodePort"])
    for i, port in enumerate(ports):
        own, number = port.get("port") or 0, port.get("nodePort") or 0
        if own not in chosen:
            number = node_ports.get(own, 0)
        if not number or chosen.get(own) == number:
            continue
        chosen.setdefault(own, number)
        path = f"spec.ports[{i}].nodePort"
        if usual and number not in _NODE_PORTS:
            whole = f"{_NODE_PORTS[0]}-{_NODE_PORTS[-1]}"
            why = f"provided port is not in the valid range. The range of valid ports is {whole}"
            problems.invalid(path, number, why)
            return
        if number in own_numbers or world.find(_BY_NODE_PORT, number):
            problems.invalid(path, number, "provided port is already allocated")
            return
        own_numbers.add(number)


def _node_ports_of(spec: Object) -> list[int]:
    numbers = [port.get("nodePort") or 0 for port in each(spec, "ports")]
    return [number for number in (*numbers, spec.get("healthCheckNodePort") or 0) if number]


def _family(address: str) -> str:
    read = read_address(address)
    return "IPv6" if read is not None and read.version == 6 else "IPv4"


_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_BALANCER_ONLY = "may only be used when `type` is 'LoadBalancer'"
_HINTS, _MODE = "service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode"
_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
_THREE_HOURS, _A_DAY = 10800, 86400


def _defaults(request: Request, spec: Object) -> None:
    affinity = spec["sessionAffinity"] = spec.get("sessionAffinity") or "None"
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    config = section(spec, "sessionAffinityConfig", "clientIP")
    if affinity == "ClientIP" and config.get("timeoutSeconds") is None:
        spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _THREE_HOURS}}
    spec["type"] = spec.get("type") or "ClusterIP"
    for port in each(spec, "ports"):
        port["protocol"] = port.get("protocol") or "TCP"
        port["targetPort"] = port.get("targetPort") or port.get("port") or 0
    if _from_outside(spec) and not spec.get("externalTrafficPolicy"):
        spec["externalTrafficPolicy"] = "Cluster"
    if spec.get("internalTrafficPolicy") is None and spec["type"] in ("NodePort", "LoadBalancer", "ClusterIP"):
        spec["internalTrafficPolicy"] = "Cluster"
    if spec["type"] == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is None:
        spec["allocateLoadBalancerNodePorts"] = True
    default_cluster_ips(spec)


def _from_outside(spec: Object) -> bool:
    return part_of(spec, "type") in ("LoadBalancer", "NodePort") or bool(
        part_of(spec, "type") == "ClusterIP" and spec.get("externalIPs")
    )


def _check(problems: Problems, obj: Object) -> None:
    check_service_metadata(problems, obj)
    spec, kind = part_of(obj, "spec"), part_of(obj, "spec", "type")
    annotations = section(obj, "metadata", "annotations")
    if _MODE in annotations and annotations.get(_HINTS, annotations[_MODE]) != annotations[_MODE]:
        why = f"must match annotations[{_HINTS}] when both are specified"
        problems.invalid(f"metadata.annotations[{_MODE}]", annotations[_MODE], why)
    ports = each(spec, "ports")
    if not ports and not headless(spec) and kind != "ExternalName":
        problems.required("spec.ports")
    if kind in ("LoadBalancer", "NodePort") and spec.get("clusterIP") == "None":
        problems.invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services")
    if kind == "ExternalName":
        _external_name(problems, spec)
    _ports(problems, ports)
    check_labels(problems, spec.get("selector"), "spec.selector")
    _affinity(problems, spec)
    check_cluster_ips(problems, spec)
    for i, address in enumerate(spec.get("externalIPs") or ()):
        _external_ip(problems, address or "", f"spec.externalIPs[{i}]")
    check_choice(problems, kind, "spec.type", _TYPES)
    _numbers_of_ports(problems, ports, kind)
    _balancer(problems, spec, annotations)
    _traffic(problems, spec)


def _external_name(problems: Problems, spec: Object) -> None:
    for key in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        if spec.get(key):
            problems.forbidden(f"spec.{key}", "may not be set for ExternalName services")
    name = (spec.get("externalName") or "").removesuffix(".")
    if not name:
        problems.required("spec.externalName")
    else:
        problems.invalid("spec.externalName", name, *dns_subdomain(name))


def _ports(problems: Problems, ports: list[Object]) -> None:
    names: set[str] = set()
    for i, port in enumerate(ports):
        where, name = f"spec.ports[{i}]", port.get("name") or ""
        if not name and len(ports) > 1:
            problems.required(f"{where}.name")
        elif name:
            problems.invalid(f"{where}.name", name, *dns_label(name))
            if name in names:
                problems.duplicate(f"{where}.name", name)
            names.add(name)
        problems.invalid(f"{where}.port", port.get("port") or 0, *port_number(port.get("port") or 0))
        check_choice(problems, part_of(port, "protocol"), f"{where}.protocol", ("SCTP", "TCP", "UDP"))
        check_port(problems, part_of(port, "targetPort"), f"{where}.targetPort")
        if port.get("appProtocol") is not None:
            problems.invalid(f"{where}.appProtocol", port["appProtocol"], *label_key(port["appProtocol"]))


def _numbers_of_ports(problems: Problems, ports: list[Object], kind: str) -> None:
    """Ports of nodes, where there are any, and no port twice."""
    for i, port in enumerate(ports):
        if port.get("nodePort") and kind == "ClusterIP":
            problems.forbidden(f"spec.ports[{i}].nodePort", "may not be used when `type` is 'ClusterIP'")
    seen: set[tuple[str, int]] = set()
    for i, port in enumerate(ports):
        key = part_of(port, "protocol"), port.get("nodePort") or 0
        if key[1] and key in seen:
            problems.duplicate(f"spec.ports[{i}].nodePort", key[1])
        seen.add(key)
    seen = set()
    for i, port in enumerate(ports):
        key = part_of(port, "protocol"), port.get("port") or 0
        if key in seen:
            empty = {"Name": "", "Protocol": key[0], "AppProtocol": None, "Port": key[1], "TargetPort": 0}
            problems.duplicate(f"spec.ports[{i}]", {**empty, "NodePort": 0})
        seen.add(key)


def _affinity(problems: Problems, spec: Object) -> None:
    check_choice(problems, part_of(spec, "sessionAffinity"), "spec.sessionAffinity", ("ClientIP", "None"))
    if part_of(spec, "sessionAffinity") == "ClientIP":
        seconds = part_of(spec, "sessionAffinityConfig", "clientIP", "timeoutSeconds")
        if not 0 < seconds <= _A_DAY:
            why = f"must be greater than 0 and less than {_A_DAY}"
            problems.invalid("spec.sessionAffinityConfig.clientIP.timeoutSeconds", seconds, why)


def _external_ip(problems: Problems, text: str, path: str) -> None:
    wrong = ip_rules(text, problems.features)
    problems.invalid(path, text, *(wrong or special_address_rules(text)))


def _balancer(problems: Problems, spec: Object, annotations: Object) -> None:
    """What only load balancers have."""
    balancer = part_of(spec, "type") == "LoadBalancer"
    ranges, path = spec.get("loadBalancerSourceRanges") or (), "spec.LoadBalancerSourceRanges"
    if ranges:
        if not balancer:
            problems.forbidden(path, _BALANCER_ONLY)
        for i, text in enumerate(ranges):
            problems.invalid(f"{path}[{i}]", text.strip(), *network_rules(text.strip(), problems.features))
    elif _RANGES in annotations:
        path = f"metadata.annotations[{_RANGES}]"
        if not balancer:
            problems.forbidden(path, _BALANCER_ONLY)
        for text in filter(None, (annotations[_RANGES] or "").strip().split(",")):
            problems.invalid(path, text.strip(), *network_rules(text.strip(), problems.features))
    if spec.get("allocateLoadBalancerNodePorts") is not None and not balancer:
        problems.forbidden("spec.allocateLoadBalancerNodePorts", _BALANCER_ONLY)
    its_class = spec.get("loadBalancerClass")
    if its_class is not None and not balancer:
        problems.forbidden("spec.loadBalancerClass", _BALANCER_ONLY)
    elif its_class is not None:
        problems.invalid("spec.loadBalancerClass", its_class, *label_key(its_class))


def _traffic(problems: Problems, spec: Object) -> None:
    policy = spec.get("externalTrafficPolicy")
    if not _from_outside(spec):
        if policy:
            why = "may only be set for externally-accessible services"
            problems.invalid("spec.externalTrafficPolicy", policy, why)
    else:
        check_choice(problems, policy, "spec.externalTrafficPolicy", ("Cluster", "Local"))
    port = spec.get("healthCheckNodePort") or 0
    if port and not (part_of(spec, "type") == "LoadBalancer" and policy == "Local"):
        why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        problems.invalid("spec.healthCheckNodePort", port, why)
    elif port:
        problems.invalid("spec.healthCheckNodePort", port, *port_number(port))
    check_choice(problems, spec.get("internalTrafficPolicy"), "spec.internalTrafficPolicy", ("Cluster", "Local"))
    known = ("PreferClose", "PreferSameZone", "PreferSameNode")
    check_choice(problems, spec.get("trafficDistribution"), "spec.trafficDistribution", known)


def _warnings(obj: Object, old: Object | None) -> Iterator[str]:
    spec, outside = part_of(obj, "spec"), part_of(obj, "spec", "type") == "ExternalName"
    if _HINTS in section(obj, "metadata", "annotations"):
        yield f"annotation {_HINTS} is deprecated, please use {_MODE} instead"
    if not outside and spec.get("clusterIP") not in (None, "", "None"):
        for i, address in enumerate(spec.get("clusterIPs") or ()):
            yield from address_warnings(f"spec.clusterIPs[{i}]", address)
    if headless(spec):
        if spec.get("loadBalancerIP"):
            yield "spec.loadBalancerIP is ignored for headless services"
        if spec.get("externalIPs"):
            yield "spec.externalIPs is ignored for headless services"
        if part_of(spec, "sessionAffinity") != "None":
            yield "spec.SessionAffinity is ignored for headless services"
    for i, address in enumerate(spec.get("externalIPs") or ()):
        yield from address_warnings(f"spec.externalIPs[{i}]", address)
    if spec.get("externalIPs") and not headless(spec) and not outside:
        yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
    yield from address_warnings("spec.loadBalancerIP", spec.get("loadBalancerIP") or "")
    for i, network in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        yield from network_warnings(f"spec.loadBalancerSourceRanges[{i}]", network)
    if spec.get("externalIPs") and outside:
        yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    if spec.get("externalName") and not outside:
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'
    if spec.get("trafficDistribution") == "PreferClose":
        yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'


STRATEGIES = {"Service": Strategy(defaults=_defaults, check=_check, warnings=_warnings, allocate=allocate)}
