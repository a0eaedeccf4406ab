"""Errors about the words of a command line, as typer has them."""

from __future__ import annotations

from typing import Any

import typer

WrongWords: Any = typer.BadParameter.__bases__[0]
"""What typer raises; it keeps the class to itself."""


def build_missing_argument(metavar: str) -> Exception:
    """The error for an argument that is not there."""
    error: Exception = WrongWords(f"Missing argument '{metavar}'.")
    return error
