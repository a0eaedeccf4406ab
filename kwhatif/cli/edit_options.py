"""The options for what-if edits of the cluster, for every command that takes one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import make_dataclass
from typing import TYPE_CHECKING, Annotated, Any

from kwhatif.simulation.edits.flags import ADD_NODES, OPTIONS, read_options
from kwhatif.simulation.edits.kind import ParsedEdit
from kwhatif.simulation.flag import Flag

Several = Sequence[str]


class _EditFlags:
    """What if the cluster were different? Files first, then the options, in this order."""

    edits: Several
    like: str | None
    in_: Several

    def __bool__(self) -> bool:
        """Whether anything is to be edited."""
        return any(vars(self).values())

    def parse_edits(self, names: Collection[str]) -> list[ParsedEdit]:
        """The edits that the options ask for, files aside; ``names`` are those of the nodes there are."""
        values = {name: getattr(self, _field(name)) or () for name in (ADD_NODES, *(option.name for option in OPTIONS))}
        return list(read_options(values, names, like=self.like, places=self.in_ or ()))


def _field(name: str) -> str:
    return name.removeprefix("--").replace("-", "_")


_COMPLETED = {"NODE": "node", "PODS": "pod", "KIND": "workload"}
"""What an option is about, by how its value begins -> what completes it."""


def _option(field: str, type_: Any, name: str, metavar: str, help_: str) -> tuple[str, Any, Any]:
    completion: Any = _COMPLETED.get(metavar[:4], "")
    default = None if type_ == str | None else ()
    return field, Annotated[type_, Flag(name, metavar=metavar, help=help_, completion=completion)], default


_OPTIONS = [
    _option("edits", Several, "--edits", "FILE", "What-if edits of a ClusterEdits document (repeatable)."),
    _option(
        _field(ADD_NODES),
        Several,
        ADD_NODES,
        "N",
        "What if there were N more nodes like --like? Also N,like=NODE,zone=Z (repeatable).",
    ),
    _option("like", str | None, "--like", "NODE", "The node that --add-nodes copies."),
    _option(
        "in_",
        Several,
        "--in",
        "LABEL=VALUE",
        "Where the nodes of --add-nodes are: zone=..., or any label (repeatable).",
    ),
    *(_option(_field(option.name), Several, option.name, option.metavar, option.help) for option in OPTIONS),
]

if TYPE_CHECKING:

    class EditOptions(_EditFlags):
        def __init__(self, **options: Any) -> None: ...

else:
    EditOptions = make_dataclass("EditOptions", _OPTIONS, bases=(_EditFlags,), frozen=True)
