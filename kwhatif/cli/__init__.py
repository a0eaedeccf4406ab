"""One file a command: parse, ask, render, exit."""
