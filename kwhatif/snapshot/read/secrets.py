"""What requests carry that nobody is to read - tokens and passwords - taken out of every text that a server sends.

A server, or a proxy before it, may quote the headers of a request in a refusal: as they are, cut short,
percent-encoded, in base64 or in hexadecimal digits.
"""

from __future__ import annotations

import base64
import html
import json
import re
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator

import msgspec

MARK = "***"
"""What stands in the place of a secret."""

_PIECE = 12
"""Bytes of a secret in a row, in any of its spellings, that are taken out of a message wherever they stand."""

_LEAST_IN_DATA = 8
"""Shorter secrets are words that objects may have, too: they are taken out of messages alone."""

_SHOWN = 64 * 1024
_REMEMBERED = 16
_CREDENTIALS = re.compile(r"\b((?:bearer|basic|negotiate|digest)(?:%20|[\s:+=])+)([^\s,;\"'<>]{8,})", re.IGNORECASE)
_CHARACTERS = ("&#{};", "&#x{:x};", "&#x{:X};", "\\u{:04x}", "\\u{:04X}", "\\x{:02x}")
"""How programs spell characters that they don't trust."""

_WORD = re.compile(r"[A-Z]?[a-z]+[.:]?")
_JSON_WEB_TOKEN = re.compile(r"\beyJ[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*)*")


