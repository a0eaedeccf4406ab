"""The workloads that a change is about, each with its pods, what became of them, and what was refused."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.results.gate import Subject
from kwhatif.results.place import Placement, RolloutPlan
from kwhatif.snapshot.load import Manifest
from kwhatif.whatif.expand.expand import Expanded
from kwhatif.whatif.fidelity.ownership import Owners
from kwhatif.whatif.gate.unit import Unit
from kwhatif.whatif.session import Asked
from kwhatif.workloads.controllers import TemplatePath, makes_pods


def units_of(
    manifests: Sequence[Manifest],
    templates: Sequence[TemplatePath],
    expanded: Expanded,
    moved: Sequence[Asked],
    placements: Sequence[Placement],
    rollouts: Sequence[RolloutPlan],
    owners: Owners,
) -> list[Unit]:
    """In the order of their manifests; then those of pods that were ``moved``, if none of them is theirs."""
    units = {str(m.origin): Unit.of(m) for m in manifests if makes_pods(m.raw, templates)}
    by_subject = {unit.subject: unit for unit in units.values()}
    homes: dict[str, Unit] = {}
    for item in expanded.pods:
        units[item.origin].asked.append(item)
    for item in moved:
        owner: Subject = owners.workload_of(item.pod)
        if owner not in by_subject:
            by_subject[owner] = Unit(owner, labels=item.pod.metadata.labels or {})
        homes[item.pod.key] = by_subject[owner]
        by_subject[owner].asked.append(item)
    for placement in placements:
        unit = homes.get(placement.pod) or units.get(placement.origin)
        if unit is not None:
            unit.placements.append(placement)
    for plan in rollouts:
        units[plan.origin].plan = plan
    others = {str(m.origin): m for m in manifests}
    for refusal in expanded.refusals:
        if refusal.origin not in units:
            # A claim makes no pods, but may be refused.
            units[refusal.origin] = Unit.of(others[refusal.origin])
        units[refusal.origin].refusals.append(refusal)
    for failed in expanded.failed:
        units[failed.origin].failed.append(failed)
    mine = {id(unit) for unit in units.values()}
    return [*units.values(), *(unit for unit in by_subject.values() if id(unit) not in mine)]
