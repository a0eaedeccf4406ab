"""Look at a KubeSchedulerConfiguration.

Look at a KubeSchedulerConfiguration or a legacy Policy.
"""

POSITION = 130
