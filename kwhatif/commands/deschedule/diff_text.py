"""What two policies of the descheduler differ in, in words."""

from __future__ import annotations

from kwhatif.commands.deschedule.diff_result import DescheduleDiff
from kwhatif.commands.deschedule.result import DescheduleResult
from kwhatif.render.blocks import Block, Grouping, Verdict, build_table
from kwhatif.render.page_spec import PageSpec, answer_in_words
from kwhatif.render.sections import fidelity_blocks
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
        "THE FIRST CYCLE", ("pod", "node", "A", "B"), pods, None, Grouping("pod", (1, 2, 3), (0,)), (1,)
    )
    text = (
        f"{format_count(len(result.pods), 'pod')} evicted otherwise" if result.pods else "The first cycles do the same"
    )
    blocks.append(Verdict(text if result.differs else "Nothing differs", not result.exit_code))
    return [*blocks, *fidelity_blocks(result.b.fidelity)]


def _rest(side: DescheduleResult) -> str:
    if side.thrash:
        return f"never: {format_count(len(side.thrash), 'pod')} moved for ever"
    return f"after {format_count(side.cycles, 'cycle')}" if side.quiet else "not yet"


def _way(plugin: str, lands_on: str) -> str:
    return f"{plugin} -> {lands_on}" if plugin else "stays"


PAGE = PageSpec(
    "diff", answer_in_words("No difference", "They differ", "differs"), deschedule_diff_blocks, "What is compared"
)
