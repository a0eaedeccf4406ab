"""The run to rest: what everybody's change leads to when nobody would move any more."""
