"""Pure renderers: a result becomes text.

A result is laid out once, as blocks (``render/blocks.py``): headings, facts, lines and tables. ``render/tables.py``
prints blocks for a terminal, ``render/formats.py`` as Markdown, and results as JSON and YAML; ``render/html/`` makes a
page. Nothing here reads the clock, the terminal or a file.
"""
