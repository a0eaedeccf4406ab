"""May this change go into the cluster?"""

POSITION = 40
