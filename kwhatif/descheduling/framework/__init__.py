"""What plugins use: the policy's types, nodes and pods, the evictor and its limits, node fit, utilization."""
