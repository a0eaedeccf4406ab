"""Every object and every pod stays within the quotas of its namespace."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.commands.gate.change import find_refusals, is_quota_refusal
from kwhatif.commands.gate.context import Context
from kwhatif.commands.gate.rule import Parameters, Rule
from kwhatif.results.amounts import format_count
from kwhatif.results.gate import Finding
from kwhatif.results.place import QuotaShortage
from kwhatif.simulation.explanation.workload_changes import WorkloadChange, change_of_quota


class Quota(Rule[Parameters]):
    name = "quota"
    purpose = "Every object and every pod stays within the ResourceQuotas of its namespace, and within ElasticQuotas."

    def threshold(self) -> str:
        return "no refusal by a ResourceQuota, and no pod beyond an ElasticQuota"

    def check(self, context: Context) -> Iterator[Finding]:
        yield from find_refusals(self, context, is_quota_refusal)
        for unit in context.units:
            out = [placement for placement in unit.pending if isinstance(placement.quota, QuotaShortage)]
            if not out or not self.given.selects(unit):
                continue
            first, short = out[0], out[0].quota
            assert isinstance(short, QuotaShortage)
            yield self.finding_about(
                unit,
                f"{format_count(len(out), 'pod')} of {len(unit.placements)} beyond an ElasticQuota",
                f"{first.pod}: {short.text}",
                about="elastic",
                numbers={"pods": len(out), "asks": short.asks, "used": short.used, "limit": short.limit},
                pod=first.pod,
            )

    def remedies(self, finding: Finding, context: Context) -> Iterator[WorkloadChange]:
        for unit in context.units:
            if unit.subject == finding.subject:
                quotas = context.snapshot.whole.get("ResourceQuota", ())
                made = (change_of_quota(failed_create, unit.subject.namespace, quotas) for failed_create in unit.failed)
                yield from filter(None, made)
