"""A plan for the replacement of a pool's nodes: surge, parallel drains, timeouts and their consequence."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Literal

from kwhatif.errors import UsageError

AfterTimeout = Literal["force", "fail"]
DeletePolicy = Literal["Random", "Newest", "Oldest"]


@dataclass(frozen=True, slots=True)
class ReplacementPlan:
    """Numbers are of nodes, times are in seconds.

    ``surge`` nodes may be there beyond the size of the pool, ``unavailable`` may be missing. ``parallel`` nodes at most
    are drained at the same time, all that the other two allow if it is None. ``cordons_all``: all old nodes are
    cordoned before the first is drained; ``waits_for_all``: all new nodes are ready before that.

    A drain that takes longer than ``drain_timeout`` (None: forever) is ``after_timeout`` forced, or ends the upgrade.
    What a budget forbids is asked for again every ``retry`` seconds. A drained node stays for ``node_soak`` seconds,
    then it is deleted; with ``keeps_old`` all stay until ``pool_soak`` seconds after the last one was drained.

    ``avoids_blocked``: a node is not begun while a budget, or a pod's annotation, forbids an eviction there. Nodes go
    in the order of ``delete_policy``, Cluster API's; without one in that in which they are named.
    """

    name: str
    surge: int = 1
    unavailable: int = 0
    parallel: int | None = None
    cordons_all: bool = False
    waits_for_all: bool = False
    drain_timeout: float | None = None
    after_timeout: AfterTimeout = "force"
    retry: float = 5.0
    node_soak: float = 0.0
    keeps_old: bool = False
    pool_soak: float = 0.0
    avoids_blocked: bool = False
    delete_policy: DeletePolicy | None = None
    remarks: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise UsageError for a plan that cannot replace anything."""
        if self.surge <= 0 and self.unavailable <= 0:
            raise UsageError("with no surge and no unavailable node, no node can ever be replaced")

    def with_values(self, **given: object) -> ReplacementPlan:
        """The plan with other values, those that are None left as they are."""
        known = {field.name for field in fields(self)}
        return replace(self, **{name: value for name, value in given.items() if value is not None and name in known})  # type: ignore[arg-type]


def nodes_of(text: str, size: int, *, up: bool, option: str) -> int:
    """A number of nodes, or a share of the pool such as ``33%``, rounded ``up`` or down. Raises UsageError."""
    share = text.removesuffix("%")
    if not share.isdecimal() or len(share) > 9:
        raise UsageError(f"{option} {text}: expected a number of nodes, or a share such as 33%")
    if not text.endswith("%"):
        return int(text)
    exact = int(share) * size / 100
    return math.ceil(exact) if up else math.floor(exact)
