"""What the descheduler would evict, in its own vocabulary: policy, profile, evictor, plugins.

One descheduling cycle of descheduler 0.35 on a cluster that does not change otherwise. Nothing here knows of
schedulers, questions or reports. Upstream: sigs.k8s.io/descheduler.
"""
