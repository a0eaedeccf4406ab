"""What definitions of the kinds of scheduler-plugins say of types and bounds, where those of the cluster are not known.

A definition in the snapshot counts more. Upstream: manifests/*/crd.yaml of scheduler-plugins and of
security-profiles-operator.
"""

from __future__ import annotations

from typing import Any

from kwhatif.api.kinds import kind_of

Schema = dict[str, Any]

_NUMBER = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
_STRING: Schema = {"type": "string"}
_TIME: Schema = {"type": "string", "format": "date-time"}
_FREE: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_QUANTITY: Schema = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "pattern": rf"^(\+|-)?{_NUMBER}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{_NUMBER}))?$",
    "x-kubernetes-int-or-string": True,
}
_QUANTITIES: Schema = {"type": "object", "additionalProperties": _QUANTITY}


def _integer(bits: int, **bounds: int) -> Schema:
    return {"type": "integer", "format": f"int{bits}", **bounds}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _object(*required: str, **properties: Schema) -> Schema:
    schema: Schema = {"type": "object", "properties": properties}
    return {**schema, "required": list(required)} if required else schema


_ATTRIBUTES = _list(_object("name", "value", name=_STRING, value=_STRING))
_RESOURCE = _object(
    *("name", "capacity", "allocatable", "available"),
    name=_STRING,
    capacity=_QUANTITY,
    allocatable=_QUANTITY,
    available=_QUANTITY,
)
_COST = _object("name", "value", name=_STRING, value=_integer(64))
_ZONE = _object(
    *("name", "type"),
    name=_STRING,
    type=_STRING,
    parent=_STRING,
    attributes=_ATTRIBUTES,
    costs=_list(_COST),
    resources=_list(_RESOURCE),
)
_WORKLOAD = _object(
    *("kind", "name", "selector"),
    **dict.fromkeys(("apiVersion", "kind", "name", "namespace", "selector"), _STRING),
)
_DEPENDENCY = _object(
    "workload", workload=_WORKLOAD, minBandwidth=_QUANTITY, maxNetworkCost=_integer(64, minimum=0, maximum=10_000)
)
_DESTINATION = _object(
    *("destination", "networkCost"),
    destination=_STRING,
    bandwidthCapacity=_QUANTITY,
    bandwidthAllocated=_QUANTITY,
    networkCost={**_integer(64, minimum=0), "default": 0},
)
_LEVEL = _object(
    *("topologyKey", "originList"),
    topologyKey=_STRING,
    originList=_list(_object("origin", origin=_STRING, costList=_list(_DESTINATION))),
)
_SYSCALLS = {
    **_object("action", "names", action=_STRING, names=_list(_STRING)),
    "x-kubernetes-preserve-unknown-fields": True,
}

_PROPERTIES: dict[tuple[str, str, str], Schema] = {
    ("scheduling.x-k8s.io", "v1alpha1", "PodGroup"): _object(
        spec=_object(minMember=_integer(32), minResources=_QUANTITIES, scheduleTimeoutSeconds=_integer(32)),
        status=_FREE,
    ),
    ("scheduling.x-k8s.io", "v1alpha1", "ElasticQuota"): _object(
        spec=_object(min=_QUANTITIES, max=_QUANTITIES), status=_FREE
    ),
    ("topology.node.k8s.io", "v1alpha2", "NodeResourceTopology"): _object(
        "zones", topologyPolicies=_list(_STRING), attributes=_ATTRIBUTES, zones=_list(_ZONE)
    ),
    ("appgroup.diktyo.x-k8s.io", "v1alpha1", "AppGroup"): _object(
        spec=_object(
            *("numMembers", "topologySortingAlgorithm", "workloads"),
            numMembers=_integer(32, minimum=1),
            topologySortingAlgorithm=_STRING,
            workloads=_list(_object("workload", workload=_WORKLOAD, dependencies=_list(_DEPENDENCY))),
        ),
        status=_object(
            runningWorkloads=_integer(32, minimum=0),
            scheduleStartTime=_TIME,
            topologyCalculationTime=_TIME,
            topologyOrder=_list(_object(workload=_WORKLOAD, index=_integer(32))),
        ),
    ),
    ("networktopology.diktyo.x-k8s.io", "v1alpha1", "NetworkTopology"): _object(
        spec=_object(
            *("weights", "configmapName"),
            weights=_list(_object("name", "topologyList", name=_STRING, topologyList=_list(_LEVEL))),
            configmapName=_STRING,
        ),
        status=_FREE,
    ),
    # What it looks like has changed from release to release of its operator.
    ("security-profiles-operator.x-k8s.io", "v1beta1", "SeccompProfile"): _object(
        spec={
            **_object("defaultAction", defaultAction=_STRING, syscalls=_list(_SYSCALLS)),
            "x-kubernetes-preserve-unknown-fields": True,
        },
        status=_FREE,
    ),
}
_WITH_STATUS = ("PodGroup", "ElasticQuota", "SeccompProfile")
"""Kinds whose status is written by others."""


def is_known(group: str, kind: str) -> bool:
    """Whether a kind is one of theirs."""
    return any((group, kind) == (one, name) for one, _, name in _PROPERTIES)


def definition_by_heart(group: str, version: str, kind: str) -> tuple[Schema, Schema] | None:
    """The spec of a definition and its version; None of any other kind, and of other versions."""
    schema, row = _PROPERTIES.get((group, version, kind)), kind_of(f"{group}/{version}", kind)
    if schema is None or row is None:
        return None
    names = {"kind": kind, "plural": row.plural}
    served: Schema = {"name": version, "served": True, "schema": {"openAPIV3Schema": schema}}
    if kind in _WITH_STATUS:
        served["subresources"] = {"status": {}}
    return {"group": group, "names": names, "scope": "Namespaced" if row.namespaced else "Cluster"}, served
