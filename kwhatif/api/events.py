"""Events: what components say about objects.

Upstream: staging/src/k8s.io/api/core/v1/types.go; events.k8s.io/v1 is stored as the same.
"""

from __future__ import annotations

import msgspec

from kwhatif.api.times import parse_time


class EventMeta(msgspec.Struct, rename="camel", omit_defaults=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: str | None = None


class EventSubject(msgspec.Struct, rename="camel", omit_defaults=True):
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    resource_version: str = ""


class EventSource(msgspec.Struct, omit_defaults=True):
    component: str = ""


class EventSeries(msgspec.Struct, rename="camel", omit_defaults=True):
    count: int = 0
    last_observed_time: str | None = None


class Event(msgspec.Struct, rename="camel", omit_defaults=True):
    metadata: EventMeta = msgspec.field(default_factory=EventMeta)
    involved_object: EventSubject = msgspec.field(default_factory=EventSubject)
    reason: str = ""
    message: str = ""
    type: str = ""
    source: EventSource = msgspec.field(default_factory=EventSource)
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    count: int = 0
    event_time: str | None = None
    series: EventSeries | None = None
    reporting_component: str = ""
    reporting_instance: str = ""

    @property
    def component(self) -> str:
        """Who says it, of a scheduler the profile's schedulerName; older recorders call it the source."""
        return self.reporting_component or self.source.component

    @property
    def time(self) -> float | None:
        """When it was, in seconds. Raises ValueError."""
        text = self.event_time or self.last_timestamp
        return parse_time(text).timestamp() if text else None
