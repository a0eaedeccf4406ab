"""The rule for each kind of object that a snapshot holds.

What scheduling decodes has rules by its Structs; here are the kinds of which admission or controllers read more, and
exceptions. Objects that configure the API server (definitions, admission policies, webhooks, service accounts) keep
their selection, under pseudonyms. Their expressions, messages and schemas are removed, since names in them cannot be
told from words of the language; a policy whose expressions were removed is marked (``EXPRESSION_GONE``), so that every
answer that it might change says so.
"""

from __future__ import annotations

from typing import Any

from kwhatif.admission.policies.policy_expressions import EXPRESSION_GONE
from kwhatif.api import core, pod_groups
from kwhatif.api.kinds import API_GROUPS, GROUPS, KINDS, plural_of
from kwhatif.api.objects import part_of, section
from kwhatif.redaction.component_texts import own_command
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
    NAME,
    TOLERATIONS,
    Rule,
    each,
    fields,
    flag,
    make_rule,
    number,
    object_of,
    one_of,
    schedule,
    share,
    time,
)
from kwhatif.redaction.struct_rules import rule_of
from kwhatif.redaction.usage_rules import USAGE_RULES
from kwhatif.redaction.well_known_names import OWNER_KINDS

_OWN_GROUPS = frozenset({"", "*", *API_GROUPS})
_OWN_RESOURCES = frozenset({"*", "*/*", *map(plural_of, GROUPS)})


def _group(value: Any, names: Pseudonyms) -> Any:
    if not isinstance(value, str):
        return GONE
    return value if value in _OWN_GROUPS else names.qualified_name(value)


def _resource(value: Any, names: Pseudonyms) -> Any:
    """``pods``, ``pods/exec``; those of others are made up names."""
    if not isinstance(value, str):
        return GONE
    plural = value.partition("/")[0]
    return value if value in _OWN_RESOURCES or plural in _OWN_RESOURCES else names.name(value)


def _drop_expression(value: Any, names: Pseudonyms) -> Any:
    return EXPRESSION_GONE


def _version(value: Any, names: Pseudonyms) -> Any:
    """``v1``; the version of a pseudonymous group follows from the first part of it."""
    return value if value == "*" else API_VERSION(f"apps/{value}", names).rpartition("/")[2]


_RULE = fields(
    operations=each(one_of("*", "CREATE", "UPDATE", "DELETE", "CONNECT")),
    apiGroups=each(_group),
    apiVersions=each(_version),
    resources=each(_resource),
    resourceNames=each(NAME),
    scope=one_of("*", "Namespaced", "Cluster"),
)
_MATCH = one_of("Exact", "Equivalent")
_FAILURE = one_of("Fail", "Ignore")
_AGAIN = one_of("Never", "IfNeeded")
_SELECTORS: dict[str, Rule] = {
    "matchPolicy": _MATCH,
    "namespaceSelector": LABEL_SELECTOR,
    "objectSelector": LABEL_SELECTOR,
}
_CONSTRAINTS = fields(_SELECTORS, resourceRules=each(_RULE), excludeResourceRules=each(_RULE))
_EXPRESSION = fields(expression=_drop_expression)

_ADMISSION_POLICY = object_of(
    {
        "spec": fields(
            failurePolicy=_FAILURE,
            paramKind=fields(apiVersion=API_VERSION, kind=KIND),
            matchConstraints=_CONSTRAINTS,
            matchConditions=each(fields(name=NAME, expression=_drop_expression)),
            validations=each(_EXPRESSION),
            mutations=each(
                fields(
                    patchType=one_of("ApplyConfiguration", "JSONPatch"),
                    applyConfiguration=_EXPRESSION,
                    jsonPatch=_EXPRESSION,
                )
            ),
            reinvocationPolicy=_AGAIN,
        )
    }
)
_BINDING = object_of(
    {
        "spec": fields(
            policyName=NAME,
            paramRef=fields(
                name=NAME,
                namespace=NAME,
                selector=LABEL_SELECTOR,
                parameterNotFoundAction=one_of("Allow", "Deny"),
            ),
            matchResources=_CONSTRAINTS,
            validationActions=each(one_of("Deny", "Warn", "Audit")),
        )
    }
)
_WEBHOOKS = object_of(
    {
        "webhooks": each(
            # Without its conditions a webhook is taken to be asked more often than it is, never less.
            fields(
                _SELECTORS,
                name=NAME,
                rules=each(_RULE),
                failurePolicy=_FAILURE,
                sideEffects=one_of("None", "NoneOnDryRun"),
                timeoutSeconds=number,
                reinvocationPolicy=_AGAIN,
            )
        )
    }
)
_DEFINITION = object_of(
    {
        "spec": fields(
            group=make_rule(Pseudonyms.qualified_name),
            scope=one_of("Namespaced", "Cluster"),
            names=fields(kind=NAME, plural=NAME, singular=NAME, listKind=NAME),
            versions=each(fields(name=_version, served=flag, storage=flag, deprecated=flag)),
        )
    }
)

