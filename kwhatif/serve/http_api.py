"""The door for programs: ``POST /v1/COMMAND`` with the options as JSON, and the document that describes it."""

from __future__ import annotations

import asyncio

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from kwhatif.serve.jobs import begin_job
from kwhatif.serve.replies import COMMAND_LINE, JSON, MAP, MAP_ID, PAGE, Reply, problem_reply
from kwhatif.serve.service import Service, response_of


def routes(service: Service) -> list[Route]:
    async def ask(request: Request) -> Response:
        name = request.path_params.get("command", "")
        if service.workers.is_ready and name not in service.status.questions:
            return response_of(problem_reply(404, "unknown", "unknown question", title="Not found"))
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            # No other page can have a browser send this without asking first.
            return response_of(problem_reply(415, "media", f"expected {JSON}", title="Another type of content"))
        accepted = request.headers.get("accept", "")
        media = next((media_type for media_type in (COMMAND_LINE, PAGE) if media_type in accepted), JSON)
        if media == PAGE:
            media += MAP + accepted.partition(MAP)[2][:MAP_ID]
        body = await request.body()
        if "respond-async" in request.headers.get("prefer", ""):
            return begin_job(service, name, body, media)
        return response_of(await until_gone(request, service, name, body, media))

    async def status(_: Request) -> Response:
        return Response(msgspec.json.encode(service.status), media_type=JSON)

    async def openapi(_: Request) -> Response:
        return response_of(await service.workers.ask("openapi.json", b""))

    return [
        Route("/v1/status", status),
        Route("/v1/{command}", ask, methods=["POST"]),
        Route("/openapi.json", openapi),
    ]


async def until_gone(request: Request, service: Service, name: str, body: bytes, media: str) -> Reply:
    """The reply to a question; the work ends when the client goes away."""
    asking = asyncio.ensure_future(service.workers.ask(name, body, media=media))
    leaving = asyncio.ensure_future(_wait_for_leaving(request))
    try:
        await asyncio.wait((asking, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not asking.done():
            asking.cancel()
            return problem_reply(499, "gone", "the client went away", title="Nobody waits")
        return asking.result()
    finally:
        leaving.cancel()
        asking.cancel()


async def _wait_for_leaving(request: Request) -> None:
    while (await request.receive()).get("type") != "http.disconnect":
        pass
