"""Kubernetes minors, feature gates and everything that differs by version, as one table.

Code never compares versions: it asks ``features.X``. The fields of ``Features`` are the rows: one for each gate
that a rule asks for (its defaults are in ``gates/``), and one for each change that has no gate, with the minors
since and until which it holds. docs/versions.md is this table in words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any

from kwhatif.errors import UsageError
from kwhatif.gates.minors import DEFAULT_MINOR, LEGACY_MINOR, SUPPORTED_MINORS, minor_of, nearest, number_of
from kwhatif.gates.setting import ALL, parse_gates, stage_of, with_gates

__all__ = [
    "DEFAULT_MINOR",
    "LEGACY_MINOR",
    "SUPPORTED_MINORS",
    "Features",
    "Row",
    "features_of",
    "minor_of",
    "nearest",
    "parse_gates",
    "rows",
    "unread_gates",
]


@dataclass(frozen=True, slots=True)
class Row:
    """What a field of ``Features`` stands for: a gate, or a behaviour that holds ``since`` and ``until`` a minor."""

    what: str
    source: str
    gate: str = ""
    since: str = ""
    until: str = ""

    def by_default(self, minor: str) -> bool:
        """The value in a minor when no gate is set."""
        if self.gate:
            stage = stage_of(self.gate, minor)
            return stage is not None and stage.on
        number = number_of(minor)
        begun = not self.since or number >= number_of(self.since)
        return begun and (not self.until or number < number_of(self.until))


def _gate(name: str, what: str) -> Any:
    return field(metadata={"row": Row(what, "pkg/features", gate=name)})


def _since(minor: str, what: str, source: str) -> Any:
    return field(metadata={"row": Row(what, source, since=minor)})


def _value_in(since: str, until: str, what: str, source: str) -> Any:
    """On from one minor until before another."""
    return field(metadata={"row": Row(what, source, since=since, until=until)})


def _until(minor: str, what: str, source: str) -> Any:
    """On in every minor before this one."""
    return field(metadata={"row": Row(what, source, until=minor)})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Features:
    """What rules ask for. Sources are below pkg/scheduler, if nothing else is said.

    ``gates`` are those set by hand, sorted by name.
    """

    minor: str
    gates: tuple[tuple[str, bool], ...] = ()

    # Feature gates
    csi_migration_portworx: bool = _gate("CSIMigrationPortworx", "Portworx volumes belong to their CSI driver")
    dra_admin_access: bool = _gate("DRAAdminAccess", "claims may ask for devices that are in use, as an administrator")
    dra_consumable_capacity: bool = _gate(
        "DRAConsumableCapacity", "devices may be shared, each claim taking a part of their capacity"
    )
    dra_device_binding_conditions: bool = _gate(
        "DRADeviceBindingConditions",
        "devices may have binding conditions, and DynamicResources may be given a bindingTimeout",
    )
    dra_device_taint_rules: bool = _gate("DRADeviceTaintRules", "DeviceTaintRules taint devices")
    dra_device_taints: bool = _gate("DRADeviceTaints", "tainted devices go only to requests that tolerate the taint")
    dra_extended_resource: bool = _gate("DRAExtendedResource", "extended resources may be served by device classes")
    dra_list_type_attributes: bool = _gate("DRAListTypeAttributes", "attributes of devices may be lists")
    dra_partitionable_devices: bool = _gate(
        "DRAPartitionableDevices", "devices may share counters and choose their nodes one by one"
    )
    dra_prioritized_list: bool = _gate("DRAPrioritizedList", "requests may have alternatives (firstAvailable)")
    dra_resource_claim_device_status: bool = _gate(
        "DRAResourceClaimDeviceStatus", "needed for binding conditions, besides DRADeviceBindingConditions"
    )
    dra_scheduler_filter_timeout: bool = _gate(
        "DRASchedulerFilterTimeout", "DynamicResources may be given a filterTimeout"
    )
    dynamic_resource_allocation: bool = _gate(
        "DynamicResourceAllocation", "plugin DynamicResources is on: devices are allocated to claims"
    )
    gang_scheduling: bool = _gate("GangScheduling", "plugin GangScheduling is on (not modelled)")
    in_place_pod_level_resources_vertical_scaling: bool = _gate(
        "InPlacePodLevelResourcesVerticalScaling", "resizes of pod-level resources count"
    )
    in_place_pod_vertical_scaling: bool = _gate("InPlacePodVerticalScaling", "resizes of containers count")
    match_label_keys_in_pod_topology_spread: bool = _gate(
        "MatchLabelKeysInPodTopologySpread", "topology spread constraints may have matchLabelKeys"
    )
    min_domains_in_pod_topology_spread: bool = _gate(
        "MinDomainsInPodTopologySpread", "topology spread constraints may have minDomains"
    )
    node_declared_features: bool = _gate(
        "NodeDeclaredFeatures", "plugin NodeDeclaredFeatures is on: pods avoid nodes that lack what they need"
    )
    node_inclusion_policy_in_pod_topology_spread: bool = _gate(
        "NodeInclusionPolicyInPodTopologySpread",
        "topology spread constraints may say which nodes count (nodeAffinityPolicy, nodeTaintsPolicy)",
    )
    pod_disruption_conditions: bool = _gate(
        "PodDisruptionConditions", "a preemptor waits only for pods that leave because of a preemption"
    )
    pod_level_resources: bool = _gate("PodLevelResources", "pods have resources of their own, besides containers'")
    pod_scheduling_readiness: bool = _gate("PodSchedulingReadiness", "plugin SchedulingGates is on")
    scheduler_pop_from_backoff_q: bool = _gate(
        "SchedulerPopFromBackoffQ", "an idle scheduler takes pods from the backoff queue early"
    )
    scheduler_queueing_hints: bool = _gate(
        "SchedulerQueueingHints", "plugins look closer at what happened before a pod is tried again"
    )
    sidecar_containers: bool = _gate("SidecarContainers", "pods may have restartable init containers")
    storage_capacity_scoring: bool = _gate(
        "StorageCapacityScoring", "VolumeBinding scores nodes by the storage that is left, after a falling curve"
    )
    taint_toleration_comparison_operators: bool = _gate(
        "TaintTolerationComparisonOperators", "tolerations may compare numbers (Gt, Lt)"
    )
    topology_aware_workload_scheduling: bool = _gate(
        "TopologyAwareWorkloadScheduling", "plugins that place groups of pods are on (not modelled)"
    )
    volume_attributes_class: bool = _gate("VolumeAttributesClass", "volumes must have the claim's attributes class")
    volume_capacity_priority: bool = _gate(
        "VolumeCapacityPriority", "VolumeBinding scores nodes by how well volumes fit, after a rising curve"
    )
    volume_limit_scaling: bool = _gate(
        "VolumeLimitScaling", "nodes without a volume's CSI driver are out of the question"
    )

    # Plugins and configuration
    multi_point: bool = _since(
        "1.23", "configurations have multiPoint, and default plugins are enabled there", "apis/config/types.go"
    )
    locks_are_leases: bool = _since(
        "1.24", "leader election knows no resource lock but leases", "apis/config/validation/validation.go"
    )
    legacy_plugins: bool = _until(
        "1.23", "NodeLabel, ServiceAffinity and others that Policies need exist", "framework/plugins/registry.go"
    )
    selector_spread_plugin: bool = _until("1.29", "SelectorSpread exists", "framework/plugins/registry.go")
    profiles_have_percentages: bool = _since(
        "1.26", "profiles may have a percentageOfNodesToScore of their own", "apis/config/types.go"
    )
    scheduling_gates_come_first: bool = _since(
        "1.30", "SchedulingGates is the first of the default plugins, not the last", "apis/config/v1/default_plugins.go"
    )
    in_tree_volume_limits_by_default: bool = _until(
        "1.31", "EBSLimits, GCEPDLimits and AzureDiskLimits are on by default", "apis/config/v1/default_plugins.go"
    )
    in_tree_volume_limits: bool = _until(
        "1.32", "EBSLimits, GCEPDLimits, AzureDiskLimits and CinderLimits exist", "framework/plugins/registry.go"
    )
    in_tree_volume_limits_are_refused: bool = _since(
        "1.31", "a configuration may not name the four in-tree volume limits", "apis/config/validation/validation.go"
    )
    preemption_holds_preemptors_back: bool = _since(
        "1.32", "DefaultPreemption has PreEnqueue", "framework/plugins/defaultpreemption/default_preemption.go"
    )
    dynamic_resources_scores: bool = _since(
        "1.35", "DynamicResources scores, with weight 2", "framework/plugins/dynamicresources/dynamicresources.go"
    )
    dynamic_resources_has_arguments: bool = _since(
        "1.34", "DynamicResources takes arguments", "apis/config/types_pluginargs.go"
    )
    dynamic_resources_has_binding_timeout: bool = _since(
        "1.35", "DynamicResources' arguments have a bindingTimeout", "apis/config/types_pluginargs.go"
    )
    devices_of_incomplete_pools_are_refused: bool = _since(
        "1.35",
        "devices of a pool that lacks slices or is invalid are left alone, where an invalid pool used to be an error",
        "k8s.io/dynamic-resource-allocation/structured",
    )
    pools_are_complete_across_nodes: bool = _since(
        "1.35",
        "whether a pool has all its slices is asked of all nodes' slices, not of those the node can reach",
        "k8s.io/dynamic-resource-allocation/structured",
    )
    counters_belong_to_pools: bool = _since(
        "1.35", "devices share the counters of their pool, not of their slice", "k8s.io/dynamic-resource-allocation"
    )
    device_taints_of_any_effect_count: bool = _until(
        "1.35", "a device taint keeps claims away whatever its effect", "k8s.io/dynamic-resource-allocation/structured"
    )
    distinct_attributes_always: bool = _until(
        "1.35",
        "distinctAttribute is known without DRAConsumableCapacity or binding conditions, but never finds two alike",
        "k8s.io/dynamic-resource-allocation/structured",
    )
    alternatives_share_matches: bool = _until(
        "1.36",
        "of alternatives that want all devices, each is given what the one before it matched",
        "k8s.io/dynamic-resource-allocation/structured",
    )
    devices_are_combined_once: bool = _since(
        "1.36",
        "the devices of one request are tried in one order only, so it takes no shared device twice",
        "k8s.io/dynamic-resource-allocation/structured",
    )
    claim_messages_capitalize_pod: bool = _since(
        "1.36",
        "messages about whose a claim is write Pod with a capital",
        "k8s.io/dynamic-resource-allocation/resourceclaim/resourceclaim.go",
    )
    extended_resources_reuse_devices: bool = _since(
        "1.35",
        "init containers reuse the devices of containers, and classes with a name of their own keep the implicit one",
        "framework/plugins/dynamicresources/extendeddynamicresources.go",
    )
    extended_resources_are_scored_by_devices: bool = _since(
        "1.35",
        "resource scorers count devices for extended resources that a class serves",
        "framework/plugins/noderesources/resource_allocation.go",
    )
    dynamic_resources_is_silent_without_claims: bool = _value_in(
        "1.33",
        "1.34",
        "DynamicResources says nothing when a pod without claims fits nowhere",
        "framework/plugins/dynamicresources/dynamicresources.go",
    )
    control_plane_controller_allocates: bool = _until(
        "1.32", "DynamicResources has PreScore and PostBind", "framework/plugins/dynamicresources/dynamicresources.go"
    )
    structured_parameters: bool = _since(
        "1.30", "DynamicResources has PreBind", "framework/plugins/dynamicresources/dynamicresources.go"
    )
    gang_scheduling_plugin: bool = _since(
        "1.35", "plugins GangScheduling and NodeDeclaredFeatures exist", "framework/plugins/registry.go"
    )
    pod_group_placement: bool = _since(
        "1.36", "extension points placementGenerate and placementScore exist", "apis/config/types.go"
    )
    ratio_shape_must_match_strategy: bool = _since(
        "1.36",
        "NodeResourcesFit: requestedToCapacityRatio is required for its strategy and forbidden for others",
        "apis/config/validation/validation_pluginargs.go",
    )
    terse_shape_errors: bool = _since(
        "1.34", "errors about shapes and queueSort got shorter", "apis/config/validation/validation_pluginargs.go"
    )
    queue_sort_is_named_in_errors: bool = _since(
        "1.30", "errors about profiles that sort differently name queueSort", "apis/config/validation/validation.go"
    )
    capacity_shape_rises: bool = _until(
        "1.33", "VolumeBinding's default shape rises with utilization", "apis/config/v1/defaults.go"
    )

    # Filters
    taint_is_named_alone: bool = _until(
        "1.24",
        'the taint that is not tolerated: "node(s) had taint {a: b}, that the pod didn\'t tolerate"',
        "framework/plugins/tainttoleration/taint_toleration.go",
    )
    node_affinity_narrows: bool = _since(
        "1.24", "node names in a pod's affinity narrow the choice of nodes", "framework/plugins/nodeaffinity"
    )
    overcommitted_nodes_refuse_what_is_not_asked_for: bool = _until(
        "1.28",
        "a pod that asks for anything does not fit where cpu, memory or ephemeral-storage is overcommitted",
        "framework/plugins/noderesources/fit.go",
    )
    claims_for_one_pod: bool = _since(
        "1.27",
        "VolumeRestrictions knows claims for one pod alone (ReadWriteOncePod), and looks claims up in PreFilter",
        "framework/plugins/volumerestrictions/volume_restrictions.go",
    )
    volume_limits_of_old: bool = _until(
        "1.23",
        "of in-tree disks only Cinder's are left to CSI drivers; limits pass over ephemeral volumes and lost claims",
        "pkg/features (CSIMigrationAWS and its like), framework/plugins/nodevolumelimits",
    )
    volume_zones_have_one_name: bool = _until(
        "1.29",
        "the zone of a volume is looked for on nodes under the very label that the volume has",
        "framework/plugins/volumezone/volume_zone.go",
    )
    spread_counts_whole_domains: bool = _until(
        "1.24",
        "the pods of a topology domain count on all its nodes, if the pod's node affinity admits one of them",
        "framework/plugins/podtopologyspread/filtering.go",
    )
    filters_can_be_skipped: bool = _since(
        "1.27",
        "pods without affinity terms ignore the anti-affinity of pods that are only nominated",
        "framework/plugins/interpodaffinity/filtering.go",
    )
    post_filter_is_heard: bool = _since(
        "1.24", "messages end with what preemption says", "framework/types.go (FitError.Error)"
    )
    pre_filter_speaks_once: bool = _since(
        "1.26", "messages have PreFilter's refusal once, before that for every node", "framework/types.go (FitError)"
    )
    taint_is_named: bool = _until(
        "1.34",
        "messages name the first taint that is not tolerated",
        "framework/plugins/tainttoleration/taint_toleration.go",
    )
    request_beyond_capacity_is_unresolvable: bool = _since(
        "1.34",
        "a node too small for the pod, were it empty, is no candidate for preemption",
        "framework/plugins/noderesources/fit.go",
    )
    sidecar_ports_count: bool = _since("1.33", "host ports of restartable init containers count", "util/utils.go")
    attachable_volumes_limit: bool = _until(
        "1.32",
        "attachable-volumes-csi-* among a node's allocatable resources limits volumes",
        "framework/plugins/nodevolumelimits/csi.go",
    )
    portworx_migrates_by_annotation: bool = _until(
        "1.36",
        "Portworx volumes count for their CSI driver only on nodes whose CSINode lists the plugin as migrated",
        "framework/plugins/nodevolumelimits/utils.go",
    )
    csi_driver_opts_into_limit_scaling: bool = _since(
        "1.36",
        "VolumeLimitScaling: only CSIDrivers with preventPodSchedulingIfMissing keep pods off nodes",
        "framework/plugins/nodevolumelimits/csi.go",
    )
    volume_affinity_conflict_is_called_mismatch: bool = _since(
        "1.33",
        "a volume out of reach: \"node(s) didn't match PersistentVolume's node affinity\", before that "
        '"node(s) had volume node affinity conflict"',
        "framework/plugins/volumebinding/binder.go",
    )
    single_pod_claim_conflict_is_plural: bool = _since(
        "1.34",
        'a ReadWriteOncePod claim in use: "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod '
        'access mode already in-use by another pod", before that "node has pod using PersistentVolumeClaim with the '
        'same name and ReadWriteOncePod access mode"',
        "framework/plugins/volumerestrictions/volume_restrictions.go",
    )
    missing_node_features_are_named: bool = _until(
        "1.36",
        "messages name the declared features that a node lacks",
        "framework/plugins/nodedeclaredfeatures/nodedeclaredfeatures.go",
    )
    user_namespaces_on_host_network_are_declared: bool = _since(
        "1.36",
        "pods with hostNetwork and hostUsers: false need nodes that declare it",
        "staging component-helpers/nodedeclaredfeatures/features",
    )
    nodes_left_out_by_prefilter_are_counted: bool = _since(
        "1.32", "messages count the nodes that PreFilter plugins left out", "schedule_one.go, framework/types.go"
    )

    # Extenders
    extenders_reasons_add_up: bool = _until(
        "1.32",
        "what an extender says of a node that has a reason to be out is added to that reason, not put in its place",
        "schedule_one.go (findNodesThatPassExtenders)",
    )
    extenders_nodes_are_scored_as_sent: bool = _since(
        "1.33",
        "plugins score whole nodes that an extender sent back as new ones, without pods and images",
        "extender.go, framework/runtime/framework.go",
    )

    # The queue
    spread_hears_of_new_pods: bool = _since(
        "1.31",
        "pods that PodTopologySpread rejected hear of new pods in their namespace",
        "backend/queue/scheduling_queue.go",
    )
    lost_nominations_are_told: bool = _since(
        "1.33", "pods of the same or lower priority hear that another is nominated no longer", "eventhandlers.go"
    )
    lost_nominations_concern_affinity: bool = _since(
        "1.36",
        "InterPodAffinity and PodTopologySpread, too, care about pods that were only nominated",
        "framework/plugins/interpodaffinity/plugin.go, framework/plugins/podtopologyspread/plugin.go",
    )
    departed_anti_affinity_counts: bool = _since(
        "1.36",
        "a pod that leaves helps those that its own anti-affinity kept away",
        "framework/plugins/interpodaffinity/plugin.go",
    )
    volume_zone_hears_of_claims: bool = _since(
        "1.31", "VolumeZone cares about updates of claims", "framework/plugins/volumezone/volume_zone.go"
    )
    volume_restrictions_hears_of_claims: bool = _until(
        "1.31",
        "VolumeRestrictions cares about updates of claims",
        "framework/plugins/volumerestrictions/volume_restrictions.go",
    )
    narrowing_plugins_are_rejectors: bool = _since(
        "1.31",
        "plugins that narrowed the choice of nodes bring the pod back, too, and are named in alphabetical order",
        "schedule_one.go, framework/runtime/framework.go",
    )
    gated_pods_hear_their_gate_alone: bool = _since(
        "1.34",
        "a pod that PreEnqueue holds back hears only what the plugin behind it asks for; before, all but pods with "
        "scheduling gates heard everything",
        "backend/queue/scheduling_queue.go",
    )
    backoff_counts_attempts: bool = _until(
        "1.34",
        "the backoff doubles with every attempt; since then, with every verdict, and errors count by themselves",
        "backend/queue/backoff_queue.go",
    )
    backoff_ends_on_time: bool = _until(
        "1.33", "a backoff is over at its end; since then, just after it", "backend/queue/scheduling_queue.go"
    )

    # Preemption
    first_victim_counts_most: bool = _until(
        "1.29",
        "the victim looked at first, which breaks a budget if one does, stands for a node's highest priority",
        "framework/plugins/defaultpreemption/default_preemption.go (pickOneNodeForPreemption)",
    )
    terminating_victims_are_told: bool = _until(
        "1.35",
        "victims that are on their way out already are told to go once more, and lesser nominations to their node end",
        "framework/preemption/preemption.go",
    )

    # The cycle
    nominated_node_restarts_search: bool = _until(
        "1.29",
        "after a pod's nominated node was looked at, the search for others begins at the first node",
        "schedule_one.go (findNodesThatPassFilters)",
    )
    prefilter_goes_on_after_unschedulable: bool = _since(
        "1.30",
        "PreFilter plugins go on being asked after one found the pod Unschedulable, and the last refusal stands",
        "framework/runtime/framework.go",
    )
    narrowed_to_nothing_is_unresolvable: bool = _since(
        "1.30",
        "no preemption is tried for a pod that PreFilter plugins leave no node",
        "framework/runtime/framework.go",
    )
    one_node_is_enough_without_scores: bool = _since(
        "1.30", "a profile without scores takes the first node that passes", "schedule_one.go"
    )

    # Requests
    sidecars: bool = _since(
        "1.28", "init containers may have a restartPolicy; before, it is not looked at", "framework/types.go"
    )
    sidecars_are_refused_early: bool = _since(
        "1.30",
        "with SidecarContainers off, PreFilter and not Filter refuses pods with such containers",
        "framework/plugins/noderesources/fit.go",
    )
    pod_level_hugepages: bool = _since(
        "1.33", "pods may ask for huge pages as a whole", "staging component-helpers/resource/helpers.go"
    )
    resizes_are_in_conditions: bool = _since(
        "1.33",
        "what is asked, in force and allocated counts, sidecars included, and conditions say that a resize is "
        "infeasible; before, status.resize said so",
        "staging component-helpers/resource/helpers.go",
    )
    resizes_count_what_is_in_force: bool = _since(
        "1.32",
        "of a resize counts what is in force; before, what is allocated",
        "staging component-helpers/resource/helpers.go",
    )

    # Scores
    requests_add_up_as_integers: bool = _until(
        "1.27",
        "requests are rounded container by container, and scorers count overhead in units (a core: one millicore)",
        "framework/types.go, framework/plugins/noderesources/resource_allocation.go",
    )
    fit_scores_without_overhead: bool = _until(
        "1.24", "NodeResourcesFit's score leaves the pod's overhead out", "framework/plugins/noderesources/fit.go"
    )
    spread_skips_score: bool = _since(
        "1.28",
        "PodTopologySpread does not score pods without constraints; before, all nodes got 100",
        "framework/plugins/podtopologyspread/scoring.go",
    )
    spread_scores_are_rounded: bool = _since(
        "1.24",
        "PodTopologySpread rounds scores; before, it cut them off",
        "framework/plugins/podtopologyspread/scoring.go",
    )
    images_count_nodes_so_far: bool = _until(
        "1.29",
        "for each node, an image is on as many nodes as had it when the node joined",
        "internal/cache/cache.go (createImageStateSummary)",
    )
    image_locality_counts_init_containers: bool = _since(
        "1.30", "images of init containers count", "framework/plugins/imagelocality/image_locality.go"
    )
    image_locality_counts_image_volumes: bool = _since(
        "1.36", "images mounted as volumes count", "framework/plugins/imagelocality/image_locality.go"
    )
    node_affinity_skips_score: bool = _since(
        "1.30",
        "NodeAffinity does not score pods without preferences",
        "framework/plugins/nodeaffinity/node_affinity.go",
    )
    volume_binding_skips_score: bool = _since(
        "1.30",
        "VolumeBinding has PreScore, and does not score pods without volumes to bind",
        "framework/plugins/volumebinding/volume_binding.go",
    )
    balanced_allocation_skips_best_effort: bool = _since(
        "1.33",
        "NodeResourcesBalancedAllocation does not score pods that ask for none of its resources",
        "framework/plugins/noderesources/balanced_allocation.go",
    )
    balanced_allocation_compares: bool = _since(
        "1.36",
        "NodeResourcesBalancedAllocation scores how the pod changes a node's balance, not the balance itself",
        "framework/plugins/noderesources/balanced_allocation.go",
    )
    fit_scores_whole_pods: bool = _until(
        "1.33",
        "NodeResourcesFit's score counts resizes and pod-level resources",
        "framework/plugins/noderesources/resource_allocation.go",
    )
    sidecars_add_to_non_zero_requests: bool = _since(
        "1.32",
        "restartable init containers add to the requests that spread pods without requests; before, only the largest "
        "of all init containers counted",
        "framework/types.go",
    )

    def __str__(self) -> str:
        """``1.34``, or ``1.34 with StorageCapacityScoring=true``."""
        gates = ", ".join(f"{name}={str(value).lower()}" for name, value in self.gates)
        return f"{self.minor} with {gates}" if gates else self.minor

    # As a dataclass has them, but for so many fields those would take milliseconds to generate on every start.

    def __repr__(self) -> str:
        return f"Features({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__slots__)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Features):
            return NotImplemented
        return self is other or all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __hash__(self) -> int:
        return hash((self.minor, self.gates))


def rows() -> Mapping[str, Row]:
    """Every row of the table by the name of its field."""
    return _ROWS


_ROWS: dict[str, Row] = {each.name: each.metadata["row"] for each in fields(Features) if "row" in each.metadata}


def features_of(minor: str = DEFAULT_MINOR, gates: Mapping[str, bool] | None = None) -> Features:
    """The rules of a Kubernetes minor such as ``"1.36"``, with feature gates set other than by default.

    Raises UsageError for a minor that is not known and for gates that kube-scheduler of that minor would refuse.
    """
    if minor not in (LEGACY_MINOR, *SUPPORTED_MINORS):
        known = ", ".join(SUPPORTED_MINORS)
        raise UsageError(f"Kubernetes {minor}: not a known version; known are {known}")
    if not gates:
        return _by_default(minor)
    on = with_gates(minor, gates)
    values: dict[str, Any] = {name: on.get(row.gate, row.by_default(minor)) for name, row in _ROWS.items()}
    return Features(minor=minor, gates=tuple(sorted(gates.items())), **values)


@cache
def _by_default(minor: str) -> Features:
    values: dict[str, Any] = {name: row.by_default(minor) for name, row in _ROWS.items()}
    return Features(minor=minor, **values)


def unread_gates(gates: Mapping[str, bool]) -> list[str]:
    """Those of ``gates`` that no rule here asks for: setting them changes nothing."""
    read = {row.gate for row in _ROWS.values()}
    return sorted(name for name in gates if name not in read and name not in ALL)
