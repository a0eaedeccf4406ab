"""Redaction of a snapshot, of manifests and configurations, and of the lines of a recording.

There are two passes: names are collected first, so that the codes of new names share the space between existing ones,
whatever their order in the files. The lines of a recording are redacted as they come, which uses that space less well;
a pseudonym never changes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from kwhatif import bounds
from kwhatif.api.decode import convert, decode_json
from kwhatif.api.kinds import KEPT_WHOLE, KINDS, NAMESPACED, Objects, kind_of, struct_for
from kwhatif.api.meta import Resource
from kwhatif.api.objects import section
from kwhatif.api.quantity import plain_quantity
from kwhatif.errors import InputError
from kwhatif.policy.legacy_formats import POLICY
from kwhatif.progress import track
from kwhatif.redaction.component_texts import autoscaler_info, scheduler_text
from kwhatif.redaction.object_rules import RULES
from kwhatif.redaction.pseudonyms import Pseudonyms
from kwhatif.redaction.rules import GONE, NAME, UID, Rule, digits, fields, make_rule, number, one_of, time
from kwhatif.redaction.struct_rules import CONFIGURATION
from kwhatif.redaction.translation import Translation
from kwhatif.snapshot.format.model import KIND, Metadata, SchedulerInfo, Snapshot, is_snapshot
from kwhatif.snapshot.read.files import display_path, read_paths
from kwhatif.snapshot.read.objects import decode, head_of, inside, items_of, plain_of, read_documents, resource_of
from kwhatif.snapshot.recording_lines import EVENT_TYPES, KIND_OF_PATH, WatchGap
from kwhatif.versions.gate_stages import GATES

CONFIGURATION_KIND = "KubeSchedulerConfiguration"

Plain = dict[str, Any]
T = TypeVar("T")

_VERSION = re.compile(r"v?[0-9]+\.[0-9]+(?:\.[0-9]+)?")
_REASONS = ("forbidden", "the cluster does not serve it")
_WHY = "why is redacted"
_FIELD = re.compile("[a-z]+(?:[A-Z][a-z]+)*")


def redact(
    snapshot: Snapshot, translation: Translation | None = None, *, warn: Callable[[str], None] | None = None
) -> tuple[Snapshot, Translation]:
    """The snapshot under pseudonyms, and the translation with all new names.

    Neither argument is changed. Names in ``translation`` keep their pseudonyms. ``warn`` is called with whatever may
    change an answer.
    """
    return _redact_until_settled(lambda names: _snapshot(snapshot, names), translation, warn)


def redact_documents(
    documents: Sequence[Plain],
    translation: Translation | None = None,
    *,
    warn: Callable[[str], None] | None = None,
) -> tuple[list[Plain], Translation]:
    """Objects and configurations as plain values, each with its kind, under pseudonyms, and the translation.

    What there is no rule for (see ``has_rule``) is left out. Otherwise as ``redact``.
    """

    def once(names: Pseudonyms) -> list[Plain]:
        return [RULES_OF_DOCUMENTS[_row_of(one)](one, names) for one in documents if has_rule(one)]

    return _redact_until_settled(once, translation, warn)


def has_rule(document: Plain) -> bool:
    """Whether documents of this kind can be redacted."""
    return _row_of(document) in RULES_OF_DOCUMENTS


def _row_of(document: Plain) -> str:
    """What a document's kind is called here: some have the name of another group's kind."""
    version, kind = str(document.get("apiVersion") or ""), str(document.get("kind") or "")
    known = kind_of(version, kind)
    return kind if known is None else known.name


RULES_OF_DOCUMENTS: dict[str, Rule] = {**RULES, CONFIGURATION_KIND: CONFIGURATION}


def _redact_until_settled(
    once: Callable[[Pseudonyms], T], translation: Translation | None, warn: Callable[[str], None] | None
) -> tuple[T, Translation]:
    names = Pseudonyms(translation.copy() if translation else Translation())
    # More than twice only if a name comes out too long: it is then taken for a single word, which may be a new one.
    while True:
        result = once(names)
        if names.settle():
            break
    if warn is not None:
        for text in _doubts(names, translation):
            warn(text)
    return result, names.translation


def _doubts(names: Pseudonyms, before: Translation | None) -> Iterator[str]:
    for key in sorted(names.translation.numeric - before.numeric) if before and not before.empty else ():
        yield (
            f"values of the label {key} are compared as numbers here for the first time: redact what was redacted"
            " before once more, or its numbers of more than three digits do not count"
        )
    for expression in sorted(names.looking_inside):
        yield f"asks for a part of a text, which a pseudonym does not have: {expression}"


def _snapshot(snapshot: Snapshot, names: Pseudonyms) -> Snapshot:
    objects = Objects()
    for kind in sorted(snapshot.objects.known_kinds()):
        struct, rule = KINDS[kind], RULES[kind]
        tracked = track(snapshot.objects.list_all(struct), "Redacting", f"objects of {kind}")
        objects.extend(struct, [convert(rule(_plain(obj), names), struct) for obj in tracked])
    whole = {
        kind: [RULES[kind](obj, names) for obj in listed]
        for kind, listed in sorted(snapshot.whole.items())
        if kind in KEPT_WHOLE
    }
    return Snapshot(
        objects=objects,
        whole=whole,
        source="",
        kubernetes_version=known_version(snapshot.kubernetes_version),
        taken_at=snapshot.taken_at,
        unreadable={kind: reason(why) for kind, why in snapshot.unreadable.items() if kind in RULES},
        resource_versions={},
        inconsistencies=[f"something changed while it was read; {_WHY}"] * bool(snapshot.inconsistencies),
        dropped=[name for name in snapshot.dropped if _FIELD.fullmatch(name)],
        redacted=True,
        scheduler=scheduler_info(snapshot.scheduler, names),
        autoscaler=autoscaler_info(snapshot.autoscaler, names),
    )


def _plain(obj: msgspec.Struct) -> Plain:
    plain: Plain = msgspec.to_builtins(obj, enc_hook=plain_quantity)
    return plain


def known_version(text: str | None) -> str | None:
    """The version of a Kubernetes, without a vendor's suffix."""
    match = _VERSION.match(text or "")
    return match[0] if match else None


