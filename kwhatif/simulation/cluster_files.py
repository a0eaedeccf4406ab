"""Loads the cluster of a question: from files, with edits, with node load, and with the objects that manifests
create.
"""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Sequence
from datetime import datetime

import msgspec
from msgspec.structs import replace

from kwhatif.api.core import Node, Pod
from kwhatif.api.kinds import IDLE, READ_KINDS
from kwhatif.api.kueue import GROUP
from kwhatif.api.meta import Resource
from kwhatif.api.times import format_time, parse_time
from kwhatif.api.watcher_metrics import WatcherMetrics
from kwhatif.api.workloads_and_storage import PodDisruptionBudget
from kwhatif.clock import read_clock
from kwhatif.errors import InputError, UsageError
from kwhatif.progress import report_start
from kwhatif.results.amounts import format_age, format_counts
from kwhatif.scheduling.budget_status import with_statuses
from kwhatif.scheduling.setup import Setup
from kwhatif.simulation.edits.edited import EditedSnapshot
from kwhatif.simulation.inputs import Edits, Inputs, Notes, Source
from kwhatif.simulation.scenario import PreparedScenario
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.load import Manifest, load_snapshot
from kwhatif.workloads.volumes import complete_bindings, settle_volumes


def load_cluster(inputs: Inputs, notes: Notes) -> EditedSnapshot:
    """The cluster of the inputs. Notes its age."""
    given = inputs.snapshot
    if not given and inputs.edits is not None:
        raise UsageError("what-if edits are of a cluster: name it with --snapshot")
    snapshot = snapshot_of(given, notes)
    if snapshot.taken_at:
        now = inputs.now or read_clock()
        if callable(given):
            snapshot.age = max(0, _seconds_since(snapshot.taken_at, now))
        elif not isinstance(given, Snapshot):
            notes.note(age(snapshot.taken_at, now))
    if given and not snapshot.objects.list_all(Node):
        notes.warn(f"{snapshot.source}: holds no nodes")
    return EditedSnapshot(snapshot, snapshot.covered_kinds())


def snapshot_of(source: Source, notes: Notes) -> Snapshot:
    """The given cluster; an empty one if there is none."""
    if callable(source):
        return source(notes)
    return source.copy() if isinstance(source, Snapshot) else load_snapshot(source) if source else Snapshot()


def with_edits(
    snapshot: Snapshot, edits: Edits | None, notes: Notes, manifests: Sequence[Manifest] = ()
) -> EditedSnapshot:
    """A snapshot after what-if edits, without the manifests' objects. Notes what controllers did."""
    if edits is None:
        return EditedSnapshot(snapshot, snapshot.covered_kinds())
    from kwhatif.simulation.edits.document import apply_edits, read_edits

    names = {node.name for node in snapshot.objects.list_all(Node)}
    result = apply_edits(snapshot, [*read_edits(edits.edits or ()), *edits.parse_edits(names)], manifests)
    for text in result.notes:
        notes.note(text)
    return result


def require_pod_list(scenario: PreparedScenario) -> None:
    """Raise InputError for nodes without a list of the pods that run there."""
    snapshot = scenario.snapshot
    known = "Pod" in scenario.edited.covered or scenario.scheduler_options.assume_empty
    if known or not snapshot.source or not snapshot.objects.list_all(Node):
        return
    why = snapshot.unreadable.get("Pod")
    actual = f"that they could not be read: {why}" if why else "no list of them"
    problem = (
        f"expected the pods that run on the nodes, found {actual}: what is free is not known; read them, too "
        "(kubectl get nodes,pods -A -o json), or say --assume-empty"
    )
    raise InputError(problem, source=snapshot.source)


def with_load(edited: EditedSnapshot, source: str, setup: Setup, notes: Notes) -> EditedSnapshot:
    """The cluster with the load of its nodes. Notes its source. Raises InputError and ClusterError."""
    from kwhatif.usage.node_load import read_node_load

    if not setup.reads(WatcherMetrics.__name__):
        notes.warn("no plugin of the policy looks at how busy nodes are: --load changes nothing")
    load, sentence = read_node_load(source, edited.snapshot.objects.list_all(Node))
    notes.note(sentence)
    edited.snapshot.objects.put(WatcherMetrics, [load])
    return replace(edited, covered=edited.covered | {WatcherMetrics.__name__})