class Secrets:
    """The secrets of one server's requests; the last few count, since tokens are renewed."""

    def __init__(self, *texts: str) -> None:
        self._spellings: dict[str, tuple[bytes, ...]] = {}
        self._pieces: frozenset[bytes] | None = None
        self.add(*texts)

    def add(self, *texts: str) -> None:
        """Remember secrets; an empty one is none."""
        for text in texts:
            if text and text not in self._spellings:
                self._spellings[text] = _spellings_of(text)
                self._pieces = None
                while len(self._spellings) > _REMEMBERED:
                    del self._spellings[next(iter(self._spellings))]

    def add_header(self, value: str) -> None:
        """Remember the credentials of an ``Authorization``: a token, or a name with its password."""
        scheme, _, credentials = value.strip().partition(" ")
        self.add(credentials.strip() or scheme)
        if scheme.lower() == "basic":
            try:
                decoded = base64.b64decode(credentials).decode("utf-8", "replace")
            except ValueError:
                return
            self.add(decoded, decoded.partition(":")[2])

    def conceal(self, text: str) -> str:
        """A message of a server without secrets, and without what calls itself credentials; at most 64 KiB of it."""
        data = text[:_SHOWN].encode("utf-8", "replace")
        small = data.lower()
        hidden = bytearray(len(data))
        for spelling in {spelling.lower() for group in self._spellings.values() for spelling in group}:
            start = small.find(spelling)
            while start >= 0:
                hidden[start : start + len(spelling)] = b"\1" * len(spelling)
                start = small.find(spelling, start + 1)
        pieces = self._all_pieces()
        if pieces:
            for start in range(len(small) - _PIECE + 1):
                if small[start : start + _PIECE] in pieces:
                    hidden[start : start + _PIECE] = b"\1" * _PIECE
        shown = bytearray()
        for part in re.finditer(b"\x00+|\x01+", bytes(hidden)):
            shown += data[part.start() : part.end()] if part[0][0] == 0 else MARK.encode()
        words = _CREDENTIALS.sub(_conceal_credentials, shown.decode("utf-8", "replace"))
        return _JSON_WEB_TOKEN.sub(MARK, words)

    def conceal_data(self, data: bytes) -> bytes:
        """The body of an answer without secrets, in whatever place of whatever object they stand."""
        for spelling in self._in_data():
            if spelling in data:
                data = data.replace(spelling, MARK.encode())
        return data

    def conceal_chunks(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """``conceal_data`` for a body that comes in pieces."""
        spellings = self._in_data()
        if not spellings:
            yield from chunks
            return
        most, rest = max(map(len, spellings)) - 1, b""
        for chunk in chunks:
            data = self.conceal_data(rest + chunk)
            # A secret may begin in this piece and end in the next one.
            cut = max(0, len(data) - most)
            rest = data[cut:]
            if cut:
                yield data[:cut]
        if rest:
            yield rest

    def _in_data(self) -> list[bytes]:
        pieces = {
            spelling
            for text, spellings in self._spellings.items()
            if len(text) >= _LEAST_IN_DATA
            for spelling in spellings
        }
        return sorted(pieces, key=lambda spelling: (-len(spelling), spelling))

    def _all_pieces(self) -> frozenset[bytes]:
        if self._pieces is None:
            every = {spelling.lower() for pieces in self._spellings.values() for spelling in pieces}
            self._pieces = frozenset(
                spelling[start : start + _PIECE] for spelling in every for start in range(len(spelling) - _PIECE + 1)
            )
        return self._pieces


def _conceal_credentials(match: re.Match[str]) -> str:
    # "Bearer authentication" is no token.
    return match[0] if _WORD.fullmatch(match[2]) else match[1] + MARK


def _spellings_of(text: str) -> tuple[bytes, ...]:
    raw = text.encode("utf-8", "surrogateescape")
    quoted = "".join(f"%{byte:02x}" for byte in raw)
    spelt = {
        text,
        urllib.parse.quote(raw),
        urllib.parse.quote(raw, safe=""),
        urllib.parse.quote_plus(raw),
        quoted,
        quoted.upper(),
        json.dumps(text)[1:-1],
        html.escape(text),
        raw.hex(),
        raw.hex().upper(),
        *("".join(form.format(ord(char)) for char in text) for form in _CHARACTERS),
    }
    spellings = {spelling.encode("utf-8", "surrogateescape") for spelling in spelt}
    for shift in range(3):
        # Base64 of a text within another one depends on where in its three bytes it begins.
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            letters = encode(b"\0" * shift + raw).rstrip(b"=")[(0, 2, 3)[shift] :]
            spellings.add(letters[:-1] if (shift + len(raw)) % 3 else letters)
    # What is left of a very short one would be found everywhere.
    return tuple(sorted(spelling for spelling in spellings if len(spelling) >= min(len(raw), 4)))


class WebAddress(msgspec.Struct, frozen=True):
    """An address of a web server, apart from the credentials in it. ``shown`` is for messages, ``url`` for requests.

    ``user_info`` is the name and the password, decoded; ``query`` begins with ``?`` or is empty.
    """

    url: str
    shown: str
    user_info: str
    query: str

    @classmethod
    def parse(cls, text: str) -> WebAddress:
        """Raises ValueError that quotes nothing of the address but its scheme."""
        scheme = text.partition("://")[0].lower()
        if scheme not in ("http", "https"):
            raise ValueError("expected a URL that begins with http:// or https://")
        try:
            parts = urllib.parse.urlsplit(text)
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port = None, None
            parts = urllib.parse.SplitResult(scheme, "", "@", "", "")
        if not host or "@" in parts.path + parts.query + parts.fragment or not text.isprintable() or " " in text:
            # What stands before an @ may be the rest of a password.
            raise ValueError(
                f"expected {scheme}://HOST[:PORT][/PATH]; in a name or a password each of : / ? # @ is percent-encoded"
            )
        place = f"[{host}]" if ":" in host else host
        place += f":{port}" if port is not None else ""
        url = f"{scheme}://{place}{parts.path.rstrip('/')}"
        user_info = urllib.parse.unquote(parts.netloc.rpartition("@")[0])
        return cls(url, url, user_info, f"?{parts.query}" if parts.query else "")

    @property
    def authorization(self) -> str:
        """The header that says name and password, empty without them."""
        return f"Basic {base64.b64encode(self.user_info.encode()).decode()}" if self.user_info else ""

    def secrets(self, authorization: str = "") -> Secrets:
        """What requests to it carry: its password, values of its query, ``authorization``, passwords of proxies."""
        secrets = Secrets(*(value for _, value in urllib.parse.parse_qsl(self.query[1:])))
        for header in (self.authorization, authorization):
            if header:
                secrets.add_header(header)
        secrets.add(*passwords_of_proxies())
        return secrets


def passwords_of_proxies() -> Iterator[str]:
    """The passwords in the addresses of proxies that the environment names."""
    for address in urllib.request.getproxies().values():
        yield password_in(address)


def password_in(url: str) -> str:
    """The password within an address, decoded; empty without one."""
    user_info = url.partition("://")[2].partition("/")[0].rpartition("@")[0]
    return urllib.parse.unquote(user_info.partition(":")[2])
