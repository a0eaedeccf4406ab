"""What the doors stand on: a way to ask, what is known of the cluster, and how a door gives its routes."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from importlib import import_module
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from kwhatif.serve.access import Access
from kwhatif.serve.frames import ClusterStatus
from kwhatif.serve.guard import App, Guard
from kwhatif.serve.log import write_line
from kwhatif.serve.replies import Reply
from kwhatif.serve.workers import Limits, Workers

DOORS = ("health", "http_api", "jobs", "admission", "metrics", "mcp", "page")
"""The modules of this package whose ``routes(service)`` are the doors, in this order."""


class Service(msgspec.Struct):
    """``workers`` answer questions (``await service.workers.ask("place", body)``), ``access`` says who may ask.

    ``settings`` is what the options of the command say to single doors, by their names; ``works`` is what doors do as
    long as the server runs. ``log`` takes the lines of the access log.
    """

    workers: Workers
    access: Access
    limits: Limits
    settings: dict[str, Any] = {}
    works: list[Coroutine[Any, Any, None]] = []
    log: Callable[[str], None] = write_line

    @property
    def status(self) -> ClusterStatus:
        """What is known of the cluster."""
        return self.workers.status

    def app(self) -> App:
        """All doors behind the guard."""
        routes: list[Route] = []
        for door in DOORS:
            routes += import_module(f"kwhatif.serve.{door}").routes(self)
        return Guard(Starlette(routes=routes), self.access, self.limits, log=self.log)


def response_of(reply: Reply) -> Response:
    """A reply as HTTP has it."""
    headers = {"kwhatif-exit-code": str(reply.exit_code)}
    if reply.as_of:
        headers["kwhatif-as-of"] = reply.as_of
    if reply.status == 503:
        headers["retry-after"] = "1"
    return Response(reply.body, reply.status, headers, reply.media)
