"""Answers one request: its JSON becomes the class of the command, is asked of the cluster, and becomes JSON.

This is all of a request that touches what a client sent, and runs in a worker process. While it does, no file is there
but the texts of the request, so that nothing in it can name one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from hashlib import sha256
from typing import Any

import msgspec

from kwhatif.api.decode import decode_json
from kwhatif.api.json_schema import convert_strictly
from kwhatif.commands.asking import ask
from kwhatif.commands.functions import in_python, plain
from kwhatif.commands.page import page_data
from kwhatif.commands.parameters import takes_edits
from kwhatif.errors import (
    ClusterError,
    FidelityError,
    InputError,
    KwhatifError,
    LimitError,
    PluginError,
    PolicyError,
    UsageError,
)
from kwhatif.render.formats import as_json
from kwhatif.render.html.drawings import json_in_page, map_data
from kwhatif.results.base import Result
from kwhatif.serve.fields import RequestField, Route, camel, edit_name
from kwhatif.serve.replies import COMMAND_LINE, JSON, MAP, MAP_ID, PAGE, Reply, problem_reply
from kwhatif.simulation.cluster_files import age
from kwhatif.simulation.cluster_map import MapBase
from kwhatif.simulation.edits.flags import ADD_NODES, OPTIONS, read_options
from kwhatif.simulation.edits.kind import ParsedEdit
from kwhatif.simulation.flag import parse_duration
from kwhatif.simulation.inputs import Notes, SchedulerOptions
from kwhatif.simulation.scheduler_setup import setup_of
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.read.files import read_only_texts

_LABEL = re.compile(r"[\w@%+=,./ ()\[\]{}-]{1,4096}")
_STATUSES: tuple[tuple[type[KwhatifError], int, str], ...] = (
    (UsageError, 400, "usage"),
    (LimitError, 422, "limit"),
    (InputError, 422, "input"),
    (PolicyError, 422, "policy"),
    (FidelityError, 422, "fidelity"),
    (ClusterError, 502, "cluster"),
    (PluginError, 500, "plugin"),
)


def answer(route: Route, body: bytes, cluster: ServedCluster, *, media: str = JSON) -> Reply:
    """The reply to a request. It raises nothing but MemoryError and what ends a process."""
    try:
        request = read_request(route, body)
        media, _, held = media.partition(MAP)
        served = ServedMap.of(cluster.snapshot) if media == PAGE else None
        with_map = media == PAGE if served is None else served.base
        with read_only_texts(request.texts):
            result = ask(request.command, request.given_of(route, cluster, with_map=with_map))
        if media == PAGE:
            text = json_in_page(page_data(result)) if served is None else served.draw(result, held)
            return Reply(200, JSON, text.encode(), result.exit_code)
        if media != COMMAND_LINE:
            return Reply(200, JSON, as_json(result).encode(), result.exit_code)
        notes = [*cluster.notes(), *result.notes]
        envelope = {"exitCode": result.exit_code, "notes": notes, "answer": msgspec.Raw(as_json(result).encode())}
        return Reply(200, COMMAND_LINE, msgspec.json.encode(envelope), result.exit_code)
    except KwhatifError as error:
        status, name = next((status, name) for kind, status, name in _STATUSES if isinstance(error, kind))
        spell: Callable[[str], str] = (
            str if media == COMMAND_LINE else lambda text: in_python(text, route.question, camel)
        )
        if isinstance(error, InputError):
            file, place = ("request", error.place) if not error.source else (error.source, error.place)
            return problem_reply(status, name, spell(str(error)), file=file, place=place)
        return problem_reply(status, name, spell(str(error)))
    except (MemoryError, KeyboardInterrupt, SystemExit):
        raise
    except RecursionError:
        return problem_reply(422, "limit", "lists and mappings are nested too deeply")
    except Exception as error:
        return problem_reply(500, "internal", f"internal error: {type(error).__name__}: please report it")


class ServedCluster(msgspec.Struct, frozen=True):
    """The cluster that requests are about; ``is_live``: its age is part of the answers."""

    snapshot: Snapshot
    is_live: bool = False

    @property
    def source(self) -> Any:
        """As ``Inputs`` take it."""
        return (lambda notes: self.snapshot.copy()) if self.is_live else self.snapshot

    def notes(self) -> Iterator[str]:
        """What a command says of a snapshot that it loads."""
        from kwhatif.clock import read_clock

        if self.snapshot.taken_at and not self.is_live:
            yield f"note: {age(self.snapshot.taken_at, read_clock())}"


class ServedMap(msgspec.Struct, frozen=True):
    """The map of the served cluster, which a page is sent once: as JSON, with an ``id`` made of that."""

    base: MapBase
    id: str
    text: str

    @classmethod
    def of(cls, snapshot: Snapshot) -> ServedMap | None:
        """None where the scheduler cannot read the cluster: questions that it answers say why."""

        def draw() -> ServedMap | None:
            try:
                base = MapBase.of(snapshot, setup_of(SchedulerOptions(), snapshot, Notes()).features)
            except (KwhatifError, ValueError):
                return None
            text = json_in_page(map_data(base.cluster_map))
            return cls(base, sha256(text.encode()).hexdigest()[:MAP_ID], text)

        return snapshot.objects.share(cls, ("Node", "Pod"), draw)

    def draw(self, result: Result, map_id: str) -> str:
        """The data of a page. Where its map stands on this one, this one comes with it unless ``map_id`` is its id."""
        data = page_data(result)
        if result.cluster_map is None or result.cluster_map.base is None:
            return json_in_page(data)
        text = json_in_page({**data, "base": self.id})
        return text if map_id == self.id else f'{text[:-1]},"baseMap":{self.text}}}'


class Request(msgspec.Struct, frozen=True):
    """A request: the command as it is asked, what it takes besides, and the texts that stand for files."""

    command: Any
    more: Mapping[str, Any]
    texts: Mapping[str, bytes]

    def given_of(self, route: Route, cluster: ServedCluster, *, with_map: bool | MapBase = False) -> Any:
        takes: Any = route.question.takes
        return takes(**self.more, snapshot=cluster.source, with_map=with_map)


def read_request(route: Route, body: bytes) -> Request:
    """The request of a body. Raises InputError with the place of what is wrong."""
    try:
        values: Any = _decode(body or b"{}", route.request)
    except InputError as error:
        raise error.with_source("request") from None
    texts: dict[str, bytes] = {}
    own: dict[str, Any] = {}
    more: dict[str, Any] = {}
    edits: dict[str, Any] = {}
    for field in route.fields:
        value = getattr(values, f"field_{field.parameter.name}")
        if value is None:
            continue
        parameter = field.parameter
        if field.holds_content:
            value = _contents(field, value, texts)
        if parameter.name in EDIT_FIELDS and takes_edits(route.question):
            edits[parameter.name] = value
        else:
            (own if parameter.own else more)[parameter.name] = _plain(field, value)
    if edits:
        more["edits"] = RequestEdits.of(edits)
    names = set(getattr(route.question, "__dataclass_fields__", ()))
    if "workers" in names:
        # A study of many worlds has this process.
        own["workers"] = 1
    if "snapshot" in names:
        own["snapshot"] = ()
    command = route.question(**own)
    return Request(command.for_output("json", has_reports=False), more, texts)


def _decode(body: bytes, type_: type[msgspec.Struct]) -> Any:
    """Unlike in objects of Kubernetes, unknown fields are refused."""
    try:
        return msgspec.json.decode(body, type=type_)
    except msgspec.DecodeError:
        return convert_strictly(decode_json(body, Any), type_)


EDIT_FIELDS = frozenset({"edits", "like", "in", *map(edit_name, (ADD_NODES, *(option.name for option in OPTIONS)))})


def _plain(field: RequestField, value: Any) -> Any:
    """What the field of the command holds. Raises InputError."""
    flag = field.parameter.flag
    try:
        if flag.duration:
            return parse_duration(value) if isinstance(value, str) else value
        if flag.parse is not None:
            return flag.parse(value)
    except ValueError as error:
        raise InputError(str(error), source="request", place=f"$.{field.name}") from None
    return plain(field.parameter, value)


def _contents(field: RequestField, value: Any, texts: dict[str, bytes]) -> Any:
    """The contents of a field; texts stand for files by their names. Raises InputError."""
    several = isinstance(value, list)
    contents: list[Any] = []
    for number, content in enumerate(value if several else [value]):
        place = f"$.{field.name}[{number}]" if several else f"$.{field.name}"
        if isinstance(content, dict) and content.keys() == {"name", "text"}:
            name, text = content.get("name"), content.get("text")
            if not isinstance(name, str) or not _LABEL.fullmatch(name) or name.startswith("-") or name in texts:
                raise InputError("expected the name of a text, each once", source="request", place=f"{place}.name")
            if not isinstance(text, str):
                raise InputError("expected a text", source="request", place=f"{place}.text")
        elif isinstance(content, str) and not _is_word(field, content):
            name, text = field.name + (f"[{number}]" if several else ""), content
        elif isinstance(content, dict) and not field.takes_objects:
            name, text = field.name + (f"[{number}]" if several else ""), msgspec.json.encode(content).decode()
        else:
            contents.append(content)
            continue
        texts[name] = text.encode("utf-8", "surrogatepass")
        contents.append(name)
    return contents if several else contents[0]


def _is_word(field: RequestField, text: str) -> bool:
    """Whether a text is no content: the name of a pod, or what stands for no file at all."""
    if field.parameter.flag.completion or field.name == "policy":
        return re.fullmatch(r"[\w./-]{1,500}", text) is not None
    return False


class RequestEdits(msgspec.Struct, frozen=True):
    """What-if edits of a request: texts of documents, single edits, and the options that stand for one."""

    edits: list[str]
    values: list[Mapping[str, Any]]
    options: Mapping[str, Any]

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> RequestEdits:
        documents = values.get("edits") or []
        documents = documents if isinstance(documents, list) else [documents]
        texts = [document for document in documents if isinstance(document, str)]
        options = {
            name: [value] if isinstance(value, str) else value for name, value in values.items() if name != "edits"
        }
        return cls(texts, [document for document in documents if not isinstance(document, str)], options)

    def parse_edits(self, names: Collection[str]) -> Iterator[ParsedEdit]:
        from kwhatif.simulation.edits.document import read_edit

        for number, value in enumerate(self.values):
            document = value.get("edits") if "kind" in value else None
            if isinstance(document, list):
                for place, edit in enumerate(document):
                    yield read_edit(edit, f"edits[{number}]", f"$.edits[{place}]")
            else:
                yield read_edit(decode_json(msgspec.json.encode(value), dict[str, Any]), f"edits[{number}]")
        flags = (ADD_NODES, *(option.name for option in OPTIONS))
        words = {flag: self.options.get(edit_name(flag)) or () for flag in flags}
        like = self.options.get("like") or [None]
        yield from read_options(words, names, like=like[0], places=self.options.get("in") or ())
