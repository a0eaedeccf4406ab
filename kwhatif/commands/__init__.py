"""The commands, a folder each: its spec, how it runs, its result and its text."""
