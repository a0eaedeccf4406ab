"""Results of ``capacity``."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from kwhatif.results.base import Fidelity, ResultStruct
from kwhatif.results.group_outcome import GroupOutcome
from kwhatif.results.outcome import Concluded
from kwhatif.results.place import FailedCreate, QuotaShortage, Refusal, ScaleUp


class LeftOver(ResultStruct, frozen=True, kw_only=True):
    """What is free of a resource when no more fits, on nodes that could be used: cpu in millicores, all else in bytes
    or pieces.

    ``largest`` is the most that one node (``on``) has. ``each`` is what one pod, or one release, asks for.
    """

    resource: str
    each: int
    free: int
    largest: int
    on: str = ""


class ReasonCount(ResultStruct, frozen=True, kw_only=True):
    """A reason why the next pod does not fit, and the number of nodes that it holds for; a node may have several
    reasons.
    """

    reason: str
    nodes: int


class NodeCapacity(ResultStruct, frozen=True, kw_only=True):
    """How many pods a node took, and why it takes no other; ``free`` is what it has left of what pods ask for."""

    node: str
    pods: int
    reasons: tuple[str, ...] = ()
    free: dict[str, int]


class QuotaRoom(ResultStruct, frozen=True, kw_only=True):
    """How many times a quota leaves room, by the resource it is shortest of; in a ClusterQueue with its flavor.

    ``shortage`` is of an ElasticQuota, to which the scheduler holds pods: its max, or, without a ``quota``, what all of
    them together are entitled to.
    """

    quota: str
    resource: str
    fits: int
    shortage: QuotaShortage | msgspec.UnsetType = msgspec.UNSET


class CapacityResult(Concluded, frozen=True, kw_only=True):
    """How many times ``unit`` fits, one of which is ``pods_each`` pods.

    ``ended`` says what ended it: ``nodes``, ``quota``, ``limit``, ``max-pods``, ``gate`` if its pods are gated, as by
    Kueue, or ``scheduler`` if none takes such pods up; nothing if the API server lets in none at all.
    ``message`` is what kube-scheduler would say of the next pod, ``next_pod``; of its unit ``next_fits`` other pods
    find a node, and what is left over and free is beside them. By ``evicting`` so many pods that unit fits, too.
    ``first`` counts the pods that what-if edits left without a node, which are placed before; ``first_pending`` are
    those of them that find none. ``scale_up`` is what autoscalers add for what fits, if they were asked. ``groups`` are
    those of the copy that does not fit, if its pods are of groups: what became of each, domain by domain.
    """

    rows: ClassVar[str] = "nodes"
    schema: ClassVar[str] = "capacity-result"
    about: ClassVar[str] = "How many more of a pod or a release fit, by kwhatif capacity"
    view: ClassVar[str] = "capacity.text:VIEW"

    kind: str = "Capacity"
    unit: str
    fits: int
    pods_each: int
    at_least: int
    ended: str
    next_pod: str = ""
    next_fits: int = 0
    message: str = ""
    evicting: int = 0
    reasons: tuple[ReasonCount, ...] = ()
    quota: QuotaRoom | None = None
    first: int = 0
    first_pending: tuple[str, ...] = ()
    left_over: tuple[LeftOver, ...] = ()
    nodes: tuple[NodeCapacity, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    failed: tuple[FailedCreate, ...] = ()
    scale_up: ScaleUp | None = None
    groups: tuple[GroupOutcome, ...] | msgspec.UnsetType = msgspec.UNSET
    fidelity: Fidelity

    @property
    def lacks_nodes(self) -> bool:
        return self.ended in ("nodes", "gate") or bool(self.first_pending)
