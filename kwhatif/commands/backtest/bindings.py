"""Who gave the pods of a recording their nodes: the recorded scheduler, other schedulers, or whoever created them.

A scheduler's Event ``Scheduled`` names it. A pod that has a node when it is first seen, without the condition
PodScheduled that a binding sets, was created with it.

Upstream: setPodNodeAndMetadata in pkg/registry/core/pod/storage/storage.go sets node and condition at once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from kwhatif.commands.backtest.decisions import PodVersion, read_events
from kwhatif.commands.backtest.result import RecordedBindings
from kwhatif.policy.profile import SchedulerConfiguration
from kwhatif.snapshot.recording import Recording


def count_bindings(
    recording: Recording, pods: Sequence[PodVersion], there: Mapping[str, bool], configuration: SchedulerConfiguration
) -> RecordedBindings:
    """Count who bound the pods that got a node during a recording.

    ``pods`` are all their versions, ``there`` has the uids of those that the recording begins with and whether they
    had a node, ``configuration`` is the recorded scheduler's. Raises InputError for an Event that is none.
    """
    schedulers = {profile.scheduler_name for profile in configuration.profiles}
    evidence = _read_evidence(recording, schedulers)
    seen, bound = set(there), {uid for uid, has_node in there.items() if has_node}
    total = static = created = confirmed = 0
    others: Counter[str] = Counter()
    for pod in pods:
        is_new = pod.uid not in seen
        seen.add(pod.uid)
        is_earlier = pod.change.version <= recording.begins
        if is_earlier or not pod.node or pod.change.deleted or pod.uid in bound:
            continue
        bound.add(pod.uid)
        total += 1
        binder = evidence.binders.get(pod.uid)
        if pod.is_mirror:
            static += 1
        elif binder is None and is_new and not pod.is_scheduled:
            created += 1
        elif (name := binder or pod.scheduler_name) not in schedulers:
            others[name] += 1
        else:
            confirmed += binder is not None
    return RecordedBindings(
        total=total,
        by_other_schedulers=dict(sorted(others.items())),
        created_with_node=created,
        static=static,
        confirmed=confirmed,
        instances=max(map(len, evidence.instances.values()), default=0),
        elections=len(evidence.elections),
    )


class _EventEvidence(msgspec.Struct):
    """What Events tell: the ``binders`` of pods, by their uids; of each recorded scheduler the ``instances`` that wrote
    any, and the ``elections`` of its leader.
    """

    binders: dict[str, str] = {}
    instances: dict[str, set[str]] = msgspec.field(default_factory=lambda: defaultdict(set))
    elections: set[str] = set()


def _read_evidence(recording: Recording, schedulers: set[str]) -> _EventEvidence:
    evidence = _EventEvidence()
    for change, event, _ in read_events(recording):
        about, component = event.involved_object, event.component
        if about.kind == "Pod" and event.reason == "Scheduled" and component:
            evidence.binders[about.uid] = component
        if component not in schedulers or change.version <= recording.begins:
            continue
        if about.kind == "Pod" and event.reporting_instance:
            evidence.instances[component].add(event.reporting_instance)
        elif about.kind == "Lease" and event.reason == "LeaderElection" and event.message.endswith(" became leader"):
            evidence.elections.add(event.message)
    return evidence
