"""What is different between the nodes and pods of two moments."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_

import msgspec

from kwhatif.api.core import Node, Pod
from kwhatif.cluster.columns import zone_key_of


class Changes(msgspec.Struct, frozen=True):
    """Pods that are ``gone`` and that ``came``, with both texts of one that changed, and ``nodes`` that changed.

    ``moved``: nodes came or went, or take other turns. ``places`` are those of all ``pods``, by uid; none
    where only what some nodes say has changed.
    """

    gone: Sequence[Pod]
    came: Sequence[Pod]
    nodes: Sequence[Node]
    moved: bool
    places: dict[str, int]
    pods: int

    @classmethod
    def between(
        cls, nodes_before: Sequence[Node], before: Sequence[Pod], nodes: Sequence[Node], now: Sequence[Pod]
    ) -> Changes:
        """Those of two moments, by the identity of objects."""
        pairs = [(old, new) for old, new in zip(nodes_before, nodes, strict=False) if old is not new]
        turned = len(nodes_before) != len(nodes) or any(_turn(old) != _turn(new) for old, new in pairs)
        changed = [new for _, new in pairs]
        if not turned and (before is now or (len(before) == len(now) and all(map(is_, before, now)))):
            return cls(gone=(), came=(), nodes=changed, moved=False, places={}, pods=len(now))
        ids_before, ids_now = set(map(id, before)), set(map(id, now))
        return cls(
            gone=[pod for pod in before if id(pod) not in ids_now],
            came=[pod for pod in now if id(pod) not in ids_before],
            nodes=changed,
            moved=turned,
            places={pod.identity: place for place, pod in enumerate(now)},
            pods=len(now),
        )

    @property
    def are_few(self) -> bool:
        """Whether they take less time than to load all."""
        return len(self.gone) + len(self.came) <= self.pods // 4

    @property
    def groups(self) -> bool:
        """Whether pods of groups are among them, whose order of arrival counts."""
        return any(pod.spec.scheduling_group is not None for pods in (self.gone, self.came) for pod in pods)


def _turn(node: Node) -> tuple[str, tuple[str, str]]:
    """What the order of nodes depends on."""
    return node.name, zone_key_of(node)
