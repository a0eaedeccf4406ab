"""Cut a snapshot down to what a pod's decision depends on."""

POSITION = 10
