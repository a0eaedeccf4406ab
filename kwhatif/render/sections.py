"""What an answer stands on, in a few lines.

What autoscalers add, in words: nodes, the groups that grow, the cost, and why no node comes for others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kwhatif.render.blocks import NONE, Block, Grouping, Heading, Lines, build_table
from kwhatif.results.amounts import format_age, format_count, format_some
from kwhatif.results.base import Fidelity
from kwhatif.results.place import AddedNode, Chance, GrownGroup, ScaleUp


def fidelity_blocks(fidelity: Fidelity, shown_by: str = "--all") -> list[Block]:
    """The rules and the snapshot, then the gaps: those that touch a pod asked about one by one, the others briefly."""
    lines = (describe_fidelity(fidelity), *describe_edits(fidelity.edits))
    touching = fidelity.touching
    whole, brief = _others([gap.what for gap in fidelity.gaps if not gap.pods], shown_by)
    if not touching:
        said = [f"No gap touches these pods{f' ({others})' if others else ''}." for others in (whole, brief)]
        return [Lines((*lines, said[0]), brief=(*lines, said[1]))]
    gaps = [f"* {gap} [{format_some(gap.pods)}]" for gap in touching]
    listed = [(*gaps, f"  {others}") if others else tuple(gaps) for others in (whole, brief)]
    return [Lines(lines), Heading("GAPS (* touches these pods)"), Lines(listed[0], listed=True, brief=listed[1])]


def describe_edits(edits: Sequence[str]) -> tuple[str, ...]:
    """One line that says what was changed for this answer, if anything was."""
    return (f"With edits: {'; '.join(edits)}.",) if edits else ()


_MISSING = "the snapshot holds no "


_FEW = 2
"""Kinds that the snapshot lacks, and that are named to everybody."""


def _others(gaps: list[str], shown_by: str) -> tuple[str, str]:
    """Gaps that touch no pod in one sentence, the kinds that a snapshot lacks together; and with their number."""
    kinds = [gap.removeprefix(_MISSING) for gap in gaps if gap.startswith(_MISSING)]
    each = dict.fromkeys(kind for several in kinds for kind in several.split(", "))
    missing = [_MISSING + ", ".join(each)] if each else []
    brief = [f"the snapshot lacks {len(each)} kinds; {shown_by} names them"] if len(each) > _FEW else missing
    more = [gap for gap in gaps if not gap.startswith(_MISSING)]
    return "; ".join([*missing, *more]), "; ".join([*more, *brief])


def describe_fidelity(fidelity: Fidelity) -> str:
    """The rules, and the snapshot they were applied to, in a sentence."""
    source = f" from {fidelity.source}" if fidelity.source else ""
    version = f" of Kubernetes {fidelity.cluster.removeprefix('v')}" if fidelity.cluster else ""
    if isinstance(fidelity.age_seconds, int):
        what, taken = "live snapshot", f"{format_age(fidelity.age_seconds)} old"
    else:
        what, taken = "snapshot", f"taken {fidelity.taken_at or 'at an unknown time'}"
    return f"Rules of Kubernetes {fidelity.rules}; {what}{version}{source}, {taken}."


def scale_up_blocks(found: ScaleUp | None) -> list[Block]:
    """Nothing if no autoscaler was asked."""
    if found is None:
        return []
    columns = ("node", "of", "type", "pods", "there after", "a month")
    blocks = build_table(
        "NEW NODES", columns, map(_node, found.nodes), None, Grouping("node", (1, 2, 4, 5), (0,)), (0,)
    )
    headers = ("group", "size", "then", "at most", "a month")
    blocks += build_table("GROUPS THAT GROW", headers, map(_group, found.groups))
    refused = [(each.pod, "; ".join(map(str, each.refusals))) for each in found.unhelped]
    blocks += build_table("WHY NO NODE COMES", ("pod", "why"), refused, None, Grouping("pod", (1,), (0,)))
    return [*blocks, *chance_blocks(found.chance)]


def describe_scale_up(found: ScaleUp | None) -> str:
    """``2 new nodes, 277.40 more a month``; nothing if there are none."""
    if found is None or not found.nodes:
        return ""
    cost = "" if found.cost is None else f", {found.cost:,.2f} more a month"
    return f"{format_count(len(found.nodes), 'new node')}{cost}"


def chance_blocks(chance: Chance | None, listed: str = "nodes and pods are listed") -> Iterator[Block]:
    """What another order, in which something is ``listed``, would have led to, if anything else."""
    if chance is None or not (chance.plans or chance.pods):
        return
    texts = [f"the plan may be {'; or '.join(chance.plans)}"] if chance.plans else []
    texts += [f"which pods are helped: {format_some(chance.pods)}"] if chance.pods else []
    yield Lines((f"Left to chance, by the order in which {listed}: {'; '.join(texts)}.",))


def _node(node: AddedNode) -> tuple[str, ...]:
    whose = f"NodePool {node.group}" if node.types else f"group {node.group}"
    return (
        node.node,
        whose,
        node.types[0] if node.types else NONE,
        str(len(node.pods)),
        format_age(int(node.time)),
        "-" if node.cost is None else f"{node.cost:,.2f}",
    )


def _group(group: GrownGroup) -> tuple[str, ...]:
    limits = [*([] if group.max is None else [str(group.max)]), *([group.limits] if group.limits else [])]
    full = " (full)" if group.full else ""
    cost = "-" if group.cost is None else f"{group.cost:,.2f}"
    return (group.group, str(group.size), str(group.to), f"{', '.join(limits) or NONE}{full}", cost)
