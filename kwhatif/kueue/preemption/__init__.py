"""Who would have to leave so that a workload gets quota."""
