"""The door for questions that take long: ``Prefer: respond-async`` begins one, which is then looked at, followed as
server-sent events, or cancelled. Its name is a secret of who began it.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from kwhatif.serve.replies import Reply, problem_reply
from kwhatif.serve.service import Service, response_of

MOST = 100
"""Jobs that are kept, those that are done among them."""

KEPT_SECONDS = 600.0
"""From the beginning of a question."""

_KEPT_BYTES = 256 * 1024**2
_ALIVE_SECONDS = 15.0


class Job(msgspec.Struct, eq=False):
    """A question under way. ``reply`` is there once it is done."""

    task: asyncio.Task[None] | None = None
    progress: str = ""
    reply: Reply | None = None
    begun: float = msgspec.field(default_factory=time.monotonic)
    changed: asyncio.Event = msgspec.field(default_factory=asyncio.Event)

    def tell(self, progress: str) -> None:
        self.progress = progress
        self.changed.set()

    @property
    def state(self) -> dict[str, object]:
        status = "running" if self.reply is None else "done" if self.reply.status == 200 else "failed"
        return {"status": status, "progress": self.progress, "seconds": round(time.monotonic() - self.begun, 1)}


def jobs_of(service: Service) -> dict[str, Job]:
    jobs: dict[str, Job] = service.settings.setdefault("jobs", {})
    return jobs


def begin_job(service: Service, name: str, body: bytes, media: str) -> Response:
    """Begin a question; the response says where it is looked at."""
    jobs = jobs_of(service)
    _forget(jobs)
    if len(jobs) >= MOST:
        detail = f"no more than {MOST} questions are kept: look at those that are done, or cancel some"
        return response_of(problem_reply(503, "busy", detail, title="Too busy"))
    job, key = Job(), secrets.token_urlsafe(16)

    async def run() -> None:
        job.reply = await service.workers.ask(name, body, media=media, progress=job.tell)
        job.changed.set()

    job.task = asyncio.create_task(run())
    jobs[key] = job
    place = f"/v1/jobs/{key}"
    return JSONResponse({"job": place, **job.state}, 202, {"location": place, "preference-applied": "respond-async"})


def _forget(jobs: dict[str, Job]) -> None:
    """Forget jobs that are long done, and the oldest answers where they are too large together."""
    size = 0
    for key, job in reversed(list(jobs.items())):
        if job.reply is not None:
            size += len(job.reply.body)
            if size > _KEPT_BYTES or time.monotonic() - job.begun > KEPT_SECONDS:
                del jobs[key]


def routes(service: Service) -> list[Route]:
    jobs = jobs_of(service)

    async def look(request: Request) -> Response:
        if request.method == "DELETE":
            return cancel(request)
        job = jobs.get(request.path_params.get("job", ""))
        return _unknown() if job is None else JSONResponse(job.state)

    async def read(request: Request) -> Response:
        job = jobs.get(request.path_params.get("job", ""))
        if job is None:
            return _unknown()
        if job.reply is None:
            return response_of(problem_reply(409, "running", "not answered yet", title="Not answered yet"))
        return response_of(job.reply)

    def cancel(request: Request) -> Response:
        job = jobs.pop(request.path_params.get("job", ""), None)
        if job is None:
            return _unknown()
        assert job.task is not None
        job.task.cancel()
        return Response(status_code=204)

    async def events(request: Request) -> Response:
        job = jobs.get(request.path_params.get("job", ""))
        return _unknown() if job is None else StreamingResponse(_events(job), media_type="text/event-stream")

    return [
        Route("/v1/jobs/{job}", look, methods=["GET", "DELETE"]),
        Route("/v1/jobs/{job}/answer", read),
        Route("/v1/jobs/{job}/events", events),
    ]


async def _events(job: Job) -> AsyncIterator[bytes]:
    """How far it is, again and again, until it is done or cancelled."""
    while True:
        done = job.reply is not None or (job.task is not None and job.task.done())
        event = "done" if done else "progress"
        yield b"event: %b\ndata: %b\n\n" % (event.encode(), msgspec.json.encode(job.state))
        if done:
            return
        job.changed.clear()
        try:
            async with asyncio.timeout(_ALIVE_SECONDS):
                await job.changed.wait()
        except TimeoutError:
            pass


def _unknown() -> Response:
    return response_of(problem_reply(404, "unknown", "the job does not exist, or no longer", title="Not found"))
