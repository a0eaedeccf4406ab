"""Pods are placed on a cluster, and what that leads to."""
