"""``kwhatif snapshot``: take, convert, look at, compare and cut down snapshots."""
