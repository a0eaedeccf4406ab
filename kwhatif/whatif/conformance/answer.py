"""Replay recorded scenarios and answer in the shape they were recorded in.

A scenario is a cluster, a policy and pods that arrive one at a time; the format is described in
``docs/conformance.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import numpy as np

from kwhatif.api.core import Pod
from kwhatif.api.selectors import SelectorError
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.errors import InputError
from kwhatif.framework.interface import Plugin
from kwhatif.framework.status import Status
from kwhatif.policy.load import load_configuration
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.schedule_one import Scheduler
from kwhatif.scheduling.setup import Setup
from kwhatif.snapshot.load import decode_objects
from kwhatif.snapshot.read.items import check_name, decode, inside
from kwhatif.versions import Features, features_of
from kwhatif.whatif.conformance.compare import Recorded

__all__ = ["MOST_ATTEMPTS", "Scenario", "answer"]

MOST_ATTEMPTS = 3


class Scenario(msgspec.Struct):
    """One line of a scenario file. ``expected`` may be absent; a legacy ``policy`` stands in place of ``config``."""

    name: str
    objects: list[msgspec.Raw]
    pods: list[msgspec.Raw]
    config: dict[str, Any] | None = None
    expected: Recorded | None = None
    policy: dict[str, Any] | None = None


def answer(
    scenario: Scenario,
    *,
    source: str = "",
    features: Features | None = None,
    outside: Mapping[str, type[Plugin[Any, Any]]] | None = None,
    skip_unknown: bool = False,
) -> dict[str, Any]:
    """The scenario's outcome, in the shape of ``expected`` with the scenario's name.

    ``source`` is what messages call the scenario. Raises InputError, PolicyError or PluginError.
    """
    features = features or features_of()
    try:
        policy = scenario.config if scenario.policy is None else scenario.policy
        configuration = load_configuration(policy, source=source or scenario.name, features=features)
        setup = Setup(configuration, features, outside or {}, skip_unknown=skip_unknown)
        try:
            objects = decode_objects(scenario.objects)
        except InputError as error:
            raise inside(error, "", "$.objects") from None
        pods = list(_pods(scenario))
        cluster = Cluster.load(objects, features, setup.queues)
        replay = _Replay(setup, cluster)
        answers = [replay.pod(pod) for pod in pods]
    except InputError as error:
        raise error.at(source) from None
    except (SelectorError, ValueError) as error:
        raise InputError(str(error), source=source) from error
    return {"name": scenario.name, "nodeOrder": cluster.columns.names, "pods": answers}


def _pods(scenario: Scenario) -> Iterator[Pod]:
    for i, raw in enumerate(scenario.pods):
        try:
            pod = decode(raw, Pod)
            check_name(pod)
        except InputError as error:
            raise inside(error, "", f"$.pods[{i}]") from None
        yield pod


class _Replay:
    def __init__(self, setup: Setup, cluster: Cluster) -> None:
        self._cluster = cluster
        self._schedulers: dict[str, Scheduler] = {}
        for profile in setup.configuration.profiles:
            self._schedulers[profile.scheduler_name] = Scheduler(cluster, setup.profile(profile))

    def pod(self, pod: Pod) -> dict[str, Any]:
        info = self._cluster.shapes.info(pod)
        name = pod.spec.scheduler_name or "default-scheduler"
        scheduler = self._schedulers.get(name)
        if scheduler is None:
            raise InputError(f"pod {info.key}: schedulerName {name} is none of the configuration's profiles")
        attempts: list[dict[str, Any]] = []
        while len(attempts) < MOST_ATTEMPTS:
            record, again = self._attempt(scheduler, info)
            attempts.append(record)
            if not again:
                break
        return {"pod": info.key, "attempts": attempts}

    def _attempt(self, scheduler: Scheduler, info: PodInfo) -> tuple[dict[str, Any], bool]:
        before = self._over_all_nodes(scheduler, info)
        claims = list(self._cluster.devices.of_pod(info.pod))
        attempt = self._in_turn(scheduler, info)
        if attempt.row is None:
            # A recorder's scheduler does not hear of the claims that its own PostFilter deallocates.
            for claim in claims:
                self._cluster.devices.put(claim)
        record: dict[str, Any] = {**before, "evaluated": attempt.evaluated}
        if attempt.gated is not None:
            return {"preFilter": _status(attempt.gated), "evaluated": 0, "error": "gated"}, False
        if attempt.refused is not None and attempt.diagnosis is not None:
            record["preFilter"] = _status(attempt.refused)
            if not self._cluster.shapes.features.nodes_left_out_by_prefilter_are_counted:
                # The refusal stood for every node, and such nodes count as looked at.
                record["evaluated"] = len(self._cluster)
        if attempt.refused is not None and not attempt.refused.rejected:
            record["error"] = attempt.message
        elif attempt.row is None:
            record["message"] = attempt.message
        else:
            names = self._cluster.columns.names
            totals = record["totals"]
            sampled = [names[row] for row in attempt.sampled]
            top = max(totals[name] for name in sampled)
            record["sampled"] = sampled
            record["winners"] = sorted(name for name in sampled if totals[name] == top)
            record["selected"] = names[attempt.row]
            if allocations := self._allocations(info):
                record["allocations"] = allocations
        if attempt.nominated:
            record["nominated"] = attempt.nominated
            record["victims"] = sorted(victim.key for victim in attempt.evicted)
            scheduler.evict(attempt)
        return record, bool(attempt.nominated)

    def _allocations(self, info: PodInfo) -> dict[str, list[str]]:
        """The devices of each of the pod's claims; those behind extended resources go by that name."""
        devices = self._cluster.devices
        extended = devices.extended_claim(info.pod)
        found: dict[str, list[str]] = {}
        for claim in devices.of_pod(info.pod):
            allocation = claim.status.allocation
            for result in (allocation.devices.results if allocation else None) or ():
                text = "/".join(result.id)
                if claim is extended:
                    found.setdefault("extended", []).append(text)
                    continue
                consumed = ",".join(
                    f"{name}={amount}" for name, amount in sorted((result.consumed_capacity or {}).items())
                )
                text = f"{result.request}={text}" + (f"[{consumed}]" if consumed else "")
                found.setdefault(claim.name, []).append(text)
        return found

    def _in_turn(self, scheduler: Scheduler, info: PodInfo) -> Attempt:
        """Profiles share one queue, one cluster and one rotating start."""
        attempt = scheduler.attempt(info)
        for other in self._schedulers.values():
            other.next_start = scheduler.next_start
        return attempt

    def _over_all_nodes(self, scheduler: Scheduler, info: PodInfo) -> dict[str, Any]:
        """Verdicts and scores over all nodes, without sampling and before the pod is placed."""
        if scheduler.framework.pre_enqueue(info) is not None or not len(self._cluster):
            return {}
        evaluation = scheduler.evaluation(info)
        evaluation.refresh(info)
        evaluation.begin(info)
        if evaluation.refusal is not None:
            return {}
        record: dict[str, Any] = {}
        names = self._cluster.columns.names
        considered = np.arange(len(names))
        if evaluation.narrowed is not None:
            considered = evaluation.narrowed
            record["preFilterNodes"] = sorted(evaluation.narrowed_names)
        verdicts = evaluation.verdicts(info)
        rejected = {
            names[row]: _status(status) for row in considered if (status := verdicts.status(int(row))) is not None
        }
        if rejected:
            record["rejected"] = rejected
        rows = considered[verdicts.passed[considered]]
        if len(rows):
            record["feasible"] = sorted(names[row] for row in rows)
            table = evaluation.scores(info, rows)
            record["scores"] = {
                names[row]: {scores.plugin: int(scores.weighted[k]) for scores in table} for k, row in enumerate(rows)
            }
            scheduler.drift(info, scored=True)
            record["totals"] = {name: sum(own.values()) for name, own in record["scores"].items()}
        else:
            scheduler.drift(info, scored=False)
        return record


def _status(status: Status) -> Mapping[str, Any]:
    return {"code": str(status.code), "plugin": status.plugin, "reasons": list(status.reasons)}
