"""Kueue as one more controller of a simulation: whose pods there are, with which selectors, and who waits."""
