"""The questions: one file each, each returning a result object."""
