"""A workload that the gate judges: its manifest, its new pods, and what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kwhatif.results.gate import Location, Subject
from kwhatif.results.place import FailedCreate, Placement, Refusal, RolloutPlan
from kwhatif.snapshot.load import Manifest
from kwhatif.whatif.session import Asked
from kwhatif.workloads.objects import annotations_of, labels_of, section

_TEMPLATES = (("spec", "template"), ("spec", "jobTemplate", "spec", "template"))


@dataclass(eq=False)
class Unit:
    """One workload.

    ``labels`` are its own and, of those it lacks, its pods'; ``annotations`` are both sets, its own last. ``asked``
    are the pods that the change makes, ``placements`` what became of them, ``plan`` how its update went.
    """

    subject: Subject
    location: Location | None = None
    labels: dict[str, str] = field(default_factory=dict)
    annotations: Sequence[dict[str, str]] = ()
    asked: list[Asked] = field(default_factory=list)
    placements: list[Placement] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    failed: list[FailedCreate] = field(default_factory=list)
    plan: RolloutPlan | None = None

    @classmethod
    def of(cls, manifest: Manifest) -> Unit:
        raw = manifest.raw
        templates = [section(raw, *path) for path in _TEMPLATES]
        template = next((found for found in templates if found), {})
        return cls(
            subject_of(manifest),
            located(manifest),
            labels={**labels_of(template), **labels_of(raw)},
            annotations=(annotations_of(template), annotations_of(raw)),
        )

    @property
    def pending(self) -> list[Placement]:
        """New pods that have no node in the end."""
        return [placement for placement in self.placements if not placement.good]


def subject_of(manifest: Manifest) -> Subject:
    """What a manifest is about."""
    obj = manifest.obj
    name = obj.name or f"{obj.metadata.generate_name or ''}..."
    return Subject(kind=obj.kind or "", namespace=obj.namespace, name=name)


def located(manifest: Manifest) -> Location:
    """Where a manifest stands."""
    return Location(file=manifest.origin.file, line=manifest.origin.line)


def plain_text(value: Any) -> str:
    """A value of a field on one line, in short."""
    text = "nothing" if value is None else str(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
