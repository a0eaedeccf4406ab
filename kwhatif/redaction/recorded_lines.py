"""Lines of a recording under pseudonyms, some at a time: those that come later know the names of those before.

Of a whole snapshot the names are known before the first of them gets its pseudonym. Here they come one after the other,
which costs room between them and nothing else: no pseudonym ever changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from kwhatif.api.decode import decode_json
from kwhatif.redaction.autoscaler_rules import autoscaler_info
from kwhatif.redaction.object_rules import RULES
from kwhatif.redaction.pseudonyms import Names
from kwhatif.redaction.redact import known_version, reason, scheduler_info
from kwhatif.redaction.scheduler_text import scheduler_text
from kwhatif.redaction.shared_rules import NAME, UID
from kwhatif.redaction.translation_file import Translation
from kwhatif.redaction.treatments import GONE, Rule, fields, named, number, one_of, time
from kwhatif.snapshot.foreign.recording_lines import EVENT_TYPES, KIND_OF_PATH, Missing
from kwhatif.snapshot.format.model import KIND, Metadata

Plain = dict[str, Any]


class _Line(msgspec.Struct, omit_defaults=True):
    at: float
    kind: str
    list: Plain | None = None
    event: Plain | None = None
    cluster: Metadata | None = None
    missing: Missing | None = None


class LineRedactor:
    """Redacts the lines of one recording. ``translation`` has every name that was met so far.

    Each time there are new ones, ``keep`` is called with it before any line is given back that has their pseudonyms.
    """

    def __init__(self, translation: Translation | None, keep: Callable[[Translation], None]) -> None:
        self._names = Names(translation.copy() if translation else Translation())
        self._keep = keep
        self.compared_late: set[str] = set()
        """Keys of labels of which is known only since some line that their values are compared as numbers."""
        self._begun = False

    @property
    def translation(self) -> Translation:
        return self._names.translation

    def lines(self, texts: Sequence[bytes]) -> list[bytes]:
        """These lines, redacted; those of kinds that nobody reads are left out. Raises what ``keep`` does."""
        read = [decode_json(text, _Line) for text in texts]
        known, compared = self.translation.size, set(self.translation.numeric)
        while True:
            told = [line for line in (self._line(one) for one in read) if line is not None]
            if self._names.settled():
                break
        if self._begun:
            self.compared_late |= self.translation.numeric - compared
        if self.translation.size != known or self.translation.numeric != compared or not self._begun:
            self._keep(self.translation)
        self._begun = True
        return [msgspec.json.encode(line) + b"\n" for line in told]

    def _line(self, line: _Line) -> _Line | None:
        if line.cluster is not None:
            return _Line(line.at, KIND, cluster=self._cluster(line.cluster))
        kind = KIND_OF_PATH.get(line.kind)
        rule = None if kind is None else _RULES.get(kind.name)
        if rule is None:
            return None
        if line.missing is not None:
            told = msgspec.structs.replace(line.missing, why=reason(line.missing.why))
            return _Line(line.at, line.kind, missing=told)
        if line.list is not None:
            head = _versioned({}, line.list.get("metadata"))
            items = [self._object(obj, rule) for obj in line.list.get("items") or ()]
            return _Line(line.at, line.kind, list={"metadata": head, "items": items})
        if line.event is not None and line.event.get("type") in EVENT_TYPES:
            told_of = self._object(line.event["object"], rule)
            return _Line(line.at, line.kind, event={"type": line.event["type"], "object": told_of})
        return None

    def _object(self, obj: Plain, rule: Rule) -> Plain:
        kept = rule(obj, self._names)
        if kept is GONE:
            kept = _HEAD(obj, self._names)
        _versioned(kept.setdefault("metadata", {}), obj.get("metadata"))
        return dict(kept)

    def _cluster(self, told: Metadata) -> Metadata:
        return Metadata(
            taken_at=told.taken_at,
            kubernetes_version=known_version(told.kubernetes_version),
            unreadable={kind: reason(why) for kind, why in (told.unreadable or {}).items() if kind in RULES} or None,
            redacted=True,
            scheduler=scheduler_info(told.scheduler, self._names),
            autoscaler=autoscaler_info(told.autoscaler, self._names),
        )


def _versioned(metadata: Plain, of: Any) -> Plain:
    """Metadata with the version of what it is of, which is a number."""
    version = of.get("resourceVersion") if isinstance(of, dict) else None
    if isinstance(version, str) and version.isdecimal():
        metadata["resourceVersion"] = version
    return metadata


def _pod(value: Any, names: Names) -> Any:
    """A pod with what its scheduler says of it, which a snapshot does without."""
    kept = RULES["Pod"](value, names)
    told = ((value.get("status") or {}).get("conditions") or ()) if isinstance(value, dict) else ()
    for condition in (kept.get("status") or {}).get("conditions") or () if kept is not GONE else ():
        if condition.get("type") == "PodScheduled":
            said = next((one.get("message") for one in told if one.get("type") == "PodScheduled"), None)
            if said:
                condition["message"] = scheduler_text(said, names)
    return kept


def _digits(value: Any, names: Names) -> Any:
    return value if isinstance(value, str) and value.isdecimal() else GONE


_SCHEDULER = named(Names.scheduler)
_HEAD = fields(metadata=fields(name=NAME, namespace=NAME, uid=UID))
_EVENT = fields(
    # Names of Events are as many as they are themselves, and nobody asks how they are ordered.
    metadata=fields(name=UID, namespace=NAME, creationTimestamp=time),
    involvedObject=fields(
        kind=one_of("Pod"), apiVersion=one_of("v1"), namespace=NAME, name=NAME, uid=UID, resourceVersion=_digits
    ),
    reason=one_of("FailedScheduling", "Preempted", "Scheduled"),
    message=scheduler_text,
    type=one_of("Normal", "Warning"),
    source=fields(component=_SCHEDULER),
    firstTimestamp=time,
    lastTimestamp=time,
    count=number,
    eventTime=time,
    series=fields(count=number, lastObservedTime=time),
    reportingComponent=_SCHEDULER,
)
_RULES: dict[str, Rule] = {**RULES, "Pod": _pod, "Event": _EVENT}
