"""The cluster an answer is about, node by node and pod by pod, for those who draw it."""

from __future__ import annotations

import msgspec


class MappedNode(msgspec.Struct, frozen=True, kw_only=True):
    """One node. ``room`` is what it has for pods, by the map's ``resources``; ``closed`` says why it takes no pods."""

    node: str
    pool: str
    zone: str
    room: tuple[int, ...]
    closed: str = ""
    taints: tuple[str, ...] = ()


class MappedPod(msgspec.Struct, frozen=True, kw_only=True):
    """One pod. ``asks`` is its row among the map's, and ``at`` the place of its node among the nodes, by state.

    -1 stands for no node, or for a pod that is not there.
    """

    pod: str
    asks: int
    at: tuple[int, ...]


class ClusterMap(msgspec.Struct, frozen=True, kw_only=True):
    """Who is where in each of the ``states`` (``before`` and ``after``, ``A`` and ``B``), or in the only one.

    ``asks`` are the distinct requests of pods, by resource: cpu in millicores, all else in bytes or pieces. ``pods`` is
    a resource like the others, of which each pod asks for one.
    """

    states: tuple[str, ...]
    resources: tuple[str, ...]
    nodes: tuple[MappedNode, ...]
    asks: tuple[tuple[int, ...], ...]
    pods: tuple[MappedPod, ...]
