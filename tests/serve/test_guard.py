"""What stands before every door: bounds in size, time and number, and a log that names nothing of anybody."""

from __future__ import annotations

import asyncio
import errno
import io
import json
import sys
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

pytest.importorskip("starlette")

from kwhatif.serve import guard, log
from kwhatif.serve.access import Access
from kwhatif.serve.guard import Guard
from kwhatif.serve.workers import Limits

LIMITS = Limits(body=10, body_seconds=0.05, each_client=1)


def ask(pieces: list[bytes | None], limits: Limits = LIMITS, *, path: str = "/v1/place", **headers: str) -> Any:
    """Status, problem and log of a request whose body comes in pieces; None stands for a client that says no more."""
    sent: list[Any] = []
    lines: list[str] = []
    coming = iter(pieces)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})

    async def receive() -> Any:
        piece = next(coming)
        if piece is None:
            await asyncio.sleep(60)
        return {"type": "http.request", "body": piece, "more_body": piece != b""}

    async def send(message: Any) -> None:
        sent.append(message)

    named = {"host": "127.0.0.1", **headers}
    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "client": ("127.0.0.1", 1),
        "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in named.items()],
    }
    asyncio.run(Guard(app, Access("127.0.0.1", 1), limits, log=lines.append)(scope, receive, send))
    return sent[0]["status"], json.loads(sent[1]["body"]), [json.loads(line) for line in lines]


def test_a_request_within_bounds_is_answered() -> None:
    status, _, (line,) = ask([b"{", b"}", b""])
    assert (status, line["status"], line["received"], line["path"]) == (200, 200, 2, "/v1/place")


@pytest.mark.parametrize(
    ("pieces", "limits", "headers", "status"),
    [
        ([b"{", None], LIMITS, {}, 408),
        ([b"x" * 6, b"x" * 6, b""], LIMITS, {}, 413),
        ([b""], LIMITS, {"content_length": "11"}, 413),
        ([b""], LIMITS, {"content_length": "-1"}, 413),
        ([b""], replace(LIMITS, each_client=0), {}, 429),
        ([b""], LIMITS, {"host": "attacker.example"}, 421),
    ],
    ids=["a byte, and no more", "more than it may be", "says so", "says nonsense", "too many at once", "another name"],
)
def test_what_is_out_of_bounds_is_refused(
    pieces: list[bytes | None], limits: Limits, headers: dict[str, str], status: int
) -> None:
    found, problem, (line,) = ask(pieces, limits, **headers)
    assert found == problem["status"] == line["status"] == status


def test_a_clock_that_jumps_changes_nothing_but_the_time_in_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter([datetime(2100, 1, 1, tzinfo=UTC), datetime(1999, 12, 31, tzinfo=UTC)])
    monkeypatch.setattr(guard, "read_clock", lambda: next(moments))
    for year in ("2100", "1999"):
        status, _, (line,) = ask([b"{", b"}", b""], replace(LIMITS, body_seconds=60.0))
        assert (status, line["time"][:4]) == (200, year)
        assert line["milliseconds"] >= 0


def test_no_name_token_or_line_of_its_own_gets_into_the_log() -> None:
    _, _, lines = ask(
        [b"{}", b""], path='/v1/jobs/Payroll\n{"status":200}', authorization="Bearer secret", user_agent="Payroll"
    )
    assert len(lines) == 1
    assert lines[0]["path"] == "-"
    assert not any(word in json.dumps(lines) for word in ("Payroll", "secret"))


def test_probes_are_answered_by_any_name_and_not_logged() -> None:
    status, _, lines = ask([b""], path="/readyz", host="10.0.0.7")
    assert (status, lines) == (200, [])


def test_a_log_that_cannot_be_written_keeps_nobody_from_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a full disk: the line is lost, and nothing else."""

    class Full(io.StringIO):
        def write(self, _: str) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(sys, "stderr", Full())
    log.write_line("{}")
    log.tell("listening")
