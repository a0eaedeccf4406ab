"""Topology-aware scheduling: racks, blocks and nodes, and in which of them the pods of a pod set go."""
