"""The clock on the wall. Nothing else reads it: all code takes a moment as a value, so that answers are the same on any
day. How long something takes is measured by clocks that nobody sets (``time.monotonic``, ``time.process_time``).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

seconds_since_1970: Callable[[], float] = time.time
"""What tests replace."""


def read_clock() -> datetime:
    """What time it is, in UTC."""
    return datetime.fromtimestamp(seconds_since_1970(), UTC)
