"""Queries a Prometheus for container usage: ranges of both metrics, by namespace and in pieces of time."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http.client import HTTPException

from kwhatif import bounds
from kwhatif.errors import ClusterError, InputError, UsageError
from kwhatif.progress import track
from kwhatif.snapshot.read.compression import decompress_chunks
from kwhatif.snapshot.read.files import read_paths
from kwhatif.usage.book import UsageBook
from kwhatif.usage.http_answers import opener, pieces_of, reason_of
from kwhatif.usage.prometheus_answers import CPU, MEMORY, read_answers

MOST_STEPS = 10_000
"""Prometheus refuses ranges of more than 11,000 samples a series."""

_CONTAINERS = 'container!="",container!="POD"'
_TRANSIENT = frozenset({429, 502, 503, 504})


@dataclass(frozen=True)
class PrometheusServer:
    """A Prometheus server and the query. ``step`` and ``window`` are in seconds, ``end`` is a Unix time.

    A rate is that of the last ``rate`` seconds; samples of CPU are ``step`` apart. ``timeout`` is for each answer.
    """

    url: str
    end: float
    window: float
    step: int = 60
    rate: int = 300
    timeout: float = 60.0
    retries: int = 2
    token: str = ""

    def __post_init__(self) -> None:
        if urllib.parse.urlsplit(self.url).scheme not in ("http", "https"):
            raise UsageError(f"--prometheus {self.url}: expected a URL that begins with http:// or https://")

    def read(self, namespaces: Sequence[str], book: UsageBook) -> None:
        """Add the usage of these namespaces. Raises ClusterError where the server cannot be reached."""
        for query, start, stop in track(list(self._ranges(namespaces)), "Asking Prometheus", "ranges"):
            ask = {"query": query, "start": f"{start:.3f}", "end": f"{stop:.3f}", "step": str(self.step)}
            self._ask_with_retries(ask, book)

    def _ranges(self, namespaces: Sequence[str]) -> Iterator[tuple[str, float, float]]:
        stretch = MOST_STEPS * self.step
        for namespace in namespaces:
            chosen = f"{{namespace={json.dumps(namespace)},{_CONTAINERS}}}"
            # Each query names its metric anew, since Prometheus takes the name of a rate away.
            rate = f'label_replace(rate({CPU}{chosen}[{self.rate}s]),"__name__","namespace:{CPU}:rate","","")'
            for query in (rate, f"{MEMORY}{chosen}"):
                start = self.end - self.window
                while start <= self.end:
                    stop = min(start + stretch - self.step, self.end)
                    yield query, start, stop
                    start = stop + self.step

    def _ask_with_retries(self, ask: dict[str, str], book: UsageBook) -> None:
        for left in range(self.retries, -1, -1):
            try:
                self._ask(ask, book)
            except _Transient as error:
                if not left:
                    raise ClusterError(f"{self.url}: {error}") from None
                time.sleep(min(2.0 ** (self.retries - left), 10.0) / 2)
            else:
                return

    def _ask(self, ask: dict[str, str], book: UsageBook) -> None:
        data = urllib.parse.urlencode(ask).encode()
        headers = {"Accept-Encoding": "gzip", "Content-Type": "application/x-www-form-urlencoded"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        request = urllib.request.Request(f"{self.url.rstrip('/')}/api/v1/query_range", data, headers)
        try:
            with opener().open(request, timeout=self.timeout) as answer:
                read_answers(decompress_chunks(pieces_of(answer), bounds.RECORDING_BYTES), book, self.url)
        except urllib.error.HTTPError as error:
            said = reason_of(error)
            if error.code in _TRANSIENT:
                raise _Transient(said) from None
            raise ClusterError(f"{self.url}: {said}") from None
        except (OSError, HTTPException) as error:
            raise _Transient(str(getattr(error, "reason", error)) or type(error).__name__) from None
        except InputError as error:
            raise ClusterError(str(error)) from None


class _Transient(Exception):
    """An error that may be gone on a retry."""


def read_token(path: str) -> str:
    """The token that a file holds, without the line's end. Raises InputError."""
    (text,) = read_paths([path], max_bytes=bounds.SETTINGS_BYTES)
    token = text.data.decode().strip()
    if not token or any(not 32 < ord(each) < 127 for each in token):
        raise InputError("expected a token in one line", source=path)
    return token
