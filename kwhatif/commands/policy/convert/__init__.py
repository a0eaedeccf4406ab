"""Write a configuration in an old format as v1."""

POSITION = 3
