"""Reserved capacity: each new machine holds all reservations that it might still be launched from.

Upstream: pkg/controllers/provisioning/scheduling/reservationmanager.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kwhatif.autoscaling.karpenter.catalogue import Offering


class Reservations:
    """How many machines each reservation has left, and which machines hold it."""

    def __init__(self, capacity: Mapping[str, int]) -> None:
        self._left = dict(capacity)
        self._held: dict[str, set[str]] = {}

    def may_hold(self, hostname: str, offering: Offering) -> bool:
        return offering.reservation in self._held.get(hostname, ()) or self._left[offering.reservation] > 0

    def hold(self, hostname: str, offerings: Iterable[Offering]) -> None:
        """Hold these reservations for a machine, and let go of the others that it held."""
        held = self._held.setdefault(hostname, set())
        wanted = {offering.reservation for offering in offerings}
        for reservation in wanted - held:
            self._left[reservation] -= 1
        for reservation in held - wanted:
            self._left[reservation] += 1
        self._held[hostname] = wanted
