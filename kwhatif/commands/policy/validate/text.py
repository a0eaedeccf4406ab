"""Whether kube-scheduler takes a configuration, as blocks."""

from __future__ import annotations

from kwhatif.commands.policy.validate.result import PolicyCheck
from kwhatif.commands.view import View
from kwhatif.render.blocks import Block, Lines, Verdict


def check_blocks(result: PolicyCheck) -> list[Block]:
    """What is wrong with it, or that nothing is."""
    if result.problems:
        return [Lines(result.problems)]
    return [Verdict(f"{result.source}: kube-scheduler {result.rules} accepts it", True)]


VIEW = View(lambda result, look: check_blocks(result))
