"""The gate's report as GitHub workflow commands: a command a line, which the runner reads in the log."""

from __future__ import annotations

from kwhatif.commands.gate.formats.words import describe_change, headline, place_of, whole_message
from kwhatif.render.escape import clean, in_text
from kwhatif.results.gate import Finding, GateResult

_COMMANDS = {"error": "error", "warn": "warning"}
_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def gate_github(result: GateResult) -> str:
    """An annotation for each finding at its manifest, a notice for each exemption and warning, and one for the verdict.

    Every line is a command, so that no name can start one of its own.
    """
    lines = [_finding(_COMMANDS[finding.level], finding, whole_message(finding)) for finding in result.findings]
    for exemption in result.exemptions:
        words = f"Exempted since: {exemption.reason}. {whole_message(exemption.finding)}"
        lines.append(_finding("notice", exemption.finding, words))
    lines += [_command("notice", {"title": "kwhatif gate"}, f"Warning: {text}") for text in result.warnings]
    lines.append(_command("notice", {"title": "kwhatif gate"}, f"{headline(result)}. {describe_change(result)}"))
    return "".join(f"{line}\n" for line in lines)


def _finding(command: str, finding: Finding, message: str) -> str:
    properties = {}
    if place := place_of(finding):
        properties = {"file": place.file, "line": str(place.line)}
    properties["title"] = f"{finding.rule}: {finding.subject}" if finding.subject else finding.rule
    return _command(command, properties, message)


def _command(command: str, properties: dict[str, str], message: str) -> str:
    # What is not printable is spelt out first: then nothing is left that the runner's own escapes would bring back. It
    # prints what it has read, so commands within a command are spelt otherwise, too.
    given = ",".join(f"{name}={in_text(clean(value)).translate(_PROPERTY)}" for name, value in properties.items())
    return f"::{command} {given}::{in_text(clean(message)).translate(_DATA)}"
