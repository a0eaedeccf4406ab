"""Compared policies as blocks: the best, the front, and the influence of settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kwhatif.commands.expand.text import refusal_blocks
from kwhatif.commands.sweep.result import Influence, PolicyPoint, SweepResult
from kwhatif.commands.view import View
from kwhatif.render.blocks import Block, Facts, Lines, build_table
from kwhatif.render.page_spec import PageSpec, answer_by_outcome
from kwhatif.render.sections import fidelity_blocks, verdict_of
from kwhatif.results.amounts import format_amount

MOST_SHOWN = 12
"""How many policies of the front, and how many settings, are shown; --all shows all."""

MATTERS = 10.0
"""Percent of a measure's range from which on a setting is said to matter for it."""

_EXPLAINED = (
    "Distance between the means of a setting's best and worst levels, in percent of the range of all policies; in "
    "brackets the best level."
)


def sweep_blocks(result: SweepResult, *, wide: bool = False) -> list[Block]:
    """The report; a ``wide`` one has all policies, measures and settings."""
    measures = _measures(result, wide=wide)
    blocks: list[Block] = [verdict_of(result.outcome), Facts(tuple(_facts(result)))]
    blocks += _everything(result, measures) if wide else _front(result, measures)
    blocks += _influences(result, measures)
    failed = [point for point in result.points if point.error]
    blocks += build_table(
        "FAILED", ("", "policy", "error"), [(point.number, point.policy, point.error) for point in failed]
    )
    blocks += refusal_blocks(result.refusals, result.failed)
    for fidelity in result.fidelity:
        blocks += fidelity_blocks(fidelity, result.outcome.unknown)
    return blocks


def _front(result: SweepResult, measures: Sequence[str]) -> Iterator[Block]:
    """A row for all policies that come to the very same; today's is there in any case."""
    alike: dict[tuple[tuple[str, float], ...], list[PolicyPoint]] = {}
    for point in result.front:
        alike.setdefault(tuple(point.measures.items()), []).append(point)
    groups = list(alike.values())
    shown = groups[:MOST_SHOWN]
    if not any(policy_point.number == 0 for policy_point, *_ in shown):
        shown.append([result.today])
    rows = [_row(first, result, measures, len(others)) for first, *others in shown]
    yield from build_table("FRONT", ("", "policy", *map(_format_measure, measures)), rows)
    if len(groups) > MOST_SHOWN:
        yield Lines((f"and {len(groups) - MOST_SHOWN} more on the front: --all shows them",))


def _everything(result: SweepResult, measures: Sequence[str]) -> list[Block]:
    front = result.front
    points = [*front, *(point for point in result.points if not point.on_front and not point.error)]
    return build_table(
        "POLICIES", ("", "policy", *map(_format_measure, measures)), [_row(point, result, measures) for point in points]
    )


def _facts(result: SweepResult) -> Iterator[tuple[str, str]]:
    goals = {"min": "fewest or least", "max": "most"}
    goals_text = (
        f"{_format_measure(objective.measure)} ({goals[objective.goal]}; weight {objective.weight:g})"
        for objective in result.objectives
    )
    yield "Best by", ", ".join(goals_text)
    more = f"; {result.searched} more around the front" if result.searched else ""
    again = f"; {result.repeated} the same as others" if result.repeated else ""
    seed = "" if result.seed is None else f", seed {result.seed}"
    yield "Tried", f"{result.sample}{seed}{again}{more}"
    replayed = f", {result.replayed} of them taken off their nodes" if result.replayed else ""
    clusters = f"; measures are the means of {len(result.snapshots)} clusters" if result.snapshots[1:] else ""
    yield "Pods", f"{result.pods}{replayed}{clusters}"


def _measures(result: SweepResult, *, wide: bool) -> list[str]:
    """The objectives, and with ``wide`` the others; without it those that tell policies apart by something else."""
    objectives = [objective.measure for objective in result.objectives]
    known = [name for name in result.points[result.best].measures if name not in objectives]
    return [*objectives, *(known if wide else [name for name in ("moved", "zoneSkew") if name in known])]


def _row(point: PolicyPoint, result: SweepResult, measures: Sequence[str], equal_policies: int = 0) -> tuple[str, ...]:
    mark = " *" if point.number == result.best else ""
    more = f" (and {equal_policies} with the same result)" if equal_policies else ""
    amounts = (_amount(name, point.measures.get(name)) for name in measures)
    return (f"{point.number}{mark}", point.policy + more, *amounts)


def _influences(result: SweepResult, measures: Sequence[str]) -> list[Block]:
    """A row a setting, and a column for each measure that any of them matters for."""
    influences = {(influence.setting, influence.measure): influence for influence in result.influences}
    there = [name for name in measures if any(influence.measure == name for influence in result.influences)]
    settings = list(dict.fromkeys(influence.setting for influence in result.influences))
    rows = [(setting, *(_cell(influences.get((setting, name))) for name in there)) for setting in settings]
    blocks = build_table("EFFECT OF SETTINGS", ("setting", *map(_format_measure, there)), rows if there else [])
    return [*blocks, Lines((_EXPLAINED,))] if blocks else []


def _cell(influence: Influence | None) -> str:
    if influence is None:
        return "-"
    best = f" ({influence.best})" if influence.percent >= MATTERS else ""
    return f"{influence.percent:.0f}%{best}"


def _amount(measure: str, value: float | None) -> str:
    if value is None:
        return "-"
    if measure.endswith("LargestFree"):
        return format_amount(measure.removesuffix("LargestFree"), round(value))
    return f"{value:g}" if measure == "cost" else f"{round(value, 1):g}"


def _format_measure(measure: str) -> str:
    """``nodes in use``."""
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in measure)


VIEW = View(
    lambda result, look: sweep_blocks(result, wide=look.everything),
    wide_is_whole=True,
    page=PageSpec("sweep", "What was tried", answer_by_outcome("plain")),
)
