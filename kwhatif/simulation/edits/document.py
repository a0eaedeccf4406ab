"""ClusterEdits: a document of what-if edits, the list of all kinds of edits, and their application to a copy of the
snapshot.

    apiVersion: kwhatif.dev/v1
    kind: ClusterEdits
    edits:
    - cordon: worker-3
    - addNodes: {count: 3, like: worker-1, in: {zone: eu-west-1b}}
    - scale: {kind: Deployment, namespace: shop, name: web, replicas: 10}

The schema of the format is ``schemas/cluster-edits.schema.json``. The options of the command line are read by the same
rules. Edits apply one after the other, and controllers react to them: pods of removed nodes are recreated, daemon sets
serve new nodes. Pods that wait for a node in the end are those that the question is about.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from kwhatif import bounds
from kwhatif.api.core import Pod
from kwhatif.api.json_schema import convert_strictly
from kwhatif.errors import InputError
from kwhatif.scheduling.budget_status import recount_disruptions
from kwhatif.simulation.edits.add_nodes import ADD_NODES
from kwhatif.simulation.edits.cordon import CORDON, UNCORDON
from kwhatif.simulation.edits.delete_pods import DELETE_PODS
from kwhatif.simulation.edits.draft import Draft
from kwhatif.simulation.edits.edited import EditedSnapshot
from kwhatif.simulation.edits.kind import EditKind, EditPart, ParsedEdit
from kwhatif.simulation.edits.label import LABEL
from kwhatif.simulation.edits.queues import QUOTA, STOP_QUEUE
from kwhatif.simulation.edits.remove_nodes import REMOVE_NODES
from kwhatif.simulation.edits.resource_patches import edits_of_patch, is_patch
from kwhatif.simulation.edits.scale import SCALE
from kwhatif.simulation.edits.set_amount import SET
from kwhatif.simulation.edits.set_resources import SET_RESOURCES
from kwhatif.simulation.edits.taint import TAINT, UNTAINT
from kwhatif.snapshot.format.documents import own_document
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.load import Manifest
from kwhatif.snapshot.read.files import display_path, read_paths
from kwhatif.snapshot.read.objects import Document, decode, head_of, read_documents

KINDS: tuple[EditKind[Any], ...] = (
    *(CORDON, UNCORDON),
    *(TAINT, UNTAINT),
    *(LABEL, SET),
    *(ADD_NODES, REMOVE_NODES),
    *(SCALE, SET_RESOURCES, DELETE_PODS),
    *(QUOTA, STOP_QUEUE),
)


KIND = "ClusterEdits"

Edit = msgspec.defstruct(
    "Edit",
    [(kind.field, kind.type | None, None) for kind in KINDS],
    bases=(EditPart,),
    kw_only=True,
    namespace={"__doc__": "One edit: exactly one of these."},
)


class _Envelope(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    api_version: str
    kind: str
    edits: list[dict[str, Any]]
    metadata: Any = None


def read_edits(paths: Sequence[str]) -> list[ParsedEdit]:
    """The edits of documents, in their order. Raises InputError."""
    given: list[ParsedEdit] = []
    for text in read_paths(paths, max_bytes=bounds.SETTINGS_BYTES):
        documents = read_documents(text)
        if not documents:
            raise InputError(f"holds no {KIND}: it is empty", source=display_path(text.name))
        for document in documents:
            given += _edits_of(document, document.source if len(documents) > 1 else text.name)
    return given


def _edits_of(document: Document, source: str) -> Iterator[ParsedEdit]:
    kind = head_of(document)[1]
    if is_patch(kind):
        try:
            edits = edits_of_patch(decode(document.value, dict[str, Any]), kind)
        except InputError as error:
            raise error.with_source(source) from None
        for edit in edits:
            yield read_edit(edit, source)
        return
    for i, edit in enumerate(own_document(document, KIND, _Envelope, source).edits):
        yield read_edit(edit, source, f"$.edits[{i}]")


def read_edit(value: Mapping[str, Any], source: str, place: str = "") -> ParsedEdit:
    """An edit from plain values. Raises InputError; with a ``place`` in a file the error has one, too."""
    try:
        return _read(value, source, place)
    except InputError as error:
        inside = place + error.place.removeprefix("$") if place else ""
        raise InputError(error.problem, source=source, place=inside) from None


def _read(value: Mapping[str, Any], source: str, place: str) -> ParsedEdit:
    fields = {key: item for key, item in value.items() if item is not None}
    edit = convert_strictly(fields, Edit)
    if len(fields) != 1:
        choices = ", ".join(kind.field_name for kind in KINDS)
        raise InputError(f"expected exactly one of {choices}, found {', '.join(fields) or 'none'}", place="$")
    (kind,) = (kind for kind in KINDS if kind.field_name in fields)
    what = getattr(edit, kind.field)
    try:
        kind.check(what)
    except InputError as error:
        raise InputError(error.problem, place=f"$.{kind.field_name}{error.place}") from None
    return ParsedEdit(kind, what, source, place)


__all__ = ["EditedSnapshot", "apply_edits"]


def apply_edits(snapshot: Snapshot, edits: Sequence[ParsedEdit], manifests: Sequence[Manifest] = ()) -> EditedSnapshot:
    """The snapshot after these edits; the argument and its objects are not changed.

    Workloads of the ``manifests``, which are created later, may get another size. Raises InputError for an edit that
    cannot be made, such as one of a node that does not exist.
    """
    covered = snapshot.covered_kinds()
    if not edits:
        return EditedSnapshot(snapshot, covered)
    draft = Draft(snapshot, manifests)
    texts = [_apply_edit(draft, edit) for edit in edits]
    draft.snapshot.edits = [*snapshot.edits, *texts]
    recount_disruptions(draft.snapshot.objects, snapshot.objects.list_all(Pod))
    return EditedSnapshot(
        draft.snapshot,
        covered,
        tuple(draft.asked.values()),
        tuple(draft.failed),
        tuple(draft.notes),
        draft.moves_pods,
        tuple(draft.doubts),
        draft.replicas,
        first_moments=tuple(draft.first_moments),
        ties=tuple(draft.ties),
    )


def _apply_edit(draft: Draft, parsed: ParsedEdit) -> str:
    """Make one edit. Returns it in words."""
    try:
        return parsed.kind.apply(draft, parsed.what, parsed.origin)
    except InputError as error:
        if error.source:
            raise
        raise parsed.error(error.problem, error.place) from None
