"""A snapshot's objects in plain form for the API server and the controllers, with templates restored that a dump has
pruned.

A manifest's template has commands and environment, the stored one may have lost them: every unchanged workload would
look changed. So pruned fields are assumed to be as the manifest has them, which is noted as a gap.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kwhatif.admission.object_store import ObjectStore, Reference, plain
from kwhatif.admission.response import Object
from kwhatif.api.core import Node
from kwhatif.api.decode import convert, describe_value
from kwhatif.api.kinds import KEPT_WHOLE, KINDS, NAMESPACED, TEMPLATES, struct_for
from kwhatif.api.meta import Resource
from kwhatif.api.objects import list_at, part_of, section
from kwhatif.errors import InputError
from kwhatif.results.base import INPUT, Gap
from kwhatif.simulation.session import PodToSchedule
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.live.pruning import prune_template
from kwhatif.workloads.objects import get_scaled_value, same_template

_DEFINITIONS = "CustomResourceDefinition"
"""A kind that is defined nowhere is refused; a file may well hold some of the definitions, only a dump has them all."""
_CLUSTER_WIDE = ("Namespace", "PriorityClass", "StorageClass")
_BY_NAME = frozenset(
    {
        "Node",
        "PersistentVolume",
        "VolumeAttachment",
        "CSIDriver",
        "CSINode",
        "DeviceClass",
        "ResourceSlice",
        "KueueWorkload",
    }
)
"""Kinds of which there may be very many, and that admission does not look up."""
_PARAMETERS = frozenset({"ConfigMap", "Secret"})
_SHARES = ("maxSurge", "maxUnavailable")


def build_object_store(
    snapshot: Snapshot, namespaces: Collection[str], named: Collection[tuple[str, str]] = ()
) -> ObjectStore:
    """The objects of some namespaces, those of none that admission looks up, and of others those that are ``named``:
    (kind, name).

    Raises InputError for one that no API server could have stored.
    """
    named_elsewhere = _references(snapshot)
    pruned = bool(snapshot.resource_versions) or snapshot.redacted
    world = ObjectStore(pruned=pruned, homes={"", *namespaces}, references=named_elsewhere)
    for kind in snapshot.covered_kinds():
        if kind not in snapshot.unreadable and (kind != _DEFINITIONS or kind in snapshot.resource_versions):
            world.cover(kind)
    for kind in _CLUSTER_WIDE:
        for obj in snapshot.objects.list_kind(kind):
            world.put(plain(obj, kind), sketched=True)
    for kind in sorted(_BY_NAME.intersection(kind for kind, _ in named)):
        for obj in snapshot.objects.list_kind(kind):
            if (kind, obj.name) in named:
                world.put(plain(obj, kind), sketched=True)
    for kind in sorted((KINDS.keys() & NAMESPACED) - KEPT_WHOLE.keys() - _BY_NAME):
        if references := snapshot.objects.in_namespaces(kind, namespaces):
            world.put_all(kind, references)
    for objects in snapshot.whole.values():
        for whole in objects:
            if part_of(whole, "metadata").get("namespace", "") in {"", *namespaces}:
                _check(whole, snapshot.source)
                world.put(whole)
    # Every namespace has these: a list of their kind that has them is complete.
    for account in snapshot.whole.get("ServiceAccount", ()):
        if part_of(account, "metadata", "name") == "default":
            world.cover_namespace("ServiceAccount", part_of(account, "metadata").get("namespace", ""))
    for kind, home, name in snapshot.as_read:
        if (kind, name) == ("ConfigMap", "kube-root-ca.crt"):
            world.cover_namespace(kind, home)
    _put_references(world, snapshot, named_elsewhere)
    _put_as_read(world, snapshot, namespaces, named)
    return world


def _references(snapshot: Snapshot) -> frozenset[Reference]:
    """The services that webhooks are called at, and what policies' bindings name as parameters."""
    references = set()
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        for configuration in snapshot.whole.get(kind, ()):
            for hook in list_at(configuration, "webhooks"):
                service = section(hook, "clientConfig", "service")
                references.add(("Service", str(service.get("namespace") or ""), str(service.get("name") or "")))
    for kind in ("MutatingAdmissionPolicy", "ValidatingAdmissionPolicy"):
        policies = {part_of(policy, "metadata", "name"): policy for policy in snapshot.whole.get(kind, ())}
        for binding in snapshot.whole.get(f"{kind}Binding", ()):
            params = section(policies.get(section(binding, "spec").get("policyName")), "spec", "paramKind")
            ref = section(binding, "spec", "paramRef")
            references.add((str(params.get("kind") or ""), str(ref.get("namespace") or ""), str(ref.get("name") or "")))
    return frozenset(key for key in references if all(key))


