"""The gate's report as a comment on a pull request: the verdict, the findings, and the rest folded away.

Comments have a maximum length. What does not fit is left out, from the end of each list, and the comment says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from kwhatif.commands.gate.formats.words import (
    describe_change,
    format_location,
    headline,
    lines_around,
    numbers,
    place_of,
    shorten_text,
    tally,
)
from kwhatif.render.escape import clean, in_markup
from kwhatif.render.formats import code, escape_line, escape_markdown, render_table
from kwhatif.render.sections import describe_edits, describe_fidelity
from kwhatif.results.amounts import format_count, format_some
from kwhatif.results.gate import Change, Exemption, Finding, GateResult, RuleOutcome

MARKER = "<!-- kwhatif gate -->"
"""The first line, which no page shows: who comments again looks for it, and replaces the comment."""

LONGEST = 65_000
"""In UTF-16 units, which are no fewer than characters. GitHub takes 65,536 characters, the others more."""

LONGEST_NAME = 120
LONGEST_TEXT = 1_000
MOST_SHOWN = 30
"""Findings, exemptions and warnings above the fold. The folded list has them all, if they fit."""

MOST_FIELDS = 8

_SIGNS = {"pass": "✅", "warn": "⚠️", "fail": "❌", "unknown": "❔"}
_LEVELS = {"error": "❌ error", "warn": "⚠️ warning"}


class _Part(msgspec.Struct, frozen=True):
    """A list of ``rows`` between two texts; ``most`` of them are shown, those that fit."""

    opening: str
    rows: Sequence[str] = ()
    closing: str = ""
    most: int = 1_000_000

    def size(self) -> int:
        return _units(self.opening + self.closing + self.left_out(len(self.rows)))

    def left_out(self, number: int) -> str:
        return f"\n_{number} more not shown here. The other reports have everything._\n"


def gate_markdown(result: GateResult) -> str:
    """The comment as GitHub-flavoured Markdown."""
    parts = [*_above(result), *_collapsible_parts(result)]
    room = LONGEST - sum(part.size() for part in parts)
    text = []
    for part in parts:
        kept = 0
        for row in part.rows[: part.most]:
            room -= _units(row)
            if room < 0:
                break
            kept += 1
        left = len(part.rows) - kept
        text += [part.opening, *part.rows[:kept], part.left_out(left) if left else "", part.closing]
    return in_markup("".join(text))


def _above(result: GateResult) -> Iterator[_Part]:
    title = f"## {_SIGNS[result.verdict]} kwhatif gate: {escape_markdown(headline(result))}"
    yield _Part(f"{MARKER}\n{title}\n\n{_text(describe_change(result))}\n")
    if result.findings:
        rows = [(_LEVELS[f.level], code(f.rule), _about(f), _text(f.title), _where(f)) for f in result.findings]
        yield _table(("", "Rule", "About", "Finding", "Where"), rows, most=MOST_SHOWN)
    if result.exemptions:
        yield _Part(f"\n**Exempted: {len(result.exemptions)}**\n")
        headers = ("Rule", "About", "Finding", "Why it does not count", "Where")
        yield _table(headers, [_exemption_row(exemption) for exemption in result.exemptions], most=MOST_SHOWN)
    if result.warnings:
        yield _Part("", [f"\n> Warning: {_text(warning)}\n" for warning in result.warnings], most=MOST_SHOWN)


def _collapsible_parts(result: GateResult) -> Iterator[_Part]:
    if result.findings:
        whole = [_in_full(result, finding) for finding in result.findings]
        yield _details("Findings in full", _Part("", whole))
    changes = [change for change in result.changes if change.what != "unchanged"]
    if changes:
        table = _table(("", "Object", "Pods", "Fields", "Where"), [_change_row(change) for change in changes])
        yield _details(f"What changed: {format_count(len(changes), 'object')}", table)
    rows = [(file.use, code(file.file), _text(file.reason)) for file in result.files.changed if file.reason]
    if rows:
        text = f"Changed files without objects: {len(rows)}"
        yield _details(text, _table(("", "File", "Why"), rows, most=MOST_SHOWN))
    if result.rules:
        headers = ("Rule", "Status", "Looked at", "Wanted", "Found")
        table = _table(headers, [_outcome(outcome) for outcome in result.rules])
        yield _details(f"Rules: {tally(result)}", table)
    fidelity = result.fidelity
    lines = [describe_fidelity(fidelity), *describe_edits(fidelity.edits)]
    lines += [f"Rules of the gate from {result.policy}."] if result.policy else []
    lines += [f"{gap}{f' ({format_some(gap.pods)})' if gap.pods else ''}" for gap in fidelity.gaps]
    touching = len(fidelity.touching)
    text = f"{format_count(touching, 'gap')} {'touches' if touching == 1 else 'touch'} these pods"
    yield _details(
        f"What the answer is based on{f': {text}' if touching else ''}",
        _Part("\n", [f"- {escape_line(shorten_text(clean(line), LONGEST_TEXT))}\n" for line in lines]),
    )


def _details(summary: str, part: _Part) -> _Part:
    """The part, folded away. It is read as Markdown since an empty line stands before it."""
    opening = f"\n<details>\n<summary>{escape_markdown(summary)}</summary>\n{part.opening}"
    return _Part(opening, part.rows, f"{part.closing}\n</details>\n", part.most)


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]], most: int = 1_000_000) -> _Part:
    head, rule, *lines = render_table(headers, rows).split("\n")
    return _Part(f"\n{head}\n{rule}\n", [f"{line}\n" for line in lines], most=most)


def _in_full(result: GateResult, finding: Finding) -> str:
    """One paragraph. Each of its lines begins with a word of ours, so that no text makes a list or a heading."""
    names = ", ".join(filter(None, (code(finding.rule), _about(finding), _where(finding))))
    lines = [
        f"**{_LEVELS[finding.level]}** {names}",
        f"Finding: {_text(finding.title)}",
        f"Why: {_text(finding.message)}",
    ]
    lines += [f"Measured: {_text(numbers(finding))}"] if finding.numbers else []
    lines += [f"Hint: {_text(finding.hint)}"] if finding.hint else []
    changed = 0 if finding.location is None else finding.location.line
    for number, text in lines_around(result, finding):
        lines.append(f"{'Changed line' if number == changed else 'Line'} {number}: {_name(text)}")
    command = result.explain_command_of(finding.pod)
    lines += [f"Explained by: {code(command)}"] if command else []
    return "\n" + "  \n".join(lines) + "\n"


def _exemption_row(exemption: Exemption) -> tuple[str, ...]:
    finding = exemption.finding
    return (
        code(exemption.rule),
        _name(str(exemption.subject)),
        f"{_text(finding.title)} ({finding.level})",
        _text(exemption.reason),
        _where(finding),
    )


def _change_row(change: Change) -> tuple[str, ...]:
    pods = change.pods.replace(" -> ", "&nbsp;→&nbsp;") or "–"
    fields = [_text(detail) for detail in change.details[:MOST_FIELDS]]
    more = len(change.details) - len(fields)
    fields += [f"and {more} more"] if more else []
    return (change.what, _name(str(change.subject)), pods, "<br>".join(fields) or "–", _where(change))


def _outcome(outcome: RuleOutcome) -> tuple[str, ...]:
    texts = (_text(outcome.threshold), _text(outcome.summary))
    return (code(outcome.rule), outcome.status, str(outcome.checked), *(text or "–" for text in texts))


def _about(finding: Finding) -> str:
    return _name(str(finding.subject)) if finding.subject else ""


def _where(about: Finding | Change) -> str:
    return _name(format_location(place_of(about)))


def _name(name: str) -> str:
    return code(shorten_text(clean(name), LONGEST_NAME)) if name else ""


def _text(text: str) -> str:
    return escape_markdown(shorten_text(clean(text), LONGEST_TEXT))


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2
