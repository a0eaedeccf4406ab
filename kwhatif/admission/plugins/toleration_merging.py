"""How admission plugins merge tolerations.

Upstream: pkg/util/tolerations/tolerations.go and pkg/apis/core/helper/helpers.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kwhatif.admission.response import Object

_FIELDS = ("key", "operator", "value", "effect")


def merge_tolerations(first: Sequence[Object], second: Sequence[Object]) -> list[Object]:
    """All of them but those that another one covers; of equals the first."""
    everything = [*first, *second]
    kept: list[Object] = []
    for i, one in enumerate(everything):
        later = (other for other in everything[i + 1 :] if not _same(one, other))
        if not any(covers(other, one) for other in kept) and not any(covers(other, one) for other in later):
            kept.append(one)
    return kept


def covers(wide: Object, narrow: Object) -> bool:
    """Whether the one tolerates all that the other does."""
    if _same(wide, narrow):
        return True
    exists = wide.get("operator") == "Exists"
    if _text(wide, "key") != _text(narrow, "key") and (_text(wide, "key") or not exists):
        return False
    if _text(wide, "effect") not in ("", _text(narrow, "effect")):
        return False
    seconds, less = wide.get("tolerationSeconds"), narrow.get("tolerationSeconds")
    if _text(wide, "effect") == "NoExecute" and seconds is not None and (less is None or less > seconds):
        return False
    if _text(wide, "operator") in ("", "Equal"):
        return narrow.get("operator") == "Equal" and _text(narrow, "value") == _text(wide, "value")
    return exists


def within_whitelist(tolerations: Iterable[Object], whitelist: Sequence[Object]) -> bool:
    """Whether each is covered by one that is allowed."""
    return all(any(covers(allowed, one) for allowed in whitelist) for one in tolerations)


def with_toleration(tolerations: Sequence[Object], added: Object) -> list[Object]:
    """The list with one more, which replaces what says the same for another time."""
    alike = [all(_text(one, key) == _text(added, key) for key in _FIELDS) for one in tolerations]
    replaced = [added if same else one for one, same in zip(tolerations, alike, strict=True)]
    return replaced if any(alike) else [*replaced, added]


def _same(one: Object, other: Object) -> bool:
    alike = all(_text(one, key) == _text(other, key) for key in _FIELDS)
    return alike and one.get("tolerationSeconds") == other.get("tolerationSeconds")


def _text(toleration: Object, key: str) -> str:
    return toleration.get(key) or ""
