"""Kinds whose operators make pods, each modelled after its controller."""