ADMISSION_RULES: dict[str, Rule] = {
    "APIService": object_of(
        {"spec": fields(group=_group, version=_version, service=fields(namespace=NAME, name=NAME))}
    ),
    "CustomResourceDefinition": _DEFINITION,
    "MutatingAdmissionPolicy": _ADMISSION_POLICY,
    "MutatingAdmissionPolicyBinding": _BINDING,
    "MutatingWebhookConfiguration": _WEBHOOKS,
    "ServiceAccount": object_of({}),
    "ValidatingAdmissionPolicy": _ADMISSION_POLICY,
    "ValidatingAdmissionPolicyBinding": _BINDING,
    "ValidatingWebhookConfiguration": _WEBHOOKS,
}
"""Kind -> rule."""


# --- what is called after its node


def _pod(value: Any, names: Pseudonyms) -> Any:
    """The name of a static pod ends in that of its node."""
    kept = rule_of(core.Pod)(value, names)
    if kept is GONE:
        return GONE
    metadata = section(value, "metadata")
    name, node = metadata.get("name") or "", section(value, "spec").get("nodeName")
    if node and name.endswith(f"-{node}") and _is_mirror(metadata):
        part_of(kept, "metadata")["name"] = f"{names.name(name.removesuffix(f'-{node}'))}-{names.node(node)}"
    return kept


def _is_mirror(metadata: dict[str, Any]) -> bool:
    owners = metadata.get("ownerReferences") or ()
    return "kubernetes.io/config.mirror" in section(metadata, "annotations") or any(
        owner.get("kind") == "Node" for owner in owners
    )


def _slice(value: Any, names: Pseudonyms) -> Any:
    """Drivers name the slices of nodes after the node and themselves."""
    kept = rule_of(KINDS["ResourceSlice"])(value, names)
    name, node = section(value, "metadata").get("name") or "", section(value, "spec").get("nodeName")
    if node and name.startswith(f"{node}-") and kept is not GONE:
        part_of(kept, "metadata")["name"] = f"{names.node(node)}-{names.name(name.removeprefix(f'{node}-'))}"
    return kept


# --- workloads


_POD_TEMPLATE = object_of({"spec": rule_of(core.PodSpec)})
_CLAIM_TEMPLATE = rule_of(core.PersistentVolumeClaimTemplate)


def _template(selector: Rule = LABEL_SELECTOR, **more: Rule) -> fields:
    return fields(replicas=number, selector=selector, minReadySeconds=number, template=_POD_TEMPLATE, **more)


_ROLLING = fields(maxSurge=share, maxUnavailable=share, partition=number)
_STRATEGY = fields(type=one_of("RollingUpdate", "Recreate", "OnDelete"), rollingUpdate=_ROLLING)
_COUNTS = (
    *("active", "availableReplicas", "currentNumberScheduled", "currentReplicas", "desiredNumberScheduled", "failed"),
    *("fullyLabeledReplicas", "numberAvailable", "numberMisscheduled", "numberReady", "numberUnavailable"),
    *("observedGeneration", "ready", "readyReplicas", "replicas", "succeeded", "terminatingReplicas"),
    *("unavailableReplicas", "updatedNumberScheduled", "updatedReplicas"),
)
_STATUS = fields(dict.fromkeys(_COUNTS, number), conditions=each(CONDITION))
_DEPLOYMENT = object_of(
    {
        "spec": _template(strategy=_STRATEGY, paused=flag, progressDeadlineSeconds=number, revisionHistoryLimit=number),
        "status": _STATUS,
    }
)


