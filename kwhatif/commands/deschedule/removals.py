"""Nodes that autoscalers remove after the descheduler, compared with those that they remove without it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kwhatif.api.core import Pod
from kwhatif.commands.deschedule.result import RemovedNode
from kwhatif.commands.rightsize.steady_state import SteadyState, groups_of_nodes, remove_unneeded_nodes
from kwhatif.results.place import HOURS_A_MONTH
from kwhatif.simulation.autoscalers.node_groups import GroupAutoscaler
from kwhatif.simulation.autoscalers.scaler import Scaler
from kwhatif.simulation.session import Session


class Removals:
    """The removals after the descheduler, compared with those without it.

    ``session`` is the cluster as it is, and the ``waiting`` pods find no node there.
    """

    def __init__(self, session: Session, scaler: Scaler, waiting: Sequence[Pod]) -> None:
        self._anyway = set(_take_away(SteadyState(session, session, (), [], list(waiting)), scaler))

    def after(
        self, session: Session, scaler: Scaler, waiting: Sequence[Pod], empty: Iterable[str]
    ) -> tuple[tuple[RemovedNode, ...], Session]:
        """The nodes that go from the cluster that is left, and that cluster without them."""
        state = SteadyState(session, session, (), [], list(waiting))
        groups, prices, bare = groups_of_nodes(scaler, session), _prices(scaler), set(empty)
        removed = tuple(
            RemovedNode(
                node=name,
                group=groups.get(name, ""),
                empty=name in bare,
                anyway=name in self._anyway,
                cost=prices.get(groups.get(name, "")),
            )
            for name in _take_away(state, scaler)
        )
        return removed, state.session


def _take_away(state: SteadyState, scaler: Scaler) -> list[str]:
    before = set(state.session.cluster.columns.names)
    remove_unneeded_nodes(state, scaler)
    return sorted(before - set(state.session.cluster.columns.names))


def _prices(scaler: Scaler) -> dict[str, float]:
    """What a node of a group costs a month, where that is known."""
    groups = [group for each in scaler.autoscalers if isinstance(each, GroupAutoscaler) for group in each.known.groups]
    return {group.name: round(group.price * HOURS_A_MONTH, 2) for group in groups if group.price is not None}
