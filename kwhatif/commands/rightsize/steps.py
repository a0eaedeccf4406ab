"""The few workloads that save most: each is tried together with those before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kwhatif.api.quantity import Quantity
from kwhatif.commands.rightsize.advice import Advice, format_quantity
from kwhatif.commands.rightsize.consequence import Consequence, SizingTrial
from kwhatif.commands.rightsize.result import Rescaled, Side, Step
from kwhatif.progress import report_progress
from kwhatif.simulation.edits.new_resources import NewResources

LOOKED_AT = 5
"""How many of the workloads that free most are tried for each step."""


def steps_of(
    asking: SizingTrial,
    new: NewResources,
    advice: Mapping[str, Sequence[Advice]],
    scalings: Sequence[Rescaled],
    most: int,
) -> Iterator[Step]:
    """The steps, and at the end all other workloads together: what they add sums up to the whole.

    Of the workloads that free the largest share of the cluster a few are tried beside those already chosen; the one
    that saves most is next. With equal savings it is the one that frees most.
    """
    whole = asking.ask(new, scalings)
    before = asking.ask({})
    left = _by_what_they_free(new, advice, before)
    chosen: list[str] = []
    while left and len(chosen) < most:
        report_progress("Looking for steps", "workloads", len(chosen))
        tried = [(name, _with(asking, new, scalings, [*chosen, name])) for name in left[:LOOKED_AT]]
        name, after = max(tried, key=lambda option: _gain(before.side, option[1].side))
        chosen.append(name)
        left.remove(name)
        yield _step(name, 1, before.side, after.side)
        before = after
    if left:
        yield _step("", len(left), before.side, whole.side)


def _by_what_they_free(new: NewResources, advice: Mapping[str, Sequence[Advice]], before: Consequence) -> list[str]:
    """Workloads, those first that free the largest share of what all pods ask for."""
    sums = {name: float(Quantity.parse(amount)) or 1.0 for name, amount in before.side.requested.items()}

    def share(name: str) -> float:
        units = {"cpu": 1000.0, "memory": 1.0}
        return sum(
            advised.total_reduction / units[advised.resource] / sums[advised.resource] for advised in advice[name]
        )

    return sorted(new, key=lambda name: (-share(name), name))


def _with(asking: SizingTrial, new: NewResources, scalings: Sequence[Rescaled], names: Sequence[str]) -> Consequence:
    return asking.ask(
        {name: new[name] for name in names}, [scaling for scaling in scalings if scaling.workload in names]
    )


def _gain(before: Side, after: Side) -> tuple[int, float, int, int]:
    """What is better: fewer pods that wait, less money, fewer nodes."""
    saved = (before.cost or 0.0) - (after.cost or 0.0)
    return before.pending - after.pending, saved, before.nodes - after.nodes, before.nodes_in_use - after.nodes_in_use


def _step(workload: str, workloads: int, before: Side, after: Side) -> Step:
    """What a step takes away; what it adds has a minus."""
    freed = {}
    for resource in ("cpu", "memory"):
        was, now = Quantity.parse(before.requested[resource]), Quantity.parse(after.requested[resource])
        freed[resource] = format_quantity(resource, was.amount_of(resource) - now.amount_of(resource))
    cost = None if before.cost is None or after.cost is None else round(before.cost - after.cost, 2)
    return Step(
        workload=workload,
        workloads=workloads,
        nodes=before.nodes - after.nodes,
        cost=cost,
        pending=before.pending - after.pending,
        cpu=freed["cpu"],
        memory=freed["memory"],
    )
