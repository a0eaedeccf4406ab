"""Version rules about the scheduling cycle, the queue, preemption, the configuration, and the API server's validation.

The API server's rules follow the gates that are on by default: those of a scheduler say nothing about them.
"""

from __future__ import annotations

from kwhatif.versions.rule import RuleGroup

MESSAGES = RuleGroup("messages")
EXTENDERS = RuleGroup("extenders")
PRE_FILTER = RuleGroup("PreFilter", folder="framework/runtime")
POST_FILTER = RuleGroup("PostFilter", folder="framework/runtime")
SCORE = RuleGroup("Score")
FILTER = RuleGroup("Filter")


class CycleRules:
    nodes_left_out_by_prefilter_are_counted = MESSAGES.since(
        "1.32", "schedule_one.go, framework/types.go", "messages count the nodes that PreFilter plugins left out"
    )
    extenders_reasons_add_up = EXTENDERS.until(
        "1.32",
        "schedule_one.go (findNodesThatPassExtenders)",
        "what an extender says of a node that has a reason to be out is added to that reason, not put in its place",
    )
    extenders_nodes_are_scored_as_sent = EXTENDERS.since(
        "1.33",
        "extender.go, framework/runtime/framework.go",
        "plugins score whole nodes that an extender sent back as new ones, without pods and images",
    )
    prefilter_goes_on_after_unschedulable = PRE_FILTER.since(
        "1.30",
        "framework.go",
        "PreFilter plugins go on being asked after one found the pod Unschedulable, and the last refusal stands",
    )
    narrowed_to_nothing_is_unresolvable = POST_FILTER.since(
        "1.30", "framework.go", "no preemption is tried for a pod that PreFilter plugins leave no node"
    )
    best_node_is_top_of_a_heap = SCORE.since(
        "1.35",
        "schedule_one.go (newSortedNodeScores)",
        "of several best nodes the top of a heap is taken, which follows from the order found; before, one was drawn",
    )
    nodes_come_in_any_order = FILTER.since(
        "1.35",
        "staging client-go/tools/cache/reflector.go (watchList)",
        "a scheduler that starts lists the nodes that are there in any order; before, by name",
    )
    opportunistic_batching = FILTER.gate(
        "OpportunisticBatching",
        "a pod that looks like the one before, whose node is full now, is tried first on the node that came next then",
    )
    extended_resources_end_signatures = FILTER.until(
        "1.36",
        "framework/plugins/noderesources/fit.go (SignPod)",
        "where device classes may serve extended resources no pod has a signature; since then those that ask for such",
    )
    one_node_is_enough_without_scores = SCORE.since(
        "1.30", "schedule_one.go", "a profile without scores takes the first node that passes"
    )


GATES = RuleGroup("SchedulingGates")
QUEUE = RuleGroup("queue")


class QueueRules:
    pod_scheduling_readiness = GATES.gate("PodSchedulingReadiness", "plugin SchedulingGates is on")
    scheduler_pop_from_backoff_q = QUEUE.gate(
        "SchedulerPopFromBackoffQ", "an idle scheduler takes pods from the backoff queue early"
    )
    scheduler_queueing_hints = QUEUE.gate(
        "SchedulerQueueingHints", "plugins look closer at what happened before a pod is tried again"
    )
    nominated_node_name_for_expectation = QUEUE.gate(
        "NominatedNodeNameForExpectation", "a pod that waits for its permit is nominated to its node"
    )
    scheduling_gates_come_first = GATES.since(
        "1.30", "apis/config/v1/default_plugins.go", "SchedulingGates is the first of the default plugins, not the last"
    )
    lost_nominations_are_told = QUEUE.since(
        "1.33", "eventhandlers.go", "pods of the same or lower priority hear that another is nominated no longer"
    )
    narrowing_plugins_are_rejectors = QUEUE.since(
        "1.31",
        "schedule_one.go, framework/runtime/framework.go",
        "plugins that narrowed the choice of nodes bring the pod back, too, and are named in alphabetical order",
    )
    gated_pods_hear_their_gate_alone = QUEUE.since(
        "1.34",
        "backend/queue/scheduling_queue.go",
        "a pod that PreEnqueue holds back hears only what the plugin behind it asks for; before, all but pods "
        "with scheduling gates heard everything",
    )
    backoff_counts_attempts = QUEUE.until(
        "1.34",
        "backend/queue/backoff_queue.go",
        "the backoff doubles with every attempt; since then, with every verdict, and errors count by themselves",
    )
    backoff_ends_on_time = QUEUE.until(
        "1.33", "backend/queue/scheduling_queue.go", "a backoff is over at its end; since then, just after it"
    )


PREEMPTION = RuleGroup("DefaultPreemption", folder="framework/plugins/defaultpreemption")


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


CONFIGURATION = RuleGroup("configuration", folder="apis/config")
GANGS = RuleGroup("GangScheduling")
GANGS_AND_FEATURES = RuleGroup("GangScheduling", "NodeDeclaredFeatures")
GROUPS = RuleGroup("PodGroupPodsCount", "TopologyPlacementGenerator")


class ConfigurationRules:
    gang_scheduling = GANGS.gate("GangScheduling", "plugin GangScheduling is on (in 1.35: not modelled)")
    topology_aware_workload_scheduling = GROUPS.gate(
        "TopologyAwareWorkloadScheduling", "groups of pods are tried in topology domains, one after the other"
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


SERVER = RuleGroup("API server", folder="pkg/features")


class ApiServerRules:
    strict_addresses = SERVER.since(
        "1.36", "kube_features.go", "addresses and networks have no leading zeros, and are no IPv4 dressed as IPv6"
    )
    services_are_named_as_labels = SERVER.since(
        "1.36", "kube_features.go", "the name of a service may begin with a digit"
    )
    paused_jobs_change = SERVER.since(
        "1.36",
        "kube_features.go",
        "a job that is suspended again may change its resources and what decides about nodes",
    )
    endpoints_are_deprecated = SERVER.since(
        "1.33", "kube_features.go", "whoever writes Endpoints is warned that EndpointSlices take their place"
    )
    max_unavailable_stateful_set = SERVER.gate(
        "MaxUnavailableStatefulSet", "a StatefulSet replaces as many pods at a time as its maxUnavailable says"
    )
