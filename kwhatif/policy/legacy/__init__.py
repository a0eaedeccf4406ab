"""Formats that kube-scheduler has stopped reading: the Policy, and KubeSchedulerConfigurations before v1beta2."""
