"""Fixtures of the dumps: a server on loopback, and nobody who waits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kwhatif.snapshot.live import requests as asker
from tests.snapshot.server import ApiServer


@pytest.fixture
def server() -> Iterator[ApiServer]:
    """An API server with what a real one was recorded to answer."""
    with ApiServer() as started:
        yield started


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pause between two attempts."""
    monkeypatch.setattr(asker, "wait", lambda stop, seconds: None)