def reason(why: str) -> str:
    """Why something could not be read, if that is one of the usual reasons."""
    return next((known for known in _REASONS if why.startswith(known)), _WHY)


def scheduler_info(info: SchedulerInfo | None, names: Pseudonyms) -> SchedulerInfo | None:
    """What is known of the scheduler."""
    if info is None:
        return None
    gates = {gate: on for gate, on in (info.feature_gates or {}).items() if gate in GATES}
    configuration = CONFIGURATION(info.configuration, names)
    return SchedulerInfo(
        image=names.image(info.image) if info.image else None,
        feature_gates=gates or None,
        configuration=None if configuration is GONE else configuration,
    )


_LEGACY = ("v1", POLICY)


def read_manifests(paths: Sequence[str], namespace: str | None = None) -> list[dict[str, Any]]:
    """The objects of manifests and configurations in their order, as plain values with apiVersion and kind.

    Objects that name no namespace get ``namespace``, if one is given. Raises InputError.
    """
    manifests = list(_read(paths, namespace))
    if not manifests:
        raise InputError("holds no objects: it is empty", source=", ".join(map(display_path, paths)))
    return manifests


def _read(paths: Sequence[str], namespace: str | None) -> Iterator[dict[str, Any]]:
    for text in read_paths(paths, max_bytes=bounds.MANIFEST_BYTES):
        for document in read_documents(text):
            api_version, kind = head_of(document)
            if is_snapshot(document, api_version, kind):
                problem = f"expected manifests, found a whole {KIND}: write it to a file that ends in .json"
                raise InputError(problem, source=document.source, place="$.kind")
            if (api_version, kind) == _LEGACY:
                problem = "a legacy Policy, which cannot be redacted: redact what 'kwhatif policy convert' makes of it"
                raise InputError(problem, source=document.source, place="$.kind")
            if kind == CONFIGURATION_KIND:
                try:
                    yield decode(document.value, dict[str, Any])
                except InputError as error:
                    raise inside(error, document.source, "$") from None
                continue
            for item in items_of(document):
                obj = resource_of(item, struct_for(item.api_version, item.kind) or Resource, generated_names=True)
                whole = plain_of(item, checked=True)
                if namespace and not obj.namespace and item.kind in NAMESPACED:
                    whole["metadata"] = whole["metadata"] | {"namespace": namespace}
                yield whole


class _Line(msgspec.Struct, omit_defaults=True):
    at: float
    kind: str
    list: Plain | None = None
    event: Plain | None = None
    cluster: Metadata | None = None
    missing: WatchGap | None = None


