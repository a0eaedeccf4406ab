"""Manifests with workloads at other replicas than those that their autoscalers give them: at their upper bounds, or as
they are stored, before the autoscalers act.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence

import msgspec

from kwhatif.results.amounts import format_count
from kwhatif.results.outcome import EvictedPod, PendingPod
from kwhatif.results.place import FailedCreate
from kwhatif.simulation.cluster_files import merge
from kwhatif.simulation.expansion.pods import expand_manifests
from kwhatif.simulation.expansion.scaled_workloads import ScaledWorkload
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.placement.run import FirstMoment
from kwhatif.simulation.placement.runs import place_pods
from kwhatif.simulation.scenario import PreparedScenario
from kwhatif.simulation.session import PodToSchedule
from kwhatif.snapshot.load import Manifest
from kwhatif.workloads.pod_autoscalers import AS_STORED

PodsOf = Callable[[PreparedScenario], Sequence[PodToSchedule]]


class ScaledOutChange(msgspec.Struct, frozen=True):
    """The change with its workloads ``scaled`` out: who waits or loses a node then, and which pods could not be
    created.
    """

    scaled: Sequence[ScaledWorkload] = ()
    pending: Sequence[PendingPod] = ()
    victims: Sequence[EvictedPod] = ()
    failed: Sequence[FailedCreate] = ()


def place_scaled_out(
    scenario: PreparedScenario, manifests: Sequence[Manifest], pods_of: PodsOf, at: str = "max"
) -> ScaledOutChange:
    """Roll manifests out on the snapshot as it was before, with workloads scaled to where ``at`` says.

    The scenario stays as it is; autoscalers of nodes help as they do in it.
    """
    if scenario.before_change is None:
        return ScaledOutChange()
    reading = dataclasses.replace(scenario.inputs.manifest_options, at=at)
    snapshot, version = scenario.before_change.copy(), scenario.scheduler_options.kubernetes_version
    expanded = expand_manifests(snapshot, manifests, reading, version, gates=scenario.gates)
    expanded.doubts += scenario.edited.doubts
    other = dataclasses.replace(scenario.with_snapshot(snapshot), expanded=expanded)
    merge(other.snapshot, expanded.objects, Notes())
    run = place_pods(other.new_session(), pods_of(other), rollouts=expanded.rollouts, scaler=scenario.scaler)
    return ScaledOutChange(expanded.scaled, run.pending, run.victims, run.not_created or expanded.failed)


def find_first_moments(
    scenario: PreparedScenario, manifests: Sequence[Manifest], pods_of: PodsOf
) -> Iterator[FirstMoment]:
    """What happens at once where manifests, or edits, have more replicas than autoscalers leave their workloads, or
    manifests fewer than run.
    """
    yield from (FirstMoment(text, good=True) for text in scenario.edited.first_moments)
    if scenario.inputs.manifest_options.at:
        return
    for scaled in scenario.expanded.scaled:
        if scaled.stored < min(scaled.before, scaled.replicas):
            yield FirstMoment(_words_of(scaled), good=True, workload="/".join(scaled.key))
    more = [scaled for scaled in scenario.expanded.scaled if scaled.stored > scaled.replicas]
    if not more:
        return
    run = place_scaled_out(scenario, manifests, pods_of, AS_STORED)
    for scaled_workload in more:
        workload = "/".join(scaled_workload.key)
        pending = sum(pod.workload == workload for pod in run.pending)
        missing = sum(failed.pods for failed in run.failed if failed.owner == str(scaled_workload))
        evicted = sum(victim.workload != workload for victim in run.victims)
        trouble = [f"{missing} not created"] if missing else []
        trouble += [f"{pending} pending"] if pending else []
        trouble += [f"{format_count(evicted, 'other')} evicted"] if evicted else []
        yield FirstMoment(_words_of(scaled_workload, trouble), good=not trouble, workload=workload)


def _words_of(scaled: ScaledWorkload, trouble: Sequence[str] = ()) -> str:
    what = f"{scaled}: {format_count(scaled.stored, 'replica')} at once"
    then = f"until {scaled.autoscaler} sets {scaled.replicas}"
    return " ".join(filter(None, [what, f"({', '.join(trouble)})" * bool(trouble), then]))
