"""Autoscalers of nodes: which nodes they would add for pending pods, and which unneeded ones they would remove."""
