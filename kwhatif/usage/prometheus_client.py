"""Queries a Prometheus for container usage: ranges of both metrics, by namespace and in pieces of time."""

from __future__ import annotations

import json
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kwhatif import bounds
from kwhatif.errors import ClusterError, InputError, UsageError
from kwhatif.progress import track
from kwhatif.snapshot.read.files import read_paths
from kwhatif.snapshot.read.secrets import Secrets, WebAddress
from kwhatif.usage.book import UsageBook
from kwhatif.usage.http_answers import NoAnswer, answer_of
from kwhatif.usage.prometheus_answers import CPU, MEMORY, read_answer

MOST_STEPS = 10_000
"""Prometheus refuses ranges of more than 11,000 samples a series."""

_CONTAINERS = 'container!="",container!="POD"'
_TRANSIENT = frozenset({0, 429, 502, 503, 504})
"""Of an answer that did not come, or not to its end, the status is 0."""


@dataclass(frozen=True)
class PrometheusServer:
    """A Prometheus server and the query. ``step`` and ``window`` are in seconds, ``end`` is a Unix time.

    A rate is that of the last ``rate`` seconds; samples of CPU are ``step`` apart. ``timeout`` is for each answer as a
    whole. A name and a password in the ``url`` are sent as Basic auth, unless there is a ``token``.
    """

    url: str
    end: float
    window: float
    step: int = 60
    rate: int = 300
    timeout: float = bounds.ANSWER_SECONDS
    retries: int = 2
    token: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        try:
            WebAddress.parse(self.url)
        except ValueError as error:
            # What stands before an @ may be a password.
            raise UsageError(f"--prometheus {self.url.rpartition('@')[2]}: {error}") from None

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
        address = WebAddress.parse(self.url)
        authorization = f"Bearer {self.token}" if self.token else address.authorization
        secrets = address.secrets(authorization)
        for left in range(self.retries, -1, -1):
            try:
                self._ask(address, authorization, secrets, ask, book)
            except NoAnswer as error:
                if not left or error.status not in _TRANSIENT:
                    raise ClusterError(f"{address.shown}: {error}") from None
                time.sleep(min(2.0 ** (self.retries - left), 10.0) / 2)
            except InputError as error:
                raise ClusterError(str(error)) from None
            else:
                return

    def _ask(
        self, address: WebAddress, authorization: str, secrets: Secrets, ask: dict[str, str], book: UsageBook
    ) -> None:
        data = urllib.parse.urlencode(ask).encode()
        headers = {"Accept-Encoding": "gzip", "Content-Type": "application/x-www-form-urlencoded"}
        if authorization:
            headers["Authorization"] = authorization
        request = urllib.request.Request(f"{address.url}/api/v1/query_range{address.query}", data, headers)
        with answer_of(request, self.timeout, bounds.RECORDING_BYTES, secrets) as pieces:
            read_answer(pieces, book, address.shown)


def read_token(path: str) -> str:
    """The token that a file holds, without the line's end. Raises InputError."""
    (text,) = read_paths([path], max_bytes=bounds.SETTINGS_BYTES)
    token = text.data.decode().strip()
    if not token or any(not 32 < ord(character) < 127 for character in token):
        raise InputError("expected a token in one line", source=path)
    return token
