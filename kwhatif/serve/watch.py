"""Asks the questions of a ``WatchedQuestions`` document again and again, for alerts about the answers.

One question is asked at a time, so that people find a free worker.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from kwhatif.api.decode import decode_json
from kwhatif.api.json_schema import convert_strictly
from kwhatif.clock import read_clock
from kwhatif.commands.serve.watch_document import KIND, WatchedQuestion, WatchFile
from kwhatif.errors import InputError
from kwhatif.results.outcome import Outcome
from kwhatif.results.place import Totals
from kwhatif.serve.fields import routes
from kwhatif.serve.replies import Reply
from kwhatif.serve.worker import NODES, ServedNode
from kwhatif.serve.workers import Workers
from kwhatif.simulation.flag import parse_duration
from kwhatif.snapshot.format.documents import read_only

MOST_NODES = 500
"""For how many nodes a question is asked one by one; of more, the first by name."""

_LEAST_SECONDS = 1.0


class Watched(msgspec.Struct, frozen=True):
    """A question with the ``fields`` of its request; asked every so many ``seconds``."""

    name: str
    ask: str
    fields: Mapping[str, Any]
    seconds: float
    each_node: bool = False


def read_watched(path: str) -> tuple[Watched, ...]:
    """The questions of a file. Raises InputError with the place of a mistake."""
    file, source = read_only(path, KIND, WatchFile)
    try:
        names = Counter(question.name for question in file.questions)
        if twice := [name for name, times in names.items() if times > 1]:
            raise InputError(f"expected each name once, found {twice[0]} again", place="$.questions")
        return tuple(_read(question, file.every, number) for number, question in enumerate(file.questions))
    except InputError as error:
        raise error.with_source(source) from None


def _read(question: WatchedQuestion, every: str, number: int) -> Watched:
    place = f"$.questions[{number}]"
    route = routes().get(question.ask)
    if route is None:
        known = ", ".join(sorted(routes()))
        raise InputError(f"expected one of {known}; found {question.ask}", place=f"{place}.ask")
    each_node = question.for_each is not None
    fields = {**question.with_, **({"nodes": ["node"]} if each_node else {})}
    try:
        convert_strictly(fields, route.request)
    except InputError as error:
        raise InputError(str(error), place=f"{place}.with{error.place.removeprefix('$')}") from None
    own = question.every is not None
    try:
        seconds = parse_duration(question.every or every)
    except ValueError as error:
        raise InputError(str(error), place=f"{place}.every" if own else "$.every") from None
    return Watched(question.name, question.ask, question.with_, max(seconds, _LEAST_SECONDS), each_node)


class _Failure(msgspec.Struct, frozen=True):
    kind: str
    name: str
    outcome: Outcome


class _NodeRoom(msgspec.Struct, frozen=True):
    node: str = ""
    pods: int = 0


class Answer(msgspec.Struct, frozen=True):
    """What counts of an answer; what a kind of answer lacks is None."""

    outcome: Outcome | None = None
    failures: tuple[_Failure, ...] | None = None
    totals: Totals | None = None
    fits: int | None = None
    nodes: msgspec.Raw = msgspec.Raw(b"[]")

    @property
    def rooms(self) -> tuple[_NodeRoom, ...]:
        """How many pods fit on each node, of an answer that counts them."""
        return () if self.fits is None else decode_json(self.nodes, tuple[_NodeRoom, ...])


class LastRound(msgspec.Struct):
    """How it went the last time: ``answers`` by node (or one, of no node), empty if there was none."""

    answers: dict[str, Answer] = {}
    at: float = 0.0
    seconds: float = 0.0
    answered: bool = False


class Watch:
    """Asks the questions, and has the answers. ``nodes`` are those of the cluster, with their pools."""

    def __init__(self, questions: Sequence[Watched], workers: Workers) -> None:
        self.questions = tuple(questions)
        self.rounds = {question.name: LastRound() for question in questions}
        self.nodes: tuple[ServedNode, ...] = ()
        self._workers = workers

    async def run(self) -> None:
        """Go on until this is cancelled."""
        due = dict.fromkeys(self.rounds, time.monotonic())
        while True:
            question = min(self.questions, key=lambda watched: due[watched.name])
            await asyncio.sleep(max(0.0, due[question.name] - time.monotonic()))
            while not self._workers.is_ready:
                await asyncio.sleep(_LEAST_SECONDS)
            await self.ask(question)
            due[question.name] = max(due[question.name], time.monotonic()) + question.seconds

    async def ask(self, question: Watched) -> None:
        """Ask it once. What is not answered leaves the last answer, with its age."""
        begun, answers = time.monotonic(), {}
        self.nodes = await self._read_nodes()
        names = [node.name for node in self.nodes[:MOST_NODES]] if question.each_node else [""]
        last = self.rounds[question.name]
        for name in names:
            fields = {**question.fields, "nodes": [name]} if name else question.fields
            reply = await self._workers.ask(question.ask, msgspec.json.encode(fields))
            answer = _read_answer(reply)
            if answer is None:
                last.answered = False
                return
            answers[name] = answer
        last.answers, last.answered = answers, True
        last.at, last.seconds = read_clock().timestamp(), time.monotonic() - begun

    async def _read_nodes(self) -> tuple[ServedNode, ...]:
        reply = await self._workers.ask(NODES, b"")
        return decode_json(reply.body, tuple[ServedNode, ...]) if reply.status == 200 else self.nodes


def _read_answer(reply: Reply) -> Answer | None:
    return decode_json(reply.body, Answer) if reply.status == 200 else None
