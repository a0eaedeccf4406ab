"""What a dump left out of pod templates, and what that leaves unknown about updates.

A manifest's template has its commands and environment, the stored one may have lost them: without further ado every
unchanged workload would look changed. So what is left out is taken to be as the manifest has it, and that is said.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kwhatif.admission.answer import Object
from kwhatif.results.parts import Gap
from kwhatif.snapshot.live.pruning import prune_template
from kwhatif.whatif.session import Asked
from kwhatif.workloads.objects import section
from kwhatif.workloads.templates import same_template


def without_emptied(pod: Object, dropped: Collection[str]) -> Object:
    """A pod without the volumes of which only the kind was kept: as they stand, no API server would take them."""
    volumes = (pod.get("spec") or {}).get("volumes")
    if "volumes" not in dropped or not volumes:
        return pod
    kept = [volume for volume in volumes if not any(s == {} and key != "emptyDir" for key, s in volume.items())]
    return pod if len(kept) == len(volumes) else {**pod, "spec": {**pod["spec"], "volumes": kept}}


def completed(stored: Object, new: Object, dropped: Collection[str]) -> Object:
    """``stored`` with the template of ``new``, if the two agree in all that the snapshot knows; else as it is.

    ``dropped`` names what was left out of templates. A field that is not among them is known not to have been there.
    """
    was, wanted = section(stored, "spec", "template"), section(new, "spec", "template")
    if not dropped or not was or not wanted:
        return stored
    left_out: set[str] = set()
    now = prune_template(wanted, left_out)
    if not left_out <= set(dropped) or not same_template(prune_template(was, set()), now):
        return stored
    # The label that tells replica sets apart is the stored one's own.
    metadata = {**section(wanted, "metadata"), "labels": section(was, "metadata", "labels")}
    return {**stored, "spec": {**stored["spec"], "template": {**wanted, "metadata": metadata}}}


def template_gap(dropped: Sequence[str], objects: Sequence[str]) -> Gap:
    """The gap that ``objects`` were taken to be unchanged."""
    return Gap(
        what=f"the snapshot leaves out {', '.join(dropped)} of pod templates",
        effect="if they changed, every pod would be replaced; a dump with --keep-templates would tell",
        pods=tuple(objects),
    )


def unknown_gap(kinds: Sequence[str], asked: Sequence[Asked]) -> Gap:
    """The gap that nobody knows whether objects of some ``kinds`` of the manifests (``1 Gadget``) would have pods."""
    return Gap(
        what=f"nobody here knows what to make of: {', '.join(kinds)}",
        effect="pods that they would have are missing; --pod-template-path says where a kind has its template",
        pods=tuple(item.pod.key for item in asked) or ("<input>",),
    )
