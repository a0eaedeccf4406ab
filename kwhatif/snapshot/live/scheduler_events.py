"""Of Events only what schedulers say of pods: bindings, refusals and preemptions; and of those what is compared.

Upstream: pkg/scheduler/schedule_one.go and framework/preemption/executor.go say them.
"""

from __future__ import annotations

import msgspec

from kwhatif.api.decode import decode_json

REASONS = frozenset({"FailedScheduling", "Preempted", "Scheduled"})


class _Meta(msgspec.Struct, rename="camel", omit_defaults=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: str | None = None


class _Reference(msgspec.Struct, rename="camel", omit_defaults=True):
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    resource_version: str = ""


class _Source(msgspec.Struct, omit_defaults=True):
    component: str = ""


class _Series(msgspec.Struct, rename="camel", omit_defaults=True):
    count: int = 0
    last_observed_time: str | None = None


class _Event(msgspec.Struct, rename="camel", omit_defaults=True):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    involved_object: _Reference = msgspec.field(default_factory=_Reference)
    reason: str = ""
    message: str = ""
    type: str = ""
    source: _Source = msgspec.field(default_factory=_Source)
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    count: int = 0
    event_time: str | None = None
    series: _Series | None = None
    reporting_component: str = ""


def pruned_event(raw: msgspec.Raw) -> bytes | None:
    """The text of an Event, with its version, or None if no scheduler says it of a pod. Raises InputError."""
    event = decode_json(raw, _Event)
    if event.reason not in REASONS or event.involved_object.kind != "Pod":
        return None
    return msgspec.json.encode(event)
