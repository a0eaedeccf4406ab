"""The scheduling cycle: sampling, scoring, preemption, binding."""
