"""Kubernetes' workload controllers: the pods that they make of a new object, and the plan of an update."""
