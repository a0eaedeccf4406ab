"""Pod groups as tables: the outcome of each, and what each domain lacks for those that do not run."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.render.blocks import Block, Heading, Table
from kwhatif.results.group_outcome import GroupOutcome

_WHOLE = "<whole cluster>"


def group_blocks(groups: Sequence[GroupOutcome]) -> list[Block]:
    """A row a group; below them the domains of those that do not run."""
    if not groups:
        return []
    rows = tuple((group.outcome, group.text, _where(group), _message(group)) for group in groups)
    blocks: list[Block] = [Heading("GROUPS"), Table(("OUTCOME", "GROUP", "DOMAIN", "MESSAGE"), rows)]
    lacking = tuple(
        (
            group.group,
            domain.name or _WHOLE,
            str(domain.nodes),
            f"{domain.fit}/{group.members}",
            "; ".join(domain.lacks),
            domain.reason,
        )
        for group in groups
        if not group.good
        for domain in group.domains
    )
    if lacking:
        headers = ("GROUP", "DOMAIN", "NODES", "FIT", "THE GROUP LACKS", "THE NEXT MEMBER")
        blocks += [Heading("DOMAINS OF GROUPS THAT DO NOT RUN"), Table(headers, lacking)]
    return blocks


def _message(group: GroupOutcome) -> str:
    evicts = f"evicts {', '.join(group.evicted)}" if group.evicted else ""
    return "; ".join(text for text in (group.message, evicts) if text)


def _where(group: GroupOutcome) -> str:
    return next((domain.name for domain in group.domains if domain.chosen and domain.name), "-")
