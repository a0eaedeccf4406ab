"""Inputs that are wrong in one place each: every place of every kind of document, with values of every type.

An input has a number. One round of them goes through all places, each with some value and some command; a seed and a
number say which.
"""

from __future__ import annotations

import gzip
import json
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from kwhatif.api.field_types import FieldType, newest_types
from kwhatif.api.kinds import READ_KINDS, kind_named
from kwhatif.snapshot.format.model import API_VERSION, KIND
from tests.cli.running import run
from tests.fuzz.commands import COMMANDS
from tests.fuzz.good_files import documents
from tests.fuzz.places import Json, minimal, places_in, places_of, with_value
from tests.fuzz.places import Path as Steps
from tests.fuzz.second_file import reads_another, second_file, value_elsewhere
from tests.fuzz.wrong import TIMES, VALUES

_TESTS = Path(__file__).parent.parent
_RECORDED = {
    "scheduler": "data/scenarios.jsonl",
    "cluster-autoscaler": "conformance/autoscaler/expendable.jsonl.gz",
    "cluster-autoscaler, removing": "conformance/autoscaler/down-drain.jsonl.gz",
    "Karpenter": "conformance/karpenter/topology.jsonl.gz",
    "Karpenter, disrupting": "conformance/karpenter/disruption.jsonl.gz",
}
_STEP = re.compile(r"\[(\d+)\]|\.([^.\[]+)")
_LIKE_A_TIME = re.compile(
    r"(?i)(time|timestamp|added|after|duration|period|ago|delay|now|takenat|schedule|age|window|seconds)$"
)
_HOLE = "the value that is wrong"
_SORTS = {
    "ClusterEdits": "edits",
    "GatePolicy": "gate",
    "KubeSchedulerConfiguration": "configuration",
    "Policy": "legacy",
    "NodeGroups": "groups",
    "InstanceTypes": "catalogue",
    "NodePool": "pools",
    "SweepSpace": "space",
    "Translation": "translation",
    "Job": "custom",
    "RightsizingPolicy": "sizing",
    "DeschedulerPolicy": "descheduler",
    "WorkloadKinds": "kinds",
}
# Documents of few places have more turns than those of thousands.
_TURNS = {
    **dict.fromkeys(
        ("custom", "edits", "groups", "gate", "configuration", "legacy", "catalogue", "pools", "space"), 20
    ),
    **dict.fromkeys(("kwok", "ec2", "prices", "translation", "sizing", "descheduler", "kinds"), 20),
    **dict.fromkeys(("usage", "measured"), 20),
    "rules": 3,
    "rows": 20,
}
_TURNS_OF_TIMES = 10
_SHARE_OF_TWO = 0.65
_SHARE_OF_MOVED = 0.4
"""Of inputs with two wrong files: the first has at its place what stands elsewhere, in it or in the second."""


@dataclass(frozen=True)
class Subject:
    """A good document, or an object of a good cluster (``number`` says which); ``type`` is what the table calls it."""

    sort: str
    name: str
    good: Any
    type: FieldType
    places: tuple[Steps, ...]
    number: int = -1


@dataclass(frozen=True)
class Case:
    """One input: the text of the file that is wrong, that of the good one, and the command that reads it.

    Of a ``page`` it is a line for each path of an API server, with the answer. ``second`` is the word for another file
    that is wrong, with its text.
    """

    sort: str
    name: str
    bad: str
    good: str
    command: str
    second: tuple[str, str] | None = None

    def __str__(self) -> str:
        return f"{self.command}: {self.name}"


@cache
def subjects() -> tuple[Subject, ...]:
    """All documents in which something can be wrong."""
    return tuple(_subjects())


