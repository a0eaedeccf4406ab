"""What autoscalers add, in words: nodes, the groups that grow, the cost, and why no node comes for others."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.report.blocks import NONE, Block, Grouping, Lines, titled
from kwhatif.results.added_nodes import AddedNode, Chance, GrownGroup, ScaleUp
from kwhatif.results.amounts import counted, lasted, some


def scale_up_blocks(found: ScaleUp | None) -> list[Block]:
    """Nothing if no autoscaler was asked."""
    if found is None:
        return []
    columns = ("node", "of", "type", "pods", "there after", "a month")
    blocks = titled("NEW NODES", columns, map(_node, found.nodes), None, Grouping("node", (1, 2, 4, 5), (0,)), (0,))
    headers = ("group", "size", "then", "at most", "a month")
    blocks += titled("GROUPS THAT GROW", headers, map(_group, found.groups))
    refused = [(each.pod, "; ".join(map(str, each.refusals))) for each in found.unhelped]
    blocks += titled("WHY NO NODE COMES", ("pod", "why"), refused, None, Grouping("pod", (1,), (0,)))
    return [*blocks, *chance_blocks(found.chance)]


def added(found: ScaleUp | None) -> str:
    """``2 new nodes, 277.40 more a month``; nothing if there are none."""
    if found is None or not found.nodes:
        return ""
    cost = "" if found.cost is None else f", {found.cost:,.2f} more a month"
    return f"{counted(len(found.nodes), 'new node')}{cost}"


def chance_blocks(chance: Chance | None, listed: str = "nodes and pods are listed") -> Iterator[Block]:
    """What another order, in which something is ``listed``, would have led to, if anything else."""
    if chance is None or not (chance.plans or chance.pods):
        return
    texts = [f"the plan may be {'; or '.join(chance.plans)}"] if chance.plans else []
    texts += [f"which pods are helped: {some(chance.pods)}"] if chance.pods else []
    yield Lines((f"Left to chance, by the order in which {listed}: {'; '.join(texts)}.",))


def _node(node: AddedNode) -> tuple[str, ...]:
    whose = f"NodePool {node.group}" if node.types else f"group {node.group}"
    return (
        node.node,
        whose,
        node.types[0] if node.types else NONE,
        str(len(node.pods)),
        lasted(int(node.time)),
        "-" if node.cost is None else f"{node.cost:,.2f}",
    )


def _group(group: GrownGroup) -> tuple[str, ...]:
    limits = [*([] if group.max is None else [str(group.max)]), *([group.limits] if group.limits else [])]
    full = " (full)" if group.full else ""
    cost = "-" if group.cost is None else f"{group.cost:,.2f}"
    return (group.group, str(group.size), str(group.to), f"{', '.join(limits) or NONE}{full}", cost)
