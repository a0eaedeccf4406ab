"""Requests to web servers with usage: answers in pieces, bounded as a whole, without the secrets of the request.

Redirects are not followed: a token must not be sent elsewhere.
"""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPResponse
from typing import Any

import msgspec

from kwhatif.api.decode import decode_json
from kwhatif.errors import InputError
from kwhatif.snapshot.read.bounded_answers import AnswerLimit, answers_within, bounded_class_of
from kwhatif.snapshot.read.compression import decompress_chunks
from kwhatif.snapshot.read.secrets import Secrets

_PIECE = 1024 * 1024
_REASON_BYTES = 64 * 1024
_LONGEST_REASON = 1000


class NoAnswer(Exception):
    """No answer, or one that is a refusal; the message is free of secrets. ``status`` is that of an answer, else 0."""

    def __init__(self, problem: str, status: int = 0) -> None:
        self.status = status
        super().__init__(problem)


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class _Http(urllib.request.HTTPHandler):
    def http_open(self, req: urllib.request.Request) -> HTTPResponse:
        return self.do_open(bounded_class_of(http.client.HTTPConnection), req)


class _Https(urllib.request.HTTPSHandler):
    def https_open(self, req: urllib.request.Request) -> HTTPResponse:
        return self.do_open(bounded_class_of(http.client.HTTPSConnection), req)


@contextmanager
def answer_of(
    request: urllib.request.Request, seconds: float, max_bytes: int, secrets: Secrets
) -> Iterator[Iterator[bytes]]:
    """The body, unpacked, of an answer that is complete after so many seconds of waiting, and no larger than
    ``max_bytes`` packed or unpacked.

    Raises NoAnswer, also while the body is read, and InputError for one that is too large or damaged.
    """
    opener = urllib.request.build_opener(_Stay, _Http, _Https)
    try:
        with answers_within(AnswerLimit(seconds, max_bytes)), opener.open(request, timeout=seconds) as answer:
            yield secrets.conceal_chunks(decompress_chunks(_pieces_of(answer), max_bytes))
    except urllib.error.HTTPError as error:
        with error:
            raise NoAnswer(secrets.conceal(_reason_of(error, secrets)), error.code) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "reason", error)
        if isinstance(reason, TimeoutError):
            raise NoAnswer(f"timed out: no complete answer within {seconds:g} seconds") from None
        raise NoAnswer(secrets.conceal(str(reason)[:_LONGEST_REASON]) or type(error).__name__) from None
    except InputError as error:
        raise InputError(secrets.conceal(error.problem), source=error.source, place=error.place) from None


def _pieces_of(answer: HTTPResponse) -> Iterator[bytes]:
    read: Callable[[int], bytes] = answer.read1
    while piece := read(_PIECE):
        yield piece
    if answer.length:
        raise http.client.IncompleteRead(b"", answer.length)


class _Refusal(msgspec.Struct):
    error: str = ""


def _reason_of(error: urllib.error.HTTPError, secrets: Secrets) -> str:
    """The status, and what the ``error`` of a JSON answer says."""
    try:
        body = error.read(_REASON_BYTES)
        words = decode_json(secrets.conceal_data(body), _Refusal).error
    except (InputError, OSError, http.client.HTTPException):
        words = ""
    words = secrets.conceal(words)[:_LONGEST_REASON]
    return f"HTTP {error.code} {str(error.reason)[:_LONGEST_REASON]}" + (f": {words}" if words else "")
