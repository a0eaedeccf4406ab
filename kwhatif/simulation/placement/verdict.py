"""The words of a verdict about the pods of ``place``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from kwhatif.results.amounts import format_count
from kwhatif.results.base import Fidelity
from kwhatif.results.node_costs import words_of_cost
from kwhatif.results.place import Placement, ScaleUp

_BESIDES = ("gated", "waiting", "skipped", "unclaimed")


def words_of_placements(
    placements: Sequence[Placement],
    in_others: Collection[str] = (),
    scale_up: ScaleUp | None = None,
    waited: Collection[str] = (),
) -> list[str]:
    """``3 of 4 pods placed (1 of the 4 waited before)``, ``1 gated``, ``1 of them on 1 new node``.

    A pod counts as placed if a new node is added for it. One that had to leave its node again
    counts as placed if one of ``in_others``, its replacement, runs. Those that ``waited`` in the snapshot are
    told apart from those that come.
    """
    outcomes = Counter(placement.outcome for placement in placements)
    placed = (
        outcomes["placed"]
        + outcomes["autoscaled"]
        + sum(placement.outcome == "preempted" and placement.pod in in_others for placement in placements)
    )
    number = len(placements)
    old = sum(placement.pod in waited for placement in placements)
    apart = f" ({old} of the {number} waited before)" if 0 < old < number else ""
    parts = [f"{placed} of {format_count(number, 'pod')} placed{apart}"] if number else []
    parts += [f"{outcomes[name]} {name}" for name in _BESIDES if outcomes[name]]
    growth = words_of_growth(scale_up)
    new = {added.node for added in scale_up.nodes} if scale_up is not None else set()
    if on_new := sum(placement.good and placement.node in new for placement in placements):
        growth[0] = f"{on_new} of them on {growth[0]}"
    return [*parts, *growth]


def words_of_growth(scale_up: ScaleUp | None) -> list[str]:
    """``2 new nodes, 277.40 more a month``."""
    if scale_up is None or not scale_up.nodes:
        return []
    cost = words_of_cost(scale_up.nodes, " more")
    return [format_count(len(scale_up.nodes), "new node") + (f", {cost}" if cost else "")]


def words_of_good(placements: Sequence[Placement]) -> str:
    """``3 of 4 pods``: how many have a node."""
    return f"{sum(placement.good for placement in placements)} of {format_count(len(placements), 'pod')}"


TAKEN_FOR_NEW = "it is taken to be new, and they to stay beside its new pods"
"""The effect of a workload that is in no list, though its pods are."""

_BUDGETS = "PodDisruptionBudget"


def gaps_of_verdict(fidelity: Fidelity, *, evicting: bool) -> tuple[str, ...]:
    """The gaps that the verdict depends on, as the fidelity report names them.

    Without budgets it is unknown whether evictions are allowed; without the other pods, what room there is; without a
    workload whose pods are there, whether they leave for the new ones.
    """
    return tuple(
        f"{gap.what}: it is taken to be new" if gap.effect == TAKEN_FOR_NEW else gap.what
        for gap in fidelity.touching
        if gap.effect == TAKEN_FOR_NEW
        or (_BUDGETS in gap.what.split() and evicting)
        or ("Pod" in gap.what.replace(",", "").split())
    )
