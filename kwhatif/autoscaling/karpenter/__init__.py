"""Karpenter: which machines it would buy for pending pods, and which it would give back. In its own words."""
