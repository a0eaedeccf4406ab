"""Sets and removes labels of nodes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kwhatif.api.core import Node
from kwhatif.api.decode import describe_value, step
from kwhatif.api.selectors import is_label_key, is_label_value
from kwhatif.errors import InputError
from kwhatif.simulation.edits.kind import EditKind, EditPart, Nodes, Option, Plain, build_usage_error, split_nodes
from kwhatif.simulation.edits.selection import change_nodes, describe_nodes, select_nodes

if TYPE_CHECKING:
    from kwhatif.simulation.edits.draft import Draft


class LabelNodes(EditPart):
    """Set labels; null takes one away."""

    nodes: Nodes
    labels: dict[str, str | None]


def label_node(node: Node, labels: Mapping[str, str | None]) -> Node:
    """The node with labels set, and those that are None removed; unchanged if it had them already."""
    there = node.metadata.labels or {}
    changed = {key: value for key, value in {**there, **labels}.items() if value is not None}
    return node if changed == there else replace(node, metadata=replace(node.metadata, labels=changed))


def check_labels(labels: Mapping[str, str | None], place: str) -> None:
    """Raises InputError for what the API server would refuse."""
    for key, value in labels.items():
        check_key(key, place + step(key))
        if value is not None:
            check_value(value, place + step(key))


def check_key(key: str, place: str) -> None:
    if not is_label_key(key):
        raise InputError(
            f'expected a key such as "pool" or "example.com/pool", found {describe_value(key)}', place=place
        )


def check_value(value: str, place: str) -> None:
    if not is_label_value(value):
        problem = "expected at most 63 letters, digits, '-', '_' and '.', ends being letters or digits"
        raise InputError(f"{problem}, found {describe_value(value)}", place=place)


def _check(what: LabelNodes) -> None:
    if not what.labels:
        raise InputError("expected at least one label, found none", place=".labels")
    check_labels(what.labels, ".labels")


def _apply(draft: Draft, what: LabelNodes, origin: str) -> str:
    nodes = select_nodes(draft, what.nodes, ".nodes")
    for key, value in what.labels.items():
        if value is None and not any(key in (node.metadata.labels or {}) for node in nodes):
            raise InputError(f"no label {key} is on {describe_nodes(what.nodes, nodes)}", place=".labels")
    change_nodes(draft, nodes, lambda node: label_node(node, what.labels), origin)
    return f"label {describe_nodes(what.nodes, nodes)} with {labels_text(what.labels)}"


def labels_text(labels: Mapping[str, str | None]) -> str:
    """``a=b``, and ``c-`` for one that is taken away."""
    return ",".join(f"{key}-" if value is None else f"{key}={value}" for key, value in labels.items())


def _read(text: str, names: Collection[str]) -> Plain:
    form = "NODES=KEY=VALUE or NODES=KEY-"
    nodes, rest = split_nodes(text, form)
    labels: dict[str, str | None] = {}
    for part in rest.split(","):
        key, equals, value = part.partition("=")
        if not equals and not key.endswith("-"):
            raise build_usage_error(form, text)
        labels[key if equals else key.removesuffix("-")] = value if equals else None
    return {"label": {"nodes": nodes, "labels": labels}}


LABEL = EditKind("label", LabelNodes, _apply, _check)
OPTION = Option("--label", "NODES=KEY=VALUE", "What if nodes had this label? KEY- removes it (repeatable).", _read)
