"""Autoscalers in the loop with the scheduler, and the documents that describe them."""
