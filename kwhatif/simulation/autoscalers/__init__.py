"""Autoscalers in the loop of the scheduler, and the documents that describe them."""