def _subjects() -> Iterator[Subject]:
    types, cluster = newest_types(), documents("cluster.yaml")
    there = {(obj["apiVersion"], obj["kind"]) for obj in (*cluster, *documents("documents.yaml"))}
    for number, obj in enumerate(cluster):
        for sort in ("manifest", "snapshot", "page"):
            yield _subject(sort, obj, number)
    for obj in documents("release.yaml"):
        yield _subject("manifest", obj)
    for obj in documents("documents.yaml"):
        sort = _SORTS.get(obj["kind"], "rules")
        yield _subject("legacy" if sort == "configuration" and "beta" in obj["apiVersion"] else sort, obj)
    for kind, versions in types.versions.items():
        for version in versions:
            served = types.api_resource_of(version, kind)
            if served is not None and (version, kind) not in there:
                body = minimal(FieldType("struct", served.type), types)
                metadata = {"name": "some"} | ({"namespace": "shop"} if served.namespaced else {})
                yield _subject("manifest", {**body, "apiVersion": version, "kind": kind, "metadata": metadata})
    for name, offer in documents("offers.yaml")[0].items():
        yield _untyped(name, name, offer)
    for name, usage in documents("usage.yaml")[0].items():
        yield _untyped("measured" if name in ("vector", "nodes") else "usage", name, usage)
    for name, file in _RECORDED.items():
        yield _untyped("scenario", name, _shortest(file))
    yield _untyped("recording", "recording", {"lines": _recording()})
    yield _untyped("rows", "rows", {"lines": _rows()})


def _untyped(sort: str, name: str, good: Any) -> Subject:
    return Subject(sort, name, good, FieldType("scalar", "any"), tuple(places_in(good)))


def _lines(file: str) -> Iterator[Json]:
    path = _TESTS / file
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return map(json.loads, text.splitlines())


def _shortest(file: str) -> Json:
    """The least of recorded scenarios, with two machines of each that are on offer."""
    scenario = min(_lines(file), key=lambda each: len(json.dumps(each)))
    if "instanceTypes" in scenario:
        scenario["instanceTypes"] = scenario["instanceTypes"][:2]
    return scenario


def _recording() -> list[Json]:
    """Of a recorded day the lists, cut to two items, and two events of each type about each kind."""
    lines: list[Json] = []
    seen: Counter[tuple[str, str]] = Counter()
    for line in _lines("data/recorded-day.jsonl.gz"):
        what = (line["kind"], line["event"]["type"] if "event" in line else "")
        seen[what] += 1
        if "list" in line:
            line["list"]["items"] = line["list"]["items"][:2]
        if seen[what] <= 2:
            lines.append(line)
    return lines


def _subject(sort: str, obj: Json, number: int = -1) -> Subject:
    types = newest_types()
    served = types.api_resource_of(obj["apiVersion"], obj["kind"])
    type_ = FieldType("struct", served.type) if served else FieldType("scalar", "any")
    places = dict.fromkeys((*places_in(obj), *places_of(type_, types)))
    return Subject(sort, f"{obj['apiVersion']} {obj['kind']}", obj, type_, tuple(places), number)


@cache
def _all_places() -> tuple[tuple[Subject, Steps], ...]:
    return tuple(
        (subject, place)
        for subject in subjects()
        for place in subject.places
        for _ in range(max(_TURNS.get(subject.sort, 1), _TURNS_OF_TIMES if _is_like_a_time(place) else 1))
    )


def _is_like_a_time(place: Steps) -> bool:
    return _LIKE_A_TIME.search(str(place[-1])) is not None


def cases(seed: int, start: int, stop: int) -> Iterator[Case]:
    """The inputs of these numbers."""
    everywhere = _all_places()
    for number in range(start, stop):
        round_, place = divmod(number, len(everywhere))
        subject, path = everywhere[_order(seed, round_, len(everywhere))[place]]
        random = Random(f"{seed} {number}")
        value, command = random.choice(VALUES), random.choice(COMMANDS[subject.sort])
        if _is_like_a_time(path) and random.random() < 0.7:
            value = f'"{random.choice(TIMES)}"'
        as_list = random.random() < 0.5
        # Some commands read no other file, so that a third of all inputs has two.
        if random.random() >= _SHARE_OF_TWO or not reads_another(command):
            yield _case(subject, path, value, command, as_list=as_list)
            continue
        if random.random() < _SHARE_OF_MOVED:
            value = json.dumps(value_elsewhere(subject.good, command, random))
        case = _case(subject, path, value, command, as_list=as_list)
        word, text, what = second_file(command, subject.good, random)
        yield replace(case, name=f"{case.name}; {word}: {what}", second=(word, text))


