"""Every object and every pod stays within the quotas of its namespace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from kwhatif.admission.plugins.resource_quota import Quotas
from kwhatif.commands.gate.change import find_refusals, is_quota_refusal
from kwhatif.commands.gate.context import Context
from kwhatif.commands.gate.rule import Parameters, Rule
from kwhatif.commands.gate.units import location_of, subject_of
from kwhatif.results.amounts import format_count
from kwhatif.results.gate import Finding
from kwhatif.results.place import QuotaShortage
from kwhatif.simulation.expansion.objects import complete_object
from kwhatif.simulation.expansion.snapshot_objects import build_object_store
from kwhatif.simulation.explanation.workload_changes import WorkloadChange, change_of_quota


class Quota(Rule[Parameters]):
    name = "quota"
    purpose = "Every object and every pod stays within the ResourceQuotas of its namespace, and within ElasticQuotas."
    details = "A ResourceQuota that changes is held against what pods use of it once the change is there."
    kinds_without_pods: ClassVar[frozenset[str]] = frozenset({"ResourceQuota"})

    def threshold(self) -> str:
        return "no refusal by a ResourceQuota, and no pod beyond an ElasticQuota"

    def check(self, context: Context) -> Iterator[Finding]:
        yield from find_refusals(self, context, is_quota_refusal)
        over = list(self._check_use(context))
        if over:
            self.summary += f"; {format_count(len(over), 'quota')} below its use"
        yield from over
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

    def _check_use(self, context: Context) -> Iterator[Finding]:
        """Quotas of the change that allow less than is used: the API server takes them, and refuses what comes next."""
        manifests = [manifest for manifest in context.manifests if manifest.obj.kind == "ResourceQuota"]
        if not manifests:
            return
        world = build_object_store(context.snapshot_after, {manifest.obj.namespace for manifest in manifests})
        quotas = Quotas(world, context.setup.features)
        for manifest in manifests:
            self.checked += 1
            usage = sorted(quotas.used_by_pods(complete_object(manifest)).items())
            over = [f"{used} {resource} of {hard}" for resource, (used, hard) in usage if used > hard]
            if over:
                yield self.finding(
                    subject_of(manifest),
                    "the quota allows less than is used",
                    f"pods use {', '.join(over)}. Those that run stay, but none is made in place of one that goes",
                    location=location_of(manifest),
                    about="used",
                )

    def remedies(self, finding: Finding, context: Context) -> Iterator[WorkloadChange]:
        yield from _raised_quotas(finding, context)

    def widen(self, finding: Finding, change: WorkloadChange, tried: Context) -> WorkloadChange | None:
        """With what the API server names next: it stops at the first quota that is exceeded, and at the first pod."""
        return next(_raised_quotas(finding, tried, change), None)


def _raised_quotas(finding: Finding, context: Context, more: WorkloadChange | None = None) -> Iterator[WorkloadChange]:
    """Room in a quota for each of a workload's controllers that could not create pods, beyond what has ``more``."""
    quotas = context.snapshot.whole.get("ResourceQuota", ())
    for unit in context.units:
        if unit.subject == finding.subject:
            made = (change_of_quota(failed, unit.subject.namespace, quotas, more) for failed in unit.failed)
            yield from filter(None, made)
