"""The autoscalers that a question is asked with: one for each document that is named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from kwhatif import bounds
from kwhatif.api.core import Node, Pod
from kwhatif.api.decode import describe_value
from kwhatif.errors import InputError
from kwhatif.simulation.autoscalers import instance_types_document as catalogues
from kwhatif.simulation.autoscalers import node_groups_document as node_groups
from kwhatif.simulation.autoscalers.catalogues import noting_unread
from kwhatif.simulation.autoscalers.node_groups import GroupAutoscaler, moment_of, observation_time_of, warn_of
from kwhatif.simulation.autoscalers.node_pools import PoolAutoscaler, pools_of
from kwhatif.simulation.autoscalers.scaler import Autoscaler, Scaler
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.placement.afterwards import snapshot_after_run
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.scenario import PreparedScenario
from kwhatif.simulation.session import Session
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.read.files import read_paths
from kwhatif.snapshot.read.objects import Document, decode, head_of, read_documents
from kwhatif.snapshot.read.other_documents import advice_on_machines, sort_of_document, sort_of_kind

ORDERS = 2
"""The number of other orders of nodes and pods in which a first plan is made, to find out what is left to chance."""

_POOLS = ("karpenter.sh/v1", "NodePool")


def scalers(scenario: PreparedScenario, notes: Notes) -> Callable[[], Scaler]:
    """A factory of autoscalers in their initial state, by the documents of a scenario.

    Raises InputError for invalid documents, and for those of no autoscaler.
    """
    made = _build_factories(
        scenario.inputs.autoscale, scenario.snapshot, notes, moment_of(scenario.snapshot, scenario.inputs.now)
    )

    def later(session: Session, waiting: Sequence[Pod]) -> Snapshot:
        return snapshot_after_run(
            session.snapshot, scenario.edited.covered, scenario.expanded, Run(session, left=waiting)
        )

    now = observation_time_of(scenario.snapshot, scenario.inputs.now)
    return lambda: Scaler([make() for make in made], later, now, scenario.inputs.provision)


def _build_factories(
    files: Sequence[str], snapshot: Snapshot, notes: Notes, now: int
) -> list[Callable[[], Autoscaler]]:
    """One for each document of NodeGroups or InstanceTypes; NodePools stand in for those of the snapshot."""
    groups: list[node_groups.ConfiguredGroups] = []
    offered: list[catalogues.OfferedCatalogue] = []
    pools: list[str] = []
    for document in (document for file in files for document in _documents(file)):
        head, source = head_of(document), document.origin.file
        if head == _POOLS:
            pools += [source] if source not in pools else []
        elif head[1] == catalogues.KIND:
            offered.append(noting_unread(catalogues.catalogue_in(document), snapshot))
        elif head[1] == node_groups.KIND:
            groups.append(node_groups.groups_in(document, snapshot.objects.list_all(Node), now))
        else:
            sort = sort_of_kind(*head) if head[1] else sort_of_document(decode(document.value, dict[str, Any]))
            found = str(sort) if sort is not None else describe_value(head[1]) if head[1] else "none"
            found += advice_on_machines([head[1]])
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
        *(partial(GroupAutoscaler, known, ORDERS) for known in groups),
        *(partial(PoolAutoscaler, known, pools_of(snapshot, pools)) for known in offered),
    ]


def _documents(file: str) -> list[Document]:
    texts = read_paths([file], max_bytes=bounds.SETTINGS_BYTES)
    return [document for text in texts for document in read_documents(text)]