def _put_references(world: ObjectStore, snapshot: Snapshot, references: Collection[Reference]) -> None:
    """Those objects that another namespace holds, with all their fields where files have them."""
    for kind, home, name in sorted(references):
        whole = snapshot.as_read.get((kind, home, name))
        if whole is not None:
            world.put(whole)
        elif kind in KINDS:
            for obj in snapshot.objects.list_kind(kind):
                if (obj.namespace, obj.name) == (home, name):
                    world.put(plain(obj, kind), sketched=True)


def _put_as_read(
    world: ObjectStore, snapshot: Snapshot, namespaces: Collection[str], named: Collection[tuple[str, str]]
) -> None:
    """All fields of what a manifest changes, where files have them and no what-if edit has changed the object; what
    admission policies may ask for by name, and bare pods of a namespace whose own object is changed.
    """
    there: dict[str, dict[tuple[str, str], Resource]] = {}
    for (kind, home, name), obj in snapshot.as_read.items():
        changed = (kind, name) in named or (kind == "Pod" and ("Namespace", home) in named)
        if not changed and (kind not in _PARAMETERS or home not in namespaces):
            continue
        struct = struct_for(part_of(obj, "apiVersion"), kind)
        if struct is None:
            world.put(obj)
            continue
        if kind not in there:
            there[kind] = {(one.namespace, one.name): one for one in snapshot.objects.list_kind(kind)}
        read = there[kind].get((home, name))
        if read is not None and plain(convert(obj, struct), kind) == plain(read, kind):
            world.put(obj)


def _check(whole: Object, source: str) -> None:
    """Raises InputError if controllers could not process an object."""
    called, spec = (
        f"{part_of(whole, 'kind')} {describe_value(part_of(whole, 'metadata', 'name'))}",
        section(whole, "spec"),
    )
    if part_of(whole, "kind") in TEMPLATES and (spec.get("replicas") or 0) < 0:
        raise InputError(f"{called}: spec.replicas: expected no less than 0, found {spec['replicas']}", source=source)
    for strategy in ("strategy", "updateStrategy"):
        rolling = section(spec, strategy, "rollingUpdate")
        for key in _SHARES:
            try:
                get_scaled_value(rolling.get(key), 1, up=True)
            except InputError as error:
                problem = f"spec.{strategy}.rollingUpdate.{key}: {error.problem}"
                raise InputError(f"{called}: {problem}", source=source) from None


def nodes_of(snapshot: Snapshot) -> list[Object]:
    """The nodes, for daemon sets."""
    return [plain(node, "Node") for node in snapshot.objects.list_all(Node)]


def drop_emptied_volumes(pod: Object, dropped: Collection[str]) -> Object:
    """A pod without the volumes of which only the type was kept: as they stand, an API server would refuse them."""
    volumes = section(pod, "spec").get("volumes")
    if "volumes" not in dropped or not volumes:
        return pod
    kept = [volume for volume in volumes if not any(s == {} and key != "emptyDir" for key, s in volume.items())]
    return pod if len(kept) == len(volumes) else {**pod, "spec": {**section(pod, "spec"), "volumes": kept}}


def restore_template(stored: Object, new: Object, dropped: Collection[str]) -> Object:
    """``stored`` with the template of ``new``, if the two agree in all that the snapshot knows; else unchanged.

    ``dropped`` names what was left out of templates. A field that is not among them is known to be absent.
    """
    was, wanted = section(stored, "spec", "template"), section(new, "spec", "template")
    if not dropped or not was or not wanted or was == wanted:
        return stored
    left_out: set[str] = set()
    now = prune_template(wanted, left_out)
    if not left_out <= set(dropped) or not same_template(prune_template(was, set()), now):
        return stored
    # The label that tells replica sets apart is the stored one's own.
    metadata = {**section(wanted, "metadata"), "labels": section(was, "metadata", "labels")}
    return {**stored, "spec": {**part_of(stored, "spec"), "template": {**wanted, "metadata": metadata}}}


def template_gap(dropped: Sequence[str], objects: Sequence[str]) -> Gap:
    """The gap that ``objects`` were assumed to be unchanged."""
    return Gap(
        what=f"the snapshot leaves out {', '.join(dropped)} of pod templates",
        effect="if they changed, every pod would be replaced; a dump with --keep-templates would tell",
        pods=tuple(objects),
    )


def unknown_gap(kinds: Sequence[str], pods: Sequence[PodToSchedule]) -> Gap:
    """The gap that it is unknown whether objects of some ``kinds`` of the manifests (``1 Gadget``) would have pods."""
    return Gap(
        what=f"kinds unknown to kwhatif: {', '.join(kinds)}",
        effect="pods that they would have are missing; --pod-template-path says where a kind has its template",
        pods=tuple(item.pod.key for item in pods) or (INPUT,),
    )
