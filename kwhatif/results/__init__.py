"""Results as values: Python numbers and strings only, so that any renderer can print them; one module per question.

Every result knows its exit code, and becomes plain data by ``msgspec.to_builtins``.
"""
