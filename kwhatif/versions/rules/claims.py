"""Version rules about volumes and their claims, and about devices and their claims (dynamic resource allocation)."""

from __future__ import annotations

from kwhatif.versions.rule import RuleGroup

LIMITS = RuleGroup("NodeVolumeLimits", folder="framework/plugins/nodevolumelimits")
BINDING = RuleGroup("VolumeBinding", folder="framework/plugins/volumebinding")
RESTRICTIONS = RuleGroup("VolumeRestrictions", folder="framework/plugins/volumerestrictions")
ZONES = RuleGroup("VolumeZone", folder="framework/plugins/volumezone")
DISKS = RuleGroup("EBSLimits", "GCEPDLimits", "AzureDiskLimits")
ALL_DISKS = RuleGroup("EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits")


class VolumeRules:
    csi_migration_portworx = LIMITS.gate("CSIMigrationPortworx", "Portworx volumes belong to their CSI driver")
    storage_capacity_scoring = BINDING.gate(
        "StorageCapacityScoring", "VolumeBinding scores nodes by the storage that is left, after a falling curve"
    )
    volume_attributes_class = BINDING.gate("VolumeAttributesClass", "volumes must have the claim's attributes class")
    volume_capacity_priority = BINDING.gate(
        "VolumeCapacityPriority", "VolumeBinding scores nodes by how well volumes fit, after a rising curve"
    )
    volume_limit_scaling = LIMITS.gate(
        "VolumeLimitScaling", "nodes without a volume's CSI driver are out of the question"
    )
    in_tree_volume_limits_by_default = DISKS.until(
        "1.31", "apis/config/v1/default_plugins.go", "EBSLimits, GCEPDLimits and AzureDiskLimits are on by default"
    )
    in_tree_volume_limits = ALL_DISKS.until(
        "1.32", "framework/plugins/registry.go", "EBSLimits, GCEPDLimits, AzureDiskLimits and CinderLimits exist"
    )
    in_tree_volume_limits_are_refused = ALL_DISKS.since(
        "1.31", "apis/config/validation/validation.go", "a configuration may not name the four in-tree volume limits"
    )
    capacity_shape_rises = BINDING.until(
        "1.33", "apis/config/v1/defaults.go", "VolumeBinding's default shape rises with utilization"
    )
    attachable_volumes_limit = LIMITS.until(
        "1.32", "csi.go", "attachable-volumes-csi-* among a node's allocatable resources limits volumes"
    )
    portworx_migrates_by_annotation = LIMITS.until(
        "1.36",
        "utils.go",
        "Portworx volumes count for their CSI driver only on nodes whose CSINode lists the plugin as migrated",
    )
    csi_driver_opts_into_limit_scaling = LIMITS.since(
        "1.36", "csi.go", "VolumeLimitScaling: only CSIDrivers with preventPodSchedulingIfMissing keep pods off nodes"
    )
    volume_affinity_conflict_is_called_mismatch = BINDING.since(
        "1.33",
        "binder.go",
        'a volume out of reach: "node(s) didn\'t match PersistentVolume\'s node affinity", before that "node(s) '
        'had volume node affinity conflict"',
    )
    single_pod_claim_conflict_is_plural = RESTRICTIONS.since(
        "1.34",
        "volume_restrictions.go",
        'a ReadWriteOncePod claim in use: "node(s) unavailable due to PersistentVolumeClaim with '
        'ReadWriteOncePod access mode already in-use by another pod", before that "node has pod using '
        'PersistentVolumeClaim with the same name and ReadWriteOncePod access mode"',
    )
    volume_zone_hears_of_claims = ZONES.since("1.31", "volume_zone.go", "VolumeZone cares about updates of claims")
    volume_restrictions_hears_of_claims = RESTRICTIONS.until(
        "1.31", "volume_restrictions.go", "VolumeRestrictions cares about updates of claims"
    )
    volume_binding_skips_score = BINDING.since(
        "1.30", "volume_binding.go", "VolumeBinding has PreScore, and does not score pods without volumes to bind"
    )


CLAIMS = RuleGroup("DynamicResources", folder="framework/plugins/dynamicresources")
ALLOCATOR = RuleGroup("DynamicResources", folder="k8s.io/dynamic-resource-allocation")
EXTENDED = RuleGroup("DynamicResources", "NodeResourcesFit", "NodeResourcesBalancedAllocation")
SCORERS = RuleGroup("NodeResourcesFit", "NodeResourcesBalancedAllocation", folder="framework/plugins/noderesources")


