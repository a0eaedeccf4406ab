"""Pure renderers: a result becomes text."""
