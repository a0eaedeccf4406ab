"""Words that all formats of the gate's report share."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from kwhatif.render.blocks import format_part
from kwhatif.render.escape import clean
from kwhatif.results.amounts import format_count
from kwhatif.results.gate import Change, Exemption, Finding, GateResult, Location, RuleOutcome

RULES_FILE = Location(file=".kwhatif.yaml")
"""Where a finding points that no manifest is to blame for, in formats that cannot do without a file."""

_AROUND = 2
"""How many lines stand before a changed line, and after it."""

_STATUSES = ("failed", "warned", "exempted", "passed", "not applicable", "off")


class RuleReport(msgspec.Struct, frozen=True):
    """Everything that was said of one rule. It has several outcomes if it was asked for several times."""

    rule: str
    outcomes: tuple[RuleOutcome, ...]
    findings: tuple[Finding, ...]
    exemptions: tuple[Exemption, ...]

    @property
    def skip_reason(self) -> str:
        """Why the rule was not run: ``off`` or ``not applicable``, else empty."""
        statuses = {outcome.status for outcome in self.outcomes}
        if self.findings or self.exemptions or not statuses or statuses - {"off", "not applicable"}:
            return ""
        return "off" if statuses == {"off"} else "not applicable"

    @property
    def summary(self) -> str:
        """What the outcomes have to say, on one line."""
        return "; ".join(filter(None, (outcome.summary or outcome.threshold for outcome in self.outcomes)))


def lines_around(result: GateResult, finding: Finding) -> list[tuple[int, str]]:
    """The changed line of a finding with those beside it; none where it points at the beginning of a manifest."""
    place = finding.location
    shown = result.excerpts.get(place, ()) if place is not None else ()
    if place is None or not shown or place.line <= shown[0][0]:
        return []
    return [(number, text) for number, text in shown if abs(number - place.line) <= _AROUND]


def by_rule(result: GateResult) -> list[RuleReport]:
    """The rules in the order of their outcomes, then those that made findings without having one."""
    names, findings = [outcome.rule for outcome in result.rules], [finding.rule for finding in result.findings]
    exempted = [exemption.rule for exemption in result.exemptions]
    return [
        RuleReport(
            rule,
            tuple(outcome for outcome in result.rules if outcome.rule == rule),
            tuple(finding for finding in result.findings if finding.rule == rule),
            tuple(exemption for exemption in result.exemptions if exemption.rule == rule),
        )
        for rule in dict.fromkeys((*names, *findings, *exempted))
    ]


def headline(result: GateResult) -> str:
    """``FAIL  2 errors, 1 warning, 1 exempted``: the verdict of the outcome."""
    return result.outcome.verdict


def describe_change(result: GateResult) -> str:
    """``The change: 1 object added, 2 changed. 5 of 7 pods find a node.``"""
    whole = "The change" if result.judged == "change" else "Everything"
    objects = sum(result.counts.values())
    counts = ", ".join(f"{number} {what}" for what, number in result.counts.items() if number)
    parts = [f"{whole}: {format_count(objects, 'object')}{f' ({counts})' if counts else ''}."]
    if result.placements:
        finds = "finds" if 1 in (result.placed_count, len(result.placements)) else "find"
        evicted = sum(pod.cause == "evicted" for pod in result.outcome.pending)
        others = (
            f", {format_count(evicted, 'evicted pod')} {'finds' if evicted == 1 else 'find'} none" if evicted else ""
        )
        parts.append(f"{format_part(result.placed_count, len(result.placements), 'pod')} {finds} a node{others}.")
    if result.files.named:
        parts.append(str(result.files))
    if result.note:
        parts.append(f"{result.note[:1].upper()}{result.note[1:].rstrip('.')}.")
    return " ".join(parts)


def tally(result: GateResult) -> str:
    """``9 passed, 1 warned, 2 failed``: what became of the rules."""
    statuses = Counter[str](outcome.status for outcome in result.rules)
    return ", ".join(f"{statuses[status]} {status}" for status in _STATUSES if statuses[status])


def place_of(about: Finding | Change) -> Location | None:
    """The place of the manifest, if it is known. Paths are as a repository has them, without ``./`` before them."""
    if about.location is None or not about.location.file:
        return None
    return Location(file=posixpath.normpath(about.location.file), line=max(about.location.line, 1))


def format_location(location: Location | None) -> str:
    """``head/web.yaml:12``, or nothing."""
    return "" if location is None else f"{location.file}:{location.line}"


def whole_message(finding: Finding) -> str:
    """Title, explanation and hint, one after the other, as sentences on one line."""
    parts = [finding.title, finding.message, finding.hint and f"Hint: {finding.hint}"]
    sentences = [part if part.endswith((".", "!", "?")) else f"{part}." for part in map(clean, parts) if part]
    return " ".join(sentences) or clean(finding.rule)


def numbers(finding: Finding) -> str:
    """``free = 0.08, wanted = 0.1``: what was measured."""
    return ", ".join(f"{name} = {value}" for name, value in finding.numbers.items())


def fingerprints(findings: Sequence[Finding]) -> Iterator[str]:
    """A fingerprint for each, no two alike: of findings with the same one, later ones get a number."""
    seen: Counter[str] = Counter()
    for finding in findings:
        seen[finding.fingerprint] += 1
        times = seen[finding.fingerprint]
        yield finding.fingerprint if times == 1 else f"{finding.fingerprint}-{times}"


def shorten_text(text: str, most: int) -> str:
    """The text, cut off where it gets too long for a place that many read."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
