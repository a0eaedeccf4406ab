"""The parts that results of several questions share: what a value is, and what an answer stands on."""

from __future__ import annotations

import msgspec

__all__ = ["API_VERSION", "Fidelity", "Gap", "Value"]

API_VERSION = "kwhatif.dev/v1"


class Value(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """A part of a result."""


class Gap(Value, frozen=True, kw_only=True):
    """Something the answer stands on that is missing or not modelled, and the pods it touches."""

    what: str
    effect: str
    pods: tuple[str, ...] = ()


class Fidelity(Value, frozen=True, kw_only=True):
    """What an answer stands on.

    ``rules`` is the Kubernetes minor whose rules were used, ``cluster`` the snapshot's own version, ``taken_at``
    when it was taken; either may be unknown. ``edits`` are what-if edits of it, in words.
    """

    rules: str
    cluster: str | None = None
    taken_at: str | None = None
    source: str = ""
    edits: tuple[str, ...] = ()
    gaps: tuple[Gap, ...] = ()

    @property
    def touching(self) -> tuple[Gap, ...]:
        """The gaps that touch one of the pods that were asked about."""
        return tuple(gap for gap in self.gaps if gap.pods)
