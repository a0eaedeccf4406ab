"""Frames between the server, the keeper of the cluster and the workers: a head in JSON, and a body."""

from __future__ import annotations

import asyncio
import socket
import struct

import msgspec

from kwhatif.api.decode import decode_json

_SIZES = struct.Struct(">II")


class ClusterStatus(msgspec.Struct, rename="camel", frozen=True):
    """What is known of the served cluster: ``state`` is loading, ready or failed; ``detail`` says why it failed.

    ``taken_at`` is the time of which all is known, ``changes`` how many have been seen since, ``gaps`` says of kinds
    why they are not followed. ``questions`` are the names of those that may be asked.
    """

    state: str = "loading"
    detail: str = ""
    source: str = ""
    taken_at: str | None = None
    nodes: int = 0
    pods: int = 0
    changes: int = 0
    gaps: dict[str, str] = {}
    questions: tuple[str, ...] = ()


class Head(msgspec.Struct, frozen=True, omit_defaults=True):
    """The head of a frame.

    To the keeper: ``files`` to load, none where a cluster is followed, and ``memory`` of a question in bytes. From it:
    ``cluster``. To a worker: a question, by its ``route``, answered as ``media``, and whether the server
    ``wants_progress``; ``as_of`` is the time of which the cluster is known. From it: its ``pid`` and the ``changes`` it
    knows, how far it is (``progress``), or a reply of ``http_status`` and ``exit_code``, after which a
    ``worker_ends`` or not.
    """

    files: tuple[str, ...] = ()
    memory: int = 0
    cluster: ClusterStatus | None = None
    route: str = ""
    media: str = ""
    wants_progress: bool = False
    as_of: str = ""
    pid: int = 0
    changes: int = 0
    progress: str = ""
    http_status: int = 0
    exit_code: int = 0
    worker_ends: bool = False


Frame = tuple[Head, bytes]


def pack(head: Head, body: bytes = b"") -> bytes:
    """A frame as bytes."""
    text = msgspec.json.encode(head)
    return b"".join((_SIZES.pack(len(text), len(body)), text, body))


def send(channel: socket.socket, head: Head, body: bytes = b"") -> None:
    """Send a frame. Raises OSError if nobody is there any more."""
    channel.sendall(pack(head, body))


def receive(channel: socket.socket) -> Frame | None:
    """The next frame; None once the other side is gone."""
    sizes = _receive(channel, _SIZES.size)
    if sizes is None:
        return None
    head_size, body_size = _SIZES.unpack(sizes)
    text = _receive(channel, head_size + body_size)
    return None if text is None else (decode_json(text[:head_size], Head), text[head_size:])


def _receive(channel: socket.socket, size: int) -> bytes | None:
    pieces: list[bytes] = []
    while size:
        try:
            piece = channel.recv(min(size, 1 << 20))
        except ConnectionError:
            return None
        if not piece:
            return None
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


async def read(reader: asyncio.StreamReader) -> Frame | None:
    """As ``receive``, in the server."""
    try:
        head_size, body_size = _SIZES.unpack(await reader.readexactly(_SIZES.size))
        text = await reader.readexactly(head_size + body_size)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return decode_json(text[:head_size], Head), text[head_size:]
