"""The formats in which the gate reports, by the names that they go by on the command line."""

from __future__ import annotations

from collections.abc import Callable

from kwhatif.report.gate_github import gate_github
from kwhatif.report.gate_gitlab import gate_gitlab
from kwhatif.report.gate_junit import gate_junit
from kwhatif.report.gate_markdown import gate_markdown
from kwhatif.report.gate_sarif import gate_sarif
from kwhatif.report.gate_table import gate_table
from kwhatif.report.gate_tap import gate_tap
from kwhatif.report.structured import as_json, as_yaml
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
