"""Results as values: Python numbers and strings only, so that any renderer can print them; one module per question.

Every result knows its exit code, and turns into plain data with ``msgspec.to_builtins``.
"""
