"""Devices, claims and classes in few words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from kwhatif.api.core import Pod
from kwhatif.api.decode import convert
from kwhatif.api.devices import (
    DeviceClass,
    DeviceTaintRule,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
)
from kwhatif.cluster.cluster import Cluster
from tests.builders import Json, pod

T = TypeVar("T")

DRIVER = "gpu.example.com"


def device(
    name: str,
    *,
    attributes: Mapping[str, Any] | None = None,
    capacity: Mapping[str, Any] | None = None,
    counters: Mapping[str, str] | None = None,
    taints: Iterable[str] = (),
    shared: bool = False,
    **more: Any,
) -> Json:
    """A device. Attributes are told by their Python type, ``counters`` are those of the set ``parts``."""
    kinds = {bool: "bool", int: "int", str: "string", list: "strings"}
    given: Json = {"name": name, **more}
    if attributes:
        given["attributes"] = {key: {kinds[type(value)]: value} for key, value in attributes.items()}
    if capacity:
        given["capacity"] = {k: v if isinstance(v, dict) else {"value": v} for k, v in capacity.items()}
    if counters:
        used = {key: {"value": value} for key, value in counters.items()}
        given["consumesCounters"] = [{"counterSet": "parts", "counters": used}]
    if shared:
        given["allowMultipleAllocations"] = True
    given["taints"] = [{"key": key, "effect": effect} for key, _, effect in (text.partition(":") for text in taints)]
    return given


def devices_of(
    node: str | None,
    devices: Iterable[Json | str],
    *,
    pool: str = "",
    driver: str = DRIVER,
    generation: int = 1,
    slices: int = 1,
    name: str = "",
    **more: Any,
) -> ResourceSlice:
    """The slice of a node with these devices; ``slices`` says how many its pool has."""
    pool = pool or node or "pool"
    spec: Json = {
        "driver": driver,
        "pool": {"name": pool, "generation": generation, "resourceSliceCount": slices},
        "devices": [device(each) if isinstance(each, str) else each for each in devices],
        **more,
    }
    if node is not None:
        spec["nodeName"] = node
    return _made(ResourceSlice, "ResourceSlice", name or f"{pool}-{generation}", spec)


def counters(node: str, pool: str = "", **amounts: str) -> ResourceSlice:
    """The slice with a pool's counters, the set ``parts``; its devices are in another one."""
    sets = [{"name": "parts", "counters": {key: {"value": value} for key, value in amounts.items()}}]
    return devices_of(node, [], pool=pool, slices=2, name=f"{pool or node}-counters", sharedCounters=sets)


def device_class(name: str = "gpu", *selectors: str, **more: Any) -> DeviceClass:
    return _made(DeviceClass, "DeviceClass", name, {"selectors": _cel(selectors), **more})


def request(
    name: str = "r",
    *selectors: str,
    count: int | None = None,
    of: str = "gpu",
    everything: bool = False,
    admin: bool = False,
    tolerates: Iterable[str] = (),
    capacity: Mapping[str, str] | None = None,
) -> Json:
    """A request, as it is in ``exactly``, with its name."""
    found: Json = {"name": name, "deviceClassName": of, "selectors": _cel(selectors)}
    if everything:
        found["allocationMode"] = "All"
    if count is not None:
        found |= {"allocationMode": "ExactCount", "count": count}
    if admin:
        found["adminAccess"] = True
    if capacity:
        found["capacity"] = {"requests": dict(capacity)}
    found["tolerations"] = [{"key": key, "operator": "Exists"} for key in tolerates]
    return found


def first_of(name: str, *alternatives: Json) -> Json:
    return {"name": name, "firstAvailable": list(alternatives)}


def claim(
    name: str = "c",
    *requests: Json,
    constraints: Sequence[Json] = (),
    has: Iterable[str] = (),
    node: str = "",
    used_by: Iterable[str] = (),
    deleting: bool = False,
    namespace: str = "default",
) -> ResourceClaim:
    """A claim; ``has`` names devices of ``node`` (with its pool) that are allocated to it."""
    spec: Json = {"devices": {"requests": [_exactly(each) for each in requests or (request(),)]}}
    spec["devices"]["constraints"] = list(constraints)
    found: Json = {"metadata": {"namespace": namespace, "uid": f"{namespace}/{name}"}, "spec": spec}
    if deleting:
        found["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    results = [{"request": "r", "driver": DRIVER, "pool": node, "device": each} for each in has]
    if results:
        found["status"] = {
            "allocation": {"devices": {"results": results}, "nodeSelector": _only(node)},
            "reservedFor": [{"resource": "pods", "name": user, "uid": f"uid-default-{user}"} for user in used_by],
        }
    return _made(ResourceClaim, "ResourceClaim", name, **found)


def template(name: str, *requests: Json) -> ResourceClaimTemplate:
    spec = {"spec": {"devices": {"requests": [_exactly(each) for each in requests]}}}
    return _made(ResourceClaimTemplate, "ResourceClaimTemplate", name, spec, metadata={"namespace": "default"})


def taint_rule(key: str, effect: str = "NoSchedule", **selector: str) -> DeviceTaintRule:
    spec = {"deviceSelector": selector, "taint": {"key": key, "effect": effect}}
    return convert(
        {
            "apiVersion": "resource.k8s.io/v1beta2",
            "kind": "DeviceTaintRule",
            "metadata": {"name": key},
            "spec": spec,
        },
        DeviceTaintRule,
    )


def pod_with(*claims: str, name: str = "p", **more: Any) -> Pod:
    """A pod that names these claims."""
    spec = {"resourceClaims": [{"name": each, "resourceClaimName": each} for each in claims]}
    return pod(name, spec=spec, **more)


def allocated(cluster: Cluster, name: str = "c") -> list[str]:
    """``request=pool/device`` of what a claim has."""
    allocation = cluster.devices.claims["default", name].status.allocation
    results = (allocation.devices.results if allocation else None) or ()
    return [f"{each.request}={each.pool}/{each.device}" for each in results]


def _exactly(given: Json) -> Json:
    if "firstAvailable" in given:
        return given
    return {"name": given["name"], "exactly": {key: value for key, value in given.items() if key != "name"}}


def _cel(expressions: Iterable[str]) -> list[Json]:
    return [{"cel": {"expression": text}} for text in expressions]


def _only(node: str) -> Json:
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    return {"nodeSelectorTerms": [{"matchFields": [field]}]}


def _made(kind: type[T], name_of_kind: str, name: str, spec: Json, metadata: Json | None = None, **more: Any) -> T:
    return convert(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": name_of_kind,
            "metadata": {"name": name, **(metadata or {})},
            "spec": spec,
            **more,
        },
        kind,
    )
