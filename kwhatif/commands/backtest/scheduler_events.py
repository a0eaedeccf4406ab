"""The Events of a recording, as schedulers write them.

Upstream: NewRecorder in client-go/tools/events/event_broadcaster.go (the component is the profile's schedulerName, the
instance has the host as well); RecordEvent in client-go/tools/leaderelection/resourcelock/leaselock.go.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from kwhatif.api.decode import decode_json
from kwhatif.api.times import parse_time
from kwhatif.errors import InputError
from kwhatif.snapshot.read.objects import inside
from kwhatif.snapshot.recording import Change, Recording


class ObjectReference(msgspec.Struct, rename="camel"):
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""


class _Source(msgspec.Struct):
    component: str = ""


class SchedulerEvent(msgspec.Struct, rename="camel"):
    """An Event of a scheduler, which is v1 as the API server stores it and events.k8s.io/v1 as it was sent."""

    involved_object: ObjectReference = msgspec.field(default_factory=ObjectReference)
    reason: str = ""
    message: str = ""
    event_time: str | None = None
    last_timestamp: str | None = None
    series: dict[str, msgspec.Raw] | None = None
    source: _Source | None = None
    reporting_component: str = ""
    reporting_instance: str = ""

    @property
    def component(self) -> str:
        """The schedulerName of the profile that it is of; older recorders call it the source."""
        return self.reporting_component or (self.source.component if self.source else "")

    @property
    def time(self) -> float | None:
        """When it was, in seconds. Raises ValueError."""
        text = self.event_time or self.last_timestamp
        return parse_time(text).timestamp() if text else None


def read_events(recording: Recording) -> Iterator[tuple[Change, SchedulerEvent, float | None]]:
    """All Events of a recording, and when they were, in seconds. Raises InputError with the line."""
    for change in recording.changes:
        if change.kind.name != "Event" or change.deleted:
            continue
        try:
            event = decode_json(change.raw, SchedulerEvent)
            time = event.time
        except InputError as error:
            raise inside(error, str(change.origin), change.place) from None
        except ValueError as error:
            raise inside(InputError(str(error)), str(change.origin), change.place) from None
        yield change, event, time