def age(taken_at: str, now: datetime) -> str:
    """``the snapshot is 3 days old as of 2026-03-04T14:00:00Z``."""
    seconds, as_of = _seconds_since(taken_at, now), format_time(now.timestamp())
    if seconds < 0:
        return f"the snapshot is of {taken_at}, in the future as of {as_of}"
    return f"the snapshot is {format_age(seconds)} old as of {as_of}"


def _seconds_since(taken_at: str, now: datetime) -> int:
    return int((now - parse_time(taken_at)).total_seconds())


_MOST_NAMED = 10
_KUEUES_OWN = frozenset(kind.name for kind in READ_KINDS if kind.group == GROUP)
"""Kinds that Kueue reads, and whose objects make no pods."""


def merge(snapshot: Snapshot, objects: Sequence[Resource], notes: Notes) -> None:
    """Put objects into a snapshot, in place of those with the same names, with notes about them.

    Those that controllers make, such as ReplicaSets, are steps of the log only. Claims among them get their volumes,
    where that is not left to the scheduler.
    """
    places: dict[type[Resource], ChainMap[tuple[str, str], int]] = {}
    added = []
    for obj in objects:
        there, name = snapshot.objects.list_all(type(obj)), (obj.namespace, obj.name)
        if type(obj) not in places:
            # What the snapshot itself has is the same for every question; what comes is put in front.
            places[type(obj)] = ChainMap({}, _places_of(snapshot, type(obj)))
        known = places[type(obj)]
        change = f"{_name_of(obj)} {'replaced' if name in known else 'added'}"
        if obj.controller is None:
            added.append(change)
        else:
            report_start(f"For this run, in the snapshot: {change}")
        if name in known:
            there[known[name]] = obj
        else:
            known[name] = len(there)
            snapshot.objects.add(obj)
    _count_disruptions(snapshot, objects)
    complete_bindings(snapshot.objects)
    settled = settle_volumes(snapshot.objects, objects)
    if added:
        more = f" and {len(added) - _MOST_NAMED} more" if len(added) > _MOST_NAMED else ""
        notes.note(f"for this run, in the snapshot: {', '.join(added[:_MOST_NAMED])}{more}")
    for text in settled[:_MOST_NAMED]:
        notes.note(text)
    if len(settled) > _MOST_NAMED:
        notes.note(f"and {len(settled) - _MOST_NAMED} more claims get a volume")


def _places_of(snapshot: Snapshot, kind: type[Resource]) -> dict[tuple[str, str], int]:
    """Where each object of a kind stands in its list, by namespace and name."""

    def number() -> dict[tuple[str, str], int]:
        return {(obj.namespace, obj.name): place for place, obj in enumerate(snapshot.objects.list_all(kind))}

    return snapshot.objects.share(("places", kind), (kind.__name__,), number)


def _count_disruptions(snapshot: Snapshot, added: Sequence[Resource]) -> None:
    """Budgets that came or changed get the status that the disruption controller gives them, where pods run that they
    select.
    """
    new = {
        (resource.namespace, resource.name): resource for resource in added if isinstance(resource, PodDisruptionBudget)
    }
    if not new:
        return
    counted = {
        (pod_disruption_budget.namespace, pod_disruption_budget.name): pod_disruption_budget
        for pod_disruption_budget in with_statuses(new.values(), snapshot.objects.list_all(Pod))
    }
    there = snapshot.objects.list_all(PodDisruptionBudget)
    for place, budget in enumerate(there):
        status = counted.get((budget.namespace, budget.name), budget).status
        if budget.status.disruptions_allowed is None and status.current_healthy:
            there[place] = msgspec.structs.replace(budget, status=status)


def _name_of(obj: Resource) -> str:
    """``Deployment shop/web``."""
    name = obj.name or f"{obj.metadata.generate_name or ''}..."
    return f"{obj.kind} {obj.namespace}/{name}" if obj.namespace else f"{obj.kind} {name}"


def unknown_kinds(scenario: PreparedScenario, notes: Notes) -> list[str]:
    """The unknown kinds whose objects may make pods. Notes those that have none."""
    unknown = Counter({kind: n for kind, n in scenario.expanded.unknown.items() if kind not in _KUEUES_OWN})
    unread = Counter({kind: n for kind, n in unknown.items() if kind in IDLE})
    if unread:
        notes.note(f"not read by the scheduler: {format_counts(unread)}")
    if scenario.inputs.manifest_options.ignore_unknown:
        return []
    return [f"{number} {kind}" for kind, number in sorted((unknown - unread).items())]
