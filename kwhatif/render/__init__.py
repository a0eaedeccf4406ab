"""Pure renderers: a result becomes text.

A result is laid out once, as blocks (``blocks.py``): headings, facts, lines and tables. ``tables.py`` prints
blocks for a terminal, ``markdown.py`` for a web page. ``structured.py`` and ``names.py`` are for programs.
Nothing here looks at the clock, the terminal or a file.
"""