@cache
def _order(seed: int, round_: int, number: int) -> Sequence[int]:
    order = list(range(number))
    Random(f"{seed} {round_}").shuffle(order)
    return order


def good_cases() -> Iterator[Case]:
    """Every command with nothing wrong, about the first document of each sort."""
    first = {subject.sort: subject for subject in reversed(subjects())}
    first["manifest"] = next(each for each in subjects() if (each.sort, each.name) == ("manifest", "v1 Pod"))
    for sort, commands in COMMANDS.items():
        for command in commands:
            yield _case(first[sort], (), "", command, as_list=False)


def case_of(sort: str, name: str, place: str, value: str, command: str) -> Case:
    """One input in words: ``.spec.limits[0].max`` of the first subject of a name is ``value``, as JSON."""
    subject = next(one for one in subjects() if (one.sort, one.name) == (sort, name))
    path = tuple(int(index) if index else step for index, step in _STEP.findall(place))
    return _case(subject, path, value, command, as_list=False)


def _case(subject: Subject, path: Steps, value: str, command: str, *, as_list: bool) -> Case:
    bad = with_value(subject.good, path, _HOLE, subject.type, newest_types())
    writers: dict[str, Callable[[Any], str]] = {"page": _answers, "recording": _recorded, "rows": _written}
    written = writers.get(subject.sort, json.dumps)
    bad_text, good_text = (
        written(_wrapped(subject, obj, as_list=as_list)).replace(f'"{_HOLE}"', value) for obj in (bad, subject.good)
    )
    where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    shown = value if len(value) < 60 else f"{value[:57]}..."
    return Case(subject.sort, f"{subject.name} {where} = {shown}", bad_text, good_text, command)


def _answers(by_path: Json) -> str:
    """A line for each answer of a server: its path and what it is."""
    return "\n".join(f"{path} {json.dumps(answer)}" for path, answer in by_path.items())


def _recorded(day: Json) -> str:
    return "\n".join(map(json.dumps, day["lines"]))


def _written(rows: Json) -> str:
    """As a study writes them: without blanks, and each with its end."""
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in rows["lines"])


def _rows() -> list[Json]:
    """The rows of a study of the good cluster."""
    with tempfile.TemporaryDirectory() as folder:
        cluster, out = Path(folder) / "cluster.json", Path(folder) / "rows.jsonl"
        items = documents("cluster.yaml")
        cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), "utf-8")
        ran = run("outage", "--snapshot", str(cluster), "--each", "nodes", "--workers", "1", "--out", str(out))
        assert ran.code in (0, 1), ran.err
        return list(map(json.loads, out.read_text("utf-8").splitlines()))


def _wrapped(subject: Subject, obj: Json, *, as_list: bool) -> Json:
    """An object of a cluster in its cluster: a list, a snapshot, or an API server's answers; else what it is."""
    if subject.sort not in ("snapshot", "page"):
        return obj
    objects = list(documents("cluster.yaml"))
    objects[subject.number] = obj
    if subject.sort == "snapshot" and as_list:
        return {"apiVersion": "v1", "kind": "List", "items": objects}
    by_kind: dict[str, list[Json]] = {}
    for place, one in enumerate(objects):
        by_kind.setdefault(documents("cluster.yaml")[place]["kind"], []).append(one)
    if subject.sort == "page":
        told = {kind_named(kind): listed for kind, listed in by_kind.items()}
        return {
            kind.path(kind.versions[0]): {"kind": f"{kind.kind}List", "items": told.get(kind, [])}
            for kind in READ_KINDS
        }
    metadata = {"takenAt": "2026-03-01T12:00:00Z", "kubernetesVersion": "v1.36.1"}
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "objects": by_kind}
