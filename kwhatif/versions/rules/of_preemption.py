"""Who makes room for whom."""

from kwhatif.versions.row import Whose

PREEMPTION = Whose("DefaultPreemption", folder="framework/plugins/defaultpreemption")


class PreemptionRules:
    pod_disruption_conditions = PREEMPTION.gate(
        "PodDisruptionConditions", "a preemptor waits only for pods that leave because of a preemption"
    )
    preemption_holds_preemptors_back = PREEMPTION.since(
        "1.32", "default_preemption.go", "DefaultPreemption has PreEnqueue"
    )
    terminating_victims_are_told = PREEMPTION.until(
        "1.35",
        "framework/preemption/preemption.go",
        "victims that are on their way out already are told to go once more, and lesser nominations to their node end",
    )
