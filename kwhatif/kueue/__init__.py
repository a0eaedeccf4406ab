"""Kueue: which workloads get quota, in which flavors, where, and after preempting whom."""
