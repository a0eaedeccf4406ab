"""The gate's report for a terminal: the verdict, the findings with their reasons, the change, and the rules.

Lines are wrapped to the width; whether there is colour is up to the caller.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from posixpath import commonprefix

from msgspec.structs import replace

from kwhatif.commands.gate.formats.words import (
    describe_change,
    format_location,
    lines_around,
    place_of,
    shorten_text,
    tally,
)
from kwhatif.render.blocks import NONE, inline_gaps
from kwhatif.render.escape import clean, in_text
from kwhatif.render.screen import Screen
from kwhatif.render.sections import fidelity_blocks
from kwhatif.render.tables import MOST_LINES, PLAIN, SCREEN_LINES, text_of
from kwhatif.results.amounts import format_count
from kwhatif.results.gate import Change, Exemption, Finding, GateResult

WIDTH = 100
"""Its width by default: in a file or in the log of a pipeline."""

LONGEST_NAME = 120

_MARGIN = 6
"""Lines below the findings, which say that there is more."""

_MOST_FILES = 10

_SHORT = 40
"""What is no longer is repeated."""

_TONES = {"failed": "fail", "warned": "warn", "not read": "warn"}

_UNASKED = ("not applicable", "off")
"""Rules with these say nothing but that."""


def gate_table(result: GateResult, screen: Screen = PLAIN, *, everything: bool = True, gaps: bool = False) -> str:
    """The report, no line of it wider than the screen unless a single name is.

    Where that is more than a screenful, and not ``everything`` is asked for, details are left out first, and then
    findings go without their reasons, as many as there is room for. With ``gaps`` all of them are listed.
    """
    terminal = screen.width is not None
    report = _Report(screen if terminal else replace(screen, width=WIDTH), gaps, terminal=terminal)
    shorter = () if everything else (report.without_lines, report.without_details, report.brief)
    for ways in (report.whole, *shorter):
        if len(lines := ways(result)) <= MOST_LINES:
            break
    return in_text("".join(f"{line}\n" for line in lines))


class _Report:
    def __init__(self, screen: Screen, gaps: bool, *, terminal: bool) -> None:
        self._screen, self._gaps, self._terminal = screen, gaps, terminal

    def whole(self, result: GateResult) -> list[str]:
        return self._compose(result, self._findings(result, with_lines=True), details=True)

    def without_lines(self, result: GateResult) -> list[str]:
        """The same without the lines of manifests."""
        return self._compose(result, self._findings(result), details=True)

    def without_details(self, result: GateResult) -> list[str]:
        """What changed without how, and only rules that found something."""
        return self._compose(result, self._findings(result), details=False)

    def brief(self, result: GateResult) -> list[str]:
        """The same, of each finding what it is, where, what to do and the command, as many as there is room for."""
        room = MOST_LINES - len(self._compose(result, [], details=False, rules=False)) - _MARGIN
        return self._compose(result, [[*self._list_briefly(result, room)]], details=False, rules=False)

    def _compose(
        self, result: GateResult, findings: Sequence[Sequence[str]], *, details: bool, rules: bool = True
    ) -> list[str]:
        """The report about the findings, a long one ends with the verdict on a terminal."""
        verdict = self._verdict(result)
        parts = [
            [*verdict, *self._screen.wrap(describe_change(result))],
            *findings,
            [*self._exemptions(result.exemptions)],
            [*self._files(result)],
        ]
        parts += [
            [*self._changes(result.changes, details=details)],
            [*self._rules(result, passed=details, listed=rules)],
        ]
        standing = inline_gaps(fidelity_blocks(result.fidelity, result.outcome.unknown), whole=self._gaps)
        lines_of_gaps = text_of(standing).splitlines()
        parts.append(
            [line for text in lines_of_gaps for line in self._screen.wrap(text, "  " if text.startswith("*") else "")]
        )
        lines = [line for part in parts if part for line in ("", *part)][1:]
        return [*lines, "", *verdict] if self._terminal and len(lines) > SCREEN_LINES else lines

    def _files(self, result: GateResult) -> Iterator[str]:
        """The files of the change that were not read, and why."""
        missing = [file for file in result.files.changed if file.use == "not read"]
        rows = [(file.file, f"{file.reason}{' (accepted)' if file.accepted else ''}") for file in missing]
        if not rows:
            return
        head, *drawn = self._table(("not read", "why"), rows[:_MOST_FILES])
        yield from (self._screen.paint(line, "heading") for line in head)
        for lines in drawn:
            yield from lines
        if len(rows) > _MOST_FILES:
            yield f"and {format_count(len(rows) - _MOST_FILES, 'more file')}, which -o json lists"

    def _verdict(self, result: GateResult) -> list[str]:
        word = result.verdict.upper()
        first, *rest = self._screen.wrap(result.outcome.verdict, "      ")
        return [self._screen.paint(word, result.verdict) + first[len(word) :], *rest]

    def _list_briefly(self, result: GateResult, room: int) -> Iterator[str]:
        """Findings without their reasons, and which others there are."""
        left = list(result.findings)
        for finding in result.findings:
            lines = [*self._finding(finding, result.explain_command_of(finding.pod), reason=False)]
            if len(lines) > room and left != list(result.findings):
                break
            room -= len(lines)
            left.pop(0)
            yield from lines
        if left:
            counts = Counter((finding.level.upper(), finding.rule) for finding in left)
            others = ", ".join(f"{number} {level} {rule}" for (level, rule), number in counts.items())
            yield ""
            yield from self._screen.wrap(f"{format_count(len(left), 'more finding')}: {others}.", "  ")
        yield from self._screen.wrap("--all shows every finding, with its reason and the lines of its manifest.", "  ")

    def _findings(self, result: GateResult, *, with_lines: bool = False) -> list[list[str]]:
        return [
            [
                *self._finding(
                    finding, result.explain_command_of(finding.pod), lines_around(result, finding) if with_lines else ()
                )
            ]
            for finding in _without_repetition(result.findings)
        ]

    def _finding(
        self, finding: Finding, command: str, lines: Sequence[tuple[int, str]] = (), *, reason: bool = True
    ) -> Iterator[str]:
        level = finding.level.upper()
        names = [f"{level:<5}", finding.rule, str(finding.subject or ""), format_location(place_of(finding))]
        first, *rest = self._screen.align_names([shorten_text(clean(name), LONGEST_NAME) for name in names if name])
        yield self._screen.paint(level, finding.level) + first[len(level) :]
        yield from rest
        yield from self._screen.wrap(finding.title, "  ", "  ")
        if reason:
            yield from self._screen.wrap(finding.message, "  ", "  ")
        if finding.hint:
            yield from self._screen.wrap(f"hint: {finding.hint}", "        ", "  ")
        for number, text in lines:
            mark = ">" if finding.location is not None and number == finding.location.line else " "
            yield shorten_text(f"  {mark} {number:>4} | {clean(text)}".rstrip(), self._screen.characters)
        if command:
            yield f"  {clean(command)}"

    def _exemptions(self, exemptions: Sequence[Exemption]) -> Iterator[str]:
        if exemptions:
            yield self._screen.paint("EXEMPTED", "heading")
            rows = [
                (e.rule, f"({e.finding.level})", str(e.subject), format_location(place_of(e.finding)))
                for e in exemptions
            ]
            for row, exemption in zip(rows, exemptions, strict=True):
                yield from self._screen.align_names([shorten_text(clean(cell), LONGEST_NAME) for cell in row if cell])
                yield from self._screen.wrap(
                    f"{exemption.finding.title}; exempted since: {exemption.reason}", "  ", "  "
                )

    def _changes(self, changes: Sequence[Change], *, details: bool) -> Iterator[str]:
        shown = [change for change in changes if change.what != "unchanged"]
        if shown:
            yield self._screen.paint("CHANGE", "heading")
            head, *rows = self._table(("what", "object", "pods"), [_change_row(change) for change in shown])
            yield from head
            for lines, change in zip(rows, shown, strict=True):
                yield from lines
                for detail in change.details if details else ():
                    yield from self._screen.wrap(detail, "    ", "  ")
            if len(shown) < len(changes):
                yield f"and {len(changes) - len(shown)} unchanged"

    def _rules(self, result: GateResult, *, passed: bool, listed: bool) -> Iterator[str]:
        if not result.rules:
            return
        unsaid = _UNASKED if passed else ("passed", *_UNASKED)
        first, *rest = self._screen.wrap(f"RULES  {tally(result)}", "       ")
        yield self._screen.paint("RULES", "heading") + first.removeprefix("RULES")
        yield from rest
        if not listed:
            return
        rows = [
            (outcome.rule, outcome.status, str(outcome.checked), outcome.summary or NONE)
            for outcome in result.rules
            if outcome.status not in unsaid
        ]
        if rows:
            for lines in self._table(("rule", "status", "checked", "found"), rows):
                yield from lines
        for status in unsaid:
            named = dict.fromkeys(outcome.rule for outcome in result.rules if outcome.status == status)
            if rules := [rule for rule in named if status in _UNASKED or rule not in [row[0] for row in rows]]:
                yield from self._screen.wrap(f"{status.capitalize()}: {', '.join(rules)}.", "  ")
        if result.policy:
            yield from self._screen.wrap(f"Rules from {result.policy}.", "  ")

    def _table(self, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[list[str]]:
        """The header's lines and those of each row; a cell that is a level or a status has its colour."""
        cells = [[shorten_text(clean(cell), LONGEST_NAME) for cell in row[:-1]] + [row[-1]] for row in rows]
        tones = [[_TONES.get(cell, "") for cell in row] for row in cells]
        return self._screen.table([[header.upper() for header in headers], *cells], [[""] * len(headers), *tones])


def _without_repetition(findings: Sequence[Finding]) -> Iterator[Finding]:
    """The findings; why a pod waits stands at the first that is about it."""
    first: dict[str, Finding] = {}
    for finding in findings:
        before = first.setdefault(finding.pod, finding) if finding.pod else finding
        ending = commonprefix([before.message[::-1], finding.message[::-1]])[::-1].partition(": ")[2]
        if before is finding or len(ending) <= _SHORT:
            yield finding
        else:
            yield replace(finding, message=f"{finding.message.removesuffix(ending)}see {before.rule} above", pod="")


def _change_row(change: Change) -> tuple[str, ...]:
    return (change.what, str(change.subject), change.pods or "-")