class LineRedactor:
    """Redacts the lines of one recording. ``translation`` has every name so far.

    ``keep`` is called with the translation whenever it has new names, before a line with their pseudonyms is returned.
    """

    def __init__(self, translation: Translation | None, keep: Callable[[Translation], None]) -> None:
        self._names = Pseudonyms(translation.copy() if translation else Translation())
        self._keep = keep
        self.compared_late: set[str] = set()
        """Keys of labels of which is known only since some line that their values are compared as numbers."""
        self._begun = False

    @property
    def translation(self) -> Translation:
        return self._names.translation

    def lines(self, texts: Sequence[bytes]) -> list[bytes]:
        """These lines, redacted; those of kinds that are not read are left out. Raises what ``keep`` raises."""
        read = [decode_json(text, _Line) for text in texts]
        known, compared = self.translation.size, set(self.translation.numeric)
        while True:
            lines = [line for line in (self._line(one) for one in read) if line is not None]
            if self._names.settle():
                break
        if self._begun:
            self.compared_late |= self.translation.numeric - compared
        if self.translation.size != known or self.translation.numeric != compared or not self._begun:
            self._keep(self.translation)
        self._begun = True
        return [msgspec.json.encode(line) + b"\n" for line in lines]

    def _line(self, line: _Line) -> _Line | None:
        if line.cluster is not None:
            return _Line(line.at, KIND, cluster=self._cluster(line.cluster))
        kind = KIND_OF_PATH.get(line.kind)
        rule = None if kind is None else _RULES.get(kind.name)
        if rule is None:
            return None
        if line.missing is not None:
            missing = msgspec.structs.replace(line.missing, why=reason(line.missing.why))
            return _Line(line.at, line.kind, missing=missing)
        if line.list is not None:
            head = _VERSIONED(section(line.list, "metadata"), self._names)
            items = [self._object(obj, rule) for obj in convert(line.list.get("items") or [], list[Plain])]
            return _Line(line.at, line.kind, list={"metadata": head, "items": items})
        if line.event is not None and line.event.get("type") in EVENT_TYPES:
            told_of = self._object(convert(line.event.get("object"), Plain), rule)
            return _Line(line.at, line.kind, event={"type": line.event["type"], "object": told_of})
        return None

    def _object(self, obj: Plain, rule: Rule) -> Plain:
        kept = rule(obj, self._names)
        if kept is GONE:
            kept = _HEAD(obj, self._names)
        kept.setdefault("metadata", {})
        return dict(kept)

    def _cluster(self, metadata: Metadata) -> Metadata:
        return Metadata(
            taken_at=metadata.taken_at,
            kubernetes_version=known_version(metadata.kubernetes_version),
            unreadable={kind: reason(why) for kind, why in (metadata.unreadable or {}).items() if kind in RULES}
            or None,
            redacted=True,
            scheduler=scheduler_info(metadata.scheduler, self._names),
            autoscaler=autoscaler_info(metadata.autoscaler, self._names),
        )


def _pod(value: Any, names: Pseudonyms) -> Any:
    """A pod with what its scheduler says of it, which a snapshot does without."""
    kept = RULES["Pod"](value, names)
    conditions = (section(value, "status").get("conditions") or ()) if isinstance(value, dict) else ()
    for condition in section(kept, "status").get("conditions") or () if kept is not GONE else ():
        if condition.get("type") == "PodScheduled":
            said = next((one.get("message") for one in conditions if one.get("type") == "PodScheduled"), None)
            if said:
                condition["message"] = scheduler_text(said, names)
    return kept


_SCHEDULER = make_rule(Pseudonyms.scheduler)
_VERSIONED = fields(resourceVersion=digits)
_HEAD = fields(metadata=fields(_VERSIONED.rules, name=NAME, namespace=NAME, uid=UID))
_EVENT = fields(
    # Names of Events are as many as they are themselves, and their order does not matter.
    metadata=fields(_VERSIONED.rules, name=UID, namespace=NAME, creationTimestamp=time),
    involvedObject=fields(
        kind=one_of("Pod", "Lease"),
        apiVersion=one_of("v1", "coordination.k8s.io/v1"),
        namespace=NAME,
        name=NAME,
        uid=UID,
        resourceVersion=digits,
    ),
    reason=one_of("FailedScheduling", "LeaderElection", "Preempted", "Scheduled"),
    message=scheduler_text,
    type=one_of("Normal", "Warning"),
    source=fields(component=_SCHEDULER),
    firstTimestamp=time,
    lastTimestamp=time,
    count=number,
    eventTime=time,
    series=fields(count=number, lastObservedTime=time),
    reportingComponent=_SCHEDULER,
    reportingInstance=NAME,
)
_RULES: dict[str, Rule] = {**RULES, "Pod": _pod, "Event": _EVENT}
