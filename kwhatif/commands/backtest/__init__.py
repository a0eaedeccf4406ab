"""Are the decisions of a recorded day reproduced?"""

POSITION = 140
