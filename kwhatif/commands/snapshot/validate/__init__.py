"""Can a snapshot be read, and does all in it go together?"""

POSITION = 6
