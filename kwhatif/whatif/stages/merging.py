"""What came of manifests besides pods is put into the snapshot: from then on it is in the cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kwhatif.api.kinds import IDLE
from kwhatif.api.meta import Resource
from kwhatif.results.amounts import counts
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.whatif.stages.notes import Notes
from kwhatif.whatif.stages.question import Case
from kwhatif.workloads.volumes import settle_volumes

_MOST_NAMED = 10


def merge(snapshot: Snapshot, objects: Sequence[Resource], notes: Notes) -> None:
    """Put objects into a snapshot, in the place of those with the same names. Notes what became of them.

    Claims among them get their volumes, where that is not left to the scheduler.
    """
    places: dict[type[Resource], dict[tuple[str, str], int]] = {}
    added = []
    for obj in objects:
        there, name = snapshot.objects.of(type(obj)), (obj.namespace, obj.name)
        known = places.setdefault(type(obj), {})
        if not known:
            known.update({(other.namespace, other.name): place for place, other in enumerate(there)})
        added.append(f"{_name_of(obj)} {'replaced' if name in known else 'added'}")
        if name in known:
            there[known[name]] = obj
        else:
            known[name] = len(there)
            snapshot.objects.add(obj)
    told = settle_volumes(snapshot.objects, objects)
    if added:
        more = f" and {len(added) - _MOST_NAMED} more" if len(added) > _MOST_NAMED else ""
        notes.note(f"for this run, in the snapshot: {', '.join(added[:_MOST_NAMED])}{more}")
    for text in told[:_MOST_NAMED]:
        notes.note(text)
    if len(told) > _MOST_NAMED:
        notes.note(f"and {len(told) - _MOST_NAMED} more claims get a volume")


def _name_of(obj: Resource) -> str:
    """``Deployment shop/web``."""
    name = obj.name or f"{obj.metadata.generate_name or ''}..."
    return f"{obj.kind} {obj.namespace}/{name}" if obj.namespace else f"{obj.kind} {name}"


def unknown_kinds(case: Case, notes: Notes) -> list[str]:
    """The kinds that nobody here knows, and of which pods may have been expected. Notes those that have none."""
    unknown = case.expanded.unknown
    unread = Counter({kind: n for kind, n in unknown.items() if kind in IDLE})
    if unread:
        notes.note(f"not read by the scheduler: {counts(unread)}")
    if case.inputs.reading.ignore_unknown:
        return []
    return [f"{number} {kind}" for kind, number in sorted((unknown - unread).items())]
