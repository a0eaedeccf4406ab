"""How likely is each node for these pods?"""

POSITION = 70
