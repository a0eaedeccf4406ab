"""Volumes and their claims."""

from kwhatif.versions.row import Whose

LIMITS = Whose("NodeVolumeLimits", folder="framework/plugins/nodevolumelimits")
BINDING = Whose("VolumeBinding", folder="framework/plugins/volumebinding")
RESTRICTIONS = Whose("VolumeRestrictions", folder="framework/plugins/volumerestrictions")
ZONES = Whose("VolumeZone", folder="framework/plugins/volumezone")
DISKS = Whose("EBSLimits", "GCEPDLimits", "AzureDiskLimits")
ALL_DISKS = Whose("EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits")


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
