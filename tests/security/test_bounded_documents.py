"""Every number in a document of our own has a bound, every time of every kind is read: found by walking the Structs."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import inspect

import kwhatif
from kwhatif.api import kinds, times
from kwhatif.api.decode import decode_json
from kwhatif.commands.conformance.autoscaler_replay import AutoscalerScenario
from kwhatif.commands.conformance.scheduler_replay import SchedulerScenario
from kwhatif.commands.gate.rule import in_tree
from kwhatif.errors import InputError
from kwhatif.redaction import translation
from kwhatif.snapshot.format.model import Metadata
from kwhatif.snapshot.recording_lines import Line

PACKAGE = Path(kwhatif.__file__).parent
READ_OTHERWISE: dict[str, Any] = {
    "Translation": translation.File,
    "ClusterSnapshot": Metadata,
    "a line of a recording": Line[msgspec.Raw],
    "a scenario": SchedulerScenario,
    "a scenario of an autoscaler": AutoscalerScenario,
}
"""Documents of ours that may have fields that nobody knows; all others forbid them, and are found by that."""


def strict_structs() -> dict[str, type[msgspec.Struct]]:
    """Every Struct that forbids unknown fields, by module and name: what people write for kwhatif, and nothing else."""
    for path in PACKAGE.rglob("*.py"):
        if "forbid_unknown_fields" in path.read_text("utf-8"):
            import_module(".".join(("kwhatif", *path.relative_to(PACKAGE).with_suffix("").parts)))
    in_tree()
    ahead, found = [msgspec.Struct], dict[str, type[msgspec.Struct]]()
    while ahead:
        for each in ahead.pop().__subclasses__():
            ahead.append(each)
            if each.__struct_config__.forbid_unknown_fields and each.__module__.startswith("kwhatif."):
                found[f"{each.__module__}.{each.__qualname__}"] = each
    return found


def numbers(type_: Any, where: str, seen: set[type]) -> Iterator[tuple[str, Any]]:
    match type_:
        case inspect.Metadata():
            yield from numbers(type_.type, where, seen)
        case inspect.StructType():
            # Kubernetes' own objects have the API's bounds, which are those of its integers.
            if type_.cls not in seen and not type_.cls.__module__.startswith("kwhatif.api."):
                seen.add(type_.cls)
                for field in type_.fields:
                    yield from numbers(field.type, f"{type_.cls.__qualname__}.{field.encode_name}", seen)
        case inspect.IntType() | inspect.FloatType():
            yield where, type_
        case inspect.UnionType():
            for each in type_.types:
                yield from numbers(each, where, seen)
        case inspect.DictType():
            yield from numbers(type_.value_type, where, seen)
        case inspect.ListType() | inspect.VarTupleType() | inspect.SetType():
            yield from numbers(type_.item_type, where, seen)


def test_every_number_of_every_document_has_a_bound() -> None:
    documents = {**strict_structs(), **READ_OTHERWISE}
    endless = {
        where
        for name, document in documents.items()
        for where, type_ in numbers(inspect.type_info(document), name, set())
        if type_.le is None and type_.lt is None
    }
    assert endless == set()


def test_documents_are_found_by_what_they_forbid() -> None:
    found = {name.rpartition(".")[2] for name in strict_structs()}
    documents = {"Edit", "GatePolicy", "NodeGroupsFile", "InstanceTypesFile", "SweepSpace", "PolicyFile"}
    assert documents | {"WorkloadKindsFile"} | {rule.parameters.__qualname__ for rule in in_tree().values()} <= found


def structs(type_: Any, seen: set[type]) -> None:
    match type_:
        case inspect.Metadata():
            structs(type_.type, seen)
        case inspect.StructType() if type_.cls not in seen:
            seen.add(type_.cls)
            for field in type_.fields:
                structs(field.type, seen)
        case inspect.UnionType():
            for each in type_.types:
                structs(each, seen)
        case inspect.DictType():
            structs(type_.value_type, seen)
        case inspect.ListType():
            structs(type_.item_type, seen)


def test_every_field_that_is_named_like_a_time_is_read_as_one() -> None:
    found: set[type] = set()
    for kind in kinds.KIND_TABLE:
        if kind.struct is not None:
            structs(inspect.type_info(kind.struct), found)
    like = ("time", "timestamp", "added", "after", "duration")
    named = {
        (struct.__qualname__, name)
        for struct in found
        for name, type_ in struct.__annotations__.items()
        if name.rpartition("_")[2] in like and "str" in str(type_)
    }
    known = {(struct.__qualname__, name) for struct, fields in times.TIMES.items() for name in fields}
    assert named == known


@pytest.mark.parametrize(
    ("kind", "text", "place"),
    [
        ("Node", '{"metadata":{"name":"n","creationTimestamp":"yesterday"}}', "$.metadata.creationTimestamp"),
        (
            "Node",
            '{"metadata":{"name":"n"},"status":{"conditions":[{"type":"Ready","lastTransitionTime":"2026-13-01T00:00:00Z"}]}}',
            "$.status.conditions[0].lastTransitionTime",
        ),
        ("Node", '{"metadata":{"name":"n"},"spec":{"taints":[{"timeAdded":"1"}]}}', "$.spec.taints[0].timeAdded"),
        ("Pod", '{"metadata":{"name":"p"},"status":{"startTime":"0001-01-01T00:00:00+14:00"}}', "$.status.startTime"),
        ("NodeClaim", '{"metadata":{"name":"c"},"spec":{"expireAfter":"336"}}', "$.spec.expireAfter"),
        ("NodeClaim", '{"metadata":{"name":"c"},"status":{"lastPodEventTime":"x"}}', "$.status.lastPodEventTime"),
        (
            "NodePool",
            '{"metadata":{"name":"p"},"spec":{"disruption":{"budgets":[{"duration":"x"}]}}}',
            "$.spec.disruption.budgets[0].duration",
        ),
    ],
)
def test_an_odd_time_is_told_with_its_place(kind: str, text: str, place: str) -> None:
    struct = kinds.kind_named(kind).struct
    assert struct is not None
    with pytest.raises(InputError) as told:
        times.check_times(decode_json(text.encode(), struct))
    assert told.value.place == place


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0001-01-01T00:00:00Z", -62135596800), ("9999-12-31T23:59:59Z", 253402300799), ("1970-01-01T00:00:01,5Z", 1)],
)
def test_the_first_and_the_last_time_are_times(text: str, seconds: int) -> None:
    assert int(times.parse_time(text).timestamp()) == seconds
    assert -(2**63) <= times.nanoseconds_of(text) < 2**63
    assert times.format_time(seconds) == text.replace(",5", "")
