"""The commands, a folder each: what it is, how it runs, its result and its text."""
