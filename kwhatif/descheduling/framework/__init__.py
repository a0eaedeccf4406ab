"""What plugins are made of and stand on: the policy's values, nodes and pods, the evictor's limits, node fit, usage."""
