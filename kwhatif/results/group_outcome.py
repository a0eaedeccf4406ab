"""Outcomes of pods that are scheduled as groups."""

from __future__ import annotations

import msgspec

from kwhatif.results.base import ResultStruct


class DomainOutcome(ResultStruct, frozen=True, kw_only=True):
    """A group tried in one domain (``name`` is empty for the whole cluster): of its members ``fit`` so many.

    ``lacks`` is what the whole group lacks there, ``reason`` is that of the first member without a node.
    """

    name: str
    nodes: int
    fit: int
    chosen: bool = False
    lacks: tuple[str, ...] = ()
    reason: str = ""


class SiblingWait(ResultStruct, frozen=True, kw_only=True):
    """A pod that is not bound before enough pods of its ``group`` have a node, and waits for them so many ``seconds``.

    Of the ``needs`` pods so many are ``missing`` at best. ``node`` is the one that it waits on, or waited on last.
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
        """``gang ml/train: 6 of 8 find a node, needs 8: nobody runs``."""
        what = f"gang {self.group}" if self.needs else f"group {self.group}"
        running = f" beside {self.running} that run" if self.running else ""
        needs = f", needs {self.needs}" if self.needs else ""
        if self.outcome == "gated":
            return f"{what}: {self.members} of {self.needs} pods are there: waits for the others"
        end = f"{self.bound} run" if self.bound else "nobody runs"
        if isinstance(self.waits, SiblingWait):
            end = self.waits.text
        if self.bound and self.bound + self.running < self.needs:
            end += ", fewer than it needs"
        return f"{what}: {self.fit} of {self.members} find a node{running}{needs}: {end}"
