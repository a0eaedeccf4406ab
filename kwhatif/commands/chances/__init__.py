"""How likely is it that these pods go where they may go?"""

POSITION = 70
