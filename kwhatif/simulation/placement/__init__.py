"""Placement of pods on a cluster, and the simulation of everything that follows."""
