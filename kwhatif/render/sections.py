"""Sections that many reports have: the fidelity of the answer, edits, and what autoscalers add."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from kwhatif.render.blocks import NONE, Block, Gaps, Grouping, Heading, Lines, Verdict, build_table
from kwhatif.results.amounts import format_age, format_count, format_some
from kwhatif.results.base import GUESSED_FROM, Fidelity
from kwhatif.results.disruption import BudgetUse
from kwhatif.results.node_costs import words_of_cost
from kwhatif.results.outcome import Outcome
from kwhatif.results.place import AddedNode, Chance, GrownGroup, Placement, ScaleUp


def verdict_of(outcome: Outcome) -> Verdict:
    """The verdict of a report: that of the outcome, word for word."""
    return Verdict(outcome.verdict, outcome.good)


def fidelity_blocks(fidelity: Fidelity, unknown: Collection[str] = ()) -> list[Block]:
    """The rules and the snapshot, then the gaps.

    Those that a verdict names as ``unknown`` are not repeated. Kinds that kubectl's dumps usually lack, and gaps that
    concern none of the pods asked about, are one line, unless all gaps are requested.
    """
    lines = (describe_fidelity(fidelity), *describe_edits(fidelity.edits))
    listed = [f"* {gap} [{format_some(gap.pods)}]" for gap in fidelity.touching]
    listed += [f"  {gap}" for gap in fidelity.gaps if not gap.pods]
    gaps = [gap for gap in fidelity.touching if gap.what not in unknown and not _is_usual(gap.what)]
    foot = _describe_others(fidelity, [*unknown, *(gap.what for gap in gaps)])
    whole: list[Block] = [Lines(lines), *_list_gaps(listed)] if listed else [Lines((*lines, _NO_GAP + "."))]
    if gaps:
        brief: list[Block] = [
            Lines(lines),
            *_list_gaps([*(f"* {gap} [{format_some(gap.pods)}]" for gap in gaps), *([f"  {foot}"] if foot else [])]),
        ]
    elif fidelity.touching:
        brief = [Lines((*lines, *([f"{foot[0].upper()}{foot[1:]}."] if foot else [])))]
    else:
        brief = [Lines((*lines, f"{_NO_GAP} ({foot})." if foot else f"{_NO_GAP}."))]
    return [Gaps(tuple(whole), tuple(brief))]


_NO_GAP = "No gap touches these pods"


def _list_gaps(texts: Sequence[str]) -> list[Block]:
    return [Heading("GAPS (* touches these pods)"), Lines(tuple(texts), listed=True)]


def describe_edits(edits: Sequence[str]) -> tuple[str, ...]:
    """One line that says what was changed for this answer, if anything was."""
    return (f"With edits: {'; '.join(edits)}.",) if edits else ()


_MISSING = "the snapshot holds no "


_DECISIVE = frozenset({"Pod", "PodDisruptionBudget"})
"""Kinds without which an answer may be another one: where they matter, no verdict is good without a word of them."""

_FEW = 2
"""Kinds that are always named when a snapshot lacks them."""


def _is_usual(what: str) -> bool:
    """Whether it is a gap of every snapshot that kubectl has printed."""
    return what.startswith(_MISSING) and _DECISIVE.isdisjoint(what.removeprefix(_MISSING).split(", "))


def _describe_others(fidelity: Fidelity, reported: Collection[str]) -> str:
    """The gaps without a line of their own, on one line: kinds that a snapshot lacks, and gaps that concern no pod.

    Of kinds that touch a pod the first of each gap is named.
    """
    gaps = [gap for gap in fidelity.gaps if gap.what not in reported]
    missing = [gap for gap in gaps if gap.what.startswith(_MISSING)]
    touching = _kinds_of(gap.what for gap in missing if gap.pods)
    kinds = [kind for kind in _kinds_of(gap.what for gap in missing) if kind not in touching]
    others = len(gaps) - len(missing)
    parts = []
    if touching:
        names = _kinds_of(gap.what.partition(", ")[0] for gap in missing if gap.pods)
        rest = f" and {len(touching) - len(names)} more kinds" if len(touching) > len(names) else ""
        parts.append(f"{_MISSING}{', '.join(names)}{rest}, which may touch these pods")
    if len(kinds) > _FEW:
        parts.append(f"it lacks {len(kinds)} others" if touching else f"the snapshot lacks {len(kinds)} kinds")
    elif kinds:
        parts.append(("it holds no " if touching else _MISSING) + ", ".join(kinds))
    more = "more " if parts or fidelity.touching else ""
    parts += [f"{format_count(others, f'{more}gap touches', f'{more}gaps touch')} no pod"] if others else []
    if touching or len(kinds) > _FEW or others:
        parts.append("--gaps names them" if len(touching) + len(kinds) + others > 1 else "--gaps says more")
    return "; ".join(parts)


def _kinds_of(missing: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(kind for what in missing for kind in what.removeprefix(_MISSING).split(", ")))


def describe_fidelity(fidelity: Fidelity) -> str:
    """The rules, and the snapshot they were applied to, in a sentence."""
    source = f" from {fidelity.source}" if fidelity.source else ""
    version = f" of Kubernetes {fidelity.cluster.removeprefix('v')}" if fidelity.cluster else ""
    if isinstance(fidelity.age_seconds, int):
        what, taken = "live snapshot", f"{format_age(fidelity.age_seconds)} old"
    else:
        what, taken = "snapshot", f"taken {fidelity.taken_at or 'at an unknown time'}"
    guess = f", {GUESSED_FROM} {fidelity.guessed_from} (--kubernetes-version sets it)" if fidelity.guessed_from else ""
    return f"Rules of Kubernetes {fidelity.rules}{guess}; {what}{version}{source}, {taken}."


def new_node_blocks(scale_up: ScaleUp | None) -> list[Block]:
    """The nodes that autoscalers add, all of them."""
    nodes = () if scale_up is None else scale_up.nodes
    columns = ("node [node, pod]", "of [same]", "type [same]", "pods", "ready after [same]")
    rows = ((*_node(node), _cost([node], nodes)) for node in nodes)
    return build_table("NEW NODES", (*columns, f"{_cost_header(nodes)} [same]"), rows, Grouping("node"))


def scale_up_blocks(scale_up: ScaleUp | None) -> list[Block]:
    """Empty without autoscalers."""
    if scale_up is None:
        return []
    blocks = new_node_blocks(scale_up)
    nodes = scale_up.nodes
    headers = ("group", "size", "then", "at most", _cost_header(nodes))
    rows = (
        (*_group(group), _cost([n for n in nodes if (n.autoscaler, n.group) == (group.autoscaler, group.group)], nodes))
        for group in scale_up.groups
    )
    blocks += build_table("GROWING GROUPS", headers, rows)
    refused = [(unhelped.pod, "; ".join(map(str, unhelped.refusals))) for unhelped in scale_up.unhelped]
    blocks += build_table("WHY NO NODE IS ADDED", ("pod [pod]", "why [same]"), refused, Grouping("pod", always=True))
    return [*blocks, *chance_blocks(scale_up.chance)]


def budget_fix_blocks(budgets: Iterable[BudgetUse]) -> list[Block]:
    """What would have disruption budgets keep no pod."""
    fixes = [(budget.budget, fix) for budget in budgets for fix in budget.fixes]
    return build_table("FIXES: with each of these the budget keeps no pod", ("budget", "change"), fixes)


def chance_blocks(chance: Chance | None, listed: str = "nodes and pods") -> Iterator[Block]:
    """The results of another order of what is ``listed``, if they differ."""
    if chance is None or not (chance.plans or chance.pods):
        return
    texts = [f"the plan may be {'; or '.join(chance.plans)}"] if chance.plans else []
    texts += [f"these pods may or may not be helped: {format_some(chance.pods)}"] if chance.pods else []
    yield Lines((f"With {listed} in another order, {'; '.join(texts)}.",))


def _node(node: AddedNode) -> tuple[str, ...]:
    whose = f"NodePool {node.group}" if node.types else f"group {node.group}"
    return (
        node.node,
        whose,
        node.types[0] if node.types else NONE,
        str(len(node.pods)),
        format_age(int(node.time)),
    )


def _cost_header(nodes: Sequence[AddedNode]) -> str:
    return "cost" if any(node.only_jobs for node in nodes) else "a month"


def _cost(some: Sequence[AddedNode], nodes: Sequence[AddedNode]) -> str:
    """What some of the new nodes cost, under the header of all."""
    cost = words_of_cost(some) or "-"
    return cost if _cost_header(nodes) == "cost" else cost.removesuffix(" a month")


def _group(group: GrownGroup) -> tuple[str, ...]:
    limits = [*([] if group.max is None else [str(group.max)]), *([group.limits] if group.limits else [])]
    full = " (full)" if group.full else ""
    return (group.group, str(group.size), str(group.to), f"{', '.join(limits) or NONE}{full}")


def choice_of(placement: Placement, minor: str) -> str:
    """``of 3 equal nodes the one that 1.36 takes``, or ``any of 3, by chance``; nothing where no node was as good."""
    match placement.choice:
        case "heap":
            return f"of {placement.ties} equal nodes the one that {minor} takes"
        case "draw":
            return f"any of {placement.ties}, by chance"
    return ""


def choice_lines(placements: Sequence[Placement], minor: str) -> Iterator[str]:
    """A legend for the ties of several placements."""
    choices = {placement.choice for placement in placements}
    if "heap" in choices:
        yield f"Ties: of equal nodes each time the one that {minor} takes."
    if "draw" in choices:
        others = "where they were drawn, any" if "heap" in choices else "any"
        yield f"Ties: {others} of the equal nodes, by chance."
    if "hint" in choices:
        yield "Without a score: on the next best node of the pod before, which is identical."
