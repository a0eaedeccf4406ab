"""Rules for Kueue's objects.

Names of queues and priority classes get the same pseudonyms as in the labels of jobs. A topology assignment is written
out domain by domain, since its short form has pieces of names.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from kwhatif.api import kueue
from kwhatif.api.decode import convert
from kwhatif.api.kueue_topology import decode_assignment
from kwhatif.errors import InputError
from kwhatif.redaction.pseudonyms import Pseudonyms
from kwhatif.redaction.rules import (
    GONE,
    LABEL_KEY,
    METADATA,
    NAME,
    NODE,
    Rule,
    each,
    fields,
    make_rule,
    one_of,
    table,
    time,
)

_RESOURCE = make_rule(Pseudonyms.resource)
_PRIORITY_CLASS = make_rule(Pseudonyms.priority_class)
_STOP = one_of("None", "Hold", "HoldAndDrain")
_POLICY = one_of("Never", "Any", "LowerPriority", "LowerOrNewerEqualPriority")
_SEARCH = one_of("MayStopSearch", "TryNextFlavor", "Borrow", "Preempt")
_CONTROLLERS = ("kueue.x-k8s.io/multikueue", "kueue.x-k8s.io/provisioning-request")
_REASONS = (
    *("QuotaReserved", "Admitted", "Pending", "Inadmissible", "Preempted", "Deactivated", "AdmissionCheck"),
    *("ClusterQueueStopped", "LocalQueueStopped", "ClusterQueueRestarted", "LocalQueueRestarted", "NodeFailures"),
    *("PodsReadyTimeout", "NoReservation", "UnsatisfiedChecks", "NoReservationUnsatisfiedChecks", "Succeeded"),
    *("InClusterQueue", "InCohortReclamation", "InCohortReclaimWhileBorrowing", "InCohortFairSharing", "Failed"),
    *("Active", "Waiting", "OnHold", "AdmissionGated", "Reactivated", "BackoffFinished"),
)
_CONDITION = fields(
    type=one_of(
        *("QuotaReserved", "Admitted", "Evicted", "Preempted", "Requeued", "Finished", "PodsReady", "Active"),
        *("DeactivationTarget", "WaitingForReplacementPods", "BlockedOnPreemptionGates"),
    ),
    status=one_of("True", "False", "Unknown"),
    reason=one_of(*_REASONS),
    lastTransitionTime=time,
)


def _assignment(value: Any, names: Pseudonyms) -> Any:
    try:
        assignment = decode_assignment(convert(value, kueue.TopologyAssignment))
    except InputError:
        return GONE
    domains = [
        {"values": [*map(names.label_value, assignment.levels, values)], "count": count}
        for values, count in assignment.domains
    ]
    return {"levels": [names.label_key(level) for level in assignment.levels], "domains": domains}


KUEUE_RULES: dict[type[Struct], dict[str, Rule]] = {
    kueue.AdmissionCheckSpec: {"controllerName": one_of(*_CONTROLLERS)},
    kueue.AdmissionCheckStatus: {"conditions": each(_CONDITION)},
    kueue.AdmissionCheckState: {
        "state": one_of("Pending", "Ready", "Retry", "Rejected"),
        "message": make_rule(lambda names, raw: ""),
        "lastTransitionTime": time,
    },
    kueue.AdmissionCheckStrategyRule: {"onFlavors": each(NAME)},
    kueue.Admission: {"clusterQueue": NAME},
    kueue.AdmissionScope: {
        "admissionMode": one_of("UsageBasedAdmissionFairSharing", "NoAdmissionFairSharing"),
    },
    kueue.BorrowWithinCohort: {"policy": one_of("Never", "LowerPriority")},
    kueue.ClusterQueuePreemption: dict.fromkeys(("reclaimWithinCohort", "withinClusterQueue"), _POLICY),
    kueue.ClusterQueueSpec: {
        **dict.fromkeys(("cohortName", "cohort"), NAME),
        "queueingStrategy": one_of("StrictFIFO", "BestEffortFIFO"),
        "admissionChecks": each(NAME),
        "stopPolicy": _STOP,
    },
    kueue.CohortSpec: dict.fromkeys(("parentName", "parent"), NAME),
    kueue.FlavorFungibility: {
        **dict.fromkeys(("whenCanBorrow", "whenCanPreempt"), _SEARCH),
        "preference": one_of("BorrowingOverPreemption", "PreemptionOverBorrowing"),
    },
    kueue.FlavorResourceQuota: {"name": _RESOURCE},
    kueue.LocalQueueSpec: {"clusterQueue": NAME, "stopPolicy": _STOP},
    kueue.UnhealthyNode: {"name": NODE},
    kueue.PodSetAssignment: {
        "flavors": table(Pseudonyms.resource, NAME),
        "topologyAssignment": _assignment,
        "delayedTopologyRequest": one_of("Pending", "Ready"),
    },
    kueue.PodSetTopologyRequest: {
        **dict.fromkeys(("required", "preferred", "podIndexLabel", "subGroupIndexLabel"), LABEL_KEY),
        "podSetSliceRequiredTopology": LABEL_KEY,
        "podSetGroupName": NAME,
    },
    kueue.PriorityClassRef: {
        "group": one_of(kueue.GROUP, "scheduling.k8s.io"),
        "kind": one_of("PriorityClass", "WorkloadPriorityClass"),
        "name": _PRIORITY_CLASS,
    },
    kueue.RequeueState: {"requeueAt": time},
    kueue.ResourceFlavorSpec: {"topologyName": NAME},
    kueue.ResourceGroup: {"coveredResources": each(_RESOURCE)},
    kueue.SliceConstraint: {"topology": LABEL_KEY},
    kueue.TopologyLevel: {"nodeLabel": LABEL_KEY},
    kueue.WorkloadPriorityClass: {"metadata": fields(METADATA.rules, name=_PRIORITY_CLASS)},
    kueue.WorkloadSpec: {
        "queueName": NAME,
        "priorityClassSource": one_of("kueue.x-k8s.io/workloadpriorityclass", "scheduling.k8s.io/priorityclass"),
    },
    kueue.WorkloadStatus: {"conditions": each(_CONDITION)},
}
"""Struct -> rules of those of its fields that no name or type tells."""