def _deployment(value: Any, names: Pseudonyms) -> Any:
    """Of the autoscaler's own also what its command says of node groups."""
    kept = _DEPLOYMENT(value, names)
    if kept is not GONE:
        for container, made in zip(_containers(value), _containers(kept), strict=False):
            made.update(own_command(container, names))
    return kept


def _containers(deployment: dict[str, Any]) -> list[Any]:
    spec = section(deployment, "spec", "template", "spec")
    return [container for container in spec.get("containers") or () if isinstance(container, dict)]


_REPLICA_SET = object_of({"spec": _template(), "status": _STATUS})
_STATEFUL_SET = object_of(
    {
        "spec": _template(
            serviceName=NAME,
            podManagementPolicy=one_of("OrderedReady", "Parallel"),
            updateStrategy=_STRATEGY,
            ordinals=fields(start=number),
            volumeClaimTemplates=each(_CLAIM_TEMPLATE),
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
    {
        "spec": fields(replicas=number, selector=LABELS, template=_POD_TEMPLATE, minReadySeconds=number),
        "status": _STATUS,
    }
)
_POD_FAILURE_RULE = fields(
    action=one_of("FailJob", "FailIndex", "Ignore", "Count"),
    onExitCodes=fields(containerName=NAME, operator=one_of("In", "NotIn"), values=each(number)),
    onPodConditions=each(CONDITION),
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

_CRON_JOB = object_of(
    {
        "spec": fields(
            schedule=schedule,
            suspend=flag,
            concurrencyPolicy=one_of("Allow", "Forbid", "Replace"),
            startingDeadlineSeconds=number,
            successfulJobsHistoryLimit=number,
            failedJobsHistoryLimit=number,
            jobTemplate=object_of({"spec": _JOB_SPEC}),
        )
    }
)
# --- what the API server reads

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
                        values=each(make_rule(Pseudonyms.priority_class)),
                    )
                )
            ),
        ),
        "status": fields(hard=AMOUNTS, used=AMOUNTS),
    }
)

# --- groups of pods

_GROUP_POLICY = fields(basic=fields(), gang=fields(minCount=number))
_GROUP_FIELDS: dict[str, Rule] = {
    "schedulingPolicy": _GROUP_POLICY,
    "schedulingConstraints": fields(topology=each(fields(key=LABEL_KEY))),
    "resourceClaims": each(rule_of(pod_groups.PodGroupResourceClaim)),
    "disruptionMode": one_of("Pod", "PodGroup"),
    "priority": number,
    "priorityClassName": make_rule(Pseudonyms.priority_class),
}
_GROUP_TEMPLATES = each(fields({"name": NAME, "policy": _GROUP_POLICY, **_GROUP_FIELDS}))
_TEMPLATE_REF = fields(workload=fields(workloadName=NAME, podGroupTemplateName=NAME))
_POD_GROUP = object_of(
    {
        "spec": fields({"podGroupTemplateRef": _TEMPLATE_REF, **_GROUP_FIELDS}),
        "status": rule_of(pod_groups.PodGroupStatus),
    }
)
_WORKLOAD = object_of(
    {
        "spec": fields(
            controllerRef=fields(apiGroup=make_rule(Pseudonyms.qualified_name), kind=one_of(*OWNER_KINDS), name=NAME),
            podGroupTemplates=_GROUP_TEMPLATES,
            podGroups=_GROUP_TEMPLATES,
        )
    }
)

RULES: dict[str, Rule] = {
    **{kind: rule_of(struct) for kind, struct in KINDS.items()},
    **ADMISSION_RULES,
    **USAGE_RULES,
    "CronJob": _CRON_JOB,
    "DaemonSet": _DAEMON_SET,
    "Deployment": _deployment,
    "Job": _JOB,
    "LimitRange": _LIMIT_RANGE,
    "Pod": _pod,
    "PodGroup": _POD_GROUP,
    "ReplicaSet": _REPLICA_SET,
    "ReplicationController": _CONTROLLER,
    "ResourceQuota": _QUOTA,
    "ResourceSlice": _slice,
    "RuntimeClass": _RUNTIME_CLASS,
    "StatefulSet": _STATEFUL_SET,
    "Workload": _WORKLOAD,
}
"""Kind -> rule, of all kinds that a snapshot holds."""
