"""Times and durations in objects of the API: one place reads them, and refuses what Go would not read.

All times of an object are checked when it is decoded, also those that only an autoscaler reads, so that code which
calculates with them later cannot fail. Upstream: apimachinery/pkg/apis/meta/v1 (time.go, duration.go);
sigs.k8s.io/karpenter pkg/apis/v1/duration.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache, lru_cache
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec.structs import fields

from kwhatif.api import core, devices, kueue, meta, node_provisioning
from kwhatif.api.decode import convert, describe_value
from kwhatif.api.timestamps import EXAMPLE, TimestampError, instant_of
from kwhatif.errors import InputError
from kwhatif.golang.parsing import SECOND, Duration

S = TypeVar("S", bound=msgspec.Struct)

NEVER = "Never"
_LEAST, _MOST = -(2**63), 2**63 - 2
"""Nanoseconds that an int64 holds, but for the one that stands for no time at all."""


def parse_time(text: str) -> datetime:
    """A time as the API writes it, in UTC. Raises ValueError for what is none, or is not in the years 1 to 9999."""
    try:
        return instant_of(text)
    except TimestampError:
        raise ValueError(f"expected {EXAMPLE}, found {describe_value(text)}") from None


@lru_cache(maxsize=1 << 14)
def nanoseconds_of(text: str) -> int:
    """Nanoseconds since 1970 of a time, as an int64; times beyond its range are clipped. Raises ValueError."""
    time = parse_time(text)
    whole = (time.replace(microsecond=0) - datetime(1970, 1, 1, tzinfo=UTC)) // _SECOND
    fraction = text.replace(",", ".").partition(".")[2]
    digits = fraction[: len(fraction) - len(fraction.lstrip("0123456789"))]
    return min(max(whole * SECOND + int(digits.ljust(9, "0")[:9]), _LEAST), _MOST)


def format_time(seconds: float) -> str:
    """A time in seconds since 1970 as the API writes it; clipped to the years 1 to 9999."""
    whole = min(max(int(seconds // 1), _FIRST_SECOND), _LAST_SECOND)
    return f"{datetime(1970, 1, 1) + whole * _SECOND:%Y-%m-%dT%H:%M:%SZ}".zfill(len("2026-03-01T11:29:02Z"))


_SECOND = datetime(1970, 1, 1, 0, 0, 1) - datetime(1970, 1, 1)
_FIRST_SECOND = (datetime(1, 1, 1) - datetime(1970, 1, 1)) // _SECOND
_LAST_SECOND = (datetime(9999, 12, 31, 23, 59, 59) - datetime(1970, 1, 1)) // _SECOND


def _time_problem(text: str) -> str:
    try:
        parse_time(text)
    except ValueError as error:
        return str(error)
    return ""


def _duration_problem(text: str) -> str:
    try:
        Duration.parse(text)
    except ValueError as error:
        return f'expected a duration such as "720h", found {describe_value(text)}: {error}'
    return ""


def _lifetime_problem(text: str) -> str:
    problem = "" if text == NEVER else _duration_problem(text)
    return problem.replace("720h", f'720h" or "{NEVER}', 1)


Problem = Callable[[str], str]
"""The error of a text, empty if it is valid."""

TIMES: Mapping[type[msgspec.Struct], Mapping[str, Problem]] = {
    meta.ObjectMeta: {"creation_timestamp": _time_problem, "deletion_timestamp": _time_problem},
    core.Taint: {"time_added": _time_problem},
    core.Condition: {"last_transition_time": _time_problem},
    kueue.AdmissionCheckState: {"last_transition_time": _time_problem},
    core.PodStatus: {"start_time": _time_problem},
    devices.Allocation: {"allocation_timestamp": _time_problem},
    node_provisioning.DisruptionBudget: {"duration": _duration_problem},
    node_provisioning.Disruption: {"consolidate_after": _lifetime_problem},
    node_provisioning.NodeClaimSpec: {"expire_after": _lifetime_problem},
    node_provisioning.NodeClaimStatus: {"last_pod_event_time": _time_problem},
}
"""By Struct and field; a test walks the Structs of all kinds and finds every field that is named like a time."""


def convert_object(value: object, struct: type[S]) -> S:
    """``decode.convert`` for an object of the API, whose times are read as well. Raises InputError with a place."""
    obj = convert(value, struct)
    check_times(obj)
    return obj


def check_times(obj: msgspec.Struct) -> None:
    """Raises InputError with the place of a time or a duration in the object that the API server would refuse."""
    _check(obj, _plan(type(obj)), "$")


_Plan = tuple[tuple[str, str, "Problem | None", "type[msgspec.Struct] | None", bool], ...]
"""Fields with times in them: attribute, key, what checks a text, the Struct of a part, whether that is in a list."""


def _check(obj: msgspec.Struct, plan: _Plan, place: str) -> None:
    for attribute, key, problem_of, struct, listed in plan:
        value = getattr(obj, attribute)
        if not value:
            # As in Go, an empty time is none.
            continue
        if problem_of is not None:
            if problem := problem_of(value):
                raise InputError(problem, place=f"{place}.{key}")
        elif struct is not None:
            inner = _plan(struct)
            if listed:
                for number, element in enumerate(value):
                    _check(element, inner, f"{place}.{key}[{number}]")
            else:
                _check(value, inner, f"{place}.{key}")


@cache
def _plan(struct: type[msgspec.Struct]) -> _Plan:
    plan: list[tuple[str, str, Problem | None, type[msgspec.Struct] | None, bool]] = []
    times = TIMES.get(struct, {})
    for field in fields(struct):
        if field.name in times:
            plan.append((field.name, field.encode_name, times[field.name], None, False))
            continue
        inner, listed = _struct_in(field.type)
        if inner is not None and _has_times(inner):
            plan.append((field.name, field.encode_name, None, inner, listed))
    return tuple(plan)


def _has_times(struct: type[msgspec.Struct]) -> bool:
    """Whether a Struct, or one that it is made of, has a time."""
    reached, left = {struct}, [struct]
    while left:
        one = left.pop()
        if one in TIMES:
            return True
        new = _parts(one) - reached
        reached |= new
        left += new
    return False


@cache
def _parts(struct: type[msgspec.Struct]) -> frozenset[type[msgspec.Struct]]:
    return frozenset(part for field in fields(struct) if (part := _struct_in(field.type)[0]) is not None)


def _struct_in(want: Any) -> tuple[type[msgspec.Struct] | None, bool]:
    """The Struct that a field has, or has a list of; no field with a time has any other form."""
    if isinstance(want, type) and issubclass(want, msgspec.Struct):
        return want, False
    arguments = get_args(want)
    if get_origin(want) is list:
        return _struct_in(arguments[0])[0], True
    if get_origin(want) is Annotated:
        return _struct_in(arguments[0])
    if get_origin(want) in (Union, UnionType):
        return next((inner for argument in arguments if (inner := _struct_in(argument))[0] is not None), (None, False))
    return None, False
