"""Read a live cluster into a file."""

POSITION = 1
