"""The scheduling cycle around the plugins: what is asked, of whom, and what the message says."""

from kwhatif.versions.row import Whose

MESSAGES = Whose("messages")
EXTENDERS = Whose("extenders")
PRE_FILTER = Whose("PreFilter", folder="framework/runtime")
POST_FILTER = Whose("PostFilter", folder="framework/runtime")
SCORE = Whose("Score")


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
    one_node_is_enough_without_scores = SCORE.since(
        "1.30", "schedule_one.go", "a profile without scores takes the first node that passes"
    )
