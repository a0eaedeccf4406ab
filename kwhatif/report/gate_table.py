"""The gate's report for a terminal: the verdict, the findings with their reasons, what changed, and what the rules say.

Lines are broken to fit the width; colour is for those who look at a terminal, and whoever asks for it knows whether
somebody does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from kwhatif.report.blocks import NONE
from kwhatif.report.escape import clean, in_text
from kwhatif.report.fidelity_text import fidelity_blocks
from kwhatif.report.gate_words import at, found, judged, place_of, shortened, tally
from kwhatif.report.tables import columns, text_of
from kwhatif.results.gate import Change, Exemption, Finding, GateResult

WIDTH = 100
"""How wide it is where nobody says: in a file or in the log of a pipeline."""

NARROWEST = 60
LONGEST_NAME = 120

_UNASKED = ("not applicable", "off")
"""Rules with these say nothing but that."""

_STYLES = {"error": "bold red", "fail": "bold red", "warn": "bold yellow", "pass": "bold green", "heading": "bold"}


def gate_table(result: GateResult, *, width: int = WIDTH, colour: bool = False) -> str:
    """The report, no line of it wider than ``width`` columns unless a single name is."""
    return _Terminal(max(width, NARROWEST), colour).report(result)


class _Terminal:
    def __init__(self, width: int, colour: bool) -> None:
        self._width, self._colour = width, colour

    def report(self, result: GateResult) -> str:
        parts = [[*self._verdict(result)]]
        parts += [[*self._finding(finding)] for finding in result.findings]
        parts.append([*self._exemptions(result.exemptions)])
        parts.append([*self._changes(result.changes)])
        parts.append([*self._rules(result)])
        standing = text_of(fidelity_blocks(result.fidelity)).splitlines()
        parts.append([line for text in standing for line in self._wrapped(text, "  " if text.startswith("*") else "")])
        return in_text("\n".join("".join(f"{line}\n" for line in part) for part in parts if part))

    def _verdict(self, result: GateResult) -> Iterator[str]:
        word = result.verdict.upper()
        first, *rest = self._wrapped(f"{word}  {found(result)}", "      ")
        yield self._painted(word, result.verdict) + first[len(word) :]
        yield from rest
        yield from self._wrapped(judged(result))

    def _finding(self, finding: Finding) -> Iterator[str]:
        level = finding.level.upper()
        names = [f"{level:<5}", finding.rule, str(finding.subject or ""), at(place_of(finding))]
        first, *rest = self._lined([shortened(clean(name), LONGEST_NAME) for name in names if name])
        yield self._painted(level, finding.level) + first[len(level) :]
        yield from rest
        yield from self._wrapped(finding.title, "  ", "  ")
        yield from self._wrapped(finding.message, "  ", "  ")
        if finding.hint:
            yield from self._wrapped(f"hint: {finding.hint}", "        ", "  ")

    def _exemptions(self, exemptions: Sequence[Exemption]) -> Iterator[str]:
        if exemptions:
            yield self._painted("EXEMPTED", "heading")
            rows = [(e.rule, f"({e.finding.level})", str(e.subject), at(place_of(e.finding))) for e in exemptions]
            for row, exemption in zip(rows, exemptions, strict=True):
                yield from self._lined([shortened(clean(cell), LONGEST_NAME) for cell in row if cell])
                yield from self._wrapped(f"{exemption.finding.title}; exempted since: {exemption.reason}", "  ", "  ")

    def _changes(self, changes: Sequence[Change]) -> Iterator[str]:
        shown = [change for change in changes if change.what != "unchanged"]
        if shown:
            yield self._painted("CHANGE", "heading")
            head, *lines = self._table(("what", "object", "pods"), [_change_row(change) for change in shown])
            yield head
            for line, change in zip(lines, shown, strict=True):
                yield line
                for detail in change.details:
                    yield from self._wrapped(detail, "    ", "  ")
            if len(shown) < len(changes):
                yield f"and {len(changes) - len(shown)} unchanged"

    def _rules(self, result: GateResult) -> Iterator[str]:
        if not result.rules:
            return
        first, *rest = self._wrapped(f"RULES  {tally(result)}", "       ")
        yield self._painted("RULES", "heading") + first.removeprefix("RULES")
        yield from rest
        rows = [
            (outcome.rule, outcome.status, str(outcome.checked), outcome.summary or NONE)
            for outcome in result.rules
            if outcome.status not in _UNASKED
        ]
        if rows:
            yield from self._table(("rule", "status", "checked", "found"), rows)
        for status in _UNASKED:
            rules = dict.fromkeys(outcome.rule for outcome in result.rules if outcome.status == status)
            if rules:
                yield from self._wrapped(f"{status.capitalize()}: {', '.join(rules)}.", "  ")
        if result.policy:
            yield from self._wrapped(f"Rules from {result.policy}.", "  ")

    # --- lines

    def _painted(self, text: str, kind: str) -> str:
        if not self._colour:
            return text
        from rich.style import Style

        return Style.parse(_STYLES[kind]).render(text)

    def _wrapped(self, text: str, indent: str = "", first: str = "") -> list[str]:
        """The text on as many lines as it takes; ``indent`` is before all but the first."""
        lines = wrap(clean(text), self._width, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False)
        return lines or [first.rstrip()]

    def _lined(self, names: Sequence[str]) -> list[str]:
        """Names two blanks apart, on a line of their own where they do not fit any more."""
        lines = [names[0]]
        for name in names[1:]:
            if len(lines[-1]) + 2 + len(name) <= self._width:
                lines[-1] += f"  {name}"
            else:
                lines.append(f"  {name}")
        return [line.rstrip() for line in lines]

    def _table(self, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
        """Columns whose last one, which holds sentences, is broken into lines where it must be."""
        rows = [[*(shortened(clean(cell), LONGEST_NAME) for cell in row[:-1]), clean(row[-1])] for row in rows]
        used = sum(2 + max(len(row[i]) for row in (headers, *rows)) for i in range(len(headers) - 1))
        room = max(self._width - used, NARROWEST // 3)
        broken: list[tuple[str, ...]] = []
        for row in rows:
            first, *rest = wrap(row[-1], room, break_on_hyphens=False) or [""]
            broken += [(*row[:-1], first), *((*[""] * (len(row) - 1), line) for line in rest)]
        return columns(headers, broken).split("\n")


def _change_row(change: Change) -> tuple[str, ...]:
    pods = f"{change.pods_before} -> {change.pods_after}" if change.pods_before or change.pods_after else "-"
    return (change.what, str(change.subject), pods)
