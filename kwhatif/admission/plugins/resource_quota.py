"""ResourceQuota: which quotas an object falls under, what it uses of them, and refusals once they are exceeded.

Usage is counted from the objects of the cluster; only for kinds that the snapshot does not cover the quota's own status
counts. Upstream: apiserver/pkg/admission/plugin/resourcequota/controller.go, pkg/quota/v1/evaluator/core (pods.go,
persistent_volume_claims.go, resource_claims.go, services.go) and apiserver/pkg/quota/v1/generic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from kwhatif.admission.container_amounts import Amounts, amounts, of_pod
from kwhatif.admission.object_store import ObjectStore, known_kind, name_of, namespace_of, resource_name
from kwhatif.admission.plugins.quota_scopes import in_scope
from kwhatif.admission.request import Request, each
from kwhatif.admission.response import Object, RequestRefusal
from kwhatif.admission.validation.field_rules import is_extended, is_native
from kwhatif.api.objects import part_of, section
from kwhatif.api.quantity import Quantity
from kwhatif.versions import Features

_NONE: Mapping[str, str] = {}
_ONE = Quantity.from_units(1)
_DEVICE_CLASS = "deviceclass.resource.kubernetes.io/"
_BY_CLASS = ".storageclass.storage.k8s.io/"
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_BY_DEVICE_CLASS = ".deviceclass.resource.k8s.io/devices"
_MOST_DEVICES = 32
"""The most devices of a claim; one that requests all is counted with these."""
_NODE_PORTS, _BALANCERS = "services.nodeports", "services.loadbalancers"
OF_WHOLE_SERVICES = frozenset({_NODE_PORTS, _BALANCERS})
"""What services count for by fields that scheduling never reads."""
_CLAIM_NAMES = ("persistentvolumeclaims", "requests.storage")
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_POD_NAMES = frozenset(
    {"pods", "count/pods", *_COMPUTE, *(f"{side}.{name}" for side in ("requests", "limits") for name in _COMPUTE)}
)
# A quota of one of these obliges every container to name it.
_REQUIRED = frozenset({"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"})
_COUNTED_BY_NAME = frozenset({"services", "secrets", "configmaps", "replicationcontrollers", "resourcequotas"})


def counted_names(obj: Object, hard: Iterable[str], served: Mapping[str, str] = _NONE) -> list[str]:
    """Those of a quota's names that objects of this kind count for.

    ``served``: by class of devices, the extended resource that pods may ask for instead.
    """
    match known_kind(obj):
        case "Pod":
            return [name for name in hard if name in _POD_NAMES or _is_pod_name(name)]
        case "PersistentVolumeClaim":
            return [name for name in hard if name == "count/persistentvolumeclaims" or _is_claim_name(name)]
    resource = resource_name(obj)
    own = {f"count/{resource}", *({resource} & _COUNTED_BY_NAME)}
    match known_kind(obj):
        case "Service":
            own |= {_NODE_PORTS, _BALANCERS}
        case "ResourceClaim":
            own |= {name for name in hard if name.endswith(_BY_DEVICE_CLASS)}
            own |= {alias for name, resource in served.items() for alias in _aliases(name, resource)}
    return [name for name in hard if name in own]


def usage(obj: Object, served: Mapping[str, str] = _NONE) -> Amounts:
    """What an object uses up; ``served`` as above."""
    match known_kind(obj):
        case "Pod":
            return _of_pod(obj)
        case "PersistentVolumeClaim":
            return _of_claim(obj)
    resource = resource_name(obj)
    usage = {f"count/{resource}": _ONE, resource: _ONE}
    match known_kind(obj):
        case "Service":
            usage |= _of_service(section(obj, "spec"))
        case "ResourceClaim":
            usage |= _of_devices(section(obj, "spec"), served)
    return usage


def must_specify(pod: Object, names: Iterable[str]) -> str:
    """Upstream's complaint about containers that do not name what the quota bounds, else nothing."""
    spec = section(pod, "spec")
    at_pod_level = section(spec, "resources")
    if at_pod_level.get("requests") or at_pod_level.get("limits"):
        return ""
    lacking: dict[str, set[str]] = {}
    for container in [*each(spec, "containers"), *each(spec, "initContainers")]:
        resources = section(container, "resources")
        named = _compute(amounts(resources.get("requests")), amounts(resources.get("limits")))
        for name in _REQUIRED.intersection(names).difference(named):
            lacking.setdefault(name, set()).add(str(container.get("name") or ""))
    if not lacking:
        return ""
    return "must specify " + "; ".join(f"{name} for: {','.join(sorted(lacking[name]))}" for name in sorted(lacking))


