"""The gaps that a verdict depends on: objects that the snapshot lacks and that might turn a yes into a no."""

from __future__ import annotations

from kwhatif.results.base import Fidelity

_BUDGETS = "PodDisruptionBudget"


def gaps_of_verdict(fidelity: Fidelity, *, evicting: bool) -> tuple[str, ...]:
    """The gaps that the verdict depends on, as the fidelity report names them.

    Without budgets it is unknown whether evictions are allowed; without the other pods, what room there is.
    """
    return tuple(
        gap.what
        for gap in fidelity.touching
        if (_BUDGETS in gap.what.split() and evicting) or ("Pod" in gap.what.replace(",", "").split())
    )
