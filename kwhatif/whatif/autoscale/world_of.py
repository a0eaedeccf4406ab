"""What the autoscaler sees of a session's cluster."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec import structs

from kwhatif.api.core import Condition, Pod
from kwhatif.autoscaling.cluster_autoscaler.autoscaler_world import World
from kwhatif.autoscaling.cluster_autoscaler.moments import moment
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.whatif.autoscale.node_groups_document import KnownGroups
from kwhatif.whatif.session import Session

_WAITS = Condition(type="PodScheduled", status="False", reason="Unschedulable")


def world_of(
    session: Session,
    known: KnownGroups,
    waiting: Sequence[Pod],
    now: datetime | None = None,
    later: Snapshot | None = None,
) -> World:
    """What the autoscaler sees of a session's cluster, once the scheduler has given up on the pods that are waiting.

    ``later`` is the cluster as it is then, if that may know more controllers than the session began with.
    """
    snapshot = later or session.snapshot
    scheduler = session.driver.scheduler(session.setup.configuration.profiles[0].scheduler_name)
    assert scheduler is not None
    return World(
        now=moment_of(snapshot, now),
        cluster=session.cluster,
        pending=[_given_up(pod) for pod in waiting],
        groups=known.groups,
        flags=known.flags,
        framework=scheduler.framework.filters_alone(),
        daemon_sets=snapshot.whole.get("DaemonSet", ()),
        jobs=snapshot.whole.get("Job", ()),
        gpu_label=known.gpu_label,
        prices=known.prices,
        priorities=known.priorities,
    )


def seen_at(snapshot: Snapshot, now: datetime | None) -> datetime:
    """The moment that is looked at: the one named, else that of the snapshot, else the present."""
    return now or (datetime.fromisoformat(snapshot.taken_at) if snapshot.taken_at else datetime.now(UTC))


def moment_of(snapshot: Snapshot, now: datetime | None) -> int:
    """The same as the autoscaler counts."""
    return moment(seen_at(snapshot, now).astimezone(UTC).isoformat().replace("+00:00", "Z"))


def _given_up(pod: Pod) -> Pod:
    others = [condition for condition in pod.status.conditions or () if condition.type != "PodScheduled"]
    status = structs.replace(pod.status, conditions=[*others, _WAITS])
    return structs.replace(pod, status=status)
