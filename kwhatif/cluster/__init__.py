"""The scheduler cache as columns: one row a node."""
