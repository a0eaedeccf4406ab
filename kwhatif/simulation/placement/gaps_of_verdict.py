"""The gaps that a verdict depends on: objects that the snapshot lacks and that might turn a yes into a no."""

from __future__ import annotations

from kwhatif.results.base import Fidelity

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
