"""Decompression of gzip and zstd, recognised by their first bytes, with limits of size and ratio."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from itertools import chain

import zstandard

from kwhatif import bounds
from kwhatif.errors import InputError

_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_GZIP_FORMAT = 16 + zlib.MAX_WBITS
_CHUNK = 1024**2
# A few bytes of zstd can stand for 128 KiB, so it is fed little at a time.
_ZSTD_SLICE = 1024
# What follows a member of gzip is copied once for each member, so there must not be much of it.
_GZIP_SLICE = 16 * 1024


class TruncatedError(InputError):
    """The compressed text is truncated."""


def decompress_all(chunks: Iterable[bytes], max_bytes: int) -> bytes:
    """The whole text. Raises InputError if it is longer than ``max_bytes``, damaged, or expands too far."""
    kept = list(decompress_chunks(chunks, max_bytes))
    return kept[0] if len(kept) == 1 else b"".join(kept)


def decompress_chunks(chunks: Iterable[bytes], max_bytes: int) -> Iterator[bytes]:
    """The text in pieces. Raises InputError as ``decompress_all`` does."""
    taken = size = 0
    rest = iter(chunks)
    head = b""
    while len(head) < len(_ZSTD_MAGIC) and (chunk := next(rest, None)) is not None:
        head += chunk

    def count_bytes() -> Iterator[bytes]:
        nonlocal taken
        for chunk in chain([head], rest):
            taken += len(chunk)
            yield chunk

    packed = True
    if head.startswith(_GZIP_MAGIC):
        pieces = _gunzip(_slice_chunks(count_bytes(), _GZIP_SLICE))
    elif head.startswith(_ZSTD_MAGIC):
        pieces = _unzstd(count_bytes())
    else:
        pieces, packed = count_bytes(), False
    for piece in pieces:
        size += len(piece)
        if size > max_bytes:
            raise InputError(f"larger than the limit of {max_bytes:,} bytes")
        if packed and size > bounds.RATIO_FROM and size > bounds.RATIO * taken:
            raise InputError(f"unpacks to more than {bounds.RATIO:,} times its size, as no manifest would")
        yield piece


def _slice_chunks(chunks: Iterator[bytes], most: int) -> Iterator[bytes]:
    for chunk in chunks:
        for start in range(0, len(chunk), most):
            yield chunk[start : start + most]


def _wholes() -> Iterator[None]:
    """A decompressor for each member of a compressed text. Raises InputError where there are too many."""
    for _ in range(bounds.WHOLES):
        yield
    raise InputError(f"is packed in more than {bounds.WHOLES:,} pieces")


def _gunzip(chunks: Iterator[bytes]) -> Iterator[bytes]:
    member, wholes = None, _wholes()
    try:
        for chunk in chunks:
            # Between one member and the next, and after the last one, there may be zeros.
            left = chunk if member else chunk.lstrip(b"\0")
            piece = b""
            while left or len(piece) == _CHUNK:
                if member is None:
                    next(wholes)
                    member = zlib.decompressobj(_GZIP_FORMAT)
                piece = member.decompress(left, _CHUNK)
                yield piece
                left = member.unconsumed_tail
                if member.eof:
                    left, piece, member = member.unused_data.lstrip(b"\0"), b"", None
    except zlib.error as error:
        raise InputError(f"damaged gzip data: {error}") from None
    if member:
        raise TruncatedError("the gzip data ends too early: the file is truncated")


def _unzstd(chunks: Iterator[bytes]) -> Iterator[bytes]:
    frame, wholes, decompressor = None, _wholes(), zstandard.ZstdDecompressor()
    try:
        for chunk in chunks:
            position = 0
            while position < len(chunk):
                if frame is None:
                    next(wholes)
                    frame = decompressor.decompressobj()
                piece = chunk[position : position + _ZSTD_SLICE]
                yield frame.decompress(piece)
                position += len(piece) - len(frame.unused_data)
                if frame.eof:
                    frame = None
    except zstandard.ZstdError as error:
        raise InputError(f"damaged zstd data: {error}") from None
    if frame:
        raise TruncatedError("the zstd data ends too early: the file is truncated")
