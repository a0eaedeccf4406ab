"""The door for agents over HTTP: a message of the Model Context Protocol in each POST, without sessions."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from kwhatif.serve.agents import VERSIONS, respond
from kwhatif.serve.replies import JSON, problem_reply
from kwhatif.serve.service import Service, response_of


def routes(service: Service) -> list[Route]:
    async def mcp(request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            return response_of(problem_reply(415, "media", f"expected {JSON}", title="Another type of content"))
        version = request.headers.get("mcp-protocol-version", VERSIONS[0])
        if version not in VERSIONS:
            detail = f"expected a version of the protocol that is known: {', '.join(VERSIONS)}"
            return response_of(problem_reply(400, "usage", detail))
        response = await respond(await request.body(), service.workers)
        return Response(status_code=202) if response is None else Response(response, media_type=JSON)

    # A GET would wait for messages that the server begins, of which there are none: 405 says so.
    return [Route("/mcp", mcp, methods=["POST"])]
