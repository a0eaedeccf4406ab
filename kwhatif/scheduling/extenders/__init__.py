"""Scheduler extenders: web servers that the scheduler asks about nodes, victims and bindings."""
