"""Print what has to be allowed for a dump or a recording."""

POSITION = 3
