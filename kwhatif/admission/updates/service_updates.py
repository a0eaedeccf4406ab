"""Updates of services: immutable fields, and the cluster IPs and node ports that carry over.

Upstream: pkg/registry/core/service/storage (storage.go, alloc.go), pkg/registry/core/service/strategy.go and
pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

from typing import Any

from kwhatif.admission.kinds.services import check_cluster_ips, check_families, headless
from kwhatif.admission.object_store import Index, ObjectStore
from kwhatif.admission.request import deep_copy_json, each, within
from kwhatif.admission.response import Object
from kwhatif.admission.updates.update_rules import UpdateRules
from kwhatif.admission.validation.problems import Problems
from kwhatif.api.objects import part_of, section

_ONCE = "may not change once set"
_SINGLE = "SingleStack"


def _prepare(new: Object, old: Object) -> None:
    spec, was = within(new, "spec"), section(old, "spec")
    spec["type"] = spec.get("type") or "ClusterIP"
    _carry_over(spec, was)
    _singular_and_plural(spec, was)
    if spec["type"] != "ExternalName":
        spec["ipFamilyPolicy"] = spec.get("ipFamilyPolicy") or was.get("ipFamilyPolicy")
        if spec["ipFamilyPolicy"] == _SINGLE:
            for key in ("clusterIPs", "ipFamilies"):
                if len(spec.get(key) or ()) > 1 and spec[key] == was.get(key):
                    spec[key] = spec[key][:1]
        if not spec.get("ipFamilies") and was.get("ipFamilies"):
            spec["ipFamilies"] = was["ipFamilies"][: len(spec.get("clusterIPs") or (1,))]
    _let_go(spec, was)


def _carry_over(spec: Object, was: Object) -> None:
    """Allocated addresses and ports stay, if the manifest omits them."""
    if "ExternalName" not in (part_of(spec, "type"), was.get("type")):
        spec["clusterIP"] = spec.get("clusterIP") or was.get("clusterIP")
        spec["clusterIPs"] = spec.get("clusterIPs") or deep_copy_json(was.get("clusterIPs"))
    if _has_node_ports(spec) and _has_node_ports(was):
        before = {port.get("name") or "": port.get("nodePort") for port in each(was, "ports")}
        used = {port.get("nodePort") for port in each(spec, "ports")} & set(before.values())
        for port in each(spec, "ports"):
            given = before.get(port.get("name") or "")
            if not port.get("nodePort") and given and given not in used:
                port["nodePort"] = given
    if _checks_health(spec) and _checks_health(was):
        spec["healthCheckNodePort"] = spec.get("healthCheckNodePort") or was.get("healthCheckNodePort")


def _singular_and_plural(spec: Object, was: Object) -> None:
    """``clusterIPs`` follows ``clusterIP`` where only that was changed."""
    ip, before = spec.get("clusterIP") or "", was.get("clusterIP") or ""
    if ip != before and (spec.get("clusterIPs") or []) == (was.get("clusterIPs") or []):
        spec["clusterIPs"] = [ip] if ip else []


def _let_go(spec: Object, was: Object) -> None:
    """Fields that a service of the new type does not use are dropped, unless the update changes them."""
    gone: list[str] = []
    if part_of(spec, "type") == "ExternalName" and was.get("type") != "ExternalName":
        gone += ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"]
    if _checks_health(was) and not _checks_health(spec):
        gone.append("healthCheckNodePort")
    if was.get("type") == "LoadBalancer" != part_of(spec, "type"):
        gone += ["allocateLoadBalancerNodePorts", "loadBalancerClass"]
    if _is_open(was) and not _is_open(spec):
        gone.append("externalTrafficPolicy")
    for key in gone:
        if spec.get(key) == was.get(key):
            spec.pop(key, None)
    outside = ("NodePort", "LoadBalancer")
    ports = {None, 0, *(port.get("nodePort") for port in each(was, "ports"))}
    inside_now = was.get("type") in outside and part_of(spec, "type") not in outside
    if inside_now and all(port.get("nodePort") in ports for port in each(spec, "ports")):
        for port in each(spec, "ports"):
            port.pop("nodePort", None)


def _early(problems: Problems, new: Object, world: ObjectStore) -> None:
    """The IP families are checked before all else."""
    spec = section(new, "spec")
    if part_of(spec, "type") == "ExternalName" or headless(spec):
        return
    check_cluster_ips(problems, spec)
    if not problems.causes:
        check_families(problems, spec)
    if not problems.causes and spec.get("ipFamilyPolicy") == "RequireDualStack" and _single_stack(world):
        why = "this cluster is not configured for dual-stack services"
        problems.invalid("spec.ipFamilyPolicy", spec["ipFamilyPolicy"], why)


_DUAL_SERVICES = Index("Service", lambda it: (len(section(it, "spec").get("ipFamilies") or ()) > 1,))
_DUAL_NODES = Index("Node", lambda it: (len(section(it, "spec").get("podCIDRs") or ()) > 1,))


def _single_stack(world: ObjectStore) -> bool:
    """Whether no service and no node of the cluster has addresses of two families, as far as they are known."""
    return not (world.has_sketches("Service") or world.find(_DUAL_SERVICES, True) or world.find(_DUAL_NODES, True))


def _check(problems: Problems, new: Object, old: Object) -> None:
    spec, was = section(new, "spec"), section(old, "spec")
    if "ExternalName" not in (spec.get("type"), was.get("type")):
        ips, given = spec.get("clusterIPs") or [], was.get("clusterIPs") or []
        headless, was_headless = ips == ["None"], given == ["None"]
        if not (headless and was_headless):
            _addresses(problems, ips, given, spec.get("ipFamilyPolicy"))
        if not (headless or was_headless):
            _families(problems, spec, was)
    balanced = spec.get("type") == was.get("type") == "LoadBalancer"
    if balanced and spec.get("loadBalancerClass") != was.get("loadBalancerClass"):
        problems.invalid("spec.loadBalancerClass", spec.get("loadBalancerClass"), _ONCE)
    port, before = (each_spec.get("healthCheckNodePort") or 0 for each_spec in (spec, was))
    if _checks_health(spec) and _checks_health(was) and port != before:
        problems.forbidden("spec.healthCheckNodePort", "field is immutable")


def _addresses(problems: Problems, ips: list[str], before: list[str], policy: Any) -> None:
    path = "spec.clusterIPs"
    if len(ips) == len(before):
        for i, (ip, old) in enumerate(zip(ips, before, strict=True)):
            if ip != old:
                problems.invalid(f"{path}[{i}]", ips, _ONCE)
        return
    if before and not ips:
        problems.invalid(f"{path}[0]", None, "primary clusterIP can not be unset")
    elif before and ips[0] != before[0]:
        problems.invalid(f"{path}[0]", ips, _ONCE)
    if len(before) > len(ips) == 1 and policy != _SINGLE:
        why = "must be set to 'SingleStack' when releasing the secondary clusterIP"
        problems.invalid("spec.ipFamilyPolicy", policy, why)


def _families(problems: Problems, spec: Object, was: Object) -> None:
    now, before = spec.get("ipFamilies") or [], was.get("ipFamilies") or []
    path = "spec.ipFamilies[0]"
    if len(now) == len(before):
        for family, old in zip(now, before, strict=True):
            if family != old:
                problems.invalid(path, now, _ONCE)
        return
    if len(before) > len(now) and not spec.get("clusterIPs"):
        problems.invalid(path, now, "primary ipFamily can not be unset")
    if now and before and now[0] != before[0]:
        problems.invalid(path, spec.get("clusterIPs"), _ONCE)
    if len(before) > len(now) == 1 and spec.get("ipFamilyPolicy") != _SINGLE:
        why = "must be set to 'SingleStack' when releasing the secondary ipFamily"
        problems.invalid("spec.ipFamilyPolicy", spec.get("ipFamilyPolicy"), why)


def _has_node_ports(spec: Object) -> bool:
    given = spec.get("allocateLoadBalancerNodePorts")
    return spec.get("type") == "NodePort" or (spec.get("type") == "LoadBalancer" and given in (None, True))


def _checks_health(spec: Object) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _is_open(spec: Object) -> bool:
    """Whether it can be reached from outside the cluster."""
    reached = spec.get("type") in ("NodePort", "LoadBalancer")
    return reached or (spec.get("type") == "ClusterIP" and bool(spec.get("externalIPs")))


RULES = {"Service": UpdateRules(prepare=_prepare, early=_early, check=_check, first=True)}
