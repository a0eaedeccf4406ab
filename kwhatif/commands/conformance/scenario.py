"""The objects of a scenario: what the API server stores, as Structs and as plain values; and what is said of nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from kwhatif.api.kinds import Objects
from kwhatif.api.meta import Resource
from kwhatif.cluster.shapes import PodInfo
from kwhatif.errors import InputError
from kwhatif.framework.evaluation import Evaluation
from kwhatif.framework.status import Status
from kwhatif.scheduling.schedule_one import Observer, Scheduler
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
    by_kind: dict[str, list[dict[str, Any]]] = {}
    nowhere = Origin("")
    for i, raw in enumerate(stored):
        for item in items_of(Document(nowhere, raw)):
            try:
                resource_of(item, Resource)
                plain = plain_of(item, checked=True)
            except InputError as error:
                raise inside(error, "", f"$.objects[{i}]") from None
            by_kind.setdefault(item.kind, []).append(plain)
    return by_kind


def status_record(status: Status) -> Mapping[str, Any]:
    """A refusal as recordings have it."""
    return {"code": str(status.code), "plugin": status.plugin, "reasons": list(status.reasons)}


class NodesRecorder(Observer):
    """Notes verdicts and scores over all nodes before a pod is placed, without sampling: a record an attempt.

    ``by_group``: over those of the placement, the nominated node first, and scores only where there is a choice.
    """

    def __init__(self, *, by_group: bool = False) -> None:
        self._by_group = by_group
        self.records: list[dict[str, Any]] = []

    def before_cycle(self, scheduler: Scheduler, pod: PodInfo) -> None:
        evaluation = scheduler.evaluate_all_nodes(pod, queued=self._by_group)
        self.records.append({} if evaluation is None else self._record(scheduler, pod, evaluation))

    def _record(self, scheduler: Scheduler, pod: PodInfo, evaluation: Evaluation) -> dict[str, Any]:
        cluster, record, verdicts = scheduler.cluster, dict[str, Any](), evaluation.verdicts(pod)
        rows: Sequence[int] = sorted(cluster.node_order.tolist())
        if evaluation.narrowed is not None:
            rows = evaluation.narrowed.tolist()
            record["preFilterNodes"] = sorted(evaluation.narrowed_names)
        first = cluster.columns.row(pod.nominated) if self._by_group and pod.nominated else None
        if first is not None and cluster.is_searched(first):
            record["nominatedFirst"] = pod.nominated
            if verdicts.feasible[first]:
                # The nominated node is looked at first, and no other one if the pod fits there.
                rows = [first]
        record |= _record_rows(evaluation, pod, rows, cluster.columns.names, scored_from=2 if self._by_group else 1)
        if not self._by_group:
            scheduler.grow_requests(pod, scored="scores" in record)
            if not record.get("feasible"):
                del record["feasible"]
        return record


def _record_rows(
    evaluation: Evaluation, info: PodInfo, considered: Sequence[int], names: Sequence[str], *, scored_from: int
) -> dict[str, Any]:
    """Verdicts on the nodes of these rows, and their scores where at least ``scored_from`` of them are feasible."""
    verdicts = evaluation.verdicts(info)
    statuses = ((row, verdicts.status(row)) for row in considered)
    rejected = {names[row]: status_record(status) for row, status in statuses if status is not None}
    fit = verdicts.feasible.nonzero()[0]
    among = set(considered)
    fit = fit[[row in among for row in fit.tolist()]]
    names = [names[row] for row in fit.tolist()]
    record: dict[str, Any] = {"rejected": rejected} if rejected else {}
    record["feasible"] = sorted(names)
    if len(fit) >= scored_from:
        table = evaluation.scores(info, fit)
        scores = {
            name: {plugin_score.plugin: int(plugin_score.weighted_score[k]) for plugin_score in table}
            for k, name in enumerate(names)
        }
        record |= {"scores": scores, "totals": {name: sum(own.values()) for name, own in scores.items()}}
    return record
