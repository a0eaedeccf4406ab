"""What does this change do, cost and put at risk?"""

POSITION = 35
