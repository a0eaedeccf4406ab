"""``kwhatif policy``: look at a scheduler configuration."""
