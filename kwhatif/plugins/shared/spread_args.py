"""The arguments of PodTopologySpread: constraints for pods that have none of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec

from kwhatif.api.core import TopologySpreadConstraint
from kwhatif.framework.declaration import Args
from kwhatif.golang.field_errors import Path
from kwhatif.plugins.shared.resource_args import label_problems

SYSTEM_DEFAULTING = "System"
LIST_DEFAULTING = "List"
_TYPES = (SYSTEM_DEFAULTING, LIST_DEFAULTING)
_TYPE = msgspec.Meta(extra={"go": "v1.PodTopologySpreadConstraintsDefaulting", "words": _TYPES})
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")


class PodTopologySpreadArgs(Args):
    """``default_constraints`` are for pods that have none, with ``defaulting_type`` List."""

    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    defaulting_type: Annotated[str, _TYPE] = SYSTEM_DEFAULTING


def spread_problems(path: Path, args: PodTopologySpreadArgs) -> Iterator[str]:
    """Every reason to refuse the arguments."""
    kind, at = args.defaulting_type, path.child("defaultingType")
    if kind not in _TYPES:
        yield at.unsupported(kind, _TYPES)
    elif kind == SYSTEM_DEFAULTING and args.default_constraints:
        yield at.invalid(kind, "when .defaultConstraints are not empty")
    seen = set()
    for index, constraint in enumerate(args.default_constraints):
        at = path.child("defaultConstraints").index(index)
        yield from _constraint(at, constraint)
        pair = (constraint.topology_key, constraint.when_unsatisfiable)
        if pair in seen:
            yield at.duplicate(f"{{{pair[0]}, {pair[1]}}}")
        seen.add(pair)


def _constraint(path: Path, constraint: TopologySpreadConstraint) -> Iterator[str]:
    if constraint.max_skew <= 0:
        yield path.child("maxSkew").invalid(constraint.max_skew, "not in valid range (0, inf)")
    at = path.child("topologyKey")
    if constraint.topology_key:
        yield from label_problems(at, constraint.topology_key)
    else:
        yield at.required("can not be empty")
    action, at = constraint.when_unsatisfiable, path.child("whenUnsatisfiable")
    if not action:
        yield at.required("can not be empty")
    elif action not in _ACTIONS:
        yield at.unsupported(action, _ACTIONS)
    if constraint.label_selector is not None:
        problem = "constraint must not define a selector, as they deduced for each pod"
        yield path.child("labelSelector").forbidden(problem)
