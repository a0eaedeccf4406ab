"""What becomes of a request: an answer, or the problem because of which there is none."""

from __future__ import annotations

import msgspec

JSON = "application/json"
PROBLEM = "application/problem+json"
COMMAND_LINE = "application/vnd.kwhatif.answer+json"
"""An answer with what a command line needs besides: ``{"exitCode": 0, "notes": [...], "answer": {...}}``."""

PAGE = "application/vnd.kwhatif.page+json"
"""An answer as the data of a page."""

MAP = "; map="
"""Comes behind ``PAGE`` with the id of the map that the page has already."""

MAP_ID = 16
"""Characters of such an id."""


class Problem(msgspec.Struct, omit_defaults=True, frozen=True):
    """Why there is no answer, as RFC 9457 has it; ``file`` and ``place`` say where in what was sent."""

    type: str
    title: str
    status: int
    detail: str
    file: str = ""
    place: str = ""


class Reply(msgspec.Struct, frozen=True):
    """What becomes of a request: the HTTP ``status``, the ``media`` type and text, and the exit code of the command.

    ``as_of``: the time of which the cluster was known, where it is followed.
    """

    status: int
    media: str
    body: bytes
    exit_code: int = 2
    as_of: str = ""


_TITLES = {
    "usage": "The options contradict each other",
    "input": "The input is invalid",
    "limit": "Beyond a limit of the server",
    "policy": "kube-scheduler would refuse this configuration",
    "fidelity": "The answer would depend on what is missing or not modelled",
    "cluster": "The cluster cannot be read",
    "plugin": "A plugin failed",
    "internal": "Internal error",
}


def problem_reply(status: int, name: str, detail: str, *, title: str = "", file: str = "", place: str = "") -> Reply:
    """A reply that says why there is no answer."""
    said = title or _TITLES.get(name, name)
    problem = Problem(f"urn:kwhatif:problem:{name}", said, status, detail, file, place)
    return Reply(status, PROBLEM, msgspec.json.encode(problem))