def _is_pod_name(name: str) -> bool:
    if name.startswith(("hugepages-", "requests.hugepages-")):
        return True
    return name.startswith("requests.") and (not is_native(name) or name.startswith(f"requests.{_DEVICE_CLASS}"))


def _is_claim_name(name: str) -> bool:
    return name in _CLAIM_NAMES or name.endswith(tuple(_BY_CLASS + suffix for suffix in _CLAIM_NAMES))


def _of_pod(pod: Object) -> Amounts:
    """A pod that has ended counts as an object, but for no resource."""
    counted: Amounts = {"count/pods": _ONE}
    if section(pod, "status").get("phase") in ("Succeeded", "Failed"):
        return counted
    spec = section(pod, "spec")
    return {**counted, "pods": _ONE, **_compute(of_pod(spec, "requests"), of_pod(spec, "limits"))}


def _compute(requests: Amounts, limits: Amounts) -> Amounts:
    usage: Amounts = {}
    for name, amount in requests.items():
        if name in _COMPUTE or name.startswith("hugepages-"):
            usage[name] = usage[f"requests.{name}"] = amount
        elif is_extended(name) or name.startswith(_DEVICE_CLASS):
            usage[f"requests.{name}"] = amount
    usage.update({f"limits.{name}": amount for name, amount in limits.items() if name in _COMPUTE})
    return usage


def _of_service(spec: Object) -> Amounts:
    """Node ports are counted by what the service asks for: they have not been allocated yet."""
    kind, ports = spec.get("type"), each(spec, "ports")
    if kind not in ("NodePort", "LoadBalancer"):
        return {}
    if kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is False:
        ports = [port for port in ports if port.get("nodePort")]
    usage = {_NODE_PORTS: Quantity.from_units(len(ports))}
    return usage | {_BALANCERS: _ONE} if kind == "LoadBalancer" else usage


def _aliases(name: str, resource: str) -> tuple[str, str]:
    """What devices of a class are called as resources of pods."""
    return f"requests.{_DEVICE_CLASS}{name}", f"requests.{resource}"


def _of_devices(spec: Object, served: Mapping[str, str]) -> Amounts:
    """Devices by class; of requests that are each other's substitutes, the most of each class."""
    numbers: Counter[str] = Counter()
    for request in each(spec.get("devices"), "requests"):
        most: dict[str, int] = {}
        for one in each(request, "firstAvailable") or [section(request, "exactly")]:
            name, everything = str(one.get("deviceClassName") or ""), one.get("allocationMode") == "All"
            number = _MOST_DEVICES if everything else int(one.get("count") or 1)
            most[name] = max(most.get(name, 0), number)
        numbers.update(most)
    usage = {f"{name}{_BY_DEVICE_CLASS}": Quantity.from_units(number) for name, number in numbers.items()}
    for name in numbers.keys() & served.keys():
        usage.update(dict.fromkeys(_aliases(name, served[name]), Quantity.from_units(numbers[name])))
    return usage


def _of_claim(claim: Object) -> Amounts:
    spec, annotations = section(claim, "spec"), section(claim, "metadata", "annotations")
    usage = {"persistentvolumeclaims": _ONE, "count/persistentvolumeclaims": _ONE}
    storage = amounts(section(spec, "resources").get("requests")).get("storage")
    allocated = amounts(section(claim, "status").get("allocatedResources")).get("storage")
    if storage is not None:
        largest = max(storage, allocated) if allocated is not None else storage
        rounded = Quantity.from_units(largest.value())
        usage["requests.storage"] = largest if rounded == largest else rounded
    storage_class = annotations.get(_BETA_CLASS) or spec.get("storageClassName")
    if storage_class:
        usage.update({f"{storage_class}{_BY_CLASS}{name}": usage[name] for name in _CLAIM_NAMES if name in usage})
    return usage


