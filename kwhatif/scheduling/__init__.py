"""The scheduling cycle: node search, scoring, preemption, permits, binding, groups of pods, and the queue."""
