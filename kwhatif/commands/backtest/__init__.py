"""Do the decisions of a recorded day come out again?"""

POSITION = 140
