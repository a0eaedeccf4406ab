"""The doors in this process: requests to the application, questions answered by the function that workers call."""

from __future__ import annotations

import asyncio
import json
from contextlib import chdir
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from kwhatif.serve.access import Access
from kwhatif.serve.answers import ServedCluster
from kwhatif.serve.fields import routes
from kwhatif.serve.frames import ClusterStatus, Head
from kwhatif.serve.replies import JSON, Reply
from kwhatif.serve.service import Service
from kwhatif.serve.worker import reply_to
from kwhatif.serve.workers import Limits, Workers
from kwhatif.snapshot.load import load_snapshot

SAMPLES = Path(__file__).parents[2] / "samples"


@cache
def cluster() -> ServedCluster:
    with chdir(SAMPLES):
        return ServedCluster(load_snapshot(["cluster"]))


class Answering:
    """Stands for the workers; ``instead`` is what any question is answered with, ``seconds`` how long that takes."""

    is_ready = True

    def __init__(self, instead: Reply | None = None, seconds: float = 0.0) -> None:
        self.instead, self.seconds = instead, seconds
        self.asked: list[tuple[str, Any]] = []
        self.status = ClusterStatus("ready", questions=tuple(routes()))

    async def ask(self, route: str, body: bytes, media: str = JSON, **_: Any) -> Reply:
        self.asked.append((route, json.loads(body or b"{}")))
        await asyncio.sleep(self.seconds)
        if self.instead is not None:
            return self.instead
        return reply_to(Head(route=route, media=media), body, cluster())


@dataclass
class Response:
    """A response."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def service_of(workers: Any = None, access: Access | None = None, **doors: Any) -> Service:
    """A service whose questions are answered in this process."""
    return Service(cast("Workers", workers or Answering()), access or Access("127.0.0.1", 1), Limits(), doors)


def request(
    service: Service, method: str, path: str, body: Any = None, *, query: str = "", app: Any = None, **headers: str
) -> Response:
    """The response of the application, or of one that was made before; a body is sent as JSON."""
    sent: list[Any] = []
    text = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    named = {"host": "127.0.0.1", "content-type": JSON}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "client": ("127.0.0.1", 1),
        "headers": [(name.encode(), value.encode()) for name, value in named.items()],
    }

    async def run() -> None:
        coming = [{"type": "http.request", "body": text, "more_body": False}]

        async def receive() -> Any:
            if coming:
                return coming.pop()
            return await asyncio.Event().wait()

        async def send(message: Any) -> None:
            sent.append(message)

        await (app or service.app())(scope, receive, send)

    asyncio.run(run())
    start = sent[0]
    return Response(
        start["status"],
        {name.decode().lower(): value.decode() for name, value in start["headers"]},
        b"".join(each.get("body", b"") for each in sent[1:]),
    )
