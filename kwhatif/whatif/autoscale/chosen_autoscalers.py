"""Which autoscalers a question is to go by: those whose documents are named, each beside the cluster it is asked of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from kwhatif import bounds
from kwhatif.api.core import Node, Pod
from kwhatif.api.mismatch import described
from kwhatif.errors import InputError
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.read.documents import Document, read_documents
from kwhatif.snapshot.read.files import read_paths
from kwhatif.snapshot.read.items import head_of
from kwhatif.whatif.autoscale import instance_types_document as catalogues
from kwhatif.whatif.autoscale import node_groups_document as node_groups
from kwhatif.whatif.autoscale.ask_groups import ByGroups
from kwhatif.whatif.autoscale.ask_pools import ByPools
from kwhatif.whatif.autoscale.autoscale import warn_of
from kwhatif.whatif.autoscale.karpenter_plan import pools_of
from kwhatif.whatif.autoscale.scaler import Autoscaler, Scaler
from kwhatif.whatif.autoscale.world_of import moment_of, seen_at
from kwhatif.whatif.place.afterwards import End, afterwards
from kwhatif.whatif.session import Session
from kwhatif.whatif.stages.notes import Notes
from kwhatif.whatif.stages.question import Case

ORDERS = 2
"""In so many other orders of nodes and pods a first plan is made, too, to tell what is left to chance."""

_POOLS = ("karpenter.sh/v1", "NodePool")


def scalers(case: Case, notes: Notes) -> Callable[[], Scaler]:
    """Makes autoscalers as they are before anything has happened, by the documents that a case names.

    Raises InputError for documents that are wrong, or of no autoscaler.
    """
    made = _made(case.inputs.autoscale, case.snapshot, notes, moment_of(case.snapshot, case.inputs.now))

    def later(session: Session, waiting: Sequence[Pod]) -> Snapshot:
        return afterwards(session.snapshot, case.edited.covered, case.expanded, End(session, waiting))

    now = seen_at(case.snapshot, case.inputs.now)
    return lambda: Scaler([make() for make in made], later, now, case.inputs.provision)


def _made(files: Sequence[str], snapshot: Snapshot, notes: Notes, now: int) -> list[Callable[[], Autoscaler]]:
    """One for each document of NodeGroups or InstanceTypes; NodePools stand in for those of the snapshot."""
    groups: list[node_groups.KnownGroups] = []
    offered: list[catalogues.KnownCatalogue] = []
    pools: list[str] = []
    for document in (document for file in files for document in _documents(file)):
        head, source = head_of(document), document.origin.file
        if head == _POOLS:
            pools += [source] if source not in pools else []
        elif head[1] == catalogues.KIND:
            offered.append(catalogues.catalogue_in(document))
        elif head[1] == node_groups.KIND:
            groups.append(node_groups.groups_in(document, snapshot.objects.of(Node), now))
        else:
            found = described(head[1]) if head[1] else "none"
            problem = f"expected NodeGroups, InstanceTypes, or NodePools of Karpenter, found {found}"
            raise InputError(problem, source=source, place="$.kind")
    for what, number in ((node_groups.KIND, len(groups)), (catalogues.KIND, len(offered))):
        if number > 1:
            raise InputError(f"expected one document of {what}, found {number}", source=", ".join(files))
    if pools and not offered:
        raise InputError("expected InstanceTypes beside NodePools, found none", source=", ".join(pools))
    for known in groups:
        warn_of(known, notes)
    for known_types in offered:
        if known_types.incomplete:
            notes.warn(f"{known_types.source}: the catalogue is incomplete: {known_types.incomplete}")
    return [
        *(partial(ByGroups, known, ORDERS) for known in groups),
        *(partial(ByPools, known, pools_of(snapshot, pools)) for known in offered),
    ]


def _documents(file: str) -> list[Document]:
    texts = read_paths([file], max_bytes=bounds.SETTINGS_BYTES)
    return [document for text in texts for document in read_documents(text)]
