"""The API server's answer to a request: the object as stored, or a refusal; and what is unknown about it."""

from __future__ import annotations

from typing import Any

import msgspec

from kwhatif.results.expand import ChangeRecord

Object = dict[str, Any]
"""An object as plain JSON values. Those who change one own it: what comes from a file or a snapshot is copied first."""


class StatusCause(msgspec.Struct, frozen=True):
    """One field error of a refusal."""

    field: str
    message: str


class Doubt(msgspec.Struct, frozen=True):
    """What is unknown about a request, such as a webhook's answer, and its possible effect."""

    what: str
    effect: str


Doubts = dict[Doubt, dict[tuple[str, str, str], None]]
"""Doubt -> the objects (kind, namespace, name) that it is about, in the order of their requests."""


class StoredObject(msgspec.Struct, frozen=True):
    """The object as it would be stored, what was changed on the way, and what the server warns of."""

    object: Object
    changes: tuple[ChangeRecord, ...] = ()
    warnings: tuple[str, ...] = ()


class RequestRefusal(msgspec.Struct, frozen=True):
    """A verdict, not an error. ``reason`` is the API's: ``Forbidden`` (403), ``Invalid`` (422), and the like.

    ``hint`` is ours: what would help.
    """

    code: int
    reason: str
    message: str
    causes: tuple[StatusCause, ...] = ()
    hint: str = ""
    warnings: tuple[str, ...] = ()


ApiResponse = StoredObject | RequestRefusal
