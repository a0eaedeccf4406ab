"""Names that are stable and readable: ``web-5d4c7`` for a replica set, ``web-5d4c7-1`` for its first pod.

Upstream hashes a dump of Go structs; ours hashes the JSON, so it differs from a real cluster's but never between runs.
"""

from __future__ import annotations

import json

from kwhatif.admission.answer import Object
from kwhatif.workloads.objects import copied, section

__all__ = ["HASH_LABEL", "pod_prefix", "same_template", "template_hash", "within"]

HASH_LABEL = "pod-template-hash"

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_LENGTH = 5
_LONGEST_NAME = 253


def template_hash(template: Object) -> str:
    """Five letters and digits that stand for a template; letters that spell no words."""
    number = 2166136261
    for byte in _canonical(template).encode():
        number = (number ^ byte) * 16777619 % 2**32
    text = ""
    for _ in range(_LENGTH):
        number, digit = divmod(number, len(_LETTERS))
        text += _LETTERS[digit]
    return text


def same_template(one: Object, other: Object) -> bool:
    """Whether two templates make the same pods; the hash label does not count."""
    return _canonical(one) == _canonical(other)


def within(name: str, suffix: str, longest: int = _LONGEST_NAME) -> str:
    """The name and its suffix, the name cut if together they would be too long."""
    return name[: longest - len(suffix)] + suffix


def pod_prefix(name: str) -> str:
    """What the names of a controller's pods begin with (upstream: controller_utils.go, getPodsPrefix)."""
    return f"{name}-" if len(name) < _LONGEST_NAME else name


def _canonical(template: Object) -> str:
    plain = copied(template)
    section(plain, "metadata", "labels").pop(HASH_LABEL, None)
    section(plain, "metadata").pop("creationTimestamp", None)
    return json.dumps(_without_nothing(plain), sort_keys=True, separators=(",", ":"))


def _without_nothing(value: object) -> object:
    """Without the fields that say nothing, as Go leaves them out."""
    if isinstance(value, dict):
        kept = {key: _without_nothing(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item not in (None, {}, [], "")}
    if isinstance(value, list):
        return [_without_nothing(item) for item in value]
    return value
