"""Requests of the change are near to what its workloads have used so far."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta

from kwhatif.api.core import Container
from kwhatif.commands.gate.context import Context
from kwhatif.commands.gate.rule import Level, Parameters, Rule
from kwhatif.commands.gate.units import Unit
from kwhatif.commands.rightsize.advice import amounts_of, format_quantity
from kwhatif.commands.rightsize.workload_pods import WorkloadPods, sized_containers
from kwhatif.results.amounts import format_count
from kwhatif.results.gate import Finding
from kwhatif.usage.book import RESOURCES, UsageBook
from kwhatif.usage.read import METRICS, UsageInputs, add_objects, read_usage


class RequestVsUsageParameters(Parameters, frozen=True, kw_only=True):
    files = ("usage",)

    level: Level = "warn"
    usage: Annotated[
        tuple[str, ...], Meta(description="Files with usage, as kwhatif rightsize reads them; else the snapshot's.")
    ] = ()
    most: Annotated[
        float, Meta(gt=0, le=1e6, description="Most that a request may be, as a multiple of the peak usage.")
    ] = 3.0
    least: Annotated[
        float, Meta(ge=0, le=1e6, description="Least that a request may be, as a multiple of the peak usage.")
    ] = 0.5


class RequestVsUsage(Rule[RequestVsUsageParameters]):
    name = "request-vs-usage"
    purpose = "Requests are close to what the workload has used."
    parameters = RequestVsUsageParameters

    def threshold(self) -> str:
        return f"requests between {self.given.least:g} and {self.given.most:g} times the peak"

    def check(self, context: Context) -> Iterator[Finding]:
        pods = WorkloadPods(context.snapshot)
        read = UsageInputs(UsageBook(pods.find_pod))
        if self.given.usage:
            read_usage(self.given.usage, read)
        else:
            add_objects({METRICS: context.snapshot.whole.get(METRICS, ())}, read, context.snapshot.source)
        if not read.book.histograms:
            self.summary = "no usage is known: set usage, or dump the snapshot with --usage"
            return
        far = known = 0
        for unit in self.units(context):
            containers = list(self._containers(context, unit, read.book))
            known += bool(containers)
            findings = [
                finding for container_use in containers if (finding := self._far(unit, *container_use)) is not None
            ]
            far += bool(findings)
            yield from findings
        self.summary = f"{far} of {format_count(known, 'workload')} with usage far from it"

    @staticmethod
    def _containers(context: Context, unit: Unit, book: UsageBook) -> Iterator[tuple[Container, str, int]]:
        """Containers of a new pod with the peak that their like had, by resource."""
        subject = unit.subject
        workload = f"{subject.kind}/{subject.namespace}/{subject.name}"
        # Pods of an update come one after the other, and those of a new workload at once.
        new = [info.pod for info in context.new_pods(unit)] or [item.pod for item in unit.pods_to_schedule]
        for container in sized_containers(new[0].spec) if new else ():
            for resource in RESOURCES:
                used = book.of(workload, container.name, resource)
                if used is not None and used.peak:
                    yield container, resource, used.peak

    def _far(self, unit: Unit, container: Container, resource: str, peak: int) -> Finding | None:
        request = amounts_of(container, resource)[0] or 0
        ratio = request / peak
        if self.given.least <= ratio <= self.given.most:
            return None
        requested, used = format_quantity(resource, request), format_quantity(resource, peak)
        return self.finding_about(
            unit,
            f"container {container.name} asks for {requested} of {resource}, and used {used} at its peak",
            f"That is {ratio:.2g} times what ran; between {self.given.least:g} and {self.given.most:g} are expected.",
            about=f"{container.name}/{resource}",
            numbers={"request": requested, "peak": used, "ratio": round(ratio, 4)},
            hint="kwhatif rightsize says what usage would have it ask for",
        )
