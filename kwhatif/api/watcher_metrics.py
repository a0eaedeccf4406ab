"""Node utilization as load-watcher serves it at ``/watcher``, with the time of the measurement.

Upstream: pkg/watcher/watcher.go of paypal/load-watcher.
"""

from __future__ import annotations

import msgspec

from kwhatif.api.meta import Base, Int64, Resource


class Metric(Base):
    """One figure of a node: ``type`` is CPU or Memory, ``operator`` AVG, STD or Latest, ``value`` a percentage."""

    name: str = ""
    type: str = ""
    operator: str = ""
    rollup: str = ""
    value: float = 0.0


class MetricsWindow(Base):
    """The span that the figures are of, in seconds since 1970."""

    duration: str = ""
    start: Int64 = 0
    end: Int64 = 0


class NodeMetrics(Base):
    metrics: list[Metric] | None = None


class MetricsData(msgspec.Struct, kw_only=True, frozen=True):
    """Figures by node; the key is spelt as load-watcher spells it."""

    nodes: dict[str, NodeMetrics] | None = msgspec.field(default=None, name="NodeMetricsMap")


class WatcherMetrics(Resource):
    """What load-watcher serves."""

    timestamp: Int64 = 0
    window: MetricsWindow = msgspec.field(default_factory=MetricsWindow)
    source: str = ""
    data: MetricsData = msgspec.field(default_factory=MetricsData)


class Moments(Resource):
    """The present time, and the start of the scheduler, in seconds since 1970; None where it is not given."""

    now: float | None = None
    started: float | None = None
