"""The API server takes every object and every pod: its limits, its rules for names and fields, its admission."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.results.gate import Finding
from kwhatif.whatif.gate.context import Context
from kwhatif.whatif.gate.refusals import of_quota, refused
from kwhatif.whatif.gate.rule import Parameters, Rule


class Limits(Rule[Parameters]):
    name = "limits"
    purpose = "The API server takes every object and every pod: LimitRanges, validation, and all else but quotas."

    def threshold(self) -> str:
        return "no refusal but by a ResourceQuota"

    def check(self, context: Context) -> Iterator[Finding]:
        yield from refused(self, context, lambda message: not of_quota(message), "make the manifest fit what is said")
