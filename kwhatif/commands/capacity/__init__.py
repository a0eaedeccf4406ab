"""How many more of these would fit?"""

POSITION = 50
