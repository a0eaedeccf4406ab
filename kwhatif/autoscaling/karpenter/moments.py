"""Moments, in seconds since 1970."""

from __future__ import annotations

from datetime import datetime


def seconds(text: str) -> float:
    """A time as Kubernetes writes it. Raises ValueError."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