class DeviceRules:
    dra_admin_access = CLAIMS.gate("DRAAdminAccess", "claims may ask for devices that are in use, as an administrator")
    dra_consumable_capacity = CLAIMS.gate(
        "DRAConsumableCapacity", "devices may be shared, each claim taking a part of their capacity"
    )
    dra_device_binding_conditions = CLAIMS.gate(
        "DRADeviceBindingConditions",
        "devices may have binding conditions, and DynamicResources may be given a bindingTimeout",
    )
    dra_device_taint_rules = CLAIMS.gate("DRADeviceTaintRules", "DeviceTaintRules taint devices")
    dra_device_taints = CLAIMS.gate("DRADeviceTaints", "tainted devices go only to requests that tolerate the taint")
    dra_extended_resource = EXTENDED.gate("DRAExtendedResource", "extended resources may be served by device classes")
    dra_list_type_attributes = CLAIMS.gate("DRAListTypeAttributes", "attributes of devices may be lists")
    dra_partitionable_devices = CLAIMS.gate(
        "DRAPartitionableDevices", "devices may share counters and choose their nodes one by one"
    )
    dra_prioritized_list = CLAIMS.gate("DRAPrioritizedList", "requests may have alternatives (firstAvailable)")
    dra_resource_claim_device_status = CLAIMS.gate(
        "DRAResourceClaimDeviceStatus", "needed for binding conditions, besides DRADeviceBindingConditions"
    )
    dra_scheduler_filter_timeout = CLAIMS.gate(
        "DRASchedulerFilterTimeout", "DynamicResources may be given a filterTimeout"
    )
    dynamic_resource_allocation = CLAIMS.gate(
        "DynamicResourceAllocation", "plugin DynamicResources is on: devices are allocated to claims"
    )
    dynamic_resources_scores = CLAIMS.since("1.35", "dynamicresources.go", "DynamicResources scores, with weight 2")
    dynamic_resources_has_arguments = CLAIMS.since(
        "1.34", "apis/config/types_pluginargs.go", "DynamicResources takes arguments"
    )
    dynamic_resources_has_binding_timeout = CLAIMS.since(
        "1.35", "apis/config/types_pluginargs.go", "DynamicResources' arguments have a bindingTimeout"
    )
    devices_of_incomplete_pools_are_refused = ALLOCATOR.since(
        "1.35",
        "structured",
        "devices of a pool that lacks slices or is invalid are left alone, where an invalid pool used to be an error",
    )
    pools_are_complete_across_nodes = ALLOCATOR.since(
        "1.35",
        "structured",
        "whether a pool has all its slices is asked of all nodes' slices, not of those the node can reach",
    )
    counters_belong_to_pools = ALLOCATOR.since(
        "1.35", "", "devices share the counters of their pool, not of their slice"
    )
    device_taints_of_any_effect_count = ALLOCATOR.until(
        "1.35", "structured", "a device taint keeps claims away whatever its effect"
    )
    distinct_attributes_always = ALLOCATOR.until(
        "1.35",
        "structured",
        "distinctAttribute is known without DRAConsumableCapacity or binding conditions, but never finds two alike",
    )
    alternatives_share_matches = ALLOCATOR.until(
        "1.36", "structured", "of alternatives that want all devices, each is given what the one before it matched"
    )
    devices_are_combined_once = ALLOCATOR.since(
        "1.36",
        "structured",
        "the devices of one request are tried in one order only, so it takes no shared device twice",
    )
    claim_messages_capitalize_pod = ALLOCATOR.since(
        "1.36",
        "k8s.io/dynamic-resource-allocation/resourceclaim/resourceclaim.go",
        "messages about whose a claim is write Pod with a capital",
    )
    extended_resources_reuse_devices = CLAIMS.since(
        "1.35",
        "extendeddynamicresources.go",
        "init containers reuse the devices of containers, and classes with a name of their own keep the implicit one",
    )
    extended_resources_are_scored_by_devices = SCORERS.since(
        "1.35", "resource_allocation.go", "resource scorers count devices for extended resources that a class serves"
    )
    dynamic_resources_is_silent_without_claims = CLAIMS.since(
        "1.33",
        "dynamicresources.go",
        "DynamicResources says nothing when a pod without claims fits nowhere",
        until="1.34",
    )
    control_plane_controller_allocates = CLAIMS.until(
        "1.32", "dynamicresources.go", "DynamicResources has PreScore and PostBind"
    )
    structured_parameters = CLAIMS.since("1.30", "dynamicresources.go", "DynamicResources has PreBind")

    @property
    def binding_conditions(self) -> bool:
        """Whether devices may have binding conditions, for which two gates must be on."""
        return self.dra_device_binding_conditions and self.dra_resource_claim_device_status
