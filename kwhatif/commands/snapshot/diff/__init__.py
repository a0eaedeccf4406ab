"""What changed between two snapshots that scheduling can see?"""

POSITION = 7
