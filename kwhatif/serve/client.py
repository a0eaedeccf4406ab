"""Asks a server what a command line says: files are read here and sent as texts, the answer is drawn here."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from kwhatif import bounds
from kwhatif.api.decode import decode_json
from kwhatif.commands.functions import is_needed
from kwhatif.commands.parameters import parameters_of
from kwhatif.errors import ClusterError, InputError, KwhatifError, UsageError
from kwhatif.results.base import Result
from kwhatif.serve.fields import RequestField, Route, fields_of, routes
from kwhatif.serve.replies import COMMAND_LINE, JSON, Problem
from kwhatif.simulation.command import Command
from kwhatif.snapshot.read.compression import decompress_all
from kwhatif.snapshot.read.files import STDIN, read_paths

_SECONDS = 600.0
_PIECE = 1024**2


class _Answer(msgspec.Struct, rename="camel"):
    exit_code: int
    notes: list[str]
    answer: msgspec.Raw


class ServerAddress(msgspec.Struct, frozen=True):
    """A server, and the file of the token for it, if it wants one."""

    url: str
    token_file: str = ""

    def ask(self, command: Command[Any], chosen: Command[Any], settings: Mapping[str, Any]) -> Result:
        """The answer to the question that a command has ``chosen``, with its notes; ``settings`` are the options
        that it takes besides its own.

        Raises UsageError for what is not asked of servers, ClusterError where none answers, and what it answers.
        """
        known = routes().values()
        served_routes = [(route_, chosen) for route_ in known if route_.question is type(chosen)]
        served_routes += [(route_, command) for route_ in known if isinstance(command, route_.question)]
        if not served_routes:
            raise UsageError("--server: this command does not ask a server")
        route, options = served_routes[0]
        body = msgspec.json.encode(dict(_fields(route, options, settings)))
        return self._result(route, *self._send(route, body))

    def _send(self, route: Route, body: bytes) -> tuple[int, bytes]:
        import urllib3

        if not self.url.startswith(("http://", "https://")):
            raise UsageError(f"--server {self.url}: expected a URL such as http://127.0.0.1:8790")
        headers = {"Content-Type": JSON, "Accept": COMMAND_LINE, **self._authorization()}
        try:
            with urllib3.PoolManager(retries=False, timeout=_SECONDS) as pool:
                url = f"{self.url.rstrip('/')}/v1/{route.name}"
                reply = pool.request("POST", url, body=body, headers=headers, redirect=False, preload_content=False)
                pieces = reply.stream(_PIECE, decode_content=False)
                return reply.status, decompress_all(pieces, bounds.ANSWER_BYTES)
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            reason = getattr(error, "reason", None) or error
            raise ClusterError(f"--server {self.url}: no answer: {reason}") from None

    def _authorization(self) -> dict[str, str]:
        if not self.token_file:
            return {}
        (text,) = read_paths([self.token_file], max_bytes=bounds.SETTINGS_BYTES)
        words = text.data.decode().split()
        if not words:
            raise InputError("expected a token, found nothing", source=self.token_file)
        return {"Authorization": f"Bearer {words[0]}"}

    def _result(self, route: Route, status: int, body: bytes) -> Result:
        from kwhatif import __version__

        try:
            if status == 200:
                answer = decode_json(body, _Answer)
                result: Result = decode_json(answer.answer, route.result)
                return result.with_context(notes=tuple(answer.notes))
            problem = decode_json(body, Problem)
        except InputError:
            message = f"expected an answer of kwhatif {__version__}, found another one (status {status})"
            raise ClusterError(f"--server {self.url}: {message}") from None
        raise KwhatifError(problem.detail if status < 500 else f"--server {self.url}: {problem.detail}")


def _fields(route: Route, command: Command[Any], options: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The fields of a request. Raises UsageError for an option that is none, and InputError for a file."""
    fields = {field.parameter.name: field for field in fields_of(route.question)}
    for parameter in parameters_of(route.question):
        value = getattr(command, parameter.name) if parameter.own else options.get(parameter.name)
        if value is None or (not is_needed(parameter) and value == parameter.default) or value in ((), []):
            continue
        if parameter.name not in fields:
            raise UsageError(f"{parameter.flag.name or parameter.flag.metavar}: cannot be used with --server")
        yield fields[parameter.name].name, _json_value(fields[parameter.name], value)
    for name, field in fields.items():
        if field.parameter.name not in {parameter.name for parameter in parameters_of(route.question)}:
            value = options.get("in_" if name == "in" else name)
            if value:
                yield field.name, _json_value(field, value)


def _json_value(field: RequestField, value: Any) -> Any:
    if not field.holds_content:
        return value.isoformat() if hasattr(value, "isoformat") else value
    if isinstance(value, list | tuple):
        return [_content(field, element) for element in value]
    return _content(field, value)


def _content(field: RequestField, value: Any) -> Any:
    """A file as a text with its name; what is none, as it is."""
    if not isinstance(value, str):
        return value
    if value != STDIN and not os.path.exists(value) and (field.parameter.flag.completion or value == "default"):
        return value
    if os.path.isdir(value):
        raise UsageError(f"{value}: a directory is not sent to a server; name its files")
    (text,) = read_paths([value], max_bytes=bounds.MANIFEST_BYTES)
    return {"name": text.name, "text": text.data.decode()}
