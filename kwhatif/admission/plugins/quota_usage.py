"""What one object counts for under a resource quota, and which quotas it falls under.

Upstream: pkg/quota/v1/evaluator/core (pods.go, persistent_volume_claims.go, resource_claims.go, services.go) and
apiserver/pkg/quota/v1/generic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from kwhatif.admission.answer import Object
from kwhatif.admission.plugins.container_amounts import Amounts, amounts, of_pod
from kwhatif.admission.request import each
from kwhatif.admission.resources import known_kind, resource_name
from kwhatif.admission.validation.resource_names import is_extended, is_native
from kwhatif.api.quantity import Quantity

_NONE: Mapping[str, str] = {}
_ONE = Quantity.from_units(1)
_DEVICE_CLASS = "deviceclass.resource.kubernetes.io/"
_BY_CLASS = ".storageclass.storage.k8s.io/"
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_BY_DEVICE_CLASS = ".deviceclass.resource.k8s.io/devices"
_MOST_DEVICES = 32
"""So many a claim can have at most; one that asks for all is taken to have them."""
_NODE_PORTS, _BALANCERS = "services.nodeports", "services.loadbalancers"
OF_WHOLE_SERVICES = frozenset({_NODE_PORTS, _BALANCERS})
"""What services count for by fields that scheduling never reads."""
_CLAIM_NAMES = ("persistentvolumeclaims", "requests.storage")
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_POD_NAMES = frozenset(
    {"pods", "count/pods", *_COMPUTE, *(f"{side}.{name}" for side in ("requests", "limits") for name in _COMPUTE)}
)
# Whoever bounds one of these obliges every container to name it.
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
    found = {f"count/{resource}": _ONE, resource: _ONE}
    match known_kind(obj):
        case "Service":
            found |= _of_service(obj.get("spec") or {})
        case "ResourceClaim":
            found |= _of_devices(obj.get("spec") or {}, served)
    return found


def must_specify(pod: Object, names: Iterable[str]) -> str:
    """Upstream's complaint about containers that do not name what the quota bounds, else nothing."""
    spec = pod.get("spec") or {}
    whole = spec.get("resources") or {}
    if whole.get("requests") or whole.get("limits"):
        return ""
    lacking: dict[str, set[str]] = {}
    for container in [*each(spec, "containers"), *each(spec, "initContainers")]:
        resources = container.get("resources") or {}
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
    """A pod that has ended is still an object, but no pod."""
    counted: Amounts = {"count/pods": _ONE}
    if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return counted
    spec = pod.get("spec") or {}
    return {**counted, "pods": _ONE, **_compute(of_pod(spec, "requests"), of_pod(spec, "limits"))}


def _compute(requests: Amounts, limits: Amounts) -> Amounts:
    found: Amounts = {}
    for name, amount in requests.items():
        if name in _COMPUTE or name.startswith("hugepages-"):
            found[name] = found[f"requests.{name}"] = amount
        elif is_extended(name) or name.startswith(_DEVICE_CLASS):
            found[f"requests.{name}"] = amount
    found.update({f"limits.{name}": amount for name, amount in limits.items() if name in _COMPUTE})
    return found


def _of_service(spec: Object) -> Amounts:
    """Ports of nodes count as they are wished for: they have not been given out yet."""
    kind, ports = spec.get("type"), each(spec, "ports")
    if kind not in ("NodePort", "LoadBalancer"):
        return {}
    if kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is False:
        ports = [port for port in ports if port.get("nodePort")]
    found = {_NODE_PORTS: Quantity.from_units(len(ports))}
    return found | {_BALANCERS: _ONE} if kind == "LoadBalancer" else found


def _aliases(name: str, resource: str) -> tuple[str, str]:
    """What devices of a class are called as resources of pods."""
    return f"requests.{_DEVICE_CLASS}{name}", f"requests.{resource}"


def _of_devices(spec: Object, served: Mapping[str, str]) -> Amounts:
    """Devices by class; of requests that are each other's substitutes, the most of each class."""
    numbers: Counter[str] = Counter()
    for request in each(spec.get("devices"), "requests"):
        most: dict[str, int] = {}
        for one in each(request, "firstAvailable") or [request.get("exactly") or {}]:
            name, everything = str(one.get("deviceClassName") or ""), one.get("allocationMode") == "All"
            number = _MOST_DEVICES if everything else int(one.get("count") or 1)
            most[name] = max(most.get(name, 0), number)
        numbers.update(most)
    found = {f"{name}{_BY_DEVICE_CLASS}": Quantity.from_units(number) for name, number in numbers.items()}
    for name in numbers.keys() & served.keys():
        found.update(dict.fromkeys(_aliases(name, served[name]), Quantity.from_units(numbers[name])))
    return found


def _of_claim(claim: Object) -> Amounts:
    spec, annotations = claim.get("spec") or {}, (claim.get("metadata") or {}).get("annotations") or {}
    found = {"persistentvolumeclaims": _ONE, "count/persistentvolumeclaims": _ONE}
    asked = amounts((spec.get("resources") or {}).get("requests")).get("storage")
    allocated = amounts((claim.get("status") or {}).get("allocatedResources")).get("storage")
    if asked is not None:
        largest = max(asked, allocated) if allocated is not None else asked
        whole = Quantity.from_units(largest.value())
        found["requests.storage"] = largest if whole == largest else whole
    storage_class = annotations.get(_BETA_CLASS) or spec.get("storageClassName")
    if storage_class:
        found.update({f"{storage_class}{_BY_CLASS}{name}": found[name] for name in _CLAIM_NAMES if name in found})
    return found
