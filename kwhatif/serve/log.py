"""What the server says on standard error: lines for people, and the access log as JSON."""

from __future__ import annotations

import sys
from contextlib import suppress


def tell(text: str) -> None:
    """A line for people."""
    write_line(f"kwhatif: {' '.join(text.split())}")


def write_line(line: str) -> None:
    """A line. A full disk or a closed pipe keeps nobody from an answer."""
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            sys.stderr.write(f"{line}\n")
            sys.stderr.flush()
