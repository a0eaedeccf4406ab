"""Replay recorded decisions of a real kube-scheduler and compare."""

POSITION = 150
