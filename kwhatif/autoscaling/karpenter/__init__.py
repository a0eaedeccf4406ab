"""Karpenter: which machines it would launch for pending pods, and which nodes it would disrupt."""
