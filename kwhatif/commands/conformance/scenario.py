"""The objects of a scenario: what the API server stores, as Structs and as plain values; and what is said of nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from kwhatif.api.kinds import Objects
from kwhatif.api.meta import Resource
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import IntpArray
from kwhatif.errors import InputError
from kwhatif.framework.evaluation import Evaluation
from kwhatif.framework.status import Status
from kwhatif.snapshot.load import decode_objects
from kwhatif.snapshot.read.objects import Document, Origin, inside, items_of, plain_of, resource_of


def read_objects(stored: Sequence[msgspec.Raw]) -> Objects:
    """What the API server stores, as Structs. Raises InputError."""
    try:
        return decode_objects(stored)
    except InputError as error:
        raise inside(error, "", "$.objects") from None


def plain_objects(stored: Sequence[msgspec.Raw]) -> dict[str, list[dict[str, Any]]]:
    """The same as plain values, by kind: controllers and autoscalers look at fields that scheduling never reads.

    Raises InputError.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    nowhere = Origin("")
    for i, raw in enumerate(stored):
        for item in items_of(Document(nowhere, raw)):
            try:
                resource_of(item, Resource)
                plain = plain_of(item, checked=True)
            except InputError as error:
                raise inside(error, "", f"$.objects[{i}]") from None
            found.setdefault(item.kind, []).append(plain)
    return found


def status_record(status: Status) -> Mapping[str, Any]:
    """A refusal as recordings have it."""
    return {"code": str(status.code), "plugin": status.plugin, "reasons": list(status.reasons)}


def record_nodes(
    evaluation: Evaluation, info: PodInfo, considered: IntpArray, names: Sequence[str], *, scored_from: int
) -> dict[str, Any]:
    """Verdicts on the nodes of these rows, and their scores where at least ``scored_from`` of them are feasible."""
    verdicts = evaluation.verdicts(info)
    statuses = ((row, verdicts.status(int(row))) for row in considered)
    rejected = {names[row]: status_record(status) for row, status in statuses if status is not None}
    rows = considered[verdicts.feasible[considered]]
    record: dict[str, Any] = {"rejected": rejected} if rejected else {}
    record["feasible"] = sorted(names[row] for row in rows)
    if len(rows) >= scored_from:
        table = evaluation.scores(info, rows)
        scores = {
            names[row]: {each.plugin: int(each.weighted_score[k]) for each in table} for k, row in enumerate(rows)
        }
        record |= {"scores": scores, "totals": {name: sum(own.values()) for name, own in scores.items()}}
    return record
