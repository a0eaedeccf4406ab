"""The rule for each kind of object: nodes, storage, workloads and all else that a snapshot holds."""

from __future__ import annotations

import re
from typing import Any

from kwhatif.snapshot.redaction.device_rules import CLAIM_KIND, CLAIM_TEMPLATE_KIND, DEVICE_CLASS, SLICE, TAINT_RULE
from kwhatif.snapshot.redaction.pod_rules import CLAIM_SPEC, CLAIM_TEMPLATE, DISKS, POD, POD_TEMPLATE
from kwhatif.snapshot.redaction.pseudonyms import Names
from kwhatif.snapshot.redaction.shared_rules import (
    ACCESS_MODES,
    AMOUNTS,
    CONDITIONS,
    LABEL_KEY,
    LABEL_SELECTOR,
    LABELS,
    METADATA,
    NAME,
    NODE,
    NODE_SELECTOR,
    TAINTS,
    TOLERATIONS,
    UID,
    object_of,
)
from kwhatif.snapshot.redaction.treatments import (
    GONE,
    Rule,
    amount,
    each,
    fields,
    flag,
    named,
    number,
    one_of,
    share,
    table,
    time,
)
from kwhatif.snapshot.redaction.wellknown import OWNER_KINDS
from kwhatif.versions.gate_stages import GATES

__all__ = ["RULES"]

_DRIVER = named(Names.driver)
_NODE_METADATA = fields({**METADATA.rules, "name": NODE})

# --- nodes


def _feature(value: Any, names: Names) -> Any:
    """Nodes declare what the gates of their kubelet are called."""
    return value if value in GATES else GONE


_NODE = object_of(
    {
        "spec": fields(unschedulable=flag, taints=TAINTS),
        "status": fields(
            capacity=AMOUNTS,
            allocatable=AMOUNTS,
            conditions=CONDITIONS,
            images=each(fields(names=each(named(Names.image)), sizeBytes=number)),
            declaredFeatures=each(_feature),
        ),
    },
    metadata=_NODE_METADATA,
)

# --- storage

_VOLUME_PHASE = fields(phase=one_of("Available", "Bound", "Released", "Failed", "Pending", "Lost"))
_VOLUME = object_of(
    {
        "spec": fields(
            DISKS,
            capacity=AMOUNTS,
            accessModes=ACCESS_MODES,
            storageClassName=NAME,
            volumeMode=one_of("Filesystem", "Block"),
            claimRef=fields(kind=one_of("PersistentVolumeClaim"), name=NAME, namespace=NAME, uid=UID),
            nodeAffinity=fields(required=NODE_SELECTOR),
            volumeAttributesClassName=NAME,
        ),
        "status": _VOLUME_PHASE,
    }
)
_CLAIM = object_of(
    {
        "spec": CLAIM_SPEC,
        "status": fields(
            _VOLUME_PHASE.rules,
            currentVolumeAttributesClassName=NAME,
            modifyVolumeStatus=fields(targetVolumeAttributesClassName=NAME),
        ),
    }
)


def _topology_requirement(value: Any, names: Names) -> Any:
    if not isinstance(value, dict) or not isinstance(value.get("key"), str):
        return GONE
    values = [text for text in value.get("values") or () if isinstance(text, str)]
    return {
        "key": names.label_key(value["key"]),
        "values": [names.label_value(value["key"], text) for text in values],
    }


_STORAGE_CLASS = object_of(
    {
        "provisioner": _DRIVER,
        "volumeBindingMode": one_of("Immediate", "WaitForFirstConsumer"),
        "allowedTopologies": each(fields(matchLabelExpressions=each(_topology_requirement))),
    }
)
_CSI_NODE = object_of(
    {
        "spec": fields(
            drivers=each(
                fields(
                    name=_DRIVER,
                    nodeID=named(Names.disk),
                    topologyKeys=each(LABEL_KEY),
                    allocatable=fields(count=number),
                )
            )
        )
    },
    metadata=_NODE_METADATA,
)
_CSI_DRIVER = object_of(
    {"spec": fields(storageCapacity=flag, attachRequired=flag, preventPodSchedulingIfMissing=flag)},
    metadata=fields({**METADATA.rules, "name": _DRIVER}),
)
_CAPACITY = object_of(
    {
        "nodeTopology": LABEL_SELECTOR,
        "storageClassName": NAME,
        "capacity": amount,
        "maximumVolumeSize": amount,
    }
)
_ATTACHMENT = object_of({"spec": fields(attacher=_DRIVER, nodeName=NODE, source=fields(persistentVolumeName=NAME))})

