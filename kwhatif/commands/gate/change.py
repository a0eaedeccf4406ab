"""The change: objects of two sets of manifests, matched by group, kind, namespace and name; objects that it removes;
and refusals of the API server.

A workload counts as unchanged if the API server would store the same object, as far as its defaults are known here. Its
pods stay as they are then, even if a LimitRange or a PriorityClass of the change would alter new ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

import msgspec
from msgspec import to_builtins

from kwhatif.admission.object_store import ObjectStore
from kwhatif.admission.response import Object, StoredObject
from kwhatif.admission.server import ApiServer
from kwhatif.api.decode import convert
from kwhatif.api.kinds import KINDS
from kwhatif.api.meta import Resource
from kwhatif.api.objects import part_of, section
from kwhatif.api.quantity import plain_quantity
from kwhatif.api.workloads_and_storage import PersistentVolumeClaim
from kwhatif.cluster.storage import claim_names
from kwhatif.commands.gate.context import Context, body_in
from kwhatif.commands.gate.rule import P, Rule
from kwhatif.commands.gate.units import location_of, plain_text, subject_of
from kwhatif.commands.snapshot.diff.diff import field_changes
from kwhatif.commands.snapshot.diff.result import FieldChange
from kwhatif.results.amounts import format_count
from kwhatif.results.gate import Change, Finding, Subject
from kwhatif.simulation.edits.draft import Draft
from kwhatif.simulation.expansion.objects import complete_object
from kwhatif.simulation.ownership import Owners
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.load import Manifest
from kwhatif.workloads.controllers import makes_pods
from kwhatif.workloads.objects import same_template
from kwhatif.workloads.workload_kind import WorkloadKind

_MOST_DETAILS = 8
_NOT_TOLD = ("metadata.annotations", "metadata.uid", "metadata.generation")


class ChangeSet(msgspec.Struct):
    """The change: manifests to apply, what supports the others first, of what is gone and stays, and all in words."""

    apply: list[Manifest] = []
    removed: list[Manifest] = []
    unchanged: list[Manifest] = []
    changes: list[Change] = []


def compare_manifests(
    base: Sequence[Manifest] | None, head: Sequence[Manifest], templates: Sequence[WorkloadKind] = ()
) -> ChangeSet:
    """The change. Without a base every manifest is part of it, and whether it is new is found out when it is applied.

    Namespaces, priority classes, quotas and all other objects that make no pods are applied first: the names of files
    say nothing about dependencies.
    """
    change_set = ChangeSet()
    before = {_key(manifest): manifest for manifest in base or ()}
    for manifest in head:
        old = before.pop(_key(manifest), None) if manifest.obj.name else None
        details: tuple[str, ...] = ()
        if old is not None:
            was, now = _stored_form_of(old, templates), _stored_form_of(manifest, templates)
            if _same(was, now):
                change_set.changes.append(_change("unchanged", manifest))
                change_set.unchanged.append(manifest)
                continue
            details = _details(field_changes(was, now))
        change_set.apply.append(manifest)
        change_set.changes.append(_change("added" if old is None else "changed", manifest, details))
    for manifest in before.values():
        if manifest.kept_because:
            change_set.changes.append(_change("kept", manifest, (f"it stays in the cluster: {manifest.kept_because}",)))
            continue
        change_set.removed.append(manifest)
        change_set.changes.append(_change("removed", manifest))
    change_set.apply.sort(key=lambda manifest: makes_pods(manifest.raw, templates))
    return change_set


_LOOKED_UP = frozenset(
    {
        *(
            "CSIDriver",
            "CSIStorageCapacity",
            "DeviceClass",
            "LimitRange",
            "Namespace",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "PriorityClass",
            "ResourceClaim",
        ),
        *("ResourceClaimTemplate", "RuntimeClass", "StorageClass", "VolumeAttributesClass"),
    }
)


def find_unlisted(unchanged: Sequence[Manifest], covered: Collection[str]) -> list[Manifest]:
    """Objects that pods refer to, of kinds that a snapshot does not hold: if git has them unchanged they are there."""
    return [manifest for manifest in unchanged if manifest.obj.kind in _LOOKED_UP and manifest.obj.kind not in covered]


def _change(what: str, manifest: Manifest, details: tuple[str, ...] = ()) -> Change:
    return Change(
        what=what,  # type: ignore[arg-type]
        subject=subject_of(manifest),
        location=location_of(manifest),
        details=details,
    )


def _key(manifest: Manifest) -> tuple[str, ...]:
    obj = manifest.obj
    group = str(manifest.raw.get("apiVersion") or "").rpartition("/")[0]
    return group, obj.kind or "", obj.namespace, obj.name


def _stored_form_of(manifest: Manifest, templates: Sequence[WorkloadKind]) -> Object:
    """The object as the API server would store it; as it stands there if nothing is known of it or it is refused."""
    return _store(complete_object(manifest), templates)


def _store(obj: Object, templates: Sequence[WorkloadKind]) -> Object:
    if not makes_pods(obj, templates):
        return obj
    answer = ApiServer(ObjectStore()).create(obj)
    return answer.object if isinstance(answer, StoredObject) else obj


def _same(was: Object, now: Object) -> bool:
    """Whether two stored objects come to the same, however amounts and defaults of the pod template are spelt."""
    if was == now:
        return True
    templates = section(was, "spec", "template"), section(now, "spec", "template")
    if not all(templates) or not same_template(*templates):
        return False
    one, other = ({**obj, "spec": {**part_of(obj, "spec"), "template": None}} for obj in (was, now))
    return one == other


def _details(changes: Iterable[FieldChange]) -> tuple[str, ...]:
    """The fields that differ, in words."""
    texts = [
        f"{field_change.path}: {plain_text(field_change.before)} -> {plain_text(field_change.after)}"
        for field_change in changes
        if not field_change.path.startswith(_NOT_TOLD)
    ]
    more = len(texts) - _MOST_DETAILS
    return (*texts[:_MOST_DETAILS], *([f"and {more} more"] if more > 0 else []))


def differences_from(live: Object, manifest: Manifest, templates: Sequence[WorkloadKind]) -> tuple[str, ...]:
    """The fields of ``spec`` in which the object of the cluster differs, in words."""
    was, now = (
        {"spec": section(obj, "spec")} for obj in (_store(live, templates), _stored_form_of(manifest, templates))
    )
    return _details(field_changes(was, now))


_NOT_APPLIED = frozenset({"apiVersion", "kind", "metadata", "status"})


def differences_without_pods(snapshot: Snapshot, manifest: Manifest) -> tuple[str, ...] | None:
    """The same for an object without pods: the fields that its manifest sets to another value; None if it is new.

    Fields that the manifest leaves out count as unchanged, since the API server has filled them in.
    """
    subject, wanted = subject_of(manifest), manifest.raw
    live = body_in(snapshot, subject)
    if live is None and (kind := KINDS.get(subject.kind)) is not None:
        named = subject.namespace, subject.name
        there = next((obj for obj in snapshot.objects.list_all(kind) if (obj.namespace, obj.name) == named), None)
        if there is not None:
            live, wanted = (to_builtins(obj, enc_hook=plain_quantity) for obj in (there, convert(wanted, kind)))
    if live is None:
        return None
    was, now = ({name: value for name, value in obj.items() if name not in _NOT_APPLIED} for obj in (live, wanted))
    return _details(change for change in field_changes(was, now) if change.after is not None)


def remove(draft: Draft, removed: Collection[Subject], owners: Owners) -> None:
    """Take objects out of a copy of the snapshot, and the pods that are theirs. A claim stays while a pod uses it."""
    if not removed:
        return
    draft.drop_pods({pod.key for pod in draft.pods if owners.workload_of(pod) in removed})
    used = {(pod.namespace, name) for pod in draft.pods for name, _ in claim_names(pod)}

    def left(obj: Resource) -> Resource | None:
        if isinstance(obj, PersistentVolumeClaim) and (obj.namespace, obj.name) in used:
            return obj
        return None if Subject(kind=type(obj).__name__, namespace=obj.namespace, name=obj.name) in removed else obj

    for kind in sorted({subject.kind for subject in removed} & draft.snapshot.objects.known_kinds()):
        draft.change(KINDS[kind], left)
    for kind, listed in draft.snapshot.whole.items():
        names = {(subject.namespace, subject.name) for subject in removed if subject.kind == kind}
        listed[:] = [
            obj
            for obj in listed
            if (part_of(obj, "metadata").get("namespace") or "", part_of(obj, "metadata", "name")) not in names
        ]


_QUOTA = re.compile(r"\b(exceeded|failed) quota: ")


def is_quota_refusal(message: str) -> bool:
    """Whether a ResourceQuota is why."""
    return _QUOTA.search(message) is not None


def find_refusals(rule: Rule[P], context: Context, concerns: Callable[[str], bool]) -> Iterator[Finding]:
    """A finding for each refusal whose message is the rule's."""
    refused = 0
    for unit in rule.units(context):
        for refusal in unit.refusals:
            if concerns(refusal.message):
                refused += 1
                yield rule.finding_about(
                    unit,
                    f"the API server refuses {refusal.object}",
                    refusal.message,
                    about="object",
                    numbers={"code": refusal.code, "reason": refusal.reason},
                )
        failed = [failed_create for failed_create in unit.failed if concerns(failed_create.message)]
        if failed:
            refused += 1
            pods = sum(failed_create.pods for failed_create in failed)
            yield rule.finding_about(
                unit,
                f"{format_count(pods, 'pod')} cannot be made",
                "; ".join(dict.fromkeys(f"{failed_create.owner}: {failed_create.message}" for failed_create in failed)),
                about="pods",
                numbers={"pods": pods},
            )
    rule.summary = f"{format_count(refused, 'refusal')} in {format_count(rule.checked, 'workload')}"
