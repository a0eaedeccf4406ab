"""Print the effective configuration with every default."""

POSITION = 1
