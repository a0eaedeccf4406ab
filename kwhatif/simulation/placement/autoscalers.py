"""Autoscalers in their initial state, for as many runs as a question takes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

import msgspec
from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.api.node_provisioning import NodePool
from kwhatif.simulation.autoscalers.instance_types_document import OfferedCatalogue, without_zone
from kwhatif.simulation.autoscalers.node_groups import GroupAutoscaler, groups_without
from kwhatif.simulation.autoscalers.node_groups_document import ConfiguredGroups
from kwhatif.simulation.autoscalers.node_pools import PoolAutoscaler
from kwhatif.simulation.autoscalers.scaler import Scaler
from kwhatif.simulation.expansion.expanded_manifests import ExpandedManifests
from kwhatif.simulation.placement.afterwards import snapshot_after_run
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.session import Session
from kwhatif.snapshot.format.model import Snapshot

ORDERS = 2
"""The number of other orders of nodes and pods, to find out what is left to chance."""


class Autoscalers(msgspec.Struct, frozen=True):
    """The autoscalers of a question in their initial state, to make a ``Scaler`` of for each of its runs.

    ``covered`` and ``expanded`` are those of the scenario that is run. The first plan is made in so many other
    ``orders``, too. The ``digest`` is that of the documents.
    """

    groups: Sequence[ConfiguredGroups]
    catalogues: Sequence[OfferedCatalogue]
    pools: Sequence[NodePool]
    covered: Collection[str]
    expanded: ExpandedManifests
    now: datetime
    provision: float
    digest: str
    orders: int = ORDERS

    def __call__(self) -> Scaler:
        """Autoscalers for one run."""
        of_groups = [GroupAutoscaler(known, self.orders) for known in self.groups]
        return Scaler(
            [*of_groups, *(PoolAutoscaler(known, self.pools) for known in self.catalogues)],
            self._snapshot_of,
            self.now,
            self.provision,
        )

    def _snapshot_of(self, session: Session, waiting: Sequence[Pod]) -> Snapshot:
        return snapshot_after_run(session.snapshot, self.covered, self.expanded, Run(session, left=waiting))

    def without_orders(self) -> Autoscalers:
        """The same for many runs, of which each is one of many ways it may go."""
        return replace(self, orders=0)

    def without(self, nodes: Collection[str], zone: str = "") -> Autoscalers:
        """The same once these nodes are gone; a ``zone`` that is gone as a whole gives no new ones."""
        return replace(
            self,
            groups=[groups_without(known, nodes, zone) for known in self.groups],
            catalogues=[without_zone(known, zone) for known in self.catalogues] if zone else self.catalogues,
        )
