"""Take, convert, look at and compare snapshots.

Take a snapshot of a cluster, look at it, compare it, share it.
"""

POSITION = 120