_NOTHING = Quantity.from_units(0)
_FOR_POD = "resource.kubernetes.io/extended-resource-claim"
_Key = tuple[str, str]
_POD, _CLAIM = {"apiVersion": "v1", "kind": "Pod"}, {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim"}
_BESIDE = {"Pod": _CLAIM, "ResourceClaim": _POD}


class _Ledger(msgspec.Struct):
    """What the objects of one kind in one namespace use: each one's share, and the sum for each quota."""

    shares: dict[_Key, tuple[Object, Amounts]] = {}
    sums: dict[str, Amounts] = {}


class Quotas:
    """Keeps count of what is used while objects come and go."""

    def __init__(self, world: ObjectStore, features: Features) -> None:
        self._world, self._features = world, features
        self._ledgers: dict[tuple[str, str], _Ledger] = {}
        self._seen_later: dict[str, bool] = {}
        world.watch(self._observe)

    def _resources_by_class(self, obj: Object) -> dict[str, str]:
        """By class of devices, the extended resource that pods may ask for instead; claims count for that, too.

        Not those that the scheduler makes for such pods: the pods count already.
        """
        if known_kind(obj) != "ResourceClaim" or not self._features.dra_extended_resource:
            return {}
        if section(obj, "metadata", "annotations").get(_FOR_POD) == "true":
            return {}
        classes = ((name_of(one), section(one, "spec")) for one in self._world.all("DeviceClass"))
        return {name: spec["extendedResourceName"] for name, spec in classes if spec.get("extendedResourceName")}

    def _governs(self, quota: Object, obj: Object) -> bool:
        return bool(counted_names(obj, _hard(quota), self._resources_by_class(obj))) and in_scope(quota, obj)

    def _usage(self, obj: Object) -> Amounts:
        return usage(obj, self._resources_by_class(obj))

    def check(self, request: Request) -> RequestRefusal | None:
        """Refuse a request that would go beyond any quota of its namespace."""
        obj, kind = request.object, request.kind
        if kind == "ResourceQuota" or not _counts(request):
            return None
        quotas = [quota for quota in self._world.all("ResourceQuota", request.namespace) if self._governs(quota, obj)]
        if not quotas:
            return None
        for quota in quotas:
            complaint = must_specify(obj, _hard(quota)) if kind == "Pod" else ""
            if complaint:
                return request.forbidden(f"failed quota: {name_of(quota)}: {complaint}")
        more = {name: amount for name, amount in self._usage(obj).items() if not amount.is_zero}
        old = request.old
        for quota in quotas:
            # An object that was in none of the quota's scopes counts as a whole.
            before = self._usage(old) if old is not None and in_scope(quota, old) else {}
            names = [name for name in counted_names(obj, _hard(quota), self._resources_by_class(obj)) if name in more]
            problem = self._describe_excess(quota, obj, {name: more[name] for name in names}, before)
            if problem:
                return request.forbidden(f"exceeded quota: {name_of(quota)}, {problem}")
        return None

    def rooms(self, objs: Iterable[Object]) -> dict[tuple[str, str], int]:
        """How many times all of these new objects together would still be let in, by quota and its resource.

        Quotas are called ``namespace/name``.
        """
        taken: dict[tuple[str, str], tuple[Quantity, int]] = {}
        for obj in objs:
            shares = {name: share for name, share in self._usage(obj).items() if not share.is_zero}
            for quota in self._world.all("ResourceQuota", namespace_of(obj)):
                if not self._governs(quota, obj):
                    continue
                hard, used = _hard(quota), self._usage_of(quota, obj)
                for name in counted_names(obj, hard, self._resources_by_class(obj)):
                    if name in shares:
                        key = (f"{namespace_of(quota)}/{name_of(quota)}", name)
                        before = taken.get(key, (_NOTHING, 0))[0]
                        taken[key] = (before + shares[name], (hard[name] - used.get(name, _NOTHING)).nano())
        return {key: max(left // share.nano(), 0) for key, (share, left) in taken.items()}

    def used_by_pods(self, quota: Object) -> dict[str, tuple[Quantity, Quantity]]:
        """What pods use of a quota, and how much of that it allows, by the name of the resource."""
        pod = {**_POD, "metadata": {"namespace": namespace_of(quota)}}
        hard, used = _hard(quota), self._usage_of(quota, pod)
        return {name: (used[name], hard[name]) for name in counted_names(pod, hard) if name in used}

    def _describe_excess(self, quota: Object, obj: Object, more: Amounts, before: Amounts) -> str:
        hard, used = _hard(quota), self._usage_of(quota, obj)
        over = []
        for name, amount in sorted(more.items()):
            grows = amount > before.get(name, _NOTHING)
            total = used.get(name, _NOTHING) + amount
            if grows and total > hard[name] + before.get(name, _NOTHING):
                over.append(name)
        if not over:
            return ""
        excess = {name: _difference(more[name], before.get(name)) for name in over}
        usage = f"used: {_format_amounts(used, over)}, limited: {_format_amounts(hard, over)}"
        return f"requested: {_format_amounts(excess)}, {usage}"

    def _usage_of(self, quota: Object, obj: Object) -> Amounts:
        """The usage of a quota: pods and claims of devices may count for the same resource.

        Where not all of both kinds are known, the quota's status is taken for both.
        """
        used, other = self._usage_of_kind(quota, obj), _BESIDE.get(known_kind(obj))
        if other is None or not self._resources_by_class(_CLAIM) or not all(map(self._world.knows, _BESIDE)):
            return used
        beside = self._usage_of_kind(quota, {**other, "metadata": {"namespace": namespace_of(quota)}})
        return {name: amount + beside.get(name, _NOTHING) for name, amount in used.items()}

    def _usage_of_kind(self, quota: Object, obj: Object) -> Amounts:
        ledger = self._ledger(part_of(obj, "kind"), namespace_of(quota))
        name = name_of(quota)
        if name not in ledger.sums:
            ledger.sums[name] = self._count_usage(quota, obj, ledger)
        return ledger.sums[name]

    def _count_usage(self, quota: Object, obj: Object, ledger: _Ledger) -> Amounts:
        names = counted_names(obj, _hard(quota), self._resources_by_class(obj))
        total = dict.fromkeys(names, _NOTHING)
        counted = names if self._seen_later.get(part_of(obj, "kind")) else OF_WHOLE_SERVICES.intersection(names)
        if counted is names or any(self._world.is_sketch(other) for other, _ in ledger.shares.values()):
            said = amounts(section(quota, "status").get("used"))
            total.update({name: said[name] for name in counted if name in said})
        for other, share in ledger.shares.values():
            if in_scope(quota, other):
                _add(total, share)
        return total

    def _ledger(self, kind: str, namespace: str) -> _Ledger:
        ledger = self._ledgers.get((kind, namespace))
        if ledger is None:
            self._seen_later.setdefault(kind, not self._world.knows(kind))
            ledger = self._ledgers[kind, namespace] = _Ledger()
            for obj in self._world.all(kind, namespace):
                ledger.shares[kind, name_of(obj)] = (obj, self._usage(obj))
        return ledger

    def _observe(self, before: Object | None, now: Object | None) -> None:
        """An object changed: a new one is added to the sums, otherwise they are recomputed."""
        obj = now if now is not None else before
        if obj is None:
            return
        if part_of(obj, "kind") == "ResourceQuota":
            for (_, namespace), ledger in self._ledgers.items():
                if namespace == namespace_of(obj):
                    ledger.sums.clear()
        mine = self._ledgers.get((part_of(obj, "kind"), namespace_of(obj)))
        if mine is None:
            return
        key = part_of(obj, "kind"), name_of(obj)
        if now is None:
            mine.shares.pop(key, None)
            mine.sums.clear()
            return
        share = self._usage(now)
        mine.shares[key] = (now, share)
        if before is not None:
            mine.sums.clear()
            return
        for quota in self._world.all("ResourceQuota", namespace_of(now)):
            if name_of(quota) in mine.sums and in_scope(quota, now):
                _add(mine.sums[name_of(quota)], share)


def _counts(request: Request) -> bool:
    """A new object counts; of changed ones only claims, services, and a pod that now ends by itself, or no longer."""
    if request.old is None or request.kind in ("PersistentVolumeClaim", "ResourceClaim", "Service"):
        return True
    ends = [section(obj, "spec").get("activeDeadlineSeconds") is not None for obj in (request.object, request.old)]
    return request.kind == "Pod" and ends[0] != ends[1]


def _hard(quota: Object) -> Amounts:
    return amounts(section(quota, "spec").get("hard"))


def _add(total: Amounts, share: Amounts) -> None:
    for name in total.keys() & share.keys():
        total[name] += share[name]


def _difference(more: Quantity, before: Quantity | None) -> Quantity:
    return more if before is None or before.is_zero else more + Quantity.parse(f"-{before}")


def _format_amounts(usage: Amounts, names: Iterable[str] | None = None) -> str:
    return ",".join(f"{name}={usage.get(name, _NOTHING)}" for name in sorted(usage if names is None else names))
