"""The tables of the reference that are made of the program: ``python -m tests.reference_tables`` writes them anew.

Each stands between ``<!-- NAME: begin -->`` and ``<!-- NAME: end -->``; ``tests/test_documents.py`` holds them equal.
"""

from __future__ import annotations

import ast
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from kwhatif import bounds
from kwhatif.api.kinds import READ_KINDS
from kwhatif.commands.gate.rule import Parameters, in_tree
from kwhatif.legacy import policy_structs as legacy
from kwhatif.serve.gauges import GAUGES
from kwhatif.versions import SUPPORTED_MINORS, VersionRule, rows
from kwhatif.versions.gates import stage_of
from kwhatif.versions.minors import number_of
from kwhatif.workloads.operators.table import ROWS
from tests.planted import texts_in_dumps

__all__ = ["TABLES", "filled"]

REFERENCE = Path(__file__).parents[1] / "docs/reference"

Row = tuple[str, ...]


def _table(heads: Row, rows: Iterable[Row]) -> Iterator[str]:
    for row in (heads, tuple("---" for _ in heads), *rows):
        yield f"| {' | '.join(row)} |"


def _gates() -> Iterator[str]:
    gates = [row for row in rows().values() if row.gate and any(map(_may_be_set(row.gate), SUPPORTED_MINORS))]
    yield from _table(
        ("gate", "whose", "what it does here", *SUPPORTED_MINORS),
        (
            (row.gate, ", ".join(row.whose), row.what, *(_default(row.gate, minor) for minor in SUPPORTED_MINORS))
            for row in sorted(gates, key=lambda row: row.gate.lower())
        ),
    )


def _may_be_set(gate: str) -> Callable[[str], bool]:
    return lambda minor: (stage := stage_of(gate, minor)) is not None and stage.ripeness != "gone"


def _default(gate: str, minor: str) -> str:
    stage = stage_of(gate, minor)
    if stage is None:
        return ""
    word = "on" if stage.on else "off"
    if stage.ripeness == "gone":
        return f"({word})"
    return f"{word}, locked" if stage.locked else word


def _behaviour() -> Iterator[str]:
    changed = sorted((row for row in rows().values() if not row.gate and _changed(row)), key=_order)
    yield from _table(
        ("when", "whose", "what holds then", "upstream"),
        ((_when(row), ", ".join(row.whose), row.what, _sources(row)) for row in changed),
    )


def _changed(row: VersionRule) -> bool:
    """Whether supported minors differ in it; others are of the legacy minor alone."""
    later = {number_of(minor) for minor in SUPPORTED_MINORS[1:]}
    return any(minor and number_of(minor) in later for minor in (row.since, row.until))


def _order(row: VersionRule) -> tuple[str, str]:
    return row.since or row.until, row.what


def _when(row: VersionRule) -> str:
    if row.since and row.until:
        return f"from {row.since}, before {row.until}"
    return f"from {row.since}" if row.since else f"before {row.until}"


def _sources(row: VersionRule) -> str:
    return ", ".join(f"`{source}`" for source in row.source.split(", "))


def _legacy_name(name: str) -> str:
    aliases = {"PodFitsHostPorts": "PodFitsPorts", "SelectorSpreadPriority": "ServiceSpreadingPriority"}
    return f"`{name}`, `{aliases[name]}`" if name in aliases else f"`{name}`"


def _predicates() -> Iterator[str]:
    def mark(name: str) -> str:
        return "*" if name in legacy.MANDATORY_PREDICATES else "+" if name in legacy.DEFAULT_PREDICATES else ""

    yield from _table(
        ("predicate", "", "plugin"),
        (
            (_legacy_name(name), mark(name), ", ".join(use.plugin for use in uses))
            for name, uses in legacy.PREDICATES.items()
        ),
    )


def _priorities() -> Iterator[str]:
    def mark(name: str) -> str:
        return f"+ {legacy.DEFAULT_PRIORITIES[name]}" if name in legacy.DEFAULT_PRIORITIES else ""

    with_arguments = ("NodeLabel", "RequestedToCapacityRatio", "ServiceAffinity")
    named = [
        (_legacy_name(name), mark(name), use.plugin)
        for name, use in legacy.PRIORITIES.items()
        if name not in with_arguments
    ]
    yield from _table(
        ("priority", "", "plugin"), [*named, (f"`{legacy.EQUAL_PRIORITY}`", "", "none: it gave all nodes the same")]
    )


def _old_names() -> Iterator[str]:
    yield from _table(
        ("name", "read as"),
        [
            *((f"`{name}`", f"`{successor}`: {why}") for name, (successor, why) in legacy.OLD_PREDICATES.items()),
            *(
                (f"`{name}`", f"nothing: kube-scheduler never had it, though {why}")
                for name, why in legacy.FOREIGN_PRIORITIES.items()
            ),
            *((f"`{name}`", f"plugin {use.plugin}, as it was in 1.19") for name, use in legacy.OLD_PRIORITIES.items()),
        ],
    )


