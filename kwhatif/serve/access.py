"""Who may ask: names by which the server may be called, tokens and certificates.

On loopback everybody on the machine may. Beyond it the connection is TLS, and whoever asks has a bearer token or a
client's certificate. A page in a browser reaches the server only if it came from there: Host and Origin are compared,
since a name of a stranger may be made to mean this address (DNS rebinding).
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import msgspec

from kwhatif import bounds
from kwhatif.errors import InputError, UsageError
from kwhatif.snapshot.read.files import read_paths

LOOPBACK = ("127.0.0.1", "::1", "localhost")

_SHORTEST_TOKEN = 16


def is_loopback(host: str) -> bool:
    """Whether an address to listen on is reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class WatchedFile:
    """A file whose content is read again when it has changed. What cannot be read any more stays as it was."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._stamp: tuple[int, int, int] | None = None

    def has_changed(self) -> bool:
        """Whether it has changed since this was last asked. Raises OSError."""
        about = os.stat(self.path)
        stamp = about.st_mtime_ns, about.st_ino, about.st_size
        changed, self._stamp = stamp != self._stamp, stamp
        return changed


class Tokens:
    """The bearer tokens of a file, one a line. Raises UsageError for a file without any, InputError for none."""

    def __init__(self, path: str) -> None:
        self._file = WatchedFile(path)
        self._digests: list[bytes] = []
        self._digests = self._read()
        if not self._digests:
            raise UsageError(
                f"--token-file {path}: expected tokens of {_SHORTEST_TOKEN} characters or more, one a line"
            )

    def _read(self) -> list[bytes]:
        (text,) = read_paths([self._file.path], max_bytes=bounds.SETTINGS_BYTES)
        return [sha256(word).digest() for word in text.data.split() if len(word) >= _SHORTEST_TOKEN]

    def accept(self, token: str) -> bool:
        """Whether it is one of them; how long that takes says nothing about the tokens."""
        try:
            if self._file.has_changed() and (digests := self._read()):
                self._digests = digests
        except (OSError, InputError):
            pass
        digest = sha256(token.encode("utf-8", "surrogateescape")).digest()
        matches = [hmac.compare_digest(digest, known) for known in self._digests]
        return any(matches)


class TlsFiles(msgspec.Struct, frozen=True):
    """A certificate and its key; ``client_ca`` are those who sign clients' certificates, which are then needed."""

    certificate: str
    key: str
    client_ca: str = ""

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(path for path in (self.certificate, self.key, self.client_ca) if path)

    def context(self) -> ssl.SSLContext:
        """Raises UsageError for files that are none of these."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            self.load(context)
        except (OSError, ssl.SSLError) as error:
            reason = getattr(error, "reason", "") or error.strerror or error
            raise UsageError(f"--tls-cert, --tls-key, --client-ca: cannot be used: {reason}") from None
        if self.client_ca:
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def load(self, context: ssl.SSLContext) -> None:
        """Use the files as they are now for connections from here on. Raises OSError and ssl.SSLError."""
        # A pair that does not fit, as for a moment while both are replaced, must not take the place of one that does.
        trial = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        trial.load_cert_chain(self.certificate, self.key)
        context.load_cert_chain(self.certificate, self.key)
        if self.client_ca:
            context.load_verify_locations(self.client_ca)


@dataclass(frozen=True)
class Access:
    """Whom the server listens to: ``hosts`` are the names by which it may be called, ``open_paths`` need no token."""

    host: str
    port: int
    tls: TlsFiles | None = None
    tokens: Tokens | None = None
    names: tuple[str, ...] = ()
    open_paths: frozenset[str] = frozenset()
    hosts: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        known = (*LOOPBACK, *(() if self.host in ("0.0.0.0", "::") else (self.host,)), *self.names)
        object.__setattr__(self, "hosts", frozenset(name.lower() for name in known))

    def check(self) -> None:
        """Raise UsageError where strangers could ask."""
        if self.tls is not None and self.tokens is None and not self.tls.client_ca and not is_loopback(self.host):
            raise UsageError(
                f"--listen {self.host}:{self.port}: who asks has to be known: name --token-file or --client-ca"
            )
        if self.tls is None and not is_loopback(self.host):
            raise UsageError(
                f"--listen {self.host}:{self.port}: beyond loopback it takes --tls-cert and --tls-key, and "
                "--token-file or --client-ca"
            )

    @property
    def scheme(self) -> str:
        return "http" if self.tls is None else "https"

    def refuse(self, headers: Mapping[str, str], path: str = "") -> tuple[int, str]:
        """Why a request is not answered: status and reason; 0 if it is."""
        host = headers.get("host", "")
        if _name_of(host) not in self.hosts:
            return 421, "this server does not answer to this Host (--host)"
        origin = headers.get("origin")
        if origin is not None and origin.lower() != f"{self.scheme}://{host}".lower():
            return 403, "the Origin is another site"
        if headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            return 403, "another site asks"
        if self.tokens is not None and path not in self.open_paths:
            kind, _, token = headers.get("authorization", "").partition(" ")
            if kind.lower() != "bearer" or not self.tokens.accept(token.strip()):
                return 401, "expected a bearer token of the server's file"
        return 0, ""


def _name_of(host: str) -> str:
    """The name of a Host header without its port."""
    name = host.lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.partition(":")[0]


def headers_of(scope: Mapping[str, Any]) -> dict[str, str]:
    """The headers of a request; of those that may come once, two are none."""
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        headers[key] = "" if key in headers and key in ("host", "origin", "authorization") else value.decode("latin-1")
    return headers
