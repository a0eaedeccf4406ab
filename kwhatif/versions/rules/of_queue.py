"""Which pods are tried, and when they are tried again."""

from kwhatif.versions.row import Whose

GATES = Whose("SchedulingGates")
QUEUE = Whose("queue")


class QueueRules:
    pod_scheduling_readiness = GATES.gate("PodSchedulingReadiness", "plugin SchedulingGates is on")
    scheduler_pop_from_backoff_q = QUEUE.gate(
        "SchedulerPopFromBackoffQ", "an idle scheduler takes pods from the backoff queue early"
    )
    scheduler_queueing_hints = QUEUE.gate(
        "SchedulerQueueingHints", "plugins look closer at what happened before a pod is tried again"
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
