"""Every object and every pod stays within the quotas of its namespace."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.results.gate import Finding
from kwhatif.whatif.gate.context import Context
from kwhatif.whatif.gate.refusals import of_quota, refused
from kwhatif.whatif.gate.rule import Parameters, Rule


class Quota(Rule[Parameters]):
    name = "quota"
    purpose = "Every object and every pod stays within the ResourceQuotas of its namespace."

    def threshold(self) -> str:
        return "no refusal by a ResourceQuota"

    def check(self, context: Context) -> Iterator[Finding]:
        yield from refused(self, context, of_quota, "raise the quota first, or ask for less")
