"""Say whether kube-scheduler would start with this file."""

POSITION = 2
