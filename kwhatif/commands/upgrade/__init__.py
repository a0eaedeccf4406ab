"""What would replacing the nodes of a pool do, and would it end?"""

POSITION = 61
