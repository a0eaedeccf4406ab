"""The table of the gate's report formats, by their names on the command line."""

from __future__ import annotations

from collections.abc import Callable

from kwhatif.commands.gate.formats.github import gate_github
from kwhatif.commands.gate.formats.gitlab import gate_gitlab
from kwhatif.commands.gate.formats.junit import gate_junit
from kwhatif.commands.gate.formats.markdown import gate_markdown
from kwhatif.commands.gate.formats.sarif import gate_sarif
from kwhatif.commands.gate.formats.table import gate_table
from kwhatif.commands.gate.formats.tap import gate_tap
from kwhatif.render.formats import as_json, as_yaml
from kwhatif.results.gate import GateResult

FORMATS: dict[str, Callable[[GateResult], str]] = {
    "table": gate_table,
    "json": as_json,
    "yaml": as_yaml,
    "markdown": gate_markdown,
    "junit": gate_junit,
    "sarif": gate_sarif,
    "github": gate_github,
    "gitlab": gate_gitlab,
    "tap": gate_tap,
}
"""Each gives a whole document that ends in a newline, and the same one for the same result."""
