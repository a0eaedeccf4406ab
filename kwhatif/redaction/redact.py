"""Redacting: every name of a snapshot, of manifests or of a configuration gives way to its pseudonym.

All are gone through twice: names are collected first, so that those that come together share out the room between
them, whatever order they are met in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from kwhatif.api.decode import convert
from kwhatif.api.kinds import KEPT_WHOLE, KINDS, Objects
from kwhatif.api.quantity import plain_quantity
from kwhatif.progress import tracked
from kwhatif.redaction.autoscaler_rules import autoscaler_info
from kwhatif.redaction.configuration_rules import CONFIGURATION
from kwhatif.redaction.object_rules import RULES
from kwhatif.redaction.pseudonyms import Names
from kwhatif.redaction.translation_file import Translation
from kwhatif.redaction.treatments import GONE, Rule
from kwhatif.snapshot.format.model import SchedulerInfo, Snapshot
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
    """The snapshot under pseudonyms, and the translation with all that was added to it.

    Neither argument is changed. Names that ``translation`` knows get the pseudonyms they have there. ``warn`` is told
    what may make an answer another one.
    """
    return _redacted(lambda names: _snapshot(snapshot, names), translation, warn)


def redact_documents(
    documents: Sequence[Plain],
    translation: Translation | None = None,
    *,
    warn: Callable[[str], None] | None = None,
) -> tuple[list[Plain], Translation]:
    """Objects and configurations as plain values, each with its kind, under pseudonyms, and the translation.

    What there is no rule for (see ``has_rule``) is left out. Otherwise as ``redact``.
    """

    def once(names: Names) -> list[Plain]:
        return [RULES_OF_DOCUMENTS[one["kind"]](one, names) for one in documents if has_rule(one)]

    return _redacted(once, translation, warn)


def has_rule(document: Plain) -> bool:
    """Whether documents of this kind can be redacted."""
    return document.get("kind") in RULES_OF_DOCUMENTS


RULES_OF_DOCUMENTS: dict[str, Rule] = {**RULES, CONFIGURATION_KIND: CONFIGURATION}


def _redacted(
    once: Callable[[Names], T], translation: Translation | None, warn: Callable[[str], None] | None
) -> tuple[T, Translation]:
    names = Names(translation.copy() if translation else Translation())
    # More than twice only if a name comes out too long: it is then taken for a single word, which may be a new one.
    while True:
        found = once(names)
        if names.settled():
            break
    if warn is not None:
        for text in _doubts(names, translation):
            warn(text)
    return found, names.translation


def _doubts(names: Names, before: Translation | None) -> Iterator[str]:
    for key in sorted(names.translation.numeric - before.numeric) if before and not before.empty else ():
        yield (
            f"values of the label {key} are compared as numbers here for the first time: redact what was redacted"
            " before once more, or its numbers of more than three digits do not count"
        )
    for expression in sorted(names.looking_inside):
        yield f"asks for a part of a text, which a pseudonym does not have: {expression}"


def _snapshot(snapshot: Snapshot, names: Names) -> Snapshot:
    objects = Objects()
    for kind in sorted(snapshot.objects.covered()):
        struct, rule = KINDS[kind], RULES[kind]
        told = tracked(snapshot.objects.of(struct), "Redacting", f"objects of {kind}")
        objects.extend(struct, [convert(rule(_plain(obj), names), struct) for obj in told])
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
    """The version of a Kubernetes, without what a vendor puts behind it."""
    found = _VERSION.match(text or "")
    return found[0] if found else None


def reason(why: str) -> str:
    """Why something could not be read, if that is one of the usual reasons."""
    return next((known for known in _REASONS if why.startswith(known)), _WHY)


def scheduler_info(info: SchedulerInfo | None, names: Names) -> SchedulerInfo | None:
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
