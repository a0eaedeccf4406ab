"""Fidelity of an answer: the rules' version, the snapshot's age, and gaps, including those left by extenders.

A gap that touches none of the pods of the question is reported, too, but does not count under ``--strict``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.errors import FidelityError, UsageError
from kwhatif.framework.interface import Dependency
from kwhatif.golang.formatting import without_password
from kwhatif.policy.other_programs import describe_others
from kwhatif.results.amounts import format_some
from kwhatif.results.base import Fidelity, Gap
from kwhatif.results.place import Placement
from kwhatif.simulation.expansion.snapshot_objects import template_gap, unknown_gap
from kwhatif.simulation.fidelity.gaps import (
    closing_commands_of,
    creation_gaps,
    doubt_gaps,
    explain_absence,
    group_gaps,
    missing_owner_gaps,
    overdrawn_gaps,
    priority_gaps,
    server_gaps,
    unattempted_gaps,
    update_gaps,
    update_time_gaps,
)
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.session import PodToSchedule, Session, pending_pods
from kwhatif.versions import minor_of
from kwhatif.workloads.objects import name_of, namespace_of
from kwhatif.workloads.replica_set import node_of

if TYPE_CHECKING:
    from kwhatif.scheduling.extenders.client import CallFailure, Extender
    from kwhatif.scheduling.extenders.extender_cycle import Extenders


def extender_gaps(extenders: Extenders, pod_keys: Collection[str]) -> Iterator[Gap]:
    """For each extender its calls, and its failures by their consequence. ``pod_keys`` are the pods of the question."""
    for extender in extenders.all:
        yield Gap(
            what=f"extender {extender.name} was called: {_calls(extender)}",
            effect="its answers are of this moment, and may differ next time",
        )
        kinds = dict.fromkeys((failure.point, failure.outcome) for failure in extender.failures)
        for point, outcome in kinds:
            failures = [f for f in extender.failures if (f.point, f.outcome) == (point, outcome)]
            yield Gap(
                what=f"extender {extender.name} failed to {point} {_times(failures)}: {_texts(failures)}",
                effect=outcome,
                pods=tuple(dict.fromkeys(f.pod for f in failures if f.pod in pod_keys)),
            )
        if extender.assumed:
            yield Gap(
                what=f"extender {extender.name} would bind {_number(len(set(extender.assumed)), 'pod')}, "
                "and was not called (--call-extender-bind does)",
                effect="these bindings are taken to succeed",
            )
        if extender.emptied:
            yield Gap(
                what=f"extender {extender.name} sent whole nodes back, and kube-scheduler scores what was sent",
                effect="plugins that look at nodes one by one score them as if they ran no pods and held no images",
            )


def _calls(extender: Extender) -> str:
    calls = ", ".join(f"{number} {point}" for point, number in sorted(extender.calls.items())) or "no call"
    late = sum(failure.timed_out for failure in extender.failures)
    parts = [calls]
    if extender.failures:
        parts.append(f"{len(extender.failures)} failed")
    if late:
        parts.append(f"{late} of them timed out")
    if extender.spared:
        parts.append(f"{_number(extender.spared, 'call')} not made, since so many in a row had timed out")
    return ", ".join(parts)


def _times(failures: Collection[CallFailure]) -> str:
    return "once" if len(failures) == 1 else f"{len(failures)} times"


def _texts(failures: Collection[CallFailure]) -> str:
    texts = list(dict.fromkeys(failure.text for failure in failures))
    return texts[0] + (f" (and {_number(len(texts) - 1, 'other error')})" if len(texts) > 1 else "")


def _number(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


_BUDGET = "PodDisruptionBudget"


def assess(run: Run, before: Run | None = None) -> Fidelity:
    """The fidelity report of a run, with the gaps of one that came ``before`` it.

    Raises FidelityError if its session is strict and a gap touches a pod of the question.
    """
    earlier = () if before is None else assess(before).gaps
    fidelity = _assess_alone(run)
    if run.session.strict:
        require_no_gaps(fidelity.touching)
    return replace(fidelity, gaps=tuple(dict.fromkeys((*earlier, *fidelity.gaps)))) if earlier else fidelity


def _unclaimed_gaps(run: Run) -> Iterator[Gap]:
    """The pods that are left to schedulers of which nothing is known, by the name of their scheduler."""
    pods: dict[str, list[str]] = {}
    for placement in run.placements:
        if placement.outcome == "unclaimed":
            pods.setdefault(placement.scheduler, []).append(placement.pod)
    for name, mine in pods.items():
        yield Gap(
            what=f"schedulerName {name} is none of the configuration's profiles",
            effect="where another scheduler places these pods is not known; --policy names a configuration with it",
            pods=tuple(mine),
        )


_MOST_RIVALS = 50
"""For so many pods it is looked whether another could have their room."""


def _retry_gaps(run: Run) -> Iterator[Gap]:
    """Pods that waited before and find room in which another one of their priority, that waited too, fits as well: who
    is tried first depends on backoffs, which no snapshot holds.
    """
    cluster, driver = run.end.cluster, run.end.driver
    waiting = {pod.pod for pod in run.pending if pod.cause == "waiting"}
    if not waiting or run.session.setup.extenders is not None:
        # Extenders are not called for a trial.
        return
    waited = {item.pod.key: item.pod.identity for item in pending_pods(run.session.snapshot)}
    rivals = {info.shape.index: info for pod in run.left if pod.key in waiting for info in [cluster.shapes.info(pod)]}
    helped, left_out = list[str](), set[str]()
    for key in [
        placement.pod for placement in run.placements if placement.outcome == "placed" and placement.pod in waited
    ][:_MOST_RIVALS]:
        there = cluster.find(waited[key])
        if there is None:
            continue
        with run.end.without([there]):
            equals = (info for info in rivals.values() if info.priority == there[0].priority)
            others = [info.key for info in equals if driver.decide(info).is_placed]
        if others:
            helped.append(key)
            left_out.update(others)
    if helped:
        yield Gap(
            what="how often a waiting pod was tried before, and when, is in no snapshot",
            effect=f"{format_some(sorted(left_out))} may get the room of {format_some(helped)}",
            pods=(*helped, *sorted(left_out)),
        )


def _deletion_gaps(run: Run) -> Iterator[Gap]:
    """Pods that waited before and found room on a node that one of two equal pods left: had its controller deleted the
    other one first, other room would have come first.
    """
    pairs = [pair for rollout in run.updates if rollout.plan is not None for pair in rollout.plan.ties]
    pairs += run.session.ties
    apart = [pair for pair in pairs if node_of(pair[0]) != node_of(pair[1])]
    if not apart:
        return
    waited = {item.pod.key for item in pending_pods(run.session.snapshot)}
    nodes = {node_of(pod) for pair in apart for pod in pair}
    helped = [
        placement.pod
        for placement in run.placements
        if placement.pod in waited and placement.good and placement.node in nodes
    ]
    if helped:
        left_out = sorted(pod.pod for pod in run.pending if pod.cause == "waiting")
        names = list(dict.fromkeys(f"{namespace_of(pod)}/{name_of(pod)}" for pair in apart for pod in pair))
        yield Gap(
            what=f"which of equal pods a controller deletes first is chance: {format_some(names)}",
            effect=f"room may come first elsewhere, and others than {format_some(helped)} may get it, or evict for it",
            pods=(*helped, *left_out),
        )


def _assess_alone(run: Run) -> Fidelity:
    session, asked, rollouts = run.session, run.pods_to_schedule, run.updates
    snapshot, setup = session.snapshot, session.setup
    freed = {rollout.namespace for rollout in rollouts if rollout.plan is not None and rollout.plan.removed_pods}
    freed |= {victim.pod.partition("/")[0] for victim in run.victims}
    # Pods that edits took from their nodes left their share of a quota, too, before they were made again.
    freed |= {item.pod.namespace for item in asked if item.ran_before}
    keys = {victim.pod for victim in run.victims}
    victims = [pod for pod in snapshot.objects.list_all(Pod) if pod.key in keys] if keys else []
    victims += [item.pod for item in asked if item.ran_before]
    gaps = [
        *_version_gaps(session, asked),
        *_pod_gaps(session, asked),
        *unattempted_gaps(session, asked),
        *group_gaps(session, asked, by_group=run.by_group, autoscaled=run.autoscaled),
        *_unclaimed_gaps(run),
        *_budget_gap(session, run.placements, run.evicted),
        *_retry_gaps(run),
        *_deletion_gaps(run),
        *creation_gaps(session, asked, rollouts, freed),
        *overdrawn_gaps(session, victims),
        *_kind_gaps(session, asked),
        *priority_gaps(snapshot, session.covered, asked),
        *_extender_gaps(session, asked),
    ]
    gaps += missing_owner_gaps(snapshot, asked, more=run.more)
    # The API server's gaps and the scheduler's overlap, as both look for classes and quotas: each is told once.
    seen = {gap.what for gap in gaps}
    gaps += [gap for gap in server_gaps(snapshot, session.covered, asked) if gap.what not in seen]
    seen |= {gap.what for gap in gaps}
    gaps += [gap for gap in doubt_gaps(session.doubts, {item.pod.key for item in asked}) if gap.what not in seen]
    gaps += update_gaps(snapshot, session.covered, rollouts)
    gaps += [] if run.timeline else update_time_gaps(session, asked, rollouts)
    assumed = [rollout.name for rollout in rollouts if rollout.assumed]
    if assumed:
        gaps.append(template_gap(snapshot.dropped, assumed))
    gaps += [
        Gap(
            what=f"plugin {name} is enabled, but no plugin provides it",
            effect=f"whatever it would reject, score or bind is left out{describe_others([name])}",
            pods=_keys(asked, lambda item: True),
        )
        for name in sorted(setup.skipped)
    ]
    gaps += [
        Gap(
            what=f"without them no plugin {_ALWAYS_DONE[point]}",
            effect=f"{name} does, as in kube-scheduler's own profile",
            pods=_keys(asked, lambda item: True),
        )
        for point, name in setup.stand_ins.items()
    ]
    gaps += [
        Gap(what=f"the policy is translated, {what}", effect=effect, pods=_keys(asked, lambda item: True))
        for what, _, effect in (lost.rpartition(": ") for lost in setup.configuration.lost)
    ]
    if run.unknown_kinds:
        gaps.append(unknown_gap(run.unknown_kinds, asked))
    # Of the pods that a gap touches only those of the question are named; the gap stays, as the run rests on it.
    about = run.about
    if about is not None:
        gaps = [replace(gap, pods=tuple(pod for pod in gap.pods if pod in about)) for gap in gaps]
    return Fidelity(
        rules=str(setup.features),
        cluster=snapshot.kubernetes_version,
        guessed_from=setup.guessed_from or msgspec.UNSET,
        taken_at=snapshot.taken_at,
        age_seconds=msgspec.UNSET if snapshot.age is None else snapshot.age,
        source=snapshot.source,
        edits=tuple(snapshot.edits),
        gaps=(*gaps, *session.gaps),
    )


_ALWAYS_DONE = {"queueSort": "sorts the queue", "bind": "binds"}


def require_no_gaps(touching: Sequence[Gap]) -> None:
    """Raise FidelityError if there are gaps that touch a pod of the question."""
    if touching:
        first = touching[0]
        more = f" (and {len(touching) - 1} more)" if len(touching) > 1 else ""
        raise FidelityError(f"--strict: {first.what}: touches {', '.join(first.pods[:3])}{more}")


def _keys(pods: Sequence[PodToSchedule], touches: Callable[[PodToSchedule], bool]) -> tuple[str, ...]:
    return tuple(item.pod.key for item in pods if touches(item))


def _version_gaps(session: Session, pods: Sequence[PodToSchedule]) -> Iterator[Gap]:
    rules, cluster = session.setup.features.minor, session.snapshot.kubernetes_version
    if cluster and _minor(cluster) != rules:
        yield Gap(
            what=f"the cluster runs Kubernetes {cluster}, the rules are those of {rules}",
            effect="where the two differ, the answer is that of the rules",
            pods=_keys(pods, lambda item: True),
        )


def _minor(version: str) -> str:
    """The minor of a version; the version itself if it is none."""
    try:
        return minor_of(version)
    except UsageError:
        return version


def _pod_gaps(session: Session, pods: Sequence[PodToSchedule]) -> Iterator[Gap]:
    """Missing pods: every answer depends on the room they take."""
    if why := explain_absence(session.snapshot, session.covered, "Pod"):
        yield Gap(
            what=why,
            effect="what other pods take up counts as free, and nothing is known of their labels and affinities",
            pods=_keys(pods, lambda item: True) or ("<cluster>",),
            closed_by=closing_commands_of(session.snapshot, "Pod"),
        )


def _budget_gap(session: Session, placements: Sequence[Placement], evicted: Sequence[str]) -> Iterator[Gap]:
    """Missing budgets, which restrict evictions and preemption."""
    why, readings = (
        explain_absence(session.snapshot, session.covered, _BUDGET),
        session.dependencies_by_kind().get(_BUDGET, {}),
    )
    if why and (evicted or readings):
        effect = "evictions that it might forbid are allowed" if evicted else _uses(readings)
        preempting = [p for p in placements if p.victims]
        victims = (victim.pod for p in preempting for victim in p.victims)
        yield Gap(
            what=why,
            effect=effect,
            pods=tuple(dict.fromkeys((*evicted, *(p.pod for p in preempting), *victims))),
            closed_by=closing_commands_of(session.snapshot, _BUDGET),
        )


def _kind_gaps(session: Session, pods: Sequence[PodToSchedule]) -> Iterator[Gap]:
    """Kinds the snapshot lacks, or could not read, that an enabled plugin, or the API server, reads for these pods."""
    readings = session.dependencies_by_kind()
    missing = {
        kind: why
        for kind in sorted(readings.keys() - {_BUDGET})
        if (why := explain_absence(session.snapshot, session.covered, kind))
    }
    if not missing:
        return
    by_shape: dict[tuple[str, int], frozenset[str]] = {}
    needs = []
    for item in pods:
        shape = (item.pod.spec.scheduler_name or "", session.cluster.shapes.info(item.pod).shape.index)
        if shape not in by_shape:
            by_shape[shape] = _needs(session, item)
        needs.append((item.pod.key, by_shape[shape]))
    for kind, why in missing.items():
        touched = tuple(key for key, needed in needs if kind in needed)
        yield Gap(
            what=why, effect=_uses(readings[kind]), pods=touched, closed_by=closing_commands_of(session.snapshot, kind)
        )


def _needs(session: Session, pod_to_schedule: PodToSchedule) -> frozenset[str]:
    """The kinds that the plugins which decide about the pod read for it; the same for pods of one shape."""
    scheduler, cluster = session.driver.scheduler(pod_to_schedule.pod.spec.scheduler_name), session.cluster
    if scheduler is None:
        return frozenset()
    pod = cluster.shapes.info(pod_to_schedule.pod)
    return frozenset(
        kind
        for plugin in scheduler.framework.all_plugins
        for kind, dependency in plugin.dependencies.items()
        if dependency.matters(pod, cluster)
    )


def _uses(readings: Mapping[str, Dependency]) -> str:
    """The uses of a kind, each with its plugins."""
    users: dict[str, list[str]] = {}
    for name, reading in sorted(readings.items()):
        users.setdefault(reading.use, []).append(name)
    return "; ".join(f"{use} ({', '.join(names)})" for use, names in users.items())


def _extender_gaps(session: Session, pods: Sequence[PodToSchedule]) -> Iterator[Gap]:
    extenders = session.setup.configuration.extenders
    if session.setup.extenders is not None:
        yield from extender_gaps(session.setup.extenders, _keys(pods, lambda item: True))
    elif extenders:
        urls = ", ".join(without_password(extender.url_prefix) for extender in extenders)
        yield Gap(
            what=f"extenders are not called: {urls} (--call-extenders does)",
            effect="what they would filter, score, preempt or bind is left out",
            pods=_keys(pods, lambda item: True),
        )
