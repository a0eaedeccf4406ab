"""Runs of the scheduler observed, to explain pods in the state in which they were tried."""
