"""The addresses and node ports of services: which are asked for, and which of them can be had.

Addresses are told by the services that have them. The first one of the usual network for services is taken by the
server itself, whether or not its own service was looked at. Node ports are from the range that is usual, unless a
service shows that the cluster has another one.

Upstream: pkg/apis/core/validation/validation.go, pkg/registry/core/service/storage/alloc.go.
"""

from __future__ import annotations

from kwhatif.admission.answer import Object, Refused
from kwhatif.admission.request import Request, each
from kwhatif.admission.validation.addresses import ip_rules, read_address
from kwhatif.admission.validation.choices import check_choice
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.world import World, name_of

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
    if spec["type"] == "ExternalName":
        return
    path, first, given = "spec.clusterIPs", spec.get("clusterIP") or "", spec.get("clusterIPs") or []
    families = spec.get("ipFamilies") or []
    if first and given[0] != first:
        problems.invalid(path, given, "first value must match `clusterIP`")
    elif given and not first:
        problems.invalid(path, given, "must be empty when `clusterIP` is not specified")
    for i, family in enumerate(families):
        check_choice(problems, family, f"spec.ipFamilies[{i}]", _FAMILIES)
        if family in families[:i]:
            problems.duplicate(f"spec.ipFamilies[{i}]", family)
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
    found = [_family(address) for address in given if address != "None"]
    if len(found) > 1 and set(found) != set(_FAMILIES):
        problems.invalid(path, given, "may specify no more than one IP for each IP family")
    for i, (own, family) in enumerate(zip(found, families, strict=False)):
        if family in _FAMILIES and own != family:
            problems.invalid(f"{path}[{i}]", given[i], f"expected an {family} value as indicated by `ipFamilies[{i}]`")


def allocate(request: Request) -> Refused | None:
    """What is asked for and cannot be had. Of an update nothing is told: it mostly has what it asks for."""
    obj, spec = request.object, request.object["spec"]
    problems = Problems(request.features)
    if request.old is not None or spec["type"] == "ExternalName":
        return None
    check_cluster_ips(problems, spec)
    if not problems.causes:
        _families(problems, spec)
    if not problems.causes:
        _addresses(problems, spec, request.world, name_of(obj))
    if not problems.causes and spec["type"] in ("NodePort", "LoadBalancer"):
        _node_ports(problems, spec, request.world)
    return problems.refusal(obj)


def _families(problems: Problems, spec: Object) -> None:
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


def _addresses(problems: Problems, spec: Object, world: World, name: str) -> None:
    given = [address for address in spec.get("clusterIPs") or () if address != "None"]
    if not given:
        return
    services = [service.get("spec") or {} for service in world.all("Service")]
    taken = {read_address(text) for own in services for text in own.get("clusterIPs") or [own.get("clusterIP") or ""]}
    if world.get("Service", "default", "kubernetes") is None and name != "kubernetes":
        taken.add(read_address(_ITS_OWN))
    for address in given:
        if read_address(address) in taken:
            why = f"failed to allocate IP {address}: provided IP is already allocated"
            problems.invalid("spec.clusterIPs", spec["clusterIPs"], why)
            return


def _node_ports(problems: Problems, spec: Object, world: World) -> None:
    """Services that speak of one port in two protocols get one node port for both."""
    ports = each(spec, "ports")
    taken = {number for service in world.all("Service") for number in _taken(service.get("spec") or {})}
    usual = all(number in _NODE_PORTS for number in taken)
    chosen: dict[int, int] = {}
    for i, port in enumerate(ports):
        own, number = port.get("port") or 0, port.get("nodePort") or 0
        if own not in chosen:
            asked = [other["nodePort"] for other in ports if other.get("port") == own and other.get("nodePort")]
            number = asked[0] if asked else 0
        if not number or chosen.get(own) == number:
            continue
        chosen.setdefault(own, number)
        path = f"spec.ports[{i}].nodePort"
        if usual and number not in _NODE_PORTS:
            whole = f"{_NODE_PORTS[0]}-{_NODE_PORTS[-1]}"
            why = f"provided port is not in the valid range. The range of valid ports is {whole}"
            problems.invalid(path, number, why)
            return
        if number in taken:
            problems.invalid(path, number, "provided port is already allocated")
            return
        taken.add(number)


def _taken(spec: Object) -> list[int]:
    numbers = [port.get("nodePort") or 0 for port in each(spec, "ports")]
    return [number for number in (*numbers, spec.get("healthCheckNodePort") or 0) if number]


def _family(address: str) -> str:
    found = read_address(address)
    return "IPv6" if found is not None and found.version == 6 else "IPv4"
