"""The API server takes every object and every pod: its limits, its rules for names and fields, its admission."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.commands.gate.change import find_refusals, is_quota_refusal
from kwhatif.commands.gate.context import Context
from kwhatif.commands.gate.rule import Parameters, Rule
from kwhatif.results.gate import Finding


class Limits(Rule[Parameters]):
    name = "limits"
    purpose = "The API server takes every object and every pod: LimitRanges, validation, and all else but quotas."

    def threshold(self) -> str:
        return "no refusal but by a ResourceQuota"

    def check(self, context: Context) -> Iterator[Finding]:
        yield from find_refusals(self, context, lambda message: not is_quota_refusal(message))
