"""What would draining nodes do?"""

POSITION = 60
