"""Base64 as Go's encoding/base64 reads it (StdEncoding), and what it says of texts that are none."""

from __future__ import annotations

import re

_SPACE = re.compile("[\r\n]*")


def misread_base64(text: str) -> str | None:
    """What the decoder says of a text; None for one that is base64. Line ends do not count."""
    at = _first_wrong(text)
    return None if at is None else f"illegal base64 data at input byte {at}"


def _first_wrong(text: str) -> int | None:
    whole = re.compile("(?:[\r\n]*[A-Za-z0-9+/]){4}")
    at = 0
    while found := whole.match(text, at):
        at = found.end()
    at = _over(text, at)
    if at == len(text):
        return None
    # The last four characters, which padding may fill up.
    held = 0
    while at < len(text) and re.match("[A-Za-z0-9+/]", text[at]):
        held, at = held + 1, _over(text, at + 1)
    if at == len(text):
        return at - held
    if text[at] != "=" or held < 2:
        return at
    at = _over(text, at + 1)
    if held == 2:
        if at == len(text) or text[at] != "=":
            return at if at == len(text) else at - 1
        at = _over(text, at + 1)
    return None if at == len(text) else at


def _over(text: str, at: int) -> int:
    """The place after line ends."""
    found = _SPACE.match(text, at)
    return found.end() if found else at
