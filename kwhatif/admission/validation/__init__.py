"""Validation of an object's own fields, with upstream's messages."""
