"""Names that are stable and readable: ``web-5d4c7`` for a replica set, ``web-5d4c7-1`` for its first pod.

Upstream hashes a dump of Go structs; ours hashes the JSON, so it differs from a real cluster's but never between runs.
"""

from __future__ import annotations

import hashlib

from kwhatif.admission.answer import Object
from kwhatif.workloads.templates import canonical

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_LENGTH = 5
_LONGEST_NAME = 253


def template_hash(template: Object) -> str:
    """Five letters and digits that stand for a template; letters that spell no words."""
    number = int.from_bytes(hashlib.blake2b(canonical(template).encode(), digest_size=8).digest())
    text = ""
    for _ in range(_LENGTH):
        number, digit = divmod(number, len(_LETTERS))
        text += _LETTERS[digit]
    return text


def within(name: str, suffix: str, longest: int = _LONGEST_NAME) -> str:
    """The name and its suffix, the name cut if together they would be too long."""
    return name[: longest - len(suffix)] + suffix


def pod_prefix(name: str) -> str:
    """What the names of a controller's pods begin with (upstream: controller_utils.go, getPodsPrefix)."""
    return f"{name}-" if len(name) < _LONGEST_NAME else name
