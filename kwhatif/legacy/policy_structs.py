"""The Policy as its JSON spells it (upstream, until 1.22: kube-scheduler/config/v1/types.go).

A list that is absent is not an empty one: without predicates or priorities, the default ones hold.
"""

from __future__ import annotations

from kwhatif.golang.vocabulary import Bool, ConfigStruct, Int32, Int64, Text
from kwhatif.plugins.shared.resource_args import ResourceSpec, UtilizationShapePoint
from kwhatif.policy.structs import Extender


class ServiceAffinity(ConfigStruct):
    labels: tuple[str, ...] = ()


class LabelsPresence(ConfigStruct):
    labels: tuple[str, ...] = ()
    presence: Bool = False


class ServiceAntiAffinity(ConfigStruct):
    label: Text = ""


class LabelPreference(ConfigStruct):
    label: Text = ""
    presence: Bool = False


class RequestedToCapacityRatioArguments(ConfigStruct):
    shape: tuple[UtilizationShapePoint, ...] = ()
    resources: tuple[ResourceSpec, ...] = ()


class PredicateArgument(ConfigStruct):
    service_affinity: ServiceAffinity | None = None
    labels_presence: LabelsPresence | None = None


class PriorityArgument(ConfigStruct):
    service_anti_affinity: ServiceAntiAffinity | None = None
    label_preference: LabelPreference | None = None
    requested_to_capacity_ratio_arguments: RequestedToCapacityRatioArguments | None = None


class PredicatePolicy(ConfigStruct):
    name: Text = ""
    argument: PredicateArgument | None = None


class PriorityPolicy(ConfigStruct):
    name: Text = ""
    weight: Int64 = 0
    argument: PriorityArgument | None = None


class Policy(ConfigStruct):
    predicates: tuple[PredicatePolicy, ...] | None = None
    priorities: tuple[PriorityPolicy, ...] | None = None
    extenders: tuple[Extender, ...] = ()
    hard_pod_affinity_symmetric_weight: Int32 = 0
    always_check_all_predicates: Bool = False