def _operators() -> Iterator[str]:
    yield from _table(
        ("Kind", "Templates", "How many", "Names", "Owner", "Together by", "Update"),
        (
            (f"`{row.full_name}`", row.templates, row.count, row.names, row.owner, row.group or "-", row.update)
            for row in sorted(ROWS, key=lambda row: row.full_name)
        ),
    )


_UNITS = {"RATIO": "times", "BYTES_EACH": "bytes", "DEPTH": "levels", "NAME_LENGTH": "bytes", "PATH_LENGTH": "bytes"}


def _limits() -> Iterator[str]:
    """Each constant of ``bounds.py`` in its order, with the docstring that follows it."""
    statements = ast.parse(Path(bounds.__file__).read_text("utf-8")).body
    limits = []
    for assigned, said in pairwise(statements):
        match assigned, said:
            case (
                ast.Assign(targets=[ast.Name(id=name)]),
                ast.Expr(value=ast.Constant(value=str(text))),
            ) if name.isupper():
                limits.append((" ".join(text.split()).removesuffix("."), _limit(name, getattr(bounds, name))))
    yield from _table(("what", "limit"), limits)


def _limit(name: str, value: float) -> str:
    if name.endswith("_BYTES") or name == "RATIO_FROM":
        return f"{value // bounds.MIB:,} MiB"
    unit = "seconds" if name.endswith("_SECONDS") else _UNITS.get(name, "")
    return f"{value:,.0f} {unit}".rstrip()


def _gate_rules() -> Iterator[str]:
    yield from _table(
        ("rule", "level", "what it checks", "parameters"),
        (
            (
                f"`{name}`",
                rule.parameters().level,
                " ".join(filter(None, (rule.purpose, rule.details))),
                "; ".join(_parameters(rule.parameters)),
            )
            for name, rule in sorted(in_tree().items())
        ),
    )


def _parameters(parameters: type[Any]) -> Iterator[str]:
    """Those that a rule has of its own, and kinds if it has a default: ``most: 0`` and what it means."""
    schema = msgspec.json.schema(parameters)["$defs"][parameters.__name__]
    common = {field.encode_name: field.default for field in msgspec.structs.fields(Parameters)}
    for name, said in schema["properties"].items():
        default = said.get("default")
        if name == "level" or (name in common and default in ((), [], "", None)):
            continue
        value = f"{name}: {json.dumps(default)}" if default not in (None, "", [], ()) else name
        meaning = said.get("description", "").rstrip(".").replace("|", "\\|")
        yield f"`{value}` {meaning}"


def _snapshot_kinds() -> Iterator[str]:
    """A kind that not every cluster serves, and that is read where it is, has a star."""
    groups: dict[str, list[str]] = defaultdict(list)
    for kind in READ_KINDS:
        forks = f" (also of {', '.join(group for group, _ in kind.forks)})" if kind.forks else ""
        star = "*" if kind.rare or kind.momentary else ""
        groups[kind.group or "core"].append(f"{kind.kind}{star}{forks}")
    yield from _table(("group", "kinds"), ((group, ", ".join(kinds)) for group, kinds in groups.items()))


def _texts() -> Iterator[str]:
    yield ", ".join(f"`{name}`" for name in sorted(texts_in_dumps()))


def _gauges() -> Iterator[str]:
    rows = (
        (f"`{name}`", ", ".join(f"`{each}`" for each in gauge.labels), gauge.help) for name, gauge in GAUGES.items()
    )
    yield from _table(("gauge", "labels", "meaning"), rows)


TABLES: dict[str, dict[str, Callable[[], Iterator[str]]]] = {
    "kubernetes-versions.md": {"gates": _gates, "behaviour": _behaviour},
    "legacy-policies.md": {"predicates": _predicates, "priorities": _priorities, "old names": _old_names},
    "operators.md": {"kinds": _operators},
    "limits.md": {"limits": _limits},
    "gate.md": {"rules": _gate_rules},
    "metrics.md": {"gauges": _gauges},
    "snapshot-contents.md": {"kinds": _snapshot_kinds, "texts": _texts},
}
"""Page of the reference -> name of the table -> its lines."""


def filled(page: str) -> tuple[str, str]:
    """The text of a page, and how it should be: with every table as the program has it."""
    text = found = (REFERENCE / page).read_text("utf-8")
    for name, lines in TABLES[page].items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        before, _, rest = text.partition(begin)
        _, mark, after = rest.partition(end)
        if not mark:
            raise ValueError(f"{page}: expected {begin} and {end}")
        text = "\n".join((before + begin, *lines(), end + after))
    return found, text


if __name__ == "__main__":
    for page in TABLES:
        (REFERENCE / page).write_text(filled(page)[1], "utf-8")
