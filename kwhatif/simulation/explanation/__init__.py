"""Explanations of pods in the state of the cluster in which a run tried them."""
