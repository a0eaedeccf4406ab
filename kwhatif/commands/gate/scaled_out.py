"""Rolls a change out with its workloads scaled to the upper bounds of their autoscalers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kwhatif.results.outcome import PendingPod
from kwhatif.results.place import FailedCreate
from kwhatif.simulation.cluster_files import merge
from kwhatif.simulation.expansion.pods import expand_manifests
from kwhatif.simulation.expansion.scaled_workloads import ScaledWorkload
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.placement.runs import place_pods
from kwhatif.simulation.scenario import PreparedScenario
from kwhatif.simulation.session import PodToSchedule
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.load import Manifest


@dataclass(frozen=True)
class ScaledOutChange:
    """The change with its workloads ``scaled`` out: who waits then, and which pods could not be created."""

    scaled: Sequence[ScaledWorkload] = ()
    pending: Sequence[PendingPod] = ()
    failed: Sequence[FailedCreate] = ()


def place_scaled_out(
    scenario: PreparedScenario,
    before: Snapshot,
    manifests: Sequence[Manifest],
    pods_of: Callable[[PreparedScenario], Sequence[PodToSchedule]],
    at: str = "max",
) -> ScaledOutChange:
    """Roll manifests out on the snapshot as it was ``before``, with workloads scaled to where ``at`` says.

    The scenario and the snapshot stay as they are; autoscalers of nodes help as they do in the scenario.
    """
    reading = dataclasses.replace(scenario.inputs.manifest_options, at=at)
    snapshot, version = before.copy(), scenario.scheduler_options.kubernetes_version
    expanded = expand_manifests(snapshot, manifests, reading, version, gates=scenario.gates)
    expanded.doubts += scenario.edited.doubts
    other = dataclasses.replace(scenario.with_snapshot(snapshot), expanded=expanded)
    merge(other.snapshot, expanded.objects, Notes())
    run = place_pods(other.new_session(), pods_of(other), rollouts=expanded.rollouts, scaler=scenario.scaler)
    return ScaledOutChange(expanded.scaled, run.pending, expanded.failed)
