"""What ``capacity`` counts: all pods of the manifests together, or one of their template."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from kwhatif.cluster.pod_group_states import GroupKey
from kwhatif.errors import UsageError
from kwhatif.results.amounts import format_count
from kwhatif.scheduling.round_queue import takes_groups
from kwhatif.simulation.expansion.expanded_manifests import ExpandedManifests
from kwhatif.simulation.placement.placements import skip_reason_of
from kwhatif.simulation.session import PodToSchedule, Session


@dataclass(frozen=True)
class Unit:
    """What is counted: ``pods`` that have to fit together, in the scheduler's order. No scheduler here knows the one
    that is ``unclaimed``.
    """

    name: str
    pods: Sequence[PodToSchedule]
    is_release: bool
    by_group: bool
    unclaimed: PodToSchedule | None


def unit_of(session: Session, expanded: ExpandedManifests, *, single: bool) -> Unit:
    """All pods of the manifests, or one of their template. Raises UsageError for what has no number."""
    # The scheduler's order; only the first copies of a release may depend on it.
    pods: Sequence[PodToSchedule] = sorted(expanded.all_pods(), key=lambda item: -(item.pod.spec.priority or 0))
    if not pods and not expanded.refusals and not expanded.failed:
        hint = "; --at max counts what their autoscalers allow" if expanded.scaled else ""
        raise UsageError(f"there is nothing to count: the workloads in the manifests want no new pods{hint}")
    templates = {item.owner or item.pod.key: item for item in reversed(pods)}
    if single and len(templates) > 1:
        raise UsageError(f"--pod: there are {len(templates)} kinds of pods: they are counted together")
    by_group = takes_groups(session.driver)
    groups = {_group_of(item) for item in pods} if by_group else {None}
    if single and groups != {None}:
        raise UsageError("--pod: pods of a group are counted with all of their group")
    is_release = not single and len(pods) > 1
    pods = pods if is_release else list(templates.values())
    _check(session, pods)
    unclaimed = next((item for item in pods if session.driver.scheduler(item.pod.spec.scheduler_name) is None), None)
    return Unit(_name_of_unit(session, templates, groups, is_release, len(pods)), pods, is_release, by_group, unclaimed)


def _group_of(item: PodToSchedule) -> GroupKey | None:
    named = item.pod.spec.scheduling_group
    return None if named is None else (item.pod.namespace, named.pod_group_name or "")


def _name_of_unit(
    session: Session,
    templates: dict[str, PodToSchedule],
    groups: Collection[GroupKey | None],
    release: bool,
    pods: int,
) -> str:
    """What is counted: ``pod of Deployment shop/web``, ``release of 12 pods``, ``gang ml/train of 8 pods``."""
    if not templates:
        return "nothing"
    if len(groups) == 1 and (key := next(iter(groups))) is not None:
        group = session.cluster.pod_groups.objects.get(key)
        is_gang = group is not None and group.min_count is not None
        return f"{'gang' if is_gang else 'group'} {'/'.join(key)} of {format_count(pods, 'pod')}"
    if release:
        return f"release of {pods} {'pod' if pods == 1 else 'pods'}"
    return "".join(f"pod of {item.owner}" if item.owner else f"pod {item.pod.key}" for item in templates.values())


def _check(session: Session, pods: Sequence[PodToSchedule]) -> None:
    for item in pods:
        if item.owner.startswith("DaemonSet "):
            raise UsageError(f"{item.owner} has one pod on each node: there is no number of its pods to find out")
        reason = skip_reason_of(session, item)
        # One that runs already may have copies all the same.
        known = session.driver.scheduler(item.pod.spec.scheduler_name) is not None
        if reason and known and session.running(item.pod) is None:
            raise UsageError(f"pod {item.pod.key}: {reason}")
