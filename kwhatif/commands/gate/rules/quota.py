"""Every object and every pod stays within the quotas of its namespace."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.commands.gate.change import find_refusals, is_quota_refusal
from kwhatif.commands.gate.context import Context
from kwhatif.commands.gate.rule import Parameters, Rule
from kwhatif.results.gate import Finding


class Quota(Rule[Parameters]):
    name = "quota"
    purpose = "Every object and every pod stays within the ResourceQuotas of its namespace."

    def threshold(self) -> str:
        return "no refusal by a ResourceQuota"

    def check(self, context: Context) -> Iterator[Finding]:
        yield from find_refusals(self, context, is_quota_refusal, "raise the quota first, or ask for less")
