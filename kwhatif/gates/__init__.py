"""Kubernetes minors and feature gates: the facts behind ``versions.py``."""
