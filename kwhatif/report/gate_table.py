"""The gate's report for a terminal: the verdict, the findings with their reasons, what changed, and what the rules say.

Lines are broken to fit the width; colour is for those who look at a terminal, and whoever asks for it knows whether
somebody does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kwhatif.report.blocks import NONE
from kwhatif.report.escape import clean, in_text
from kwhatif.report.fidelity_text import fidelity_blocks
from kwhatif.report.gate_words import at, found, judged, place_of, shortened, tally
from kwhatif.report.screen import Screen
from kwhatif.report.tables import text_of
from kwhatif.results.gate import Change, Exemption, Finding, GateResult

WIDTH = 100
"""How wide it is where nobody says: in a file or in the log of a pipeline."""

LONGEST_NAME = 120

_UNASKED = ("not applicable", "off")
"""Rules with these say nothing but that."""


def gate_table(result: GateResult, screen: Screen | None = None) -> str:
    """The report, no line of it wider than the screen unless a single name is."""
    return _Report(screen or Screen(WIDTH)).of(result)


class _Report:
    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def of(self, result: GateResult) -> str:
        parts = [[*self._verdict(result)]]
        parts += [[*self._finding(finding, result.explaining(finding.pod))] for finding in result.findings]
        parts.append([*self._exemptions(result.exemptions)])
        parts.append([*self._changes(result.changes)])
        parts.append([*self._rules(result)])
        standing = text_of(fidelity_blocks(result.fidelity)).splitlines()
        parts.append(
            [line for text in standing for line in self._screen.wrapped(text, "  " if text.startswith("*") else "")]
        )
        return in_text("\n".join("".join(f"{line}\n" for line in part) for part in parts if part))

    def _verdict(self, result: GateResult) -> Iterator[str]:
        word = result.verdict.upper()
        first, *rest = self._screen.wrapped(f"{word}  {found(result)}", "      ")
        yield self._screen.painted(word, result.verdict) + first[len(word) :]
        yield from rest
        yield from self._screen.wrapped(judged(result))

    def _finding(self, finding: Finding, command: str) -> Iterator[str]:
        level = finding.level.upper()
        names = [f"{level:<5}", finding.rule, str(finding.subject or ""), at(place_of(finding))]
        first, *rest = self._screen.lined([shortened(clean(name), LONGEST_NAME) for name in names if name])
        yield self._screen.painted(level, finding.level) + first[len(level) :]
        yield from rest
        yield from self._screen.wrapped(finding.title, "  ", "  ")
        yield from self._screen.wrapped(finding.message, "  ", "  ")
        if finding.hint:
            yield from self._screen.wrapped(f"hint: {finding.hint}", "        ", "  ")
        if command:
            yield f"  {clean(command)}"

    def _exemptions(self, exemptions: Sequence[Exemption]) -> Iterator[str]:
        if exemptions:
            yield self._screen.painted("EXEMPTED", "heading")
            rows = [(e.rule, f"({e.finding.level})", str(e.subject), at(place_of(e.finding))) for e in exemptions]
            for row, exemption in zip(rows, exemptions, strict=True):
                yield from self._screen.lined([shortened(clean(cell), LONGEST_NAME) for cell in row if cell])
                yield from self._screen.wrapped(
                    f"{exemption.finding.title}; exempted since: {exemption.reason}", "  ", "  "
                )

    def _changes(self, changes: Sequence[Change]) -> Iterator[str]:
        shown = [change for change in changes if change.what != "unchanged"]
        if shown:
            yield self._screen.painted("CHANGE", "heading")
            head, *rows = self._table(("what", "object", "pods"), [_change_row(change) for change in shown])
            yield from head
            for lines, change in zip(rows, shown, strict=True):
                yield from lines
                for detail in change.details:
                    yield from self._screen.wrapped(detail, "    ", "  ")
            if len(shown) < len(changes):
                yield f"and {len(changes) - len(shown)} unchanged"

    def _rules(self, result: GateResult) -> Iterator[str]:
        if not result.rules:
            return
        first, *rest = self._screen.wrapped(f"RULES  {tally(result)}", "       ")
        yield self._screen.painted("RULES", "heading") + first.removeprefix("RULES")
        yield from rest
        rows = [
            (outcome.rule, outcome.status, str(outcome.checked), outcome.summary or NONE)
            for outcome in result.rules
            if outcome.status not in _UNASKED
        ]
        if rows:
            for lines in self._table(("rule", "status", "checked", "found"), rows):
                yield from lines
        for status in _UNASKED:
            rules = dict.fromkeys(outcome.rule for outcome in result.rules if outcome.status == status)
            if rules:
                yield from self._screen.wrapped(f"{status.capitalize()}: {', '.join(rules)}.", "  ")
        if result.policy:
            yield from self._screen.wrapped(f"Rules from {result.policy}.", "  ")

    def _table(self, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[list[str]]:
        """The header's lines and those of each row."""
        cells = [[shortened(clean(cell), LONGEST_NAME) for cell in row[:-1]] + [row[-1]] for row in rows]
        return self._screen.table([[header.upper() for header in headers], *cells])


def _change_row(change: Change) -> tuple[str, ...]:
    pods = f"{change.pods_before} -> {change.pods_after}" if change.pods_before or change.pods_after else "-"
    return (change.what, str(change.subject), pods)
