"""Limits in time: none takes longer than it says."""

from __future__ import annotations

import threading

import pytest

from kwhatif import bounds


def test_work_that_is_done_in_time_gives_what_it_comes_to_or_raises() -> None:
    def fail() -> None:
        raise KeyError("no")

    assert bounds.in_time(60, lambda: 7) == 7
    with pytest.raises(KeyError):
        bounds.in_time(60, fail)


def test_nobody_waits_for_work_that_takes_too_long() -> None:
    done = threading.Event()
    with pytest.raises(TimeoutError):
        bounds.in_time(0.01, done.wait)
    done.set()
