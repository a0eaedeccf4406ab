"""Version rules about pod groups."""

from kwhatif.versions.rule import RuleGroup

GROUP_GATES = (
    *("GenericWorkload", "GangScheduling", "TopologyAwareWorkloadScheduling"),
    *("WorkloadAwarePreemption", "DRAWorkloadResourceClaims", "DynamicResourceAllocation", "WorkloadWithJob"),
)
"""The gates that are about groups of pods, and what they need."""

GROUPS = RuleGroup("queue")
PREEMPTION = RuleGroup("DefaultPreemption")
CLAIMS = RuleGroup("DynamicResources")
JOBS = RuleGroup("Job controller")


class PodGroupRules:
    generic_workload = GROUPS.gate("GenericWorkload", "since 1.36: pods that name a group are taken up together")
    workload_aware_preemption = PREEMPTION.gate(
        "WorkloadAwarePreemption", "room is made for a group as a whole, and groups may be evicted as a whole"
    )
    dra_workload_resource_claims = CLAIMS.gate(
        "DRAWorkloadResourceClaims", "claims of a group are reserved for it once, not for each of its pods"
    )
    workload_with_job = JOBS.gate(
        "WorkloadWithJob", "an indexed Job whose pods all run at once becomes a gang, with a Workload and a PodGroup"
    )
    pod_group_cycles = GROUPS.since(
        "1.36", "schedule_one_podgroup.go", "there are cycles of groups, behind the feature gate GenericWorkload"
    )
