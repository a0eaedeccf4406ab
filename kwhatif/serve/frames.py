"""Frames between the server, the keeper of the cluster and the workers: a head in JSON, and a body."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Any

import msgspec

_SIZES = struct.Struct(">II")

Frame = tuple[dict[str, Any], bytes]


def pack(head: dict[str, Any], body: bytes = b"") -> bytes:
    """A frame as bytes."""
    text = msgspec.json.encode(head)
    return b"".join((_SIZES.pack(len(text), len(body)), text, body))


def send(channel: socket.socket, head: dict[str, Any], body: bytes = b"") -> None:
    """Send a frame. Raises OSError if nobody is there any more."""
    channel.sendall(pack(head, body))


def receive(channel: socket.socket) -> Frame | None:
    """The next frame; None once the other side is gone."""
    sizes = _receive(channel, _SIZES.size)
    if sizes is None:
        return None
    head_size, body_size = _SIZES.unpack(sizes)
    text = _receive(channel, head_size + body_size)
    return None if text is None else (msgspec.json.decode(text[:head_size]), text[head_size:])


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
    return msgspec.json.decode(text[:head_size]), text[head_size:]