# --- workloads


def _template(rule: Rule = POD_TEMPLATE, **more: Rule) -> fields:
    return fields(replicas=number, selector=LABEL_SELECTOR, minReadySeconds=number, template=rule, **more)


_ROLLING = fields(maxSurge=share, maxUnavailable=share, partition=number)
_STRATEGY = fields(type=one_of("RollingUpdate", "Recreate", "OnDelete"), rollingUpdate=_ROLLING)
_COUNTS = (
    *("active", "availableReplicas", "currentNumberScheduled", "currentReplicas", "desiredNumberScheduled", "failed"),
    *("fullyLabeledReplicas", "numberAvailable", "numberMisscheduled", "numberReady", "numberUnavailable"),
    *("observedGeneration", "ready", "readyReplicas", "replicas", "succeeded", "terminatingReplicas"),
    *("unavailableReplicas", "updatedNumberScheduled", "updatedReplicas"),
)
_STATUS = fields(dict.fromkeys(_COUNTS, number), conditions=CONDITIONS)
_DEPLOYMENT = object_of(
    {
        "spec": _template(strategy=_STRATEGY, paused=flag, progressDeadlineSeconds=number, revisionHistoryLimit=number),
        "status": _STATUS,
    }
)
_REPLICA_SET = object_of({"spec": _template(), "status": _STATUS})
_STATEFUL_SET = object_of(
    {
        "spec": _template(
            serviceName=NAME,
            podManagementPolicy=one_of("OrderedReady", "Parallel"),
            updateStrategy=_STRATEGY,
            ordinals=fields(start=number),
            volumeClaimTemplates=each(CLAIM_TEMPLATE),
            revisionHistoryLimit=number,
            persistentVolumeClaimRetentionPolicy=fields(
                whenDeleted=one_of("Retain", "Delete"), whenScaled=one_of("Retain", "Delete")
            ),
        ),
        "status": fields(_STATUS.rules, currentRevision=NAME, updateRevision=NAME),
    }
)
_DAEMON_SET = object_of({"spec": _template(updateStrategy=_STRATEGY, revisionHistoryLimit=number), "status": _STATUS})
_CONTROLLER = object_of(
    {"spec": fields(replicas=number, selector=LABELS, template=POD_TEMPLATE, minReadySeconds=number), "status": _STATUS}
)
_POD_FAILURE_RULE = fields(
    action=one_of("FailJob", "FailIndex", "Ignore", "Count"),
    onExitCodes=fields(containerName=NAME, operator=one_of("In", "NotIn"), values=each(number)),
    onPodConditions=CONDITIONS,
)
_JOB_SPEC = _template(
    parallelism=number,
    completions=number,
    completionMode=one_of("NonIndexed", "Indexed"),
    activeDeadlineSeconds=number,
    backoffLimit=number,
    backoffLimitPerIndex=number,
    maxFailedIndexes=number,
    manualSelector=flag,
    suspend=flag,
    ttlSecondsAfterFinished=number,
    podReplacementPolicy=one_of("TerminatingOrFailed", "Failed"),
    podFailurePolicy=fields(rules=each(_POD_FAILURE_RULE)),
    managedBy=one_of("kubernetes.io/job-controller"),
)
_JOB = object_of(
    {
        "spec": _JOB_SPEC,
        "status": fields(_STATUS.rules, startTime=time, completionTime=time),
    }
)
_SCHEDULE = re.compile(
    r"(?:@(?:annually|yearly|monthly|weekly|daily|midnight|hourly)"
    r"|(?:[0-9*/,? LW#-]|\b(?:SUN|MON|TUE|WED|THU|FRI|SAT|JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC)\b)+)",
    re.IGNORECASE,
)


def _schedule(value: Any, names: Names) -> Any:
    return value if isinstance(value, str) and _SCHEDULE.fullmatch(value) else GONE


