"""Rules made from the Structs that decode objects and configurations: by the type of a field, and for texts by its
name.

Numbers, quantities and booleans stay; lists and objects are redacted element by element. Structs of configurations
declare the meaning of their texts (``golang/config_struct.py``). ``_OWN`` has exceptions, and fields of manifests that
no Struct decodes. A text without a rule is an error, so that none is forgotten. Plugins of the tree, of all minors,
keep their names; other plugins' names are replaced.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from msgspec import Struct, inspect

from kwhatif.api import core, devices, meta, pod_groups
from kwhatif.api import node_provisioning as machines
from kwhatif.api import node_provisioning as node_pools
from kwhatif.api import workloads_and_storage as others
from kwhatif.api.quantity import Quantity
from kwhatif.framework.declaration import Declaration
from kwhatif.golang.parsing import Duration
from kwhatif.plugins import in_tree_plugins
from kwhatif.plugins.outoftree import out_of_tree_plugins
from kwhatif.policy.legacy_formats import legacy
from kwhatif.policy.profile import EXTENSION_POINTS
from kwhatif.redaction.kueue_rules import KUEUE_RULES
from kwhatif.redaction.pseudonyms import Pseudonyms
from kwhatif.redaction.rules import (
    AMOUNTS,
    API_VERSION,
    CONDITION,
    GONE,
    KIND,
    LABEL_KEY,
    LABEL_SELECTOR,
    LABELS,
    METADATA,
    NAME,
    NODE,
    NODE_SELECTOR_TERM,
    POOL_REQUIREMENT,
    TAINT,
    TOPOLOGY_REQUIREMENT,
    UID,
    Rule,
    amount,
    duration,
    each,
    fields,
    flag,
    make_rule,
    number,
    one_of,
    schedule,
    share,
    table,
    time,
)
from kwhatif.redaction.scheduler_plugin_rules import STRUCT_RULES, figure, figures_by, layout
from kwhatif.redaction.well_known_names import NODE_CLASSES
from kwhatif.versions.gate_stages import GATES


def _drop_value(value: Any, names: Pseudonyms) -> Any:
    return GONE


def _feature(value: Any, names: Pseudonyms) -> Any:
    """Nodes declare features by the names of gates."""
    return value if value in GATES else GONE


def _release(value: Any, names: Pseudonyms) -> Any:
    """Of a kubelet its release, without what a distribution appends."""
    match = re.match(r"v\d+\.\d+\.\d+", value) if isinstance(value, str) else None
    return match[0] if match else GONE


def _until(value: Any, names: Pseudonyms) -> Any:
    """A length of time, or never."""
    return value if value == "Never" else duration(value, names)


def _amount_or_share(value: Any, names: Pseudonyms) -> Any:
    redacted = amount(value, names)
    return share(value, names) if redacted is GONE else redacted


def _threshold(names: Pseudonyms, raw: str) -> str:
    """What the kubelet watches: ``memory.available``."""
    return raw if raw in _THRESHOLDS else names.name(raw)


_THRESHOLDS = frozenset(
    {f"{what}.available" for what in ("memory", "nodefs", "imagefs", "containerfs", "pid")}
    | {f"{what}.inodesFree" for what in ("nodefs", "imagefs", "containerfs")}
)
_FAMILIES = ("AL2", "AL2023", "Bottlerocket", "Custom", "Windows2019", "Windows2022", "Windows2025")

_DEVICES = ("/dev/xvda", "/dev/xvdb", "/dev/sda1")
_POD_REASONS = ("Evicted", "NodeAffinity", "NodeLost", "Shutdown", "UnexpectedAdmissionError")
_STATE_REASONS = (
    *("PodInitializing", "ContainerCreating", "ImagePullBackOff", "CrashLoopBackOff", "CreateContainerConfigError"),
    *("ErrImagePull", "CreateContainerError", "InvalidImageName", "Completed", "Error", "OOMKilled"),
    *("ContainerStatusUnknown", "DeadlineExceeded", "StartError", "ContainerCannotRun"),
)

_DISK, _IMAGE, _DRIVER = make_rule(Pseudonyms.disk), make_rule(Pseudonyms.image), make_rule(Pseudonyms.driver)
_POOL, _QUALIFIED = make_rule(Pseudonyms.pool), make_rule(Pseudonyms.qualified_name)

BY_NAME: dict[str, Rule] = {
    **dict.fromkeys(("name", "namespace", "namespaces", "claimName", "volumeName", "storageClassName"), NAME),
    **dict.fromkeys(("volumeAttributesClassName", "persistentVolumeName", "runtimeClassName", "podGroupName"), NAME),
    **dict.fromkeys(("resourceClaimName", "resourceClaimTemplateName", "containerName", "requestName"), NAME),
    **dict.fromkeys(("request", "requests", "device", "deviceClassName", "counterSet", "apiGroup"), NAME),
    **dict.fromkeys(("nodeName", "nominatedNodeName"), NODE),
    **dict.fromkeys(("uid", "shareID"), UID),
    **dict.fromkeys(("topologyKey", "topologyKeys", "matchLabelKeys", "mismatchLabelKeys"), LABEL_KEY),
    **dict.fromkeys(("driver", "provisioner", "attacher"), _DRIVER),
    **dict.fromkeys(("image", "reference", "names"), _IMAGE),
    **dict.fromkeys(("pdName", "volumeID", "diskName", "diskURI", "volumeHandle", "nodeID"), _DISK),
    **dict.fromkeys(("targetPortal", "iqn", "monitors"), _DISK),
    **dict.fromkeys(("resourceName", "extendedResourceName"), make_rule(Pseudonyms.resource)),
    **dict.fromkeys(("matchAttribute", "distinctAttribute"), make_rule(Pseudonyms.attribute)),
    **dict.fromkeys(("string", "strings"), make_rule(Pseudonyms.free)),
    **dict.fromkeys(("version", "versions"), make_rule(Pseudonyms.version)),
    **dict.fromkeys(("bindingConditions", "bindingFailureConditions"), _QUALIFIED),
    **dict.fromkeys(("startTime", "allocationTimestamp"), time),
    **dict.fromkeys(("nodeAffinityPolicy", "nodeTaintsPolicy"), one_of("Honor", "Ignore")),
    "accessModes": one_of("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"),
    "action": one_of("Restart", "RestartAllContainers"),
    "allocationMode": one_of("ExactCount", "All"),
    "apiVersion": API_VERSION,
    **dict.fromkeys(("networkTopologyName", "defaultProfileNamespace", "defaultProfileName"), NAME),
    **dict.fromkeys(("defaultValue", "defaultRequestsMultiplier"), figure),
    "timestampFormat": make_rule(layout),
    "declaredFeatures": _feature,
    "disruptionMode": one_of("Pod", "PodGroup"),
    "expression": make_rule(Pseudonyms.expression),
    "hostIP": make_rule(Pseudonyms.address),
    "kind": KIND,
    "phase": one_of(
        *("Available", "Bound", "Failed", "Lost", "Pending", "Released", "Running", "Succeeded", "Unknown")
    ),
    "pool": _POOL,
    "preemptionPolicy": one_of("PreemptLowerPriority", "Never"),
    "priorityClassName": make_rule(Pseudonyms.priority_class),
    "protocol": one_of("TCP", "UDP", "SCTP"),
    "providerID": _drop_value,
    "resize": one_of("Proposed", "InProgress", "Deferred", "Infeasible"),
    "resource": one_of("pods", "podgroups"),
    "restartPolicy": one_of("Always", "OnFailure", "Never"),
    "schedulerName": make_rule(Pseudonyms.scheduler),
    "unhealthyPodEvictionPolicy": one_of("IfHealthyBudget", "AlwaysAllow"),
    "volumeBindingMode": one_of("Immediate", "WaitForFirstConsumer"),
    "volumeMode": one_of("Filesystem", "Block"),
    "podManagementPolicy": one_of("OrderedReady", "Parallel"),
    "whenUnsatisfiable": one_of("DoNotSchedule", "ScheduleAnyway"),
}
"""Field -> rule of the texts in it."""


def _named_by(rule: Rule) -> dict[str, Rule]:
    """The rule for objects that are named after something else."""
    return {"metadata": fields(METADATA.rules, name=rule)}


_OWN: dict[type[Struct], dict[str, Rule]] = {
    **STRUCT_RULES,
    **KUEUE_RULES,
    core.Container: {"imagePullPolicy": one_of("Always", "IfNotPresent", "Never")},
    core.ContainerStateTerminated: {"reason": one_of(*_STATE_REASONS)},
    core.ContainerStateWaiting: {"reason": one_of(*_STATE_REASONS)},
    core.PodStatus: {
        "reason": one_of(*_POD_REASONS, *_STATE_REASONS),
        "qosClass": one_of("BestEffort", "Burstable", "Guaranteed"),
    },
    core.EmptyDirSource: {"sizeLimit": amount, "medium": one_of("Memory", "HugePages")},
    core.Node: _named_by(NODE),
    core.NodeSystemInfo: {"kubeletVersion": _release},
    core.PersistentVolumeClaimTemplate: {"apiVersion": API_VERSION, "kind": KIND},
    core.PodSchedulingGate: {"name": _QUALIFIED},
    core.PodSpec: {
        "activeDeadlineSeconds": number,
        "restartPolicy": BY_NAME["restartPolicy"],
        "hostname": NAME,
        "subdomain": NAME,
    },
    core.RBDSource: {"image": _DISK, "monitors": each(_DISK), "pool": _DISK},
    devices.CapacityRequirements: {"requests": table(Pseudonyms.attribute, amount)},
    devices.DeviceResult: {"consumedCapacity": table(Pseudonyms.attribute, amount)},
    pod_groups.TopologyConstraint: {"key": LABEL_KEY},
    devices.ResourcePool: {"name": _POOL},
    machines.NodeRef: {"name": NODE},
    node_pools.Disruption: {
        "consolidationPolicy": one_of("WhenEmpty", "WhenEmptyOrUnderutilized"),
        "consolidateAfter": _until,
    },
    node_pools.DisruptionBudget: {
        "nodes": share,
        "reasons": each(one_of("Drifted", "Empty", "Underutilized")),
        "schedule": schedule,
        "duration": duration,
    },
    node_pools.EC2NodeClassSpec: {"amiFamily": one_of(*_FAMILIES), "instanceStorePolicy": one_of("RAID0")},
    node_pools.AMISelectorTerm: {"alias": one_of(*(f"{family.lower()}@latest" for family in _FAMILIES))},
    node_pools.BlockDeviceMapping: {"deviceName": one_of(*_DEVICES), "rootVolume": flag},
    node_pools.EBSVolume: {"volumeSize": amount},
    node_pools.NetworkInterface: {"interfaceType": one_of("interface", "efa-only")},
    node_pools.Subnet: {
        "zone": make_rule(lambda names, raw: names.label_value("topology.kubernetes.io/zone", raw)),
        "zoneID": make_rule(lambda names, raw: names.label_value("topology.k8s.aws/zone-id", raw)),
    },
    node_pools.KubeletSettings: dict.fromkeys(("evictionHard", "evictionSoft"), table(_threshold, _amount_or_share)),
    node_pools.NodeClassRef: {
        "group": one_of(*(key.partition("/")[0] for key in NODE_CLASSES)),
        "kind": one_of(*NODE_CLASSES.values()),
    },
    node_pools.NodeClaimSpec: {"expireAfter": _until},
    node_pools.NodeClaimStatus: {"lastPodEventTime": time},
    others.CSIDriver: _named_by(_DRIVER),
    others.CSINode: _named_by(NODE),
    others.CSINodeDriver: {"name": _DRIVER},
    others.CSIPersistentVolumeSource: {"readOnly": flag},
    core.ClaimResources: {"limits": AMOUNTS},
    others.ObjectReference: {"kind": one_of("PersistentVolumeClaim")},
    others.PersistentVolumeClaim: {
        "status": fields(
            phase=BY_NAME["phase"],
            currentVolumeAttributesClassName=NAME,
            modifyVolumeStatus=fields(targetVolumeAttributesClassName=NAME),
        )
    },
    others.PodDisruptionBudgetSpec: {"minAvailable": share, "maxUnavailable": share},
    others.PodDisruptionBudgetStatus: {
        "expectedPods": number,
        "observedGeneration": number,
        "disruptedPods": table(Pseudonyms.name, time),
    },
    others.PriorityClass: _named_by(BY_NAME["priorityClassName"]),
}
_WHOLE: dict[type[Struct], Rule] = {
    core.Condition: CONDITION,
    core.NodeSelectorTerm: NODE_SELECTOR_TERM,
    **dict.fromkeys((core.Taint, core.Toleration, devices.DeviceTaint, devices.DeviceToleration), TAINT),
    meta.LabelSelector: LABEL_SELECTOR,
    meta.ObjectMeta: METADATA,
    pod_groups.PodGroupCondition: CONDITION,
    pod_groups.PodGroupMeta: METADATA,
    node_pools.PoolRequirement: POOL_REQUIREMENT,
    others.TopologySelectorRequirement: TOPOLOGY_REQUIREMENT,
}
_KEYS: dict[str, Callable[[Pseudonyms, str], str]] = {
    "attributes": Pseudonyms.attribute,
    "capacity": Pseudonyms.attribute,
    "counters": Pseudonyms.name,
}
"""What the keys of maps are that hold objects."""


@cache
def rule_of(struct: type[Struct]) -> Rule:
    """The rule for what a Struct decodes."""
    if struct in _WHOLE:
        return _WHOLE[struct]
    info = inspect.type_info(struct)
    assert isinstance(info, inspect.StructType)
    own = {name: rule for base in struct.__mro__ for name, rule in _OWN.get(base, {}).items()}
    return fields(
        {f.encode_name: _by_type(f.type, f.encode_name) for f in info.fields if f.encode_name not in own} | own
    )


def _by_type(type_: inspect.Type, name: str) -> Rule:
    match type_:
        case inspect.Metadata(extra={"names": what}):
            return make_rule(getattr(Pseudonyms, what))
        case inspect.Metadata(extra={"keys": what}):
            return figures_by(getattr(Pseudonyms, what))
        case inspect.Metadata(extra={"words": words}):
            return one_of(*words)
        case inspect.Metadata(type=inner):
            return _by_type(inner, name)
        case inspect.UnionType(types=types):
            return _by_type(next(one for one in types if not isinstance(one, inspect.NoneType)), name)
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            return each(_by_type(item, name))
        case inspect.StructType(cls=struct):
            return rule_of(struct)
        case inspect.DictType(value_type=inspect.StructType(cls=struct)) if name in _KEYS:
            return table(_KEYS[name], rule_of(struct))
        case inspect.DictType(value_type=inspect.CustomType(cls=cls)) if cls is Quantity:
            return AMOUNTS
        case inspect.DictType(value_type=inspect.StrType()):
            return LABELS
        case inspect.CustomType(cls=cls) if cls is Quantity:
            return amount
        case inspect.CustomType(cls=cls) if cls is Duration:
            return duration
        case inspect.BoolType():
            return flag
        case inspect.IntType() | inspect.FloatType():
            return number
        case inspect.StrType() if name in BY_NAME:
            return BY_NAME[name]
        case inspect.AnyType():
            return _drop_value
    raise TypeError(
        f"{name}: no rule says what redaction makes of {type_}: annotate the field with the names, keys or words that "
        "it holds, or give it a rule in kwhatif/redaction/struct_rules.py"
    )


_ALL = "*"


def _in_tree(name: Any) -> type[Declaration] | None:
    if not isinstance(name, str):
        return None
    return in_tree_plugins().get(name) or out_of_tree_plugins().get(name) or legacy().plugins().get(name)


def _plugin(value: Any, names: Pseudonyms) -> Any:
    return value if value == _ALL or _in_tree(value) else _other_plugin(value, names)


_other_plugin = make_rule(Pseudonyms.name)


def _plugin_config(value: Any, names: Pseudonyms) -> Any:
    kept = _NAMED(value, names)
    if kept is GONE:
        return GONE
    plugin, args = _in_tree(value.get("name")), value.get("args")
    if plugin is not None and plugin.args is not None and isinstance(args, dict):
        document = fields(apiVersion=API_VERSION, kind=one_of(plugin.args.__name__))
        kept["args"] = document(args, names) | rule_of(plugin.args)(args, names)
    return kept


_NAMED = fields(name=_plugin)
_PLUGIN_SET = each(fields(name=_plugin, weight=number))
_PROFILE = fields(
    schedulerName=make_rule(Pseudonyms.scheduler),
    percentageOfNodesToScore=number,
    plugins=fields(dict.fromkeys(EXTENSION_POINTS, fields(enabled=_PLUGIN_SET, disabled=_PLUGIN_SET))),
    pluginConfig=each(_plugin_config),
)
CONFIGURATION: Rule = fields(
    apiVersion=API_VERSION,
    kind=KIND,
    parallelism=number,
    percentageOfNodesToScore=number,
    podInitialBackoffSeconds=number,
    podMaxBackoffSeconds=number,
    delayCacheUntilActive=flag,
    profiles=each(_PROFILE),
)
