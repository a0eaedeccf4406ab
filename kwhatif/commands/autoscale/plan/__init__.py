"""Show which nodes are added or removed (the default command)."""

POSITION = 1
