"""Where would these pods go?"""

POSITION = 10
