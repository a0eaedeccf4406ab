"""The comparison of two descheduler policies as blocks."""

from __future__ import annotations

from kwhatif.commands.deschedule.result import DescheduleDiff, DescheduleResult
from kwhatif.commands.view import View
from kwhatif.render.blocks import Block, Grouping, build_table
from kwhatif.render.page_spec import PageSpec, answer_by_outcome
from kwhatif.render.sections import fidelity_blocks, verdict_of
from kwhatif.results.amounts import format_count


def deschedule_diff_blocks(result: DescheduleDiff) -> list[Block]:
    """The report."""
    sides = (result.a, result.b)
    rows = [
        ("policy", *(side.policy for side in sides)),
        ("evicted in the first cycle", *(sum(pod.cycle == 1 for pod in side.pods) for side in sides)),
        ("evicted in all", *(len(side.pods) for side in sides)),
        ("pending afterwards", *(len(side.pending) for side in sides)),
        ("comes to rest", *(_rest(side) for side in sides)),
    ]
    blocks = build_table("BOTH SIDES", ("", "A", "B"), rows)
    pods = [(d.pod, d.node, _way(d.plugin_a, d.lands_on_a), _way(d.plugin_b, d.lands_on_b)) for d in result.pods]
    blocks += build_table(
        "THE FIRST CYCLE", ("pod [pod]", "node [node, same]", "A [same]", "B [same]"), pods, Grouping("pod")
    )
    blocks.append(verdict_of(result.outcome))
    return [*blocks, *fidelity_blocks(result.b.fidelity, result.outcome.unknown)]


def _rest(side: DescheduleResult) -> str:
    if side.thrash:
        return f"never: {format_count(len(side.thrash), 'pod moves', 'pods move')} forever"
    return f"after {format_count(side.cycles, 'cycle')}" if side.quiet else "not yet"


def _way(plugin: str, lands_on: str) -> str:
    return f"{plugin} -> {lands_on}" if plugin else "stays"


VIEW = View(lambda result, look: deschedule_diff_blocks(result))
PAGE = PageSpec("diff", answer_by_outcome(bad="differs"), deschedule_diff_blocks, "What is compared")
