"""cluster-autoscaler 1.36, decision for decision."""
