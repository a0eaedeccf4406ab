"""Answers to scenarios without pinned ties: pods go through the queue, and ties are decided as the version decides
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kwhatif.api.core import Pod
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.commands.conformance.scenario import status_record
from kwhatif.errors import InputError
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.driver import Driver
from kwhatif.scheduling.schedule_one import Observer, Scheduler
from kwhatif.scheduling.setup import Setup


def queued_answers(cluster: Cluster, setup: Setup, pods: Sequence[Pod]) -> dict[str, Any]:
    """``queueOrder``, and each queued pod with its one attempt. Raises InputError for a pod without a profile."""
    observer = _Start()
    driver = Driver(cluster, setup, detailed=True, observer=observer)
    driver.set_up_all()
    queued = []
    for i, pod in enumerate(pods):
        scheduler = driver.scheduler(pod.spec.scheduler_name)
        if scheduler is None:
            problem = f"schedulerName {pod.spec.scheduler_name} is none of the configuration's profiles"
            raise InputError(f"pod {pod.key}: {problem}", place=f"$.pods[{i}]")
        info = cluster.shapes.info(pod)
        if scheduler.framework.pre_enqueue(info) is None:
            queued.append(info)
            if info.nominated:
                cluster.nominate(info, info.nominated)
    in_order = driver.in_order(queued, lambda info: info)
    answers = []
    for info in in_order:
        attempt = driver.attempt(info)
        answers.append({"pod": info.key, "attempts": [_record(driver, attempt, observer)]})
        if not attempt.is_placed:
            driver.handle_failure(attempt)
    return {"queueOrder": [info.key for info in in_order], "pods": answers}


class _Start(Observer):
    """Notes before each cycle where its search would begin, and which nodes are feasible without sampling."""

    start = 0
    feasible: Sequence[str] = ()
    narrowed: Sequence[str] | None = None

    def before_cycle(self, scheduler: Scheduler, pod: PodInfo) -> None:
        names = scheduler.cluster.columns.names
        evaluation = scheduler.evaluate_all_nodes(pod)
        self.start, self.feasible, self.narrowed = scheduler.shared.next_start, (), None
        if evaluation is None:
            return
        passing = evaluation.passing(pod)
        if evaluation.narrowed is not None:
            self.narrowed = sorted(evaluation.narrowed_names)
            passing = passing & np.isin(np.arange(len(names)), evaluation.narrowed)
        self.feasible = sorted(names[row] for row in np.flatnonzero(passing))


def _record(driver: Driver, attempt: Attempt, seen: _Start) -> Mapping[str, Any]:
    names = driver.cluster.columns.names
    record: dict[str, Any] = {"start": seen.start, "evaluated": attempt.evaluated, "feasible": list(seen.feasible)}
    if seen.narrowed is not None:
        record["preFilterNodes"] = list(seen.narrowed)
    if (batching := attempt.batching) is not None:
        record |= {"signed": True} if batching.signed else {}
        record |= {"hint": batching.hint, "hinted": attempt.is_hinted} if batching.hint else {}
        record |= {"flushed": list(batching.flushed)} if batching.flushed else {}
        record |= {"kept": batching.kept} if batching.kept is not None else {}
    if attempt.refused is not None:
        record["preFilter"] = status_record(attempt.refused)
    if attempt.row is None:
        return record | {"message": attempt.message}
    sampled = [names[row] for row in attempt.sampled]
    if attempt.score is not None:
        scores = {name: {s.plugin: int(s.weighted_score[k]) for s in attempt.scores} for k, name in enumerate(sampled)}
        record["scores"] = scores
        record["totals"] = {name: sum(own.values()) for name, own in scores.items()}
    winners = sorted(names[row] for row in attempt.best)
    return record | {"sampled": sampled, "winners": winners, "selected": names[attempt.row]}
