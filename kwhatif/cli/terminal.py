"""How a report for people is to look: as wide as the terminal, and in colour if there is one that shows it."""

from __future__ import annotations

import os
import shutil
import sys
from enum import StrEnum


class Colour(StrEnum):
    auto = "auto"
    always = "always"
    never = "never"


def colourful(asked: Colour) -> bool:
    """Whether to print colours: as asked, else on a terminal unless NO_COLOR is set or TERM is ``dumb``."""
    if asked is not Colour.auto:
        return asked is Colour.always
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def columns(otherwise: int) -> int:
    """How wide the terminal is that is printed to; ``otherwise`` if it is none, so that files are always the same."""
    return shutil.get_terminal_size((otherwise, 24)).columns if sys.stdout.isatty() else otherwise
