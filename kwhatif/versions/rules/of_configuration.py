"""What a KubeSchedulerConfiguration may say, and which plugins there are for it."""

from kwhatif.versions.row import Whose

CONFIGURATION = Whose("configuration", folder="apis/config")
GANGS = Whose("GangScheduling")
GANGS_AND_FEATURES = Whose("GangScheduling", "NodeDeclaredFeatures")
GROUPS = Whose("PodGroupPodsCount", "TopologyPlacementGenerator")


class ConfigurationRules:
    gang_scheduling = GANGS.gate("GangScheduling", "plugin GangScheduling is on (not modelled)")
    topology_aware_workload_scheduling = GROUPS.gate(
        "TopologyAwareWorkloadScheduling", "plugins that place groups of pods are on (not modelled)"
    )
    gang_scheduling_plugin = GANGS_AND_FEATURES.since(
        "1.35", "framework/plugins/registry.go", "plugins GangScheduling and NodeDeclaredFeatures exist"
    )
    pod_group_placement = CONFIGURATION.since(
        "1.36", "types.go", "extension points placementGenerate and placementScore exist"
    )
    terse_shape_errors = CONFIGURATION.since(
        "1.34", "apis/config/validation/validation_pluginargs.go", "errors about shapes and queueSort got shorter"
    )
    queue_sort_is_named_in_errors = CONFIGURATION.since(
        "1.30", "apis/config/validation/validation.go", "errors about profiles that sort differently name queueSort"
    )
