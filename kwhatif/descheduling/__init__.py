"""One cycle of descheduler 0.35 on a cluster that does not change otherwise: policy, profiles, evictor, plugins.

Nothing here depends on the scheduler, on commands or on reports. Upstream: sigs.k8s.io/descheduler.
"""
