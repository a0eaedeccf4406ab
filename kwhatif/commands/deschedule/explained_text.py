"""Explanations of descheduling as blocks: a table of plugins for each pod."""

from __future__ import annotations

from kwhatif.commands.deschedule.result import DescheduleExplained, PodDescheduled
from kwhatif.commands.view import View
from kwhatif.render.blocks import Block, Heading, Lines, Verdict, build_table
from kwhatif.render.page_spec import PageSpec, answer_in_words
from kwhatif.render.sections import fidelity_blocks

_WORDS = {
    "evicts": "evicts it",
    "refused": "tries, and is refused",
    "protected": "may not",
    "leaves": "leaves it",
    "gone": "finds it gone",
}


def deschedule_explained_blocks(result: DescheduleExplained) -> list[Block]:
    """The report."""
    blocks: list[Block] = []
    for pod in result.pods:
        blocks += _pod_blocks(pod)
    evicted = sum(pod.evicted for pod in result.pods)
    blocks.append(Verdict(f"{evicted} of {len(result.pods)} evicted by the next cycle", not result.exit_code))
    return [*blocks, *fidelity_blocks(result.fidelity)]


def _pod_blocks(pod: PodDescheduled) -> list[Block]:
    title = f"{pod.pod} on {pod.node}" if pod.node else pod.pod
    if pod.outside:
        return [Heading(title), Lines((f"No plugin looks at it: {pod.outside}.",))]
    rows = [(each.profile, each.plugin, _WORDS[each.verdict], each.reason) for each in pod.verdicts]
    return build_table(title, ("profile", "plugin", "what it does", "why"), rows)


VIEW = View(lambda result, look: deschedule_explained_blocks(result))
PAGE = PageSpec(
    "explain",
    answer_in_words("No pod is evicted", "A pod is evicted"),
    deschedule_explained_blocks,
    "What is explained",
)
