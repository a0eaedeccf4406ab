"""What changes: the objects of two sets of manifests, matched by group, kind, namespace and name.

A workload counts as unchanged if the API server would store the same object, as far as its defaults are known here. Its
pods stay as they are then, even if a LimitRange or a PriorityClass of the change would make new ones look otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kwhatif.admission.answer import Created, Object
from kwhatif.admission.server import ApiServer
from kwhatif.admission.world import World
from kwhatif.results.gate import Change
from kwhatif.snapshot.load import Manifest
from kwhatif.whatif.expand.expand import whole_of
from kwhatif.whatif.gate.unit import located, plain_text, subject_of
from kwhatif.whatif.snapshot_diff.snapshot_diff import field_changes
from kwhatif.workloads.controllers import TemplatePath, makes_pods
from kwhatif.workloads.objects import section
from kwhatif.workloads.templates import same_template

_MOST_DETAILS = 8
_NOT_TOLD = ("metadata.annotations", "metadata.uid", "metadata.generation")


@dataclass
class Changed:
    """The change: manifests to apply, what supports the others first, manifests of what is gone, and all in words."""

    apply: list[Manifest] = field(default_factory=list)
    removed: list[Manifest] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)


def compared(
    base: Sequence[Manifest] | None, head: Sequence[Manifest], templates: Sequence[TemplatePath] = ()
) -> Changed:
    """What there is to judge. Without a base every manifest is, and what it is comes to light when it is applied.

    Namespaces, priority classes, quotas and whatever else makes no pods is applied before what does: the names of
    files say nothing about what needs what.
    """
    found = Changed()
    before = {_key(manifest): manifest for manifest in base or ()}
    for manifest in head:
        old = before.pop(_key(manifest), None) if manifest.obj.name else None
        details: tuple[str, ...] = ()
        if old is not None:
            was, now = _stored(old, templates), _stored(manifest, templates)
            if _same(was, now):
                found.changes.append(_change("unchanged", manifest))
                continue
            details = _details(was, now)
        found.apply.append(manifest)
        found.changes.append(_change("added" if old is None else "changed", manifest, details))
    for manifest in before.values():
        found.removed.append(manifest)
        found.changes.append(_change("removed", manifest))
    found.apply.sort(key=lambda manifest: makes_pods(manifest.raw, templates))
    return found


def _change(what: str, manifest: Manifest, details: tuple[str, ...] = ()) -> Change:
    return Change(
        what=what,  # type: ignore[arg-type]
        subject=subject_of(manifest),
        location=located(manifest),
        details=details,
    )


def _key(manifest: Manifest) -> tuple[str, ...]:
    obj = manifest.obj
    group = str(manifest.raw.get("apiVersion") or "").rpartition("/")[0]
    return group, obj.kind or "", obj.namespace, obj.name


def _stored(manifest: Manifest, templates: Sequence[TemplatePath]) -> Object:
    """The object as the API server would store it; as it stands there if nothing is known of it or it is refused."""
    obj = whole_of(manifest)
    if not makes_pods(obj, templates):
        return obj
    answer = ApiServer(World()).create(obj)
    return answer.object if isinstance(answer, Created) else obj


def _same(was: Object, now: Object) -> bool:
    """Whether two stored objects come to the same, however amounts and defaults of the pod template are spelt."""
    if was == now:
        return True
    templates = section(was, "spec", "template"), section(now, "spec", "template")
    if not all(templates) or not same_template(*templates):
        return False
    one, other = ({**obj, "spec": {**obj["spec"], "template": None}} for obj in (was, now))
    return one == other


def _details(was: Object, now: Object) -> tuple[str, ...]:
    """The fields that differ, in words."""
    texts = [
        f"{each.path}: {plain_text(each.before)} -> {plain_text(each.after)}"
        for each in field_changes(was, now)
        if not each.path.startswith(_NOT_TOLD)
    ]
    more = len(texts) - _MOST_DETAILS
    return (*texts[:_MOST_DETAILS], *([f"and {more} more"] if more > 0 else []))
