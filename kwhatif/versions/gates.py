"""Feature gates: their defaults, and kube-scheduler's checks of those that are set.

Upstream: component-base/featuregate/feature_gate.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache

import msgspec

from kwhatif.errors import UsageError
from kwhatif.versions.gate_stages import DEPENDENCIES, GATES
from kwhatif.versions.minors import SUPPORTED_MINORS, number_of

_CHECKED_SINCE = "1.35"
"""The minor since which kube-scheduler checks the dependencies between gates."""


class Stage(msgspec.Struct, frozen=True):
    """A gate from ``since`` on. ``ripeness`` is alpha, beta, ga, deprecated or gone; ``locked`` ones stay as they are.

    A gate that is gone cannot be named any more, and its feature stays as it last was.
    """

    since: str
    ripeness: str
    on: bool
    locked: bool


@cache
def stages(gate: str) -> tuple[Stage, ...]:
    """The stages of a gate, oldest first; none for a name that Kubernetes never had."""
    return tuple(_stages(GATES.get(gate, "")))


def _stages(text: str) -> Iterator[Stage]:
    on = False
    for row in filter(None, text.split(", ")):
        since, ripeness, *rest = row.split()
        on = rest[0] == "on" if rest else on
        yield Stage(since, ripeness, on, locked="locked" in rest)


def stage_of(gate: str, minor: str) -> Stage | None:
    """The stage of a gate in a minor; None before it was added and for names that are none."""
    reached = [stage for stage in stages(gate) if number_of(stage.since) <= number_of(minor)]
    return reached[-1] if reached else None


def _needs(gate: str, minor: str) -> Iterator[str]:
    """The gates that must be on for this one to be on, as kube-scheduler checks when it starts."""
    for row in filter(None, DEPENDENCIES.get(gate, "").split(", ")):
        name, _, since = row.partition(" ")
        if number_of(since or _CHECKED_SINCE) <= number_of(minor):
            yield name


ALL = {"AllAlpha": "alpha", "AllBeta": "beta"}


def parse_gates(texts: Iterable[str]) -> dict[str, bool]:
    """Gates as kube-scheduler's flag has them, ``A=true,B=false``; later ones win. Raises UsageError."""
    gates: dict[str, bool] = {}
    for pair in (pair.strip() for text in texts for pair in text.split(",")):
        if not pair:
            continue
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not equals:
            raise UsageError(f"feature gate {pair}: expected {pair}=true or {pair}=false")
        if value not in BOOLEANS:
            raise UsageError(f"feature gate {name}: found {value!r}, expected true or false")
        gates[name] = BOOLEANS[value]
    return gates


# What Go's strconv.ParseBool understands.
BOOLEANS = dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True) | dict.fromkeys(
    ("0", "f", "F", "false", "FALSE", "False"), False
)


def with_gates(minor: str, gates: Mapping[str, bool]) -> dict[str, bool]:
    """All gates of a minor, once ``gates`` are set (upstream: component-base/featuregate/feature_gate.go)."""
    known = {name: stage for name in GATES if (stage := stage_of(name, minor)) and stage.ripeness != "gone"}
    on = {name: stage.on for name, stage in known.items()}
    for group, ripeness in ALL.items():
        if group in gates:
            on |= {name: gates[group] for name, stage in known.items() if stage.ripeness == ripeness}
    for name, value in gates.items():
        if name in ALL:
            continue
        stage = known.get(name)
        if stage is None:
            raise UsageError(_unknown(name, minor, list(known)))
        if stage.locked and stage.on != value:
            locked = f"feature is locked to {_word(stage.on)}"
            raise UsageError(f"cannot set feature gate {name} to {_word(value)}, {locked} in Kubernetes {minor}")
        on[name] = value
    lacking = {name: [other for other in _needs(name, minor) if not on.get(other, True)] for name in on if on[name]}
    problems = [
        f"{name} is enabled, but depends on features that are disabled: [{' '.join(others)}]"
        for name, others in sorted(lacking.items())
        if others
    ]
    if problems:
        raise UsageError("; ".join(problems))
    return on


def _unknown(name: str, minor: str, gates: list[str]) -> str:
    problem = f"unrecognized feature gate: {name}: Kubernetes {minor} has none of that name"
    if stage := stage_of(name, minor):
        return f"{problem} any more: what it guarded is {'always on' if stage.on else 'gone'}"
    if name in GATES:
        return f"{problem} yet: it came with {_first(name).since}"
    near = get_close_matches(name, gates, n=1)
    return f"{problem}; did you mean {near[0]}?" if near else problem


def _first(name: str) -> Stage:
    return next(stage for minor in SUPPORTED_MINORS if (stage := stage_of(name, minor)))


def _word(value: bool) -> str:
    return "true" if value else "false"
