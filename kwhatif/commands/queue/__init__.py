"""When would Kueue admit this job, and why do workloads wait?"""

POSITION = 55
