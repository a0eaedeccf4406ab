"""The sources of usage: files, the snapshot, or a Prometheus server."""

from __future__ import annotations

from datetime import datetime

from kwhatif.api.core import Pod
from kwhatif.api.times import format_time, parse_time
from kwhatif.commands.rightsize.options import UsageOptions
from kwhatif.commands.rightsize.result import UsageRead
from kwhatif.commands.rightsize.workload_pods import WorkloadPods
from kwhatif.errors import InputError
from kwhatif.results.amounts import format_age
from kwhatif.simulation.autoscalers.node_groups import observation_time_of
from kwhatif.simulation.inputs import Notes
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.usage.book import UsageBook
from kwhatif.usage.prometheus_client import PrometheusServer, read_token
from kwhatif.usage.read import METRICS, RECOMMENDER, UsageInputs, add_objects, read_usage

CLOCKS_APART = 3600.0
"""The seconds between the last sample and the snapshot above which there is a warning."""


def gather_usage(
    options: UsageOptions,
    snapshot: Snapshot,
    pods: WorkloadPods,
    window: float,
    namespace: str,
    now: datetime | None,
    notes: Notes,
) -> UsageInputs:
    """All of it, of the last ``window`` seconds.

    Raises InputError where there is none, or none of this cluster, and ClusterError.
    """
    inputs = UsageInputs(UsageBook(pods.find_pod, window))
    if options.usage:
        read_usage(options.usage, inputs, namespace)
    if options.prometheus:
        _ask(options, snapshot, inputs.book, window, now)
        inputs.sorts.append("Prometheus")
    kept = {kind: snapshot.whole[kind] for kind in (METRICS, RECOMMENDER) if snapshot.whole.get(kind)}
    if options.usage or options.prometheus:
        # Recommendations and their policies are no samples: they count beside them.
        kept.pop(METRICS, None)
    add_objects(kept, inputs, snapshot.source)
    _check(inputs, snapshot)
    for text in inputs.book.notes():
        notes.warn(text)
    _check_clocks(inputs.book, snapshot, now, notes)
    return inputs


def _ask(options: UsageOptions, snapshot: Snapshot, book: UsageBook, window: float, now: datetime | None) -> None:
    taken = observation_time_of(snapshot, now)
    server = PrometheusServer(
        options.prometheus,
        taken.timestamp(),
        window,
        options.prometheus_step,
        max(300, 4 * options.prometheus_step),
        options.prometheus_timeout,
        options.prometheus_retries,
        read_token(options.prometheus_token_file) if options.prometheus_token_file else "",
    )
    server.read(sorted({pod.namespace for pod in snapshot.objects.list_all(Pod)}), book)


def _check(inputs: UsageInputs, snapshot: Snapshot) -> None:
    book, complaints = inputs.book, inputs.book.complaints
    if not inputs.sorts:
        raise InputError(
            f"{snapshot.source or 'the snapshot'} holds no usage: name some with --usage FILE or --prometheus URL"
        )
    if complaints.pods and not book.matched_pods:
        number, some = len(complaints.pods), ", ".join(sorted(complaints.strangers)[:3])
        raise InputError(
            f"none of the {number} pods with usage is of this cluster, such as {some}: it is of another one"
        )
    if not book.histograms and not inputs.recommendations.targets:
        raise InputError(
            f"there is no usage of any container: {complaints.series:,} series, {complaints.samples:,} samples"
        )


def _check_clocks(book: UsageBook, snapshot: Snapshot, now: datetime | None, notes: Notes) -> None:
    """Warn where samples and snapshot are of different times."""
    complaints = book.complaints
    known = len(complaints.pods) - len(complaints.strangers)
    if known < len(complaints.strangers):
        notes.warn(f"only {known} of {len(complaints.pods)} pods with usage are of this cluster")
    taken = now or (parse_time(snapshot.taken_at) if snapshot.taken_at else None)
    if book.last is None or taken is None:
        return
    apart = book.last - taken.timestamp()
    if abs(apart) > CLOCKS_APART:
        side = "after" if apart > 0 else "before"
        notes.warn(f"the last sample of usage is {format_age(int(abs(apart)))} {side} the snapshot")


def usage_read(inputs: UsageInputs) -> UsageRead:
    """What was read, for the answer."""
    book, complaints = inputs.book, inputs.book.complaints
    return UsageRead(
        sorts=tuple(dict.fromkeys(inputs.sorts)),
        samples=complaints.samples,
        series=complaints.series,
        pods=len(complaints.pods),
        strangers=len(complaints.strangers),
        since=_moment(book.first),
        until=_moment(book.last),
        left_out=tuple(book.notes()),
    )


def _moment(seconds: float | None) -> str | None:
    return None if seconds is None else format_time(seconds)
