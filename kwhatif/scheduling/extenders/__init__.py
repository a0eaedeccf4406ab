"""Scheduler extenders: HTTP servers that the scheduler calls for nodes, victims and bindings."""
