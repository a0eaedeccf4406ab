"""Outcomes of pods that are scheduled as groups."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from kwhatif.results.base import ResultStruct


class DomainOutcome(ResultStruct, frozen=True, kw_only=True):
    """A group tried in one domain (``name`` is empty for the whole cluster): ``fit`` counts the members that find a
    node.

    ``lacks`` is what the whole group lacks there, ``reason`` what the first member without a node was told. ``scores``
    are those of the domain by plugin, times their weights, where more than one domain holds the group.
    """

    name: str
    nodes: int
    fit: int
    chosen: bool = False
    lacks: tuple[str, ...] = ()
    reason: str = ""
    scores: dict[str, int] = msgspec.field(default_factory=dict)


class SiblingWait(ResultStruct, frozen=True, kw_only=True):
    """A pod that is not bound before enough pods of its ``group`` have a node, and waits for them for ``seconds``. At
    best ``missing`` of the ``needs`` pods lack a node. ``node`` is the one that it waits on, or waited on last.
    """

    group: str
    needs: int
    missing: int
    seconds: float
    node: str = ""

    @property
    def text(self) -> str:
        """``waits for 2 of 5 siblings, up to 60 s``."""
        return f"waits for {self.missing} of {self.needs} siblings, up to {self.seconds:g} s"


class GroupOutcome(ResultStruct, frozen=True, kw_only=True):
    """A group (``namespace/name``): ``members`` that were tried, how many of them ``fit`` and are ``bound``.

    ``running`` are those that had nodes before.

    ``needs`` is a gang's minCount, or minMember, 0 for a group of the basic policy. ``outcome`` is ``scheduled``,
    ``unschedulable``, ``error``, ``gated``, or ``waiting`` if pods of it have a node and wait for the others until they
    give it back (``waits``). ``message`` is what its PodGroupScheduled condition says, or why a sibling that they wait
    for found no node. ``domains`` are those tried, in order. Members that share a claim may fail when they are bound,
    though their group counts as scheduled.
    """

    group: str
    members: int
    running: int = 0
    fit: int = 0
    bound: int = 0
    needs: int = 0
    outcome: str = "scheduled"
    message: str = ""
    domains: tuple[DomainOutcome, ...] = ()
    evicted: tuple[str, ...] = ()
    waits: SiblingWait | msgspec.UnsetType = msgspec.UNSET

    @property
    def good(self) -> bool:
        return self.outcome == "scheduled"

    @property
    def text(self) -> str:
        """``gang ml/train: 6 of 8 find a node, needs 8: none run``."""
        what = f"gang {self.group}" if self.needs else f"group {self.group}"
        running = f" beside {self.running} that run" if self.running else ""
        needs = f", needs {self.needs}" if self.needs else ""
        if self.outcome == "gated":
            return f"{what}: {self.members} of {self.needs} pods are there: waits for the others"
        end = f"{self.bound} run" if self.bound else "none run"
        if isinstance(self.waits, SiblingWait):
            end = self.waits.text
        if self.bound and self.bound + self.running < self.needs:
            end += ", fewer than it needs"
        return f"{what}: {self.fit} of {self.members} find a node{running}{needs}: {end}"


class GroupDisruption(ResultStruct, frozen=True, kw_only=True):
    """A group of which members lose their nodes: the numbers of those that ran ``before``, ``stay`` on their nodes, and
    run ``after``.

    ``needs`` is a gang's minCount, 0 for a group of the basic policy. Members that run after it, and do not stay, were
    recreated and found a node.
    """

    group: str
    needs: int = 0
    before: int
    stay: int
    after: int

    @property
    def loses_quorum(self) -> bool:
        """Whether fewer than a gang needs are left for a while at least, of which there were enough."""
        return self.stay < self.needs <= self.before

    @property
    def is_broken(self) -> bool:
        """Whether it has no quorum in the end."""
        return self.loses_quorum and self.after < self.needs

    @property
    def text(self) -> str:
        """``gang ml/train loses its quorum: 5 of 8 stay, needs 8; 3 run again elsewhere``."""
        what = f"gang {self.group}" if self.needs else f"group {self.group}"
        verb = "loses its quorum" if self.loses_quorum else "is disrupted"
        needs = f", needs {self.needs}" if self.needs else ""
        again = self.after - self.stay
        rest = f"{again} run again elsewhere" if again else "none run again"
        short = ", too few" if again and self.is_broken else ""
        return f"{what} {verb}: {self.stay} of {self.before} stay{needs}; {rest}{short}"


def words_of_disruptions(groups: Sequence[GroupDisruption]) -> list[str]:
    """``2 gangs lose their quorum, 1 of them permanently``; nothing if none does."""
    losing = [group for group in groups if group.loses_quorum]
    if not losing:
        return []
    broken = sum(group.is_broken for group in losing)
    rest = "" if not broken else " for good" if broken == len(losing) else f", {broken} of them permanently"
    return [f"{len(losing)} {'gang loses its' if len(losing) == 1 else 'gangs lose their'} quorum{rest}"]
