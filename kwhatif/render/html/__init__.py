"""A report as one self-contained HTML page, in which every name is text."""
