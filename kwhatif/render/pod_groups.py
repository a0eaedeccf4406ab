"""Pod groups as tables: the outcome of each, and what each domain lacks for those that do not run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kwhatif.render.blocks import NONE, Block, Column, Facts, Heading, Lines, Part, build_table, table
from kwhatif.results.amounts import format_count, format_some
from kwhatif.results.explain import GroupReport
from kwhatif.results.group_outcome import GroupDisruption, GroupOutcome
from kwhatif.results.place import Victim

_WHOLE, _NO_DOMAIN = "<whole cluster>", "-"


def group_blocks(groups: Sequence[GroupOutcome]) -> list[Block]:
    """A row a group; below them the domains of those that do not run."""
    if not groups:
        return []
    rows = tuple((group.outcome, group.text, _where(group), _message(group)) for group in groups)
    blocks: list[Block] = [Heading("GROUPS"), table(("OUTCOME", "GROUP", "DOMAIN", "MESSAGE"), rows)]
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
        blocks += [Heading("DOMAINS OF GROUPS THAT DO NOT RUN"), table(headers, lacking)]
    return blocks


def _message(group: GroupOutcome) -> str:
    evicts = f"evicts {', '.join(group.evicted)}" if group.evicted else ""
    return "; ".join(text for text in (group.message, evicts) if text)


def _where(group: GroupOutcome) -> str:
    return next((domain.name for domain in group.domains if domain.chosen and domain.name), _NO_DOMAIN)


def group_report_blocks(reports: Sequence[GroupReport]) -> Iterator[Block]:
    """Each group: what became of it, what it lacks in each domain, or why one was chosen, and what would help."""
    for report in reports:
        outcome = report.outcome
        blocks = [Facts(tuple(_facts(report))), *_domain_table(report), *_fixes(report)]
        yield Part((Heading(f"GROUP {outcome.group}"), *blocks), urgent=not outcome.good)


def _facts(report: GroupReport) -> Iterator[tuple[str, str]]:
    outcome = report.outcome
    if report.runs_in:
        yield "Runs in", report.runs_in
    yield "Today" if report.runs_in else "Outcome", outcome.text
    if report.topology_key:
        yield "All in one", report.topology_key
    if outcome.bound and (where := _where(outcome)) != _NO_DOMAIN:
        yield "Domain", where
    yield "PodGroup's priority", str(report.priority)
    if message := _message(outcome):
        yield "Message", message


def _domain_table(report: GroupReport) -> Iterator[Block]:
    outcome = report.outcome
    scored = sorted({plugin for domain in outcome.domains for plugin in domain.scores})
    columns: dict[str, list[str]] = {
        "DOMAIN": [domain.name or _WHOLE for domain in outcome.domains],
        "NODES": [str(domain.nodes) for domain in outcome.domains],
        "FIT": [f"{domain.fit}/{outcome.members}" for domain in outcome.domains],
        "CHOSEN": ["*" if domain.chosen else "" for domain in outcome.domains],
        "THE GROUP LACKS": ["; ".join(domain.lacks) for domain in outcome.domains],
        "THE NEXT MEMBER": [domain.reason for domain in outcome.domains],
        **{plugin: [str(domain.scores.get(plugin, NONE)) for domain in outcome.domains] for plugin in scored},
    }
    used = {head: cells for head, cells in columns.items() if any(cells)}
    if outcome.domains:
        rows = tuple(zip(*used.values(), strict=True))
        yield Heading(f"DOMAINS of {outcome.group}")
        yield table([Column(head, name=head in scored) for head in used], rows)


def _fixes(report: GroupReport) -> Iterator[Block]:
    if report.fixes:
        works = "this works" if len(report.fixes) == 1 else "these work"
        yield Heading(f"FIXES: tried {format_count(report.tried, 'change')}, {works}")
        rows = tuple(
            (fix.change, fix.domain or _WHOLE, str(fix.bound), _departures(fix.leaving) or NONE) for fix in report.fixes
        )
        yield table(("CHANGE", "RUNS IN", "BOUND", "EVICTED"), rows)
    elif report.tried:
        yield Lines((f"FIXES: none of {format_count(report.tried, 'change')} tried helps.",))


def _departures(leaving: Sequence[Victim]) -> str:
    """``ml/batch-7 from node-2 to node-5``; one that finds no other node goes nowhere."""
    return format_some([f"{pod.pod} from {pod.node} to {pod.lands_on or 'nowhere'}" for pod in leaving])


def disruption_table(heading: str, groups: Sequence[tuple[str, GroupDisruption]], first: str = "") -> list[Block]:
    """The groups that lose members, each beside what happens to it, if there is a ``first`` column for that."""
    rows = []
    for about, group in groups:
        cells = (group.group, group.needs or NONE, group.before, group.stay, group.after, group.text)
        rows.append((about, *cells) if first else cells)
    headers = ("group", "needs", "ran before", "stay", "run after", "outcome")
    return build_table(heading, (first, *headers) if first else headers, rows)
