"""The gaps that a verdict hangs on: what the snapshot does not hold and might turn a yes into a no."""

from __future__ import annotations

from kwhatif.results.base import Fidelity

_BUDGETS = "PodDisruptionBudget"


def gaps_of_verdict(fidelity: Fidelity, *, evicting: bool) -> tuple[str, ...]:
    """What is not known that the verdict hangs on, as the fidelity report names it.

    Without budgets nobody knows whether evictions are allowed; without the other pods, what room there is.
    """
    return tuple(
        gap.what
        for gap in fidelity.touching
        if (_BUDGETS in gap.what.split() and evicting) or ("Pod" in gap.what.replace(",", "").split())
    )
