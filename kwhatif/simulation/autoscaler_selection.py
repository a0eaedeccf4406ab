"""The autoscalers that a question is asked with: one for each document that is named."""

from __future__ import annotations

import hashlib
from typing import Any

from kwhatif.api.core import Node
from kwhatif.api.decode import describe_value
from kwhatif.bounds import SETTINGS_BYTES
from kwhatif.errors import InputError
from kwhatif.simulation.autoscalers import instance_types_document as catalogues
from kwhatif.simulation.autoscalers import node_groups_document as node_groups
from kwhatif.simulation.autoscalers.catalogues import noting_unread
from kwhatif.simulation.autoscalers.instance_types_document import OfferedCatalogue
from kwhatif.simulation.autoscalers.node_groups import (
    moment_of,
    observation_time_of,
    warn_of,
)
from kwhatif.simulation.autoscalers.node_groups_document import ConfiguredGroups
from kwhatif.simulation.autoscalers.node_pools import pools_of
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.placement.autoscalers import Autoscalers
from kwhatif.simulation.scenario import PreparedScenario
from kwhatif.snapshot.read.files import read_paths
from kwhatif.snapshot.read.objects import decode, head_of, read_documents
from kwhatif.snapshot.read.other_documents import advice_on_machines, sort_of_document, sort_of_kind

_POOLS = ("karpenter.sh/v1", "NodePool")


def find_autoscalers(scenario: PreparedScenario, notes: Notes) -> Autoscalers:
    """The autoscalers of a scenario, by the documents that it names: one for each document of NodeGroups or
    InstanceTypes. NodePools stand in for those of the snapshot.

    Raises InputError for invalid documents, and for those of no autoscaler.
    """
    snapshot, now = scenario.snapshot, moment_of(scenario.snapshot, scenario.inputs.now)
    groups: list[ConfiguredGroups] = []
    offered: list[OfferedCatalogue] = []
    pools: list[str] = []
    texts = [text for file in scenario.inputs.autoscale for text in read_paths([file], max_bytes=SETTINGS_BYTES)]
    for document in (document for text in texts for document in read_documents(text)):
        head, source = head_of(document), document.origin.file
        if head == _POOLS:
            pools += [source] if source not in pools else []
        elif head[1] == catalogues.KIND:
            offered.append(noting_unread(catalogues.catalogue_in(document), snapshot))
        elif head[1] == node_groups.KIND:
            groups.append(node_groups.groups_in(document, snapshot.objects.list_all(Node), now))
        else:
            sort = sort_of_kind(*head) if head[1] else sort_of_document(decode(document.value, dict[str, Any]))
            kind = str(sort) if sort is not None else describe_value(head[1]) if head[1] else "none"
            kind += advice_on_machines([head[1]])
            problem = f"expected NodeGroups, InstanceTypes, or NodePools of Karpenter, found {kind}"
            raise InputError(problem, source=source, place="$.kind")
    files = ", ".join(scenario.inputs.autoscale)
    for what, number in ((node_groups.KIND, len(groups)), (catalogues.KIND, len(offered))):
        if number > 1:
            raise InputError(f"expected one document of {what}, found {number}", source=files)
    if pools and not offered:
        raise InputError("expected InstanceTypes beside NodePools, found none", source=", ".join(pools))
    for known in groups:
        warn_of(known, notes)
    for known_types in offered:
        if known_types.incomplete:
            notes.warn(f"{known_types.source}: the catalogue is incomplete: {known_types.incomplete}")
    return Autoscalers(
        groups,
        offered,
        pools_of(snapshot, pools) if offered else (),
        scenario.edited.covered,
        scenario.expanded,
        observation_time_of(snapshot, scenario.inputs.now),
        scenario.inputs.provision,
        hashlib.sha256(b"\0".join(text.data for text in texts)).hexdigest(),
    )
