"""Bring other tools' dumps and lists of kubectl into one file."""

POSITION = 4
