"""The door for those who watch the server: whether it runs, and whether it knows the cluster."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from kwhatif.serve.service import Service


def routes(service: Service) -> list[Route]:
    async def healthz(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(_: Request) -> Response:
        """Says no more than this, since anybody may ask."""
        ready = service.workers.is_ready
        return PlainTextResponse("ok\n" if ready else "the cluster is not known yet\n", 200 if ready else 503)

    return [Route("/healthz", healthz), Route("/readyz", readyz)]