_CRON_JOB = object_of(
    {
        "spec": fields(
            schedule=_schedule,
            suspend=flag,
            concurrencyPolicy=one_of("Allow", "Forbid", "Replace"),
            startingDeadlineSeconds=number,
            successfulJobsHistoryLimit=number,
            failedJobsHistoryLimit=number,
            jobTemplate=object_of({"spec": _JOB_SPEC}),
        )
    }
)
_BUDGET = object_of(
    {
        "spec": fields(
            selector=LABEL_SELECTOR,
            minAvailable=share,
            maxUnavailable=share,
            unhealthyPodEvictionPolicy=one_of("IfHealthyBudget", "AlwaysAllow"),
        ),
        "status": fields(
            disruptionsAllowed=number,
            currentHealthy=number,
            desiredHealthy=number,
            expectedPods=number,
            observedGeneration=number,
            disruptedPods=table(Names.name, time),
        ),
    }
)

# --- what the API server reads

_PRIORITY_CLASS = object_of(
    {"value": number, "globalDefault": flag, "preemptionPolicy": one_of("PreemptLowerPriority", "Never")},
    metadata=fields({**METADATA.rules, "name": named(Names.priority_class)}),
)
_RUNTIME_CLASS = object_of(
    {
        "handler": NAME,
        "overhead": fields(podFixed=AMOUNTS),
        "scheduling": fields(nodeSelector=LABELS, tolerations=TOLERATIONS),
    }
)
_LIMIT_RANGE = object_of(
    {
        "spec": fields(
            limits=each(
                fields(
                    type=one_of("Pod", "Container", "PersistentVolumeClaim"),
                    max=AMOUNTS,
                    min=AMOUNTS,
                    default=AMOUNTS,
                    defaultRequest=AMOUNTS,
                    maxLimitRequestRatio=AMOUNTS,
                )
            )
        )
    }
)
_SCOPES = (
    *("Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass"),
    *("CrossNamespacePodAffinity", "VolumeAttributesClass"),
)
_QUOTA = object_of(
    {
        "spec": fields(
            hard=AMOUNTS,
            scopes=each(one_of(*_SCOPES)),
            scopeSelector=fields(
                matchExpressions=each(
                    fields(
                        scopeName=one_of(*_SCOPES),
                        operator=one_of("In", "NotIn", "Exists", "DoesNotExist"),
                        values=each(named(Names.priority_class)),
                    )
                )
            ),
        ),
        "status": fields(hard=AMOUNTS, used=AMOUNTS),
    }
)

# --- groups of pods

_POLICY = fields(basic=fields(), gang=fields(minCount=number))
_GROUP_TEMPLATES = each(fields(name=NAME, schedulingPolicy=_POLICY, policy=_POLICY))
_POD_GROUP = object_of(
    {
        "spec": fields(
            schedulingPolicy=_POLICY,
            podGroupTemplateRef=fields(workload=fields(workloadName=NAME, podGroupTemplateName=NAME)),
        )
    }
)
_WORKLOAD = object_of(
    {
        "spec": fields(
            controllerRef=fields(apiGroup=named(Names.qualified), kind=one_of(*OWNER_KINDS), name=NAME),
            podGroupTemplates=_GROUP_TEMPLATES,
            podGroups=_GROUP_TEMPLATES,
        )
    }
)

RULES: dict[str, Rule] = {
    "CSIDriver": _CSI_DRIVER,
    "CSINode": _CSI_NODE,
    "CSIStorageCapacity": _CAPACITY,
    "CronJob": _CRON_JOB,
    "DaemonSet": _DAEMON_SET,
    "Deployment": _DEPLOYMENT,
    "DeviceClass": DEVICE_CLASS,
    "DeviceTaintRule": TAINT_RULE,
    "Job": _JOB,
    "LimitRange": _LIMIT_RANGE,
    "Namespace": object_of({}),
    "Node": _NODE,
    "PersistentVolume": _VOLUME,
    "PersistentVolumeClaim": _CLAIM,
    "Pod": POD,
    "PodDisruptionBudget": _BUDGET,
    "PodGroup": _POD_GROUP,
    "PriorityClass": _PRIORITY_CLASS,
    "ReplicaSet": _REPLICA_SET,
    "ReplicationController": _CONTROLLER,
    "ResourceClaim": CLAIM_KIND,
    "ResourceClaimTemplate": CLAIM_TEMPLATE_KIND,
    "ResourceQuota": _QUOTA,
    "ResourceSlice": SLICE,
    "RuntimeClass": _RUNTIME_CLASS,
    "Service": object_of({"spec": fields(selector=LABELS)}),
    "StatefulSet": _STATEFUL_SET,
    "StorageClass": _STORAGE_CLASS,
    "VolumeAttachment": _ATTACHMENT,
    "Workload": _WORKLOAD,
}
"""Kind -> rule, of all kinds that a snapshot holds."""
