"""The door for people: a page that asks about what they do with the cluster, and draws answers as HTML reports are."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from kwhatif.commands.page import app_file, app_script
from kwhatif.serve.replies import problem_reply
from kwhatif.serve.service import Service, response_of

_OWN = {"page.js": "text/javascript", "page.css": "text/css"}


def routes(service: Service) -> list[Route]:
    async def page(_: Request) -> Response:
        return Response(_own("page.html"), media_type="text/html")

    async def part(request: Request) -> Response:
        name = request.path_params.get("name", "")
        if name == "report.js":
            return Response(_report(), media_type="text/javascript")
        if name == "echarts.js":
            return Response(app_file("vendor/echarts.min.js"), media_type="text/javascript")
        if name == "style.css":
            return Response(app_file("style.css"), media_type="text/css")
        if name in _OWN:
            return Response(_own(name), media_type=_OWN[name])
        return response_of(problem_reply(404, "unknown", "there is no such file", title="Not found"))

    return [Route("/", page), Route("/page/{name}", part)]


@cache
def _own(name: str) -> str:
    return files(__name__).joinpath(name).read_text("utf-8")


@cache
def _report() -> str:
    return app_script(_own("drawn.js"))
