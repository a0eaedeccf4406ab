"""The workloads of a change: each with its manifest, its new pods, their placements, and refusals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from kwhatif.admission.response import Object
from kwhatif.api.objects import section
from kwhatif.api.workloads_and_storage import PodDisruptionBudget
from kwhatif.results.gate import Location, Subject
from kwhatif.results.place import FailedCreate, Placement, Refusal, RolloutPlan
from kwhatif.simulation.expansion.expanded_manifests import ExpandedManifests
from kwhatif.simulation.expansion.scaled_workloads import ScaledWorkload
from kwhatif.simulation.ownership import Owners
from kwhatif.simulation.session import PodToSchedule
from kwhatif.snapshot.load import Manifest
from kwhatif.workloads.controllers import makes_pods
from kwhatif.workloads.objects import annotations_of, labels_of
from kwhatif.workloads.workload_kind import WorkloadKind

_TEMPLATES = (("spec", "template"), ("spec", "jobTemplate", "spec", "template"))


class Unit(msgspec.Struct, eq=False):
    """One workload.

    ``labels`` are its own and, of those it lacks, its pods'; ``annotations`` are both sets, its own last.
    ``placements`` are those of the pods that the change makes, ``plan`` is how its update went. No manifest is about
    one that is there ``by_autoscaler``: the change has that of an autoscaler that scales it.
    """

    subject: Subject
    location: Location | None = None
    labels: dict[str, str] = {}
    annotations: Sequence[dict[str, str]] = ()
    pods_to_schedule: list[PodToSchedule] = []
    placements: list[Placement] = []
    refusals: list[Refusal] = []
    failed: list[FailedCreate] = []
    plan: RolloutPlan | None = None
    by_autoscaler: bool = False

    @classmethod
    def from_manifest(cls, manifest: Manifest) -> Unit:
        return cls.from_object(subject_of(manifest), location_of(manifest), manifest.raw)

    @classmethod
    def from_object(cls, subject: Subject, location: Location, raw: Object, *, by_autoscaler: bool = False) -> Unit:
        templates = [section(raw, *path) for path in _TEMPLATES]
        template = next((candidate for candidate in templates if candidate), {})
        return cls(
            subject,
            location,
            labels={**labels_of(template), **labels_of(raw)},
            annotations=(annotations_of(template), annotations_of(raw)),
            by_autoscaler=by_autoscaler,
        )

    @property
    def pending(self) -> list[Placement]:
        """New pods that have no node in the end."""
        return [placement for placement in self.placements if not placement.good]


def subject_of(manifest: Manifest) -> Subject:
    """The subject of a manifest."""
    obj = manifest.obj
    name = obj.name or f"{obj.metadata.generate_name or ''}..."
    return Subject(kind=obj.kind or "", namespace=obj.namespace, name=name)


def subject_of_workload(scaled: ScaledWorkload) -> Subject:
    """The workload that an autoscaler scales."""
    kind, namespace, name = scaled.key
    return Subject(kind=kind, namespace=namespace, name=name)


def subject_of_budget(budget: PodDisruptionBudget) -> Subject:
    """The subject that a disruption budget is in a change."""
    return Subject(kind=PodDisruptionBudget.__name__, namespace=budget.namespace, name=budget.name)


def location_of(manifest: Manifest) -> Location:
    """Where a manifest stands."""
    return Location(file=manifest.origin.file, line=manifest.origin.line)


def plain_text(value: Any) -> str:
    """A value of a field on one line, in short."""
    text = "nothing" if value is None else str(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def units_of(
    manifests: Sequence[Manifest],
    templates: Sequence[WorkloadKind],
    expanded: ExpandedManifests,
    moved: Sequence[PodToSchedule],
    placements: Sequence[Placement],
    rollouts: Sequence[RolloutPlan],
    owners: Owners,
) -> list[Unit]:
    """In the order of their manifests; then those of pods that were ``moved``, if none of them is theirs."""
    units = {str(m.origin): Unit.from_manifest(m) for m in manifests if makes_pods(m.raw, templates)}
    others = {str(m.origin): m for m in manifests}
    for scaled in expanded.scaled:
        there = expanded.world.get(*scaled.key)
        if scaled.origin not in units and there is not None:
            # The change is about what scales it alone.
            location = location_of(others[scaled.origin])
            units[scaled.origin] = Unit.from_object(subject_of_workload(scaled), location, there, by_autoscaler=True)
    by_subject = {unit.subject: unit for unit in units.values()}
    homes: dict[str, Unit] = {}
    for item in expanded.pods:
        units[item.origin].pods_to_schedule.append(item)
    for item in moved:
        owner: Subject = owners.workload_of(item.pod)
        if owner not in by_subject:
            by_subject[owner] = Unit(owner, labels=item.pod.metadata.labels or {})
        homes[item.pod.key] = by_subject[owner]
        by_subject[owner].pods_to_schedule.append(item)
    for placement in placements:
        unit = homes.get(placement.pod) or units.get(placement.origin)
        if unit is not None:
            unit.placements.append(placement)
    for plan in rollouts:
        units[plan.origin].plan = plan
    for refusal in expanded.refusals:
        if refusal.origin not in units:
            if refusal.origin not in others:
                # What git has unchanged is no part of the change; it was only to be there for those that are.
                continue
            # A claim makes no pods, but may be refused.
            units[refusal.origin] = Unit.from_manifest(others[refusal.origin])
        units[refusal.origin].refusals.append(refusal)
    for failed in expanded.failed:
        units[failed.origin].failed.append(failed)
    mine = {id(unit) for unit in units.values()}
    return [*units.values(), *(unit for unit in by_subject.values() if id(unit) not in mine)]
