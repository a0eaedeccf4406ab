"""Answers of HTTP servers, read in pieces and up to a limit.

Redirects are not followed: a token must not be sent elsewhere.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from http.client import HTTPResponse
from typing import Any

_PIECE = 1024 * 1024


def opener() -> urllib.request.OpenerDirector:
    """An opener that follows no redirects."""

    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: Any, **__: Any) -> None:
            return None

    return urllib.request.build_opener(Stay)


def pieces_of(answer: HTTPResponse) -> Iterator[bytes]:
    read: Callable[[int], bytes] = answer.read
    while piece := read(_PIECE):
        yield piece


def reason_of(error: urllib.error.HTTPError) -> str:
    """The status, and what the ``error`` of a JSON answer says."""
    try:
        said = json.loads(error.read(64 * 1024)).get("error", "")
    except (ValueError, AttributeError, OSError):
        said = ""
    return f"HTTP {error.code} {error.reason}" + (f": {said}" if said else "")
